// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore

/// Finds, among the filters of many groups, those that can hold for a change, without evaluating each of them.
///
/// Each filter is indexed by one of its conjuncts. What is found may still not match; what matches is always found. Ten
/// thousand thresholds cost a binary search in a sorted list, and the thresholds that the value has passed.
struct FilterIndex {
  /// The conjunct of a filter that suits the index best: the one that the fewest values are likely to satisfy; nil when
  /// there is none, and the filter has to be evaluated each time.
  static func conjunct(of filter: Filter) -> FilterConjunct? {
    filter.conjuncts.filter { rank($0) != nil }.min { (rank($0) ?? 0) < (rank($1) ?? 0) }
  }

  /// Whether a filter that is found by this conjunct certainly holds.
  ///
  /// A number that has reached a threshold may have to exceed it, so those filters are evaluated.
  static func decides(_ filter: Filter, by conjunct: FilterConjunct) -> Bool {
    guard filter.program.isConjunction, filter.conjuncts == [conjunct] else { return false }
    switch conjunct.test {
    case .equal, .isIn, .hasPrefix: return true
    case .greater, .greaterOrEqual, .less, .lessOrEqual, .present: return false
    }
  }

  private static func rank(_ conjunct: FilterConjunct) -> Int? {
    guard ["value", "message", "path"].contains(conjunct.subject.variable) else { return nil }
    switch conjunct.test {
    case .equal: return 0
    case .isIn: return 1
    case .hasPrefix: return 2
    case .greater(.number(let limit)), .greaterOrEqual(.number(let limit)), .less(.number(let limit)),
      .lessOrEqual(.number(let limit)):
      return limit.isNaN ? nil : 3
    case .greater, .greaterOrEqual, .less, .lessOrEqual, .present: return nil
    }
  }

  /// Groups by the value that one subject is compared with.
  fileprivate struct Tests {
    var equal: [FilterScalar: [Int]] = [:]
    var prefixes: [[UInt8]: [Int]] = [:]
    /// The number of groups with prefixes of each length.
    var lengths: [Int: Int] = [:]
    /// Thresholds that a number has to reach or exceed.
    var lowest = Thresholds()
    /// Thresholds that a number must not exceed or reach.
    var highest = Thresholds()

    var isEmpty: Bool { equal.isEmpty && prefixes.isEmpty && lowest.isEmpty && highest.isEmpty }
  }

  private struct Entry {
    let subject: FilterSubject
    let isPath: Bool
    var tests = Tests()

    init(_ subject: FilterSubject) {
      self.subject = subject
      isPath = subject.variable == "path"
    }
  }

  private var places: [FilterSubject: Int] = [:]
  // Separate from the dictionary, which would copy each entry during iteration.
  private var entries: [Entry] = []

  var isEmpty: Bool { entries.isEmpty }

  mutating func insert(_ group: Int, _ conjunct: FilterConjunct) {
    let place = places[conjunct.subject] ?? entries.count
    if place == entries.count {
      entries.append(Entry(conjunct.subject))
      places[conjunct.subject] = place
    }
    entries[place].tests.insert(group, conjunct.test)
  }

  mutating func remove(_ group: Int, _ conjunct: FilterConjunct) {
    guard let place = places[conjunct.subject] else { return }
    entries[place].tests.remove(group, conjunct.test)
    guard entries[place].tests.isEmpty else { return }
    places[conjunct.subject] = nil
    let last = entries.removeLast()
    guard place < entries.count else { return }
    entries[place] = last
    places[last.subject] = place
  }

  /// Calls `body` with each group whose conjunct may hold for the path and the value, once.
  func forEachCandidate(path: PropertyPath, value: JSONTree?, _ body: (Int) -> Void) {
    for place in entries.indices {
      if entries[place].isPath {
        entries[place].tests.match(entries[place].subject.fields.isEmpty ? .text(path.bytes) : nil, body)
      } else {
        entries[place].tests.match(entries[place].subject.scalar(in: value), body)
      }
    }
  }
}

extension FilterIndex.Tests {
  fileprivate mutating func insert(_ group: Int, _ test: FilterTest) {
    switch test {
    case .equal(let scalar): equal[scalar, default: []].append(group)
    case .isIn(let scalars): for scalar in scalars { equal[scalar, default: []].append(group) }
    case .hasPrefix(let prefix):
      prefixes[prefix, default: []].append(group)
      lengths[prefix.count, default: 0] += 1
    case .greater(.number(let limit)), .greaterOrEqual(.number(let limit)): lowest.insert(limit, group)
    case .less(.number(let limit)), .lessOrEqual(.number(let limit)): highest.insert(limit, group)
    case .greater, .greaterOrEqual, .less, .lessOrEqual, .present:
      preconditionFailure("A conjunct of this kind is not indexed.")
    }
  }

  fileprivate mutating func remove(_ group: Int, _ test: FilterTest) {
    switch test {
    case .equal(let scalar): equal.remove(group, at: scalar)
    case .isIn(let scalars): for scalar in scalars { equal.remove(group, at: scalar) }
    case .hasPrefix(let prefix):
      prefixes.remove(group, at: prefix)
      let left = (lengths[prefix.count] ?? 0) - 1
      lengths[prefix.count] = left > 0 ? left : nil
    case .greater(.number(let limit)), .greaterOrEqual(.number(let limit)): lowest.remove(limit, group)
    case .less(.number(let limit)), .lessOrEqual(.number(let limit)): highest.remove(limit, group)
    case .greater, .greaterOrEqual, .less, .lessOrEqual, .present: break
    }
  }

  fileprivate func match(_ scalar: FilterScalar?, _ body: (Int) -> Void) {
    guard let scalar else { return }
    equal[scalar]?.forEach(body)
    switch scalar {
    case .number(let number):
      lowest.forEach(upTo: number, body)
      highest.forEach(from: number, body)
    case .text(let text):
      for length in lengths.keys where length <= text.count { prefixes[Array(text[..<length])]?.forEach(body) }
    case .null, .bool, .container: break
    }
  }
}

/// Groups sorted by their thresholds.
private struct Thresholds {
  private var limits: [Double] = []
  private var groups: [Int] = []

  var isEmpty: Bool { limits.isEmpty }

  mutating func insert(_ limit: Double, _ group: Int) {
    let place = firstIndex { $0 >= limit }
    limits.insert(limit, at: place)
    groups.insert(group, at: place)
  }

  mutating func remove(_ limit: Double, _ group: Int) {
    var place = firstIndex { $0 >= limit }
    while place < groups.count, groups[place] != group { place += 1 }
    guard place < groups.count else { return }
    limits.remove(at: place)
    groups.remove(at: place)
  }

  func forEach(upTo number: Double, _ body: (Int) -> Void) {
    groups[..<firstIndex { $0 > number }].forEach(body)
  }

  func forEach(from number: Double, _ body: (Int) -> Void) {
    groups[firstIndex { $0 >= number }...].forEach(body)
  }

  /// The first index from which on all limits satisfy the condition.
  private func firstIndex(where isPast: (Double) -> Bool) -> Int {
    var low = 0
    var high = limits.count
    while low < high {
      let middle = (low + high) / 2
      if isPast(limits[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

extension Dictionary where Value == [Int] {
  /// Removes a group, and its key with the last one.
  fileprivate mutating func remove(_ group: Int, at key: Key) {
    guard let place = self[key]?.firstIndex(of: group) else { return }
    self[key]?.remove(at: place)
    if self[key]?.isEmpty == true { self[key] = nil }
  }
}
