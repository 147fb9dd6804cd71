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
    /// With the condition of the set that the others go on from: it is about what was there before the transaction.
    var options: WriteOptions
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
  ///
  /// - Parameter options: nil for a set that was computed from an earlier one of this transaction, whose condition stays.
  func set(_ path: PropertyPath, _ text: JSONText?, _ options: WriteOptions?, _ settle: @escaping Settle) {
    entries.withLock { entries in
      if let index = entries.firstIndex(where: { $0.path == path }) {
        entries[index].text = text
        if let options { entries[index].options = options }
        entries[index].settle.append(settle)
      } else {
        entries.append(Entry(path: path, text: text, options: options ?? WriteOptions(), settle: [settle]))
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
      let result = result.map { PendingCommand.Reply(members: $0.members, epoch: $0.epoch, operations: entries.count) }
      // One step for the observers of all of them.
      withTransaction { for entry in entries { for settle in entry.settle { settle(result) } } }
    }
    if entries.count == 1 {
      let entry = entries[0]
      store.send(
        store.writing(entry.path, entry.text, entry.options), effect: .write(entry.path, isKept: false), settle)
    } else {
      store.send(
        RemoteStore.transaction(entries.map { RemoteOperation.text($0.path, $0.text, $0.options) }),
        effect: .writes(entries.map(\.path)), settle)
    }
  }
}
