// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore
import Synchronization
import TestSupport
import Testing

@testable import SignalHTTP

@Suite struct FilterIndexTests {
  private static func filter(_ source: String) throws -> Filter { try Filter(source, limits: CELLimits()) }

  /// Groups by number, one for each expression, with the candidates for a value.
  private struct Bench {
    let filters: [Filter]
    var index = FilterIndex()
    /// Those that no conjunct can find.
    var unindexed: Set<Int> = []

    init(_ sources: [String]) throws {
      filters = try sources.map(FilterIndexTests.filter)
      for (group, filter) in filters.enumerated() {
        if let conjunct = FilterIndex.conjunct(of: filter) {
          index.insert(group, conjunct)
        } else {
          unindexed.insert(group)
        }
      }
    }

    func candidates(_ path: PropertyPath, _ value: String?) throws -> [Int] {
      let tree = try value.map { JSONTree(try JSONText(validating: $0)) }
      var found: [Int] = []
      index.forEachCandidate(path: path, value: tree) { found.append($0) }
      return found.sorted()
    }
  }

  @Test func `of ten thousand thresholds those that are passed are found`() throws {
    let bench = try Bench((0..<10_000).map { "value > \($0).0" })
    #expect(bench.unindexed.isEmpty)
    // Ten are below 9.5; 10 itself is found for 10, and only the filter knows that it does not hold.
    #expect(try bench.candidates("a", "9.5") == Array(0...9))
    #expect(try bench.candidates("a", "10") == Array(0...10))
    #expect(try bench.candidates("a", "-1").isEmpty)
    #expect(try bench.candidates("a", #""9""#).isEmpty)
    #expect(try bench.candidates("a", nil).isEmpty)
  }

