// SPDX-License-Identifier: MIT

import Testing

@testable import SignalStore

/// What matching means, straight from its definition, with no regard to cost beyond a table.
struct ReferenceMatcher {
  let pattern: [String]
  let path: [String]

  var isMatch: Bool {
    var table = Array(repeating: Array(repeating: false, count: path.count + 1), count: pattern.count + 1)
    table[pattern.count][path.count] = true
    for rest in stride(from: pattern.count - 1, through: 0, by: -1) {
      for left in stride(from: path.count, through: 0, by: -1) {
        switch pattern[rest] {
        case "**": table[rest][left] = table[rest + 1][left] || (left < path.count && table[rest][left + 1])
        case "*": table[rest][left] = left < path.count && table[rest + 1][left + 1]
        default: table[rest][left] = left < path.count && pattern[rest] == path[left] && table[rest + 1][left + 1]
        }
      }
    }
    return table[0][0]
  }

  static func matches(_ pattern: String, _ path: String) -> Bool {
    let split = { (text: String) in text.split(separator: "/", omittingEmptySubsequences: false).map(String.init) }
    return ReferenceMatcher(pattern: split(pattern), path: split(path)).isMatch
  }
}

@Suite struct PathPatternTests {
  @Test func `patterns overlap, and cover one another, as the paths do that match them`() throws {
    let segments = ["a", "b", "*", "**"]
    var patterns: [[String]] = segments.map { [$0] }
    for _ in 0..<2 { patterns += patterns.flatMap { pattern in segments.map { pattern + [$0] } } }
    // What patterns of three segments have in common has a path of six, if any.
    var paths: [[String]] = [["a"], ["b"], ["c"]]
    var longer = paths
    for _ in 0..<4 {
      longer = longer.flatMap { path in ["a", "b", "c"].map { path + [$0] } }
      paths += longer
    }
    let all = Set(patterns.map { $0.joined(separator: "/") }).sorted()
    let sample = all.enumerated().filter { $0.offset % 3 == 0 }.map(\.element)
    let matches = try sample.map { text in
      let pattern = try PathPattern(text)
      return Set(
        paths.indices.filter { pattern.matches(PropertyPath(stringLiteral: paths[$0].joined(separator: "/"))) })
    }
    for (first, one) in zip(sample, matches) {
      for (second, other) in zip(sample, matches) {
        let (first, second) = (try PathPattern(first), try PathPattern(second))
        #expect(first.overlaps(second) == !one.isDisjoint(with: other), "\(first) \(second)")
        let matchesAll = one.isSuperset(of: other)
        // Of a "**" not everything is found out.
        let isFound = first.covers(second) || second.description.contains("**")
        #expect(matchesAll ? isFound : !first.covers(second), "\(first) \(second)")
      }
    }
  }

  @Test(
    arguments: [
      ("a", "a", true), ("a", "b", false), ("a", "a/b", false), ("a/b", "a", false), ("a/b", "a/b", true),
      ("*", "a", true), ("*", "a/b", false), ("a/*", "a", false), ("a/*", "a/b", true), ("a/*", "a/b/c", false),
      ("a/*", "ab/c", false), ("a/*/c", "a/b/c", true), ("a/*/c", "a/b/d", false), ("*/*", "a/b", true),
      ("**", "a", true), ("**", "a/b/c", true), ("a/**", "a", true), ("a/**", "a/b", true), ("a/**", "a/b/c", true),
      ("a/**", "ab", false), ("a/**", "b", false), ("**/c", "c", true), ("**/c", "a/b/c", true), ("**/c", "a/b", false),
      ("a/**/c", "a/c", true), ("a/**/c", "a/b/c", true), ("a/**/c", "a/b/c/d", false),
      ("**/a/**/b/**", "x/a/y/b/z", true), ("**/a/**/b/**", "b/a", false), ("**/a/**/b/**", "a/b", true),
      ("a/**/*", "a", false), ("a/**/*", "a/b", true), ("a/*/**", "a/b/c", true), ("**/*/c", "c", false),
      ("***", "***", true), ("***", "a", false), ("a*", "ab", false), ("a*", "a*", true), ("*a/b", "*a/b", true),
    ] as [(String, String, Bool)])
  func `a pattern matches what its wildcards stand for`(pattern: String, path: String, isMatch: Bool) throws {
    #expect(try PathPattern(pattern).matches(PropertyPath(path)) == isMatch)
    #expect(ReferenceMatcher.matches(pattern, path) == isMatch)
  }

  @Test func `matching agrees with its definition`() {
    var generator = StoreGenerator(seed: 3)
    var matches = 0
    for _ in 0..<20_000 {
      let text = generator.patternText()
      let path = generator.path()
      let isMatch = ReferenceMatcher.matches(text, path.description)
      #expect(PathPattern(stringLiteral: text).matches(path) == isMatch, "\(text) on \(path)")
      if isMatch { matches += 1 }
    }
    #expect(matches > 1000)
  }

