// SPDX-License-Identifier: MIT

import Synchronization

/// A callback with a result, which at most one handler answers.
///
/// ```swift
/// let shouldClose = Delegate<Document, Bool>()
/// let token = shouldClose.set { document in !document.isEdited }
/// if shouldClose.call(document) ?? true { … }
/// ```
public final class Delegate<Question: Sendable, Answer: Sendable>: Sendable {
  private typealias Entry = (id: Int, closure: @Sendable (Question) -> Answer)
  private let state = Mutex<(next: Int, entry: Entry?)>((0, nil))

  /// Makes a delegate without a handler.
  public init() {}

  /// Sets `closure` as the handler, replacing the previous one.
  ///
  /// - Returns: A subscription; when it ends, the handler is removed, unless another one has been set meanwhile.
  public func set(_ closure: @escaping @Sendable (Question) -> Answer) -> Subscription {
    let (id, old) = state.withLock { state in
      let old = state.entry
      state.next += 1
      state.entry = (state.next, closure)
      return (state.next, old)
    }
    withExtendedLifetime(old) {}
    return Subscription { [weak self] in self?.remove(id) }
  }

  /// The answer; nil without a handler.
  public func call(_ question: Question) -> Answer? {
    let entry = state.withLock { $0.entry }
    return entry?.closure(question)
  }

  private func remove(_ id: Int) {
    let old = state.withLock { state -> Entry? in
      guard state.entry?.id == id else { return nil }
      let old = state.entry
      state.entry = nil
      return old
    }
    withExtendedLifetime(old) {}
  }
}

/// Calls asynchronous closures one after the other, in the order of their keys.
public final class OrderedCallbacks<Key: Comparable & Sendable, Message: Sendable>: Sendable {
  private struct Entry: Sendable {
    let key: Key
    let id: Int
    let closure: @Sendable (Message) async -> Void
  }

  private let state = Mutex<(next: Int, entries: [Entry])>((0, []))

  /// Makes an empty list.
  public init() {}

  /// Adds a closure after all with a smaller or equal key.
  public func add(
    at key: Key, _ closure: @escaping @Sendable (Message) async -> Void
  ) -> Subscription {
    let id = state.withLock { state in
      state.next += 1
      state.entries.append(Entry(key: key, id: state.next, closure: closure))
      return state.next
    }
    return Subscription { [weak self] in
      let removed = self?.state.withLock { state in
        let index = state.entries.firstIndex { $0.id == id }
        return index.map { state.entries.remove(at: $0) }
      }
      withExtendedLifetime(removed) {}
    }
  }

  /// Calls all closures present at the call; each starts when the one before has finished.
  public func call(_ message: Message) async {
    // Sorted here and not on adding, so that no comparison of the user runs under the lock.
    let entries = state.withLock { $0.entries }.sorted { ($0.key, $0.id) < ($1.key, $1.id) }
    for entry in entries { await entry.closure(message) }
  }
}
