// SPDX-License-Identifier: MIT
import Synchronization

/// What observers recorded, in the order in which they were called.
final class Log<Entry: Sendable>: Sendable {
  private let storage = Mutex<[Entry]>([])

  var entries: [Entry] { storage.withLock { $0 } }

  func add(_ entry: Entry) {
    storage.withLock { $0.append(entry) }
  }

  func clear() {
    storage.withLock { $0 = [] }
  }
}

/// A variable that closures of several threads share.
final class Box<Value: Sendable>: Sendable {
  private let storage: Mutex<Value>

  init(_ value: Value) { storage = Mutex(value) }

  var value: Value {
    get { storage.withLock { $0 } }
    set {
      // The old value is released outside of the lock: its deinit may come back here.
      let old = storage.withLock { stored in
        let old = stored
        stored = newValue
        return old
      }
      withExtendedLifetime(old) {}
    }
  }

  func update<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
    storage.withLock { change(&$0) }
  }
}

/// Tells when it goes away.
final class Canary: Sendable {
  private let onDeinit: @Sendable () -> Void
  init(_ onDeinit: @escaping @Sendable () -> Void) { self.onDeinit = onDeinit }
  func touch() {}
  deinit { onDeinit() }
}