  @Test func `many wildcards on a long path take no more than segments times segments`() throws {
    let limits = PathLimits(depth: 2000, bytes: 8000)
    let pattern = try PathPattern(
      Array(repeating: "**/a", count: 999).joined(separator: "/") + "/b", limits: limits)
    let path = try PropertyPath(Array(repeating: "a", count: 2000).joined(separator: "/"), limits: limits)
    #expect(!pattern.matches(path))
  }

  @Test(
    arguments: [
      ("", PathError.empty), ("a//b", .emptySegment), ("**/", .emptySegment), ("a/..", .dotSegment),
      ("*\n", .controlCharacter), (String(repeating: "x", count: 256), .segmentTooLong(limit: 255)),
      (Array(repeating: "*", count: 33).joined(separator: "/"), .tooDeep(limit: 32)),
      (Array(repeating: String(repeating: "x", count: 204), count: 6).joined(separator: "/"), .tooLong(limit: 1024)),
    ] as [(String, PathError)])
  func `text that breaks a rule of paths is no pattern`(text: String, reason: PathError) {
    #expect(throws: reason) { try PathPattern(text) }
    #expect(throws: reason) { try PathPattern(bytes: Array(text.utf8).span) }
  }

  @Test func `bytes that are not UTF-8 are no pattern`() {
    #expect(throws: PathError.invalidUTF8) { try PathPattern(bytes: ([0x2A, 0x2F, 0xFF] as [UInt8]).span) }
  }

  @Test(
    arguments: [
      ("**/**", "**"), ("**/*", "**"), ("*/**", "**"), ("a/**/*", "a/*/**"), ("a/**/*/**/*/b", "a/*/*/**/b"),
      ("*/**/a/**/*", "*/**/a/*/**"), ("a/*", "a/*"),
      ("**/***/**", "**/***/**"),
    ] as [(String, String)])
  func `a run of wildcards is kept in one form`(text: String, normal: String) throws {
    #expect(try PathPattern(text).description == normal)
    #expect(try PathPattern(text) == PathPattern(normal))
    #expect(try PathPattern(text).hashValue == PathPattern(normal).hashValue)
  }

  @Test func `patterns that match the same paths are equal`() {
    let segments = ["a", "*", "**"]
    var texts: [String] = segments
    for _ in 0..<2 { texts += texts.flatMap { text in segments.map { text + "/" + $0 } } }
    var paths = ["a", "b"]
    for _ in 0..<4 { paths += paths.flatMap { [$0 + "/a", $0 + "/b"] } }
    let all = Set(paths).sorted()
    var byMatches: [[Bool]: PathPattern] = [:]
    for text in texts {
      let pattern = PathPattern(stringLiteral: text)
      let matches = all.map { pattern.matches(PropertyPath(stringLiteral: $0)) }
      #expect(byMatches[matches, default: pattern] == pattern, "\(text)")
      byMatches[matches] = pattern
    }
  }

  @Test(
    arguments: [
      ("a", "a", true), ("a/b", "a/b", true), ("a/*", "a", false), ("a/b/**", "a/b", false), ("a/b/*/c", "a/b", false),
      ("*", nil, false), ("**/a", nil, false), ("a*/b", "a*/b", true),
    ] as [(String, String?, Bool)])
  func `the literal prefix ends before the first wildcard`(text: String, prefix: String?, isLiteral: Bool) throws {
    let pattern = try PathPattern(text)
    #expect(pattern.literalPrefix?.description == prefix)
    #expect(pattern.isLiteral == isLiteral)
  }

  @Test func `the pattern of a path matches that path alone`() {
    let pattern = PathPattern("a/b" as PropertyPath)
    #expect(pattern.isLiteral)
    #expect(pattern.matches("a/b"))
    #expect(!pattern.matches("a/b/c"))
    #expect(pattern == "a/b")
  }

  @Test func `a literal that is no pattern stops the program`() async {
    await #expect(processExitsWith: .failure) {
      _ = "a//*" as PathPattern
    }
  }

  /// A step may not pass over a match, and it has to lead forward.
  @Test func `a step of a scan passes over no match`() {
    var generator = StoreGenerator(seed: 5)
    var paths = Set<PropertyPath>()
    while paths.count < 300 { paths.insert(generator.path(depth: 4)) }
    let ordered = paths.sorted()
    var seeks = 0
    for _ in 0..<300 {
      let pattern = generator.pattern()
      for (index, path) in ordered.enumerated() {
        var bound: [UInt8] = []
        let step = pattern.step(after: path.bytes.span, bound: &bound)
        let skipped: ArraySlice<PropertyPath>
        switch step {
        case .next: continue
        case .end: skipped = ordered[(index + 1)...]
        case .seek:
          seeks += 1
          #expect(isBefore(path, bound), "\(pattern) after \(path)")
          skipped = ordered[(index + 1)...].prefix { isBefore($0, bound) }
        }
        #expect(!skipped.contains { pattern.matches($0) }, "\(pattern) after \(path)")
      }
    }
    #expect(seeks > 1000)
  }

  private func isBefore(_ path: PropertyPath, _ bound: [UInt8]) -> Bool {
    path.isBefore(bound.span, from: 0)
  }
}
