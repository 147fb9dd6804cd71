// SPDX-License-Identifier: MIT
public import JSON
import Testing

@testable import signal_server

/// Messages of the server, as text.
enum Message {
  static func set(_ path: String, _ value: String, _ revision: Int, old: String? = nil, more: Bool = false) -> String {
    event("didSet", path, revision, value: value, old: old, more: more)
  }

  static func deleted(_ path: String, _ revision: Int, old: String? = nil, more: Bool = false) -> String {
    event("didDelete", path, revision, value: nil, old: old, more: more)
  }

  static func left(_ path: String, _ value: String?, _ revision: Int, old: String) -> String {
    event("didExit", path, revision, value: value, old: old, more: false, op: value == nil ? "delete" : "set")
  }

  static func expired(_ path: String, _ revision: Int, old: String? = nil, asExit: Bool = false) -> String {
    event(
      asExit ? "didExit" : "didExpire", path, revision, value: nil, old: old, more: false, op: asExit ? "expire" : nil)
  }

  static func live(_ revision: Int) -> String { #"{"type":"live","subscription":1,"revision":\#(revision)}"# }
  static func bookmark(_ revision: Int) -> String { #"{"type":"bookmark","subscription":1,"revision":\#(revision)}"# }
  static func hello(_ epoch: String) -> String { #"{"type":"hello","epoch":"\#(epoch)","revision":1,"limits":{}}"# }
  static let ok = #"{"id":1,"type":"ok","subscription":1,"revision":1}"#
  static let recovered = #"{"id":1,"type":"ok","subscription":1,"revision":1,"recovered":true}"#
  static let notRecovered = #"{"id":1,"type":"ok","subscription":1,"revision":1,"recovered":false}"#
  static let reset = #"{"type":"reset","subscription":1,"revision":1,"reason":"epoch"}"#

  private static func event(
    _ type: String, _ path: String, _ revision: Int, value: String?, old: String?, more: Bool, op: String? = nil
  ) -> String {
    var text = #"{"type":"\#(type)","subscription":1,"path":\#(JSONText(path))"#
    if let value { text += #","value":\#(value)"# }
    if let old { text += #","oldValue":\#(old)"# }
    if let op { text += #","op":"\#(op)""# }
    text += #","revision":\#(revision),"time":"2026-01-02T03:04:05.678Z""#
    return text + (more ? #","more":true}"# : "}")
  }
}

extension WatchFold {
  /// Takes messages as they come from the server; gives back what there is to print.
  fileprivate mutating func take(_ messages: [String]) throws -> [Line] {
    var lines: [Line] = []
    for text in messages {
      switch try ServerMessage(Array(text.utf8)) {
      case .hello(let epoch): begin(epoch: epoch)
      case .ok(let recovered): granted(recovered: recovered)
      case .change(let change): if let line = take(change) { lines.append(line) }
      case .live(let revision): lines += live(revision: revision)
      case .bookmark(let revision): bookmark(revision: revision)
      case .reset: reset()
      case .gap(let revision, _, _, let more): if !more { bookmark(revision: revision) }
      case .error, .signal, .other: break
      }
    }
    return lines
  }
}

extension JSONText: ExpressibleByIntegerLiteral {
  /// A number.
  public init(integerLiteral value: Int) { self.init(value) }
}

@Suite("What watch knows")
struct WatchFoldTests {
  static let first = [Message.hello("e"), Message.ok]

  @Test func `the cursor stays before a gap until its last event, and nothing of it is printed twice`()
    throws
  {
    var fold = WatchFold()
    #expect(
      try fold.take(
        Self.first + [
          Message.live(1), #"{"type":"gap","subscription":1,"from":2,"to":6,"count":3,"reason":"slow","more":true}"#,
          Message.set("a", "4", 4, more: true),
        ]) == [.set(path: "a", old: nil, new: 4, entered: false)])
    #expect(fold.cursor == "e.1")
    #expect(
      try fold.take(
        [
          Message.hello("e"), Message.recovered, Message.set("a", "2", 2), Message.set("a", "4", 4),
          Message.set("b", "6", 6), Message.live(6),
        ]) == [.set(path: "b", old: nil, new: 6, entered: false)])
    #expect(fold.cursor == "e.6")
    #expect(
      try fold.take([#"{"type":"gap","subscription":1,"from":7,"to":9,"count":2,"reason":"paced"}"#]) == [])
    #expect(fold.cursor == "e.9")
  }

  @Test func `the snapshot is the present state, changes follow`() throws {
    var fold = WatchFold()
    #expect(try fold.take(Self.first) == [])
    #expect(fold.cursor == nil)
    #expect(
      try fold.take([Message.set("a", "1", 3), Message.set("b", "2", 4)]) == [
        .present(path: "a", value: 1), .present(path: "b", value: 2),
      ])
    // A snapshot that is not complete is nothing to resume from.
    #expect(fold.cursor == nil)
    #expect(try fold.take([Message.live(7)]) == [])
    #expect(fold.cursor == "e.7")
    #expect(
      try fold.take([Message.set("a", "5", 8, old: "1"), Message.deleted("b", 9, old: "2")]) == [
        .set(path: "a", old: 1, new: 5, entered: false), .deleted(path: "b", old: 2),
      ])
    #expect(fold.cursor == "e.9")
    #expect(try fold.take([Message.bookmark(20)]) == [])
    #expect(fold.cursor == "e.20")
  }

  @Test func `an expiry is told as such, with or without a filter`() throws {
    var fold = WatchFold()
    _ = try fold.take([Message.hello("e"), Message.ok, Message.set("a", "1", 1), Message.live(1)])
    #expect(try fold.take([Message.expired("a", 2, old: "1")]) == [.expired(path: "a", old: 1)])
    #expect(fold.cursor == "e.2")
    #expect(try fold.take([Message.expired("b", 3, asExit: true)]) == [.expired(path: "b", old: nil)])
  }

  @Test func `a cursor is taken only from the last event of a transaction`() throws {
    var fold = WatchFold()
    _ = try fold.take(Self.first + [Message.live(1), Message.set("a", "1", 2, more: true)])
    #expect(fold.cursor == "e.1")
    _ = try fold.take([Message.set("b", "1", 2)])
    #expect(fold.cursor == "e.2")
  }

  @Test func `a transaction that was cut in two is not told twice`() throws {
    var fold = WatchFold()
    _ = try fold.take(Self.first + [Message.live(1), Message.set("a", "1", 2, more: true)])
    let again = try fold.take([
      Message.hello("e"), Message.recovered, Message.set("a", "1", 2, more: true), Message.set("b", "2", 2, more: true),
      Message.set("c", "3", 2), Message.live(2),
    ])
    #expect(
      again == [
        .set(path: "b", old: nil, new: 2, entered: false), .set(path: "c", old: nil, new: 3, entered: false),
      ])
    #expect(fold.cursor == "e.2")
  }

  @Test func `what was missed is told and moves the cursor`() throws {
    var fold = WatchFold(cursor: "e.5")
    let lines = try fold.take([Message.hello("e"), Message.recovered, Message.set("a", "1", 6)])
    #expect(lines == [.set(path: "a", old: nil, new: 1, entered: false)])
    #expect(fold.cursor == "e.6")
    #expect(try fold.take([Message.live(9)]) == [])
    #expect(fold.cursor == "e.9")
  }

  @Test func `after a reset only what differs is told, and what vanished is deleted`() throws {
    var fold = WatchFold()
    _ = try fold.take(
      Self.first + [
        Message.set("a", "1", 1), Message.set("b", "2", 1), Message.set("c", "3", 1), Message.set("d", "4", 1),
        Message.live(4),
      ])
    let lines = try fold.take([
      Message.hello("f"), Message.notRecovered, Message.reset, Message.set("a", "1", 1), Message.set("b", "20", 2),
      Message.set("x", "9", 3), Message.live(3),
    ])
    #expect(
      lines == [
        .set(path: "b", old: 2, new: 20, entered: false), .set(path: "x", old: nil, new: 9, entered: false),
        .deleted(path: "c", old: 3), .deleted(path: "d", old: 4),
      ])
    #expect(fold.cursor == "f.3")
  }

  @Test func `a cursor of the old epoch is kept until the new state is complete`() throws {
    var fold = WatchFold()
    _ = try fold.take(Self.first + [Message.set("a", "1", 1), Message.live(4)])
    _ = try fold.take([Message.hello("f"), Message.notRecovered, Message.reset, Message.set("b", "1", 1)])
    #expect(fold.cursor == "e.4")
    // The connection breaks within the snapshot: the next one begins again, and a is still known to be missing.
    let lines = try fold.take([
      Message.hello("f"), Message.notRecovered, Message.reset, Message.set("b", "1", 1), Message.live(2),
    ])
    #expect(lines == [.deleted(path: "a", old: 1)])
  }

  @Test func `revisions of two epochs are not taken for the same`() throws {
    var fold = WatchFold()
    _ = try fold.take(Self.first + [Message.live(1), Message.set("a", "1", 2)])
    let lines = try fold.take([
      Message.hello("f"), Message.notRecovered, Message.reset, Message.live(1), Message.set("a", "5", 2),
    ])
    #expect(lines == [.deleted(path: "a", old: 1), .set(path: "a", old: nil, new: 5, entered: false)])
  }

  @Test func `a snapshot that broke off is told once`() throws {
    var fold = WatchFold()
    _ = try fold.take(Self.first + [Message.set("a", "1", 1)])
    let lines = try fold.take([
      Message.hello("e"), Message.ok, Message.set("a", "1", 1), Message.set("b", "2", 2), Message.live(2),
    ])
    #expect(lines == [.present(path: "b", value: 2)])
  }

  @Test func `through a state filter, what vanished has left`() throws {
    var fold = WatchFold(filter: .state)
    _ = try fold.take(Self.first + [Message.set("a", "1", 1), Message.live(1)])
    let lines = try fold.take([Message.hello("f"), Message.notRecovered, Message.reset, Message.live(1)])
    #expect(lines == [.left(path: "a", old: 1, new: nil)])
  }

  @Test(arguments: [WatchFold.Filter.stateWithoutExit, .transition])
  func `where leaving means nothing, vanishing is not told`(filter: WatchFold.Filter) throws {
    var fold = WatchFold(filter: filter)
    _ = try fold.take(Self.first + [Message.set("a", "1", 1), Message.live(1)])
    #expect(try fold.take([Message.hello("f"), Message.notRecovered, Message.reset, Message.live(1)]) == [])
  }

  @Test func `leaving is told with the value it left for, if any`() throws {
    var fold = WatchFold(filter: .state)
    _ = try fold.take(Self.first + [Message.set("a", "1", 1), Message.set("b", "2", 1), Message.live(1)])
    let lines = try fold.take([Message.left("a", "0", 2, old: "1"), Message.left("b", nil, 3, old: "2")])
    #expect(lines == [.left(path: "a", old: 1, new: 0), .deleted(path: "b", old: 2)])
    // What has left is not missed later.
    #expect(try fold.take([Message.hello("f"), Message.notRecovered, Message.reset, Message.live(1)]) == [])
  }

  @Test func `without the present state nothing is told before a change`() throws {
    var fold = WatchFold(initial: false)
    #expect(try fold.take(Self.first + [Message.live(5)]) == [])
    #expect(try fold.take([Message.set("a", "2", 6, old: "1")]) == [.set(path: "a", old: 1, new: 2, entered: false)])
    // After a reset the state comes even so, and what was never told is told.
    let lines = try fold.take([
      Message.hello("f"), Message.notRecovered, Message.reset, Message.set("a", "2", 1), Message.set("b", "3", 1),
      Message.live(1),
    ])
    #expect(lines == [.set(path: "b", old: nil, new: 3, entered: false)])
  }

  @Test func `paths that differ only in composition are two properties`() throws {
    var fold = WatchFold()
    let lines = try fold.take(Self.first + [Message.set("caf\u{E9}", "1", 1), Message.set("cafe\u{301}", "2", 1)])
    #expect(lines.count == 2)
    _ = try fold.take([Message.live(1)])
    let vanished = try fold.take([
      Message.hello("f"), Message.notRecovered, Message.reset, Message.set("caf\u{E9}", "1", 1), Message.live(1),
    ])
    #expect(vanished == [.deleted(path: "cafe\u{301}", old: 2)])
  }

  @Test func `without memory of the state a snapshot is told whole each time`() throws {
    var fold = WatchFold(keepsState: false)
    _ = try fold.take(Self.first + [Message.set("a", "1", 1), Message.live(1)])
    let lines = try fold.take([
      Message.hello("f"), Message.notRecovered, Message.reset, Message.set("a", "1", 1), Message.live(1),
    ])
    #expect(lines.count == 1)
  }

  @Test func `the fold of any sequence of breaks is the state of the server`() throws {
    // A server that is a dictionary, a client whose connection breaks at random, sometimes with a new epoch.
    var generator = SplitMix(state: 0xF01D)
    for round in 0..<300 {
      var fold = WatchFold()
      var shown: [String: JSONText] = [:]
      var state: [String: (value: Int, revision: Int)] = [:]
      var log: [(revision: Int, message: String)] = []
      var revision = 1
      var epoch = 0
      for _ in 0..<6 {
        var messages = [Message.hello("e\(epoch)")]
        let parts = fold.cursor?.split(separator: ".")
        if let parts, parts[0] == "e\(epoch)" {
          messages.append(Message.recovered)
          messages += log.filter { $0.revision > Int(parts[1])! }.map(\.message)
        } else {
          messages += fold.cursor == nil ? [Message.ok] : [Message.notRecovered, Message.reset]
          messages += state.sorted { $0.key < $1.key }.map {
            Message.set($0.key, "\($0.value.value)", $0.value.revision)
          }
        }
        messages.append(Message.live(revision))
        for _ in 0..<Int.random(in: 0..<6, using: &generator) {
          revision += 1
          var paths = ["a", "b", "c", "d"].shuffled(using: &generator).prefix(Int.random(in: 1...3, using: &generator))
          while let path = paths.popFirst() {
            let more = !paths.isEmpty
            let message: String
            if state[path] != nil, Bool.random(using: &generator) {
              message = Message.deleted(path, revision, old: "\(state[path]!.value)", more: more)
              state[path] = nil
            } else {
              let value = Int.random(in: 0..<3, using: &generator)
              message = Message.set(path, "\(value)", revision, old: state[path].map { "\($0.value)" }, more: more)
              state[path] = (value, revision)
            }
            messages.append(message)
            log.append((revision, message))
          }
        }
        // The last connection is read to its end, the others break anywhere.
        let isLast = epoch >= 2 && Bool.random(using: &generator)
        let end = isLast ? messages.count : Int.random(in: 0...messages.count, using: &generator)
        for line in try fold.take(Array(messages[..<end])) {
          switch line {
          case .present(let path, let value), .set(let path, _, let value, _): shown[path] = value
          case .deleted(let path, let old):
            #expect(shown[path] == old, "round \(round)")
            shown[path] = nil
          case .left, .expired, .signal: Issue.record("nothing of that can be here, round \(round)")
          }
        }
        if end == messages.count {
          #expect(shown == state.mapValues { JSONText($0.value) }, "round \(round)")
        }
        if Int.random(in: 0..<3, using: &generator) == 0 {
          // The server restarts, empty.
          epoch += 1
          revision = 1
          state = [:]
          log = []
        }
      }
    }
  }
}