  @Test(arguments: [
    (#"value < 5.0"#, "4", "6"), (#"value <= 5"#, "5.0", "5.5"), (#"value == 5"#, "5.0", "6"),
    (#"value == "x""#, #""x""#, #""y""#), (#"value == null"#, "null", "0"), (#"value == true"#, "true", "false"),
    (#"value in [1, 2, 3]"#, "3.0", "4"), (#"value.mode == "heat""#, #"{"mode":"heat"}"#, #"{"mode":"cool"}"#),
    (#"value.a.b >= 2.0"#, #"{"a":{"b":2}}"#, #"{"a":{"c":2}}"#),
    (#"value.a == 1 && value.b > 2.0"#, #"{"a":1}"#, "{}"),
  ])
  func `a comparison of the value, or of what is in it, is looked up`(_ source: String, found: String, not: String)
    throws
  {
    let bench = try Bench([source])
    #expect(bench.unindexed.isEmpty)
    #expect(try bench.candidates("a", found) == [0])
    #expect(try bench.candidates("a", not).isEmpty)
  }

  @Test func `a path is looked up, whole and by its beginning`() throws {
    let bench = try Bench([#"path == "a/b""#, #"path.startsWith("a/")"#, #"path.startsWith("")"#])
    #expect(try bench.candidates("a/b", "1") == [0, 1, 2])
    #expect(try bench.candidates("a/c", "1") == [1, 2])
    #expect(try bench.candidates("b", nil) == [2])
  }

  @Test func `what is not there is null`() throws {
    #expect(try Bench(["value == null"]).candidates("a", nil) == [0])
    #expect(try Bench(["value.x == null"]).candidates("a", nil).isEmpty)
  }

  @Test(arguments: [
    "value > oldValue", "value > 1.0 || value < 0.0", "!(value > 1.0)", #"value.endsWith("x")"#, "true",
  ])
  func `what cannot be looked up is asked each time`(_ source: String) throws {
    #expect(try Bench([source]).unindexed == [0])
  }

  @Test(arguments: [
    ("value == 5", true), (#"value.mode in ["heat", "cool"]"#, true), (#"path.startsWith("a/")"#, true),
    ("value.on", true), ("value == 5 && true", true), ("value > 5.0", false), ("value == 5 && value.x == 1", false),
    ("value == 9007199254740993", false), ("value == 5 && value != oldValue", false),
  ])
  func `a filter that is one comparison with constants holds where it is found`(_ source: String, _ decides: Bool)
    throws
  {
    let filter = try Self.filter(source)
    let conjunct = try #require(FilterIndex.conjunct(of: filter))
    #expect(FilterIndex.decides(filter, by: conjunct) == decides)
  }

  @Test func `what is found says for which of the two values it holds`() throws {
    var filters = IndexedFilters()
    for (group, source) in ["value == 1", "value == 2", "value < 3.0"].enumerated() {
      let filter = try Self.filter(source)
      let conjunct = try #require(FilterIndex.conjunct(of: filter))
      _ = filters.insert(group, filter, conjunct, for: ["**"])
    }
    let store = PropertyStore()
    let log = Mutex<[Change]>([])
    let token = store.changes.subscribe { commit in log.withLock { $0 += commit } }
    for value in [1, 2, 2, 7] { try store.set("a", JSONText(value), always: true) }
    try store.delete("a")
    token.cancel()
    let found = log.withLock { $0 }.map { change in
      var filtered = FilteredChange(change)
      var candidates: [Candidate] = []
      filters.addCandidates(0, &filtered, to: &candidates)
      return candidates.map { "\($0.group)\($0.verdict.map { " old \($0.old) new \($0.new)" } ?? "")" }.sorted()
    }
    #expect(
      found == [
        ["0 old false new true", "2"],
        ["0 old true new false", "1 old false new true", "2"],
        ["1 old true new true", "2"],
        ["1 old true new false", "2"],
        [],
      ])
  }

  @Test(arguments: 0..<30 as Range<UInt64>)
  func `whatever holds is found, also after others have gone`(seed: UInt64) throws {
    var random = SplitMix(state: seed)
    func scalar() -> String {
      [
        "\(Int.random(in: -3...3, using: &random))", "\(Int.random(in: -3...3, using: &random)).5", #""a""#, #""ab""#,
        "null", "true",
      ]
      .randomElement(using: &random) ?? ""
    }
    func atom() -> String {
      let subject = ["value", "value.x", "value.y.z", "path"].randomElement(using: &random) ?? ""
      switch Int.random(in: 0..<6, using: &random) {
      case 0: return "\(subject) == \(scalar())"
      case 1: return "\(subject) in [\(scalar()), \(scalar())]"
      case 2: return #"\#(subject).startsWith("\#(["", "a", "ab"].randomElement(using: &random) ?? "")")"#
      case 3: return "oldValue == \(scalar())"
      default:
        let sign = ["<", "<=", ">", ">="].randomElement(using: &random) ?? ""
        return "dyn(\(subject)) \(sign) \(Int.random(in: -3...3, using: &random)).0".replacing(
          "dyn(value)", with: "value")
      }
    }
    func value() -> String {
      [scalar(), #"{"x":\#(scalar())}"#, #"{"x":\#(scalar()),"y":{"z":\#(scalar())}}"#, "[]"].randomElement(
        using: &random) ?? ""
    }
    var sources: [String] = []
    while sources.count < 80 {
      let source = (0...Int.random(in: 0...2, using: &random)).map { _ in atom() }.joined(separator: " && ")
      if (try? Self.filter(source)) != nil { sources.append(source) }
    }
    var bench = try Bench(sources)
    for group in 0..<40 {
      guard let conjunct = FilterIndex.conjunct(of: bench.filters[group]) else { continue }
      bench.index.remove(group, conjunct)
    }
    func isDecided(_ group: Int) -> Bool {
      let filter = bench.filters[group]
      return FilterIndex.conjunct(of: filter).map { FilterIndex.decides(filter, by: $0) } ?? false
    }
    var held = 0
    var decided = 0
    for _ in 0..<200 {
      let path: PropertyPath = Bool.random(using: &random) ? "a" : "ab"
      let text = value()
      let store = PropertyStore()
      try store.set(path, JSONText(validating: text))
      let stored = try #require(store.get(path))
      let found = Set(try bench.candidates(path, text))
      var work = 0
      #expect(found.isDisjoint(with: 0..<40))
      for group in 40..<80 where bench.filters[group].holds(forStored: stored, work: &work) {
        held += 1
        #expect(found.contains(group) || bench.unindexed.contains(group), "\(sources[group]) for \(path) = \(text)")
      }
      for group in 40..<80 where isDecided(group) && found.contains(group) {
        decided += 1
        #expect(bench.filters[group].holds(forStored: stored, work: &work), "\(sources[group]) for \(path) = \(text)")
      }
    }
    #expect(held > 0 && decided > 0)
    for group in 40..<80 {
      guard let conjunct = FilterIndex.conjunct(of: bench.filters[group]) else { continue }
      bench.index.remove(group, conjunct)
    }
    #expect(bench.index.isEmpty)
  }
}
