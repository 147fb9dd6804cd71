// SPDX-License-Identifier: MIT

import Testing

@testable import SignalStore

extension PathTree {
  /// All values, in the order in which the tree has them.
  var values: [StoredValue] { Array(PropertyScan(self, matching: [.all], after: nil)) }

  /// What is wrong with the structure of the tree; empty when nothing is.
  var faults: [String] {
    var faults: [String] = []
    var found = 0
    root.check(from: nil, to: nil, isRoot: true, &found, &faults)
    if found != count { faults.append("counts \(count) of \(found)") }
    return faults
  }
}

extension PathTreeNode {
  /// The height of the node.
  @discardableResult
  fileprivate func check(
    from lower: PropertyPath?, to upper: PropertyPath?, isRoot: Bool, _ found: inout Int, _ faults: inout [String]
  ) -> Int {
    if size > PathTreeNode.capacity { faults.append("too large: \(size)") }
    if size == 0, !isRoot { faults.append("empty node") }
    if isRoot, branches.count == 1 { faults.append("a root with one branch") }
    if !entries.isEmpty, !branches.isEmpty { faults.append("entries and branches") }
    for (index, entry) in entries.enumerated() {
      let path = entry.value.path
      if entry.head != path.head(from: shared) { faults.append("head of \(path)") }
      if let lower, path < lower { faults.append("\(path) before \(lower)") }
      if let upper, path >= upper { faults.append("\(path) not before \(upper)") }
      if index > 0, entries[index - 1].value.path >= path { faults.append("order at \(path)") }
      if path.commonPrefix(with: entries[0].value.path) < shared { faults.append("\(path) shares less than \(shared)") }
    }
    found += entries.count
    var heights = Set<Int>()
    for (index, branch) in branches.enumerated() {
      if branch.head != branch.path.head(from: shared) { faults.append("head of branch \(branch.path)") }
      if index > 0, branches[index - 1].path >= branch.path, index > 1 { faults.append("order of branches") }
      heights.insert(
        branch.node.check(
          from: index == 0 ? lower : branch.path, to: index + 1 < branches.count ? branches[index + 1].path : upper,
          isRoot: false, &found, &faults))
    }
    if heights.count > 1 { faults.append("heights \(heights)") }
    return 1 + (heights.first ?? 0)
  }
}

@Suite struct PathTreeTests {
  /// A tree and what it has to hold, both as of one moment.
  struct Pair {
    var tree = PathTree()
    var model: [PropertyPath: StoredValue] = [:]

    mutating func set(_ value: StoredValue) {
      let isSame = tree.set(value) === model.updateValue(value, forKey: value.path)
      #expect(isSame, "\(value.path)")
    }

    mutating func remove(_ path: PropertyPath) {
      let isSame = tree.remove(path) === model.removeValue(forKey: path)
      #expect(isSame, "\(path)")
    }

    var agrees: Bool {
      let values = tree.values
      let expected = model.values.sorted { $0.path < $1.path }
      return values.count == expected.count && zip(values, expected).allSatisfy { $0 === $1 }
        && tree.count == model.count
    }
  }

