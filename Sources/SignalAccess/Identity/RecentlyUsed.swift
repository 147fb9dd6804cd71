// SPDX-License-Identifier: MIT

/// A cache that forgets what was not asked for lately.
///
/// It has two generations: what is found in the older one moves to the younger, and when that is full the older one is
/// dropped. So nothing is forgotten of what is used again before as many others as its capacity are, and one more than
/// fit do not cost all of them.
package struct RecentlyUsed<Key: Hashable, Value> {
  private var young: [Key: Value] = [:]
  private var old: [Key: Value] = [:]
  private let capacity: Int

  /// - Parameter capacity: Values of one generation, at least 1; at most twice as many are held.
  package init(capacity: Int) { self.capacity = capacity }

  /// How many values are held.
  package var count: Int { young.count + old.count }

  package mutating func find(_ key: Key) -> Value? {
    if let value = young[key] { return value }
    guard let value = old.removeValue(forKey: key) else { return nil }
    insert(value, for: key)
    return value
  }

  /// Adds the value of a key that was not found.
  package mutating func insert(_ value: Value, for key: Key) {
    if young.count >= capacity { (old, young) = (young, [:]) }
    young[key] = value
  }
}
