// SPDX-License-Identifier: MIT

import JSON
import SignalStore
import Signals
import Synchronization

/// The sets of a ``withTransaction(_:)`` in one remote store: one transaction of the server, at its end.
final class RemoteTransaction: TransactionStep {
  /// What becomes of a set.
  typealias Settle = @Sendable (Result<PendingCommand.Reply, RemoteError>) -> Void

  private struct Entry: Sendable {
    let path: PropertyPath
    var text: JSONText?
    /// All sets of the property: each shows itself until it is settled.
    var settle: [Settle]
  }

  private let store: RemoteStore
  private let entries = Mutex<[Entry]>([])
  /// Set at the end: its observer is called when all sets have their places in the order, so that the answer of a fast
  /// server comes behind them.
  private let isOver = Property(false)

  private init(_ store: RemoteStore) { self.store = store }

  /// The one of the caller's current transaction; nil outside of any.
  static func current(of store: RemoteStore) -> RemoteTransaction? {
    guard let transaction = Transaction.current else { return nil }
    if transaction.step(for: store) == nil { transaction.add(RemoteTransaction(store), for: store) }
    return transaction.step(for: store) as? RemoteTransaction
  }

  /// Records a set; it replaces an earlier one of the same property.
  func set(_ path: PropertyPath, _ text: JSONText?, _ settle: @escaping Settle) {
    entries.withLock { entries in
      if let index = entries.firstIndex(where: { $0.path == path }) {
        entries[index].text = text
        entries[index].settle.append(settle)
      } else {
        entries.append(Entry(path: path, text: text, settle: [settle]))
      }
    }
  }

  func perform() {
    isOver.subscribe(from: .future, once: true) { [self] _ in send() }.keepWhileSourceLives()
    isOver.value = true
  }

  private func send() {
    let entries = entries.withLock { $0 }
    let settle: Settle = { result in
      // One step for the observers of all of them.
      withTransaction { for entry in entries { for settle in entry.settle { settle(result) } } }
    }
    if entries.count == 1 {
      store.send(store.writing(entries[0].path, entries[0].text, WriteOptions()), settle)
    } else {
      store.send(
        RemoteStore.transaction(
          entries.map { entry in
            entry.text.map { .set(entry.path, $0) } ?? .delete(entry.path)
          }), settle)
    }
  }
}