  /// Paths of which many share long beginnings, so that heads tie and have to be counted anew.
  static func path(_ generator: inout StoreGenerator) -> PropertyPath {
    switch generator.number(below: 4) {
    case 0: generator.path()
    case 1: PropertyPath(stringLiteral: "sensors/device-\(generator.number(below: 3000))/temperature")
    case 2: PropertyPath(stringLiteral: "p/\(generator.number(below: 5000))")
    default: PropertyPath(stringLiteral: "long/\(String(repeating: "x", count: 40))/\(generator.path())")
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `a tree holds what was set, and each copy stays as it was`(seed: UInt64) {
    var generator = StoreGenerator(seed: seed)
    var pair = Pair()
    var copies: [Pair] = []
    var revision: UInt64 = 0
    for phase in 0..<6 {
      // Growing, then shrinking, so that nodes are split and joined.
      let removals = phase % 2 == 0 ? 20 : 75
      for _ in 0..<1500 {
        revision += 1
        if generator.chance(removals), let path = pair.model.keys.randomElement(using: &generator) {
          pair.remove(generator.chance(90) ? path : Self.path(&generator))
        } else {
          pair.set(stored(Self.path(&generator), 0, revision: revision))
        }
        if generator.chance(1) { copies.append(pair) }
        if generator.chance(1), !copies.isEmpty {
          let copy = copies.remove(at: generator.number(below: copies.count))
          #expect(copy.agrees)
          #expect(copy.tree.faults == [])
        }
      }
      #expect(pair.agrees)
      #expect(pair.tree.faults == [])
    }
    for copy in copies { #expect(copy.agrees) }
    for path in pair.model.keys.sorted() { pair.remove(path) }
    #expect(pair.tree.count == 0)
    #expect(pair.tree.faults == [])
    #expect(pair.tree.values.isEmpty)
  }

  @Test func `two copies that are changed apart do not see each other's changes`() {
    var one = Pair()
    for number in 0..<500 { one.set(stored(PropertyPath(stringLiteral: "a/\(number)"), number)) }
    var two = one
    for number in 0..<500 {
      let path = PropertyPath(stringLiteral: "a/\(number)")
      if number % 2 == 0 { one.remove(path) } else { two.set(stored(path, -number)) }
    }
    #expect(one.agrees && two.agrees)
    #expect(one.tree.faults == [] && two.tree.faults == [])
  }

  @Test(arguments: [("ascending", 20_000), ("descending", 20_000), ("shuffled", 100_000)])
  func `a hundred thousand siblings under one parent can be set, found and removed`(order: String, count: Int) {
    var numbers = Array(0..<count)
    var generator = StoreGenerator(seed: 1)
    switch order {
    case "descending": numbers.reverse()
    case "shuffled": numbers.shuffle(using: &generator)
    default: break
    }
    let values = numbers.map { stored(PropertyPath(stringLiteral: "parent/\(1_000_000 + $0)"), $0) }
    var tree = PathTree()
    for value in values where tree.set(value) != nil { Issue.record("\(value.path) was there") }
    #expect(tree.faults == [])
    let snapshot = tree
    for value in values {
      let bytes = value.path.bytes
      if tree.value(at: bytes.span) !== value { Issue.record("\(value.path) is not found") }
    }
    for value in values.dropLast(1000) where tree.remove(value.path) !== value { Issue.record("\(value.path) stays") }
    #expect(tree.count == 1000)
    #expect(tree.faults == [])
    #expect(snapshot.count == count)
    let paths = snapshot.values.map(\.path)
    #expect(paths == values.map(\.path).sorted())
  }

  @Test(arguments: ["", "a/", "/a", "a//b", "*", "a\u{0}b", "a\u{1}", "a/b/c", "a0", "\u{7F}", "0"])
  func `a look-up by bytes that are no path, or not there, finds nothing`(text: String) {
    var tree = PathTree()
    #expect(isAbsent(text, from: tree))
    for name in ["a", "a/b", "a-b", "b"] { _ = tree.set(stored(PropertyPath(stringLiteral: name), 1)) }
    #expect(isAbsent(text, from: tree))
    for number in 0..<1000 { _ = tree.set(stored(PropertyPath(stringLiteral: "a/b-\(number)"), 1)) }
    #expect(isAbsent(text, from: tree))
  }

  @Test func `no bytes make a look-up trap or find something else`() {
    var generator = StoreGenerator(seed: 9)
    var tree = PathTree()
    for _ in 0..<3000 { _ = tree.set(stored(Self.path(&generator), 1)) }
    let values = tree.values
    for _ in 0..<20_000 {
      var bytes = values[generator.number(below: values.count)].path.bytes
      switch generator.number(below: 3) {
      case 0: bytes[generator.number(below: bytes.count)] = UInt8.random(in: 0...255, using: &generator)
      case 1: bytes.removeLast(generator.number(below: bytes.count))
      default: bytes = (0..<generator.number(below: 12)).map { _ in UInt8.random(in: 0...255, using: &generator) }
      }
      let found = tree.value(at: bytes.span)
      #expect(found == nil || found?.path.bytes == bytes)
    }
  }

  private func isAbsent(_ text: String, from tree: PathTree) -> Bool {
    tree.value(at: text.utf8.span) == nil
  }
}

@Suite struct PropertyScanTests {
  private static func tree(_ generator: inout StoreGenerator, count: Int) -> PathTree {
    var tree = PathTree()
    for _ in 0..<count { _ = tree.set(stored(PathTreeTests.path(&generator), 1)) }
    return tree
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `a scan hands out, in order, what filtering everything hands out`(seed: UInt64) {
    var generator = StoreGenerator(seed: seed)
    let tree = Self.tree(&generator, count: [10, 200, 1500, 4000][Int(seed) - 1])
    let all = tree.values.map(\.path)
    #expect(all == all.sorted())
    var found = 0
    for _ in 0..<150 {
      let patterns = (0..<generator.number(below: 4)).map { _ in
        generator.chance(30)
          ? ["sensors/*/temperature", "p/*", "sensors/device-77/**", "long/*/a/*/b"].randomElement(using: &generator)!
          : generator.pattern()
      }
      let after = generator.chance(40) ? PathTreeTests.path(&generator) : nil
      let expected = all.filter { path in
        (after.map { path > $0 } ?? true) && patterns.contains { $0.matches(path) }
      }
      let scanned = PropertyScan(tree, matching: patterns, after: after).map(\.path)
      #expect(scanned == expected, "\(patterns) after \(after?.description ?? "-")")
      found += scanned.count
    }
    #expect(found > 50)
  }

  @Test func `a scan can be put aside and goes on in the same snapshot`() {
    var generator = StoreGenerator(seed: 5)
    var tree = Self.tree(&generator, count: 2000)
    let expected = tree.values
    var scan = PropertyScan(tree, matching: [.all], after: nil)
    var seen: [StoredValue] = []
    while let value = scan.next() {
      seen.append(value)
      _ = tree.remove(value.path)
      _ = tree.set(stored(PathTreeTests.path(&generator), 2))
    }
    let isSame = seen.elementsEqual(expected) { $0 === $1 }
    #expect(isSame)
    #expect(scan.isAtEnd)
    #expect(scan.next() == nil)
  }

  @Test func `a scan goes on from where its copy was`() {
    var generator = StoreGenerator(seed: 6)
    let tree = Self.tree(&generator, count: 500)
    var scan = PropertyScan(tree, matching: ["**"], after: nil)
    for _ in 0..<100 { _ = scan.next() }
    let copy = scan
    #expect(Array(scan) == Array(copy))
    #expect(Array(copy) == Array(tree.values.dropFirst(100)))
  }

  @Test func `a budget bounds how many properties are visited`() {
    var tree = PathTree()
    for number in 0..<1000 { _ = tree.set(stored(PropertyPath(stringLiteral: "a/\(1000 + number)"), number)) }
    _ = tree.set(stored("z/target", 1))
    var scan = PropertyScan(tree, matching: ["**/target"], after: nil)
    var rounds = 0
    var found: StoredValue?
    while found == nil, !scan.isAtEnd {
      var budget = 100
      found = scan.next(visiting: &budget)
      #expect(budget == 0 || found != nil)
      rounds += 1
    }
    #expect(found?.path == "z/target")
    #expect(rounds == 11)
  }

  /// The most visits for each of the thousand children, and beside.
  @Test(
    arguments: [
      ("a/*/t", 3, 0), ("a/*/t/*/v", 4, 0), ("a/*", 2, 0), ("a/*/t/*", 4, 0), ("a/1500/**", 0, 35), ("a/1500/t", 0, 4),
      ("*/x", 0, 4), ("b/c", 0, 2), ("a/1999/*", 0, 35), ("a/0/**", 0, 2), ("**/t", 33, 0),
    ] as [(PathPattern, Int, Int)])
  func `what cannot match is passed over`(pattern: PathPattern, perChild: Int, beside: Int) {
    var tree = PathTree()
    for child in 1000..<2000 {
      for name in ["t", "t/u", "t/u/v"] + (10..<40).map({ "s\($0)/x/y" }) {
        _ = tree.set(stored(PropertyPath(stringLiteral: "a/\(child)/\(name)"), child))
      }
    }
    var scan = PropertyScan(tree, matching: [pattern], after: nil)
    var budget = 1_000_000
    while !scan.isAtEnd { _ = scan.next(visiting: &budget) }
    let visits = 1_000_000 - budget
    #expect(visits <= perChild * 1000 + beside + 1)
  }
}
