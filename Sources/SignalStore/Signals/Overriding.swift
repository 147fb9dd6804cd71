// SPDX-License-Identifier: MIT

import Synchronization

extension WritableSource {
  /// Sets a value for as long as the subscription is kept, then restores the previous value.
  ///
  /// With several overrides the newest active one applies, in whatever order they end; when none is left, the source
  /// gets back the value that it had before the first. That holds for a property, and for parts of one that the same
  /// key path leads to; for any other source each `override` knows only itself.
  public func override(with value: Message) -> Subscription {
    let overrides = (self as? any Overridable)?.overridePlace?.overrides(of: Message.self) ?? Overrides<Message>()
    let id = overrides.add(value, to: self)
    return Subscription { overrides.remove(id, from: self) }
  }
}

/// A source whose overrides share one list.
package protocol Overridable {
  /// Where the list is.
  var overridePlace: OverridePlace? { get }
}

/// Where the overrides of a property, or of a part of it, are stored.
///
/// Unchecked: a key path is immutable, though its type is not `Sendable`.
@usableFromInline
package struct OverridePlace: @unchecked Sendable {
  fileprivate let list: ObserverList
  fileprivate let path: AnyKeyPath?

  @usableFromInline
  init(_ list: ObserverList, _ path: AnyKeyPath?) {
    self.list = list
    self.path = path
  }

  func overrides<Value: Sendable>(of type: Value.Type) -> Overrides<Value> {
    let new = Overrides<Value>()
    while true {
      let known = list.withExtras { $0.overrides }
      // Outside of the lock: comparing key paths may run comparisons of the user.
      for entry in known where entry.path == path {
        if let overrides = entry.overrides as? Overrides<Value> { return overrides }
      }
      let isAdded = list.withExtras { extras in
        if extras.overrides.count != known.count { return false }
        extras.overrides.append(OverrideEntry(path: path, overrides: new))
        return true
      }
      if isAdded { return new }
    }
  }
}

/// The overrides of a property, or of a part of it.
///
/// Unchecked as ``OverridePlace``.
struct OverrideEntry: @unchecked Sendable {
  let path: AnyKeyPath?
  let overrides: any Sendable
}

extension Property: Overridable {
  package var overridePlace: OverridePlace? { OverridePlace(core, nil) }
}

extension LiteralProperty: Overridable {
  package var overridePlace: OverridePlace? { property.overridePlace }
}

/// The active overrides of one source, the newest last.
final class Overrides<Value: Sendable>: Sendable {
  private struct State {
    /// The value of the source before the first.
    var base: Value?
    var entries: [(id: UInt64, value: Value)] = []
    var next: UInt64 = 0
    /// The value that the source is about to be restored to because no override is left, and the number of that step.
    ///
    /// Until then, the value of the source is one of the overrides.
    var restoring: (step: UInt64, value: Value)?
  }

  private let state = Mutex(State())
  /// Applies the sets in the order of the list, whichever threads change it.
  private let sets = Signal<@Sendable () -> Void>()
  private let setting: Subscription

  init() { setting = sets.subscribe { $0() } }

  /// Adds a value at the end, and sets the source to it; returns its number in the list.
  func add<Source: WritableSource>(_ value: Value, to source: Source) -> UInt64 where Source.Message == Value {
    while true {
      let (seen, isFirst, restored) = state.withLock { ($0.next, $0.entries.isEmpty, $0.restoring?.value) }
      let base = isFirst ? restored ?? source.value : nil
      let id: UInt64? = state.withLock { state in
        if state.entries.isEmpty {
          // Another override was added or removed since, and the value read may be its own; or there was one, and none
          // was read.
          guard isFirst, state.next == seen else { return nil }
          state.base = base
        }
        state.next += 1
        state.entries.append((state.next, value))
        sets.enqueue { source.value = value }
        return state.next
      }
      sets.deliver()
      if let id { return id }
    }
  }

  /// Removes a value from the list; if it was the last one, sets the source to the one before it.
  func remove<Source: WritableSource>(_ id: UInt64, from source: Source) where Source.Message == Value {
    // The removed value is released after unlocking.
    let gone: (Value?, Value?) = state.withLock { state in
      guard let position = state.entries.firstIndex(where: { $0.id == id }) else { return (nil, nil) }
      let wasLast = position == state.entries.count - 1
      let (_, value) = state.entries.remove(at: position)
      state.next += 1
      let base = state.base
      if let before = state.entries.last?.value {
        if wasLast { sets.enqueue { source.value = before } }
      } else if let base {
        let step = state.next
        state.restoring = (step, base)
        state.base = nil
        sets.enqueue {
          source.value = base
          self.hasRestored(step)
        }
      }
      return (value, base)
    }
    withExtendedLifetime(gone) {}
    sets.deliver()
  }

  private func hasRestored(_ step: UInt64) {
    // The removed value is released after unlocking.
    let gone: Value? = state.withLock { state in
      guard let restoring = state.restoring, restoring.step == step else { return nil }
      state.restoring = nil
      return restoring.value
    }
    withExtendedLifetime(gone) {}
  }
}
