// SPDX-License-Identifier: MIT

/// The record that a transaction has of a source that takes part in it.
@usableFromInline
struct TransactionPart: Sendable {
  @usableFromInline let core: ObserverList
  /// Identifies the source without retaining it.
  let id: ObjectIdentifier
  /// The place of its last set; 0 while nothing was set.
  @usableFromInline var number: UInt64 = 0
  /// The ``ValueBefore`` the first set, if the source compares values.
  @usableFromInline var old: (any AnyObject & Sendable)?

  init(_ core: ObserverList) {
    self.core = core
    id = ObjectIdentifier(core)
  }
}

/// The state of a source in a transaction.
@usableFromInline
enum TransactionEntry: Sendable {
  /// It has just been added.
  case new
  /// It was added before, but has not been set.
  case unset
  /// It has been set.
  case set
}

/// The sources in a transaction, in the order in which they were added.
///
/// The first is stored inline, so that a transaction that sets a single property allocates nothing beside itself.
struct TransactionParts {
  private var first: TransactionPart?
  /// The sources after the first; nil while there are none.
  private var others: [TransactionPart]?
  /// The index of each source in `others`, when there are too many for a linear search.
  private var index: [ObjectIdentifier: Int]?

  private static var fewParts: Int { 8 }

  var isEmpty: Bool { first == nil }
  var count: Int { first == nil ? 0 : 1 + (others?.count ?? 0) }

  func forEach(_ body: (TransactionPart) -> Void) {
    guard let first else { return }
    body(first)
    guard let others else { return }
    for part in others { body(part) }
  }

  mutating func append(_ part: consuming TransactionPart) {
    if first == nil {
      first = part
    } else if others == nil {
      var parts: [TransactionPart] = []
      parts.reserveCapacity(4)
      parts.append(part)
      others = parts
    } else {
      others!.append(part)
    }
  }

  /// The place of the last set of a source; nil when it is not a part.
  mutating func number(of core: ObserverList) -> UInt64? {
    let id = ObjectIdentifier(core)
    if first?.id == id { return first?.number }
    return position(of: id).map { others![$0].number }
  }

  /// Changes the part of a source, if there is one.
  mutating func change(_ core: ObserverList, _ body: (inout TransactionPart) -> Void) {
    let id = ObjectIdentifier(core)
    if first?.id == id {
      body(&first!)
    } else if let position = position(of: id) {
      body(&others![position])
    }
  }

  private mutating func position(of id: ObjectIdentifier) -> Int? {
    guard let others else { return nil }
    if others.count <= Self.fewParts { return others.firstIndex { $0.id == id } }
    var index = self.index.take() ?? [:]
    for position in index.count..<others.count { index[others[position].id] = position }
    defer { self.index = index }
    return index[id]
  }

  /// Removes and returns the only source, if it was set.
  mutating func takeSingleChanged() -> TransactionPart? {
    others == nil && first.map { $0.number != 0 } == true ? first.take() : nil
  }

  /// Removes and returns all sources that were set.
  mutating func takeChanged() -> TransactionParts {
    var changed = TransactionParts()
    var all = TransactionParts()
    swap(&all, &self)
    // Usually all of them were set, or none.
    var changes = 0
    all.forEach { if $0.number != 0 { changes += 1 } }
    if changes == all.count { return all }
    if changes == 0 {
      swap(&all, &self)
      return changed
    }
    all.forEach { part in if part.number != 0 { changed.append(part) } else { append(part) } }
    return changed
  }
}
