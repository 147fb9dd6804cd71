// SPDX-License-Identifier: MIT

import JSON
import Synchronization

/// The sets of a ``withTransaction(_:)`` in one store: one transaction of the store, at its end.
final class StoreTransaction: TransactionStep {
  /// A set, or a removal when the text is nil.
  private struct Entry: Sendable {
    let path: PropertyPath
    var text: JSONText?
    /// Notified when the store refuses.
    var failures: Signal<StorePropertyError>
  }

  private let store: PropertyStore
  private let entries = Mutex<[Entry]>([])

  private init(_ store: PropertyStore) { self.store = store }

  /// The one of the caller's current transaction; nil outside of any.
  ///
  /// - Parameter isMade: Whether to make one when the transaction has set nothing in this store yet.
  static func current(of store: PropertyStore, isMade: Bool) -> StoreTransaction? {
    guard let transaction = Transaction.current else { return nil }
    if isMade, transaction.step(for: store) == nil { transaction.add(StoreTransaction(store), for: store) }
    return transaction.step(for: store) as? StoreTransaction
  }

  /// Records a set; it replaces an earlier one of the same property.
  func set(_ path: PropertyPath, _ text: JSONText?, failures: Signal<StorePropertyError>) {
    entries.withLock { entries in
      if let index = entries.firstIndex(where: { $0.path == path }) {
        entries[index].text = text
        entries[index].failures = failures
      } else {
        entries.append(Entry(path: path, text: text, failures: failures))
      }
    }
  }

  /// What has been set: nil when nothing was, an inner nil for a removal.
  func text(at path: PropertyPath) -> JSONText?? {
    entries.withLock { entries in entries.first { $0.path == path }.map(\.text) }
  }

  func perform() {
    let entries = entries.withLock { $0 }
    do throws(StoreError) {
      try store.transact(entries.map { entry in entry.text.map { .set(entry.path, $0) } ?? .delete(entry.path) })
    } catch {
      for entry in entries { entry.failures.send(.refused(error)) }
    }
  }
}
