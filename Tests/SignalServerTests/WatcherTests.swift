// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP
import SignalStore
import Testing

@testable import signal_server

/// Connections that play a script, and what a client did with them.
final class Theatre {
  /// One thing that a connection does when it is read.
  enum Act {
    case says(String)
    case isSilent
    case ends(LinkFailure)
  }

  private final class Link: LiveLink {
    let theatre: Theatre
    var acts: ArraySlice<Act>

    init(_ theatre: Theatre, _ acts: [Act]) {
      self.theatre = theatre
      self.acts = acts[...]
    }

    func send(_ message: [UInt8]) { theatre.sent.append(String(decoding: message, as: UTF8.self)) }

    func receive(within timeout: Duration) throws(LinkFailure) -> [UInt8]? {
      switch acts.popFirst() {
      case .says(let text): return Array(text.utf8)
      case .isSilent: return nil
      case .ends(let failure): throw failure
      case nil: throw .closed(code: CloseCode(rawValue: 1000), reason: "the script is over")
      }
    }
  }

  var connections: [Result<[Act], LinkFailure>]
  var sent: [String] = []
  var printed: [String] = []
  var complaints: [String] = []
  var slept: [Duration] = []
  var notes: [String?] = []

  init(_ connections: [Result<[Act], LinkFailure>]) { self.connections = connections }

  var surroundings: Watcher.Surroundings {
    .init(
      connect: { () throws(LinkFailure) in
        let next =
          self.connections.isEmpty ? .failure(.refused(status: 404, text: "no more")) : self.connections.removeFirst()
        return Link(self, try next.get())
      },
      print: { self.printed.append(String(decoding: $0, as: UTF8.self)) },
      complain: { self.complaints.append($0) },
      sleep: { self.slept.append($0) },
      random: { 1 },
      note: { self.notes.append($0) })
  }

  /// Watches until the end; gives back how it failed, if it did.
  func watch(_ command: SubscribeCommand, output: Watcher.Output = .lines(), count: Int? = nil) -> Failure? {
    var watcher = Watcher(command, output: output, count: count, in: surroundings)
    do {
      try watcher.run()
      return nil
    } catch {
      return error
    }
  }
}

extension String {
  /// An event with the cursor that `watch --json` adds.
  fileprivate func with(cursor: String) -> String { dropLast() + #","cursor":"\#(cursor)"}"# }
}

private let subscribed = [Message.hello("e"), Message.ok].map(Theatre.Act.says)

@Suite("watch over connections that break")
struct WatcherTests {
  private let all = SubscribeCommand(patterns: ["**"])

  @Test func `it ends after the count`() {
    let theatre = Theatre([
      .success(subscribed + [Message.set("a", "1", 1), Message.set("b", "2", 1), Message.live(2)].map { .says($0) })
    ])
    #expect(theatre.watch(all, count: 2) == nil)
    #expect(theatre.printed == ["a  1", "b  2"])
    #expect(theatre.sent == [#"{"id":1,"type":"subscribe","match":["**"]}"#])
  }

  @Test func `as events it prints what came, and nothing twice`() {
    let cut = Message.set("a", "1", 3, more: true)
    let theatre = Theatre([
      .success(subscribed + [.says(Message.live(2)), .says(cut), .ends(.broken("gone"))]),
      .success(
        [Message.hello("e"), Message.recovered, cut, Message.set("b", "1", 3), Message.live(3)].map { .says($0) }),
    ])
    #expect(theatre.watch(all, output: .events, count: 2) == nil)
    #expect(
      theatre.printed == [
        Message.live(2).with(cursor: "e.2"), cut, Message.set("b", "1", 3).with(cursor: "e.3"),
      ])
    #expect(theatre.sent.last == #"{"id":1,"type":"subscribe","match":["**"],"since":"e.2"}"#)
  }

  @Test func `as events a reset and the new state are passed on`() {
    let again = [Message.reset, Message.set("a", "1", 1), Message.live(1), Message.bookmark(2)]
    let theatre = Theatre([
      .success(subscribed + [.says(Message.set("a", "1", 1)), .says(Message.live(2)), .ends(.broken("gone"))]),
      .success(([Message.hello("f"), Message.notRecovered] + again).map { .says($0) }),
    ])
    _ = theatre.watch(all, output: .events)
    let first = [Message.set("a", "1", 1), Message.live(2).with(cursor: "e.2")]
    let last = [Message.live(1).with(cursor: "f.1"), Message.bookmark(2).with(cursor: "f.2")]
    #expect(theatre.printed == first + again.prefix(2) + last)
  }

  @Test func `the cursors of events are those to resume from, and no others`() {
    let gap = #"{"type":"gap","subscription":1,"from":4,"to":9,"count":3,"reason":"slow","#
    let messages = [
      Message.set("a", "1", 1), Message.live(2), Message.set("a", "2", 3, more: true), Message.set("b", "2", 3),
      gap + #""more":true}"#, Message.set("a", "3", 9), gap + #""more":false}"#,
    ]
    let theatre = Theatre([.success(subscribed + messages.map { .says($0) })])
    _ = theatre.watch(all, output: .events)
    let cursors = theatre.printed.map { $0.firstMatch(of: /"cursor":"([^"]*)"/).map { String($0.1) } }
    #expect(cursors == [nil, "e.2", nil, "e.3", nil, "e.9", "e.9"])
    #expect(theatre.notes.last == "e.9")
  }

  @Test func `the lines of a snapshot are aligned from the first, and those of a person tell cursor and gaps`() {
    let paced = #"{"type":"gap","subscription":1,"from":4,"to":9,"count":1,"reason":"paced","more":true}"#
    let slow = #"{"type":"gap","subscription":1,"from":10,"to":12,"count":3,"reason":"slow"}"#
    let messages = [
      Message.set("a", "1", 1), Message.set("long/path", "22", 2), Message.live(2), paced,
      Message.set("a", "3", 9, old: "1"), slow,
    ]
    for (tellsAll, complaints) in [
      (
        true,
        ["live at cursor e.2", "1 change left out, as asked for", "too slow for all changes: 3 changes left out"]
      ),
      (false, ["too slow for all changes: 3 changes left out"]),
    ] {
      let theatre = Theatre([.success(subscribed + messages.map { .says($0) })])
      _ = theatre.watch(all, output: .lines(tellsAll: tellsAll))
      #expect(theatre.printed == ["a          1", "long/path  22", "a          1   → 3"])
      #expect(theatre.complaints == complaints)
    }
  }

  @Test func `what waits for its alignment is printed when the connection breaks, and when it is much`() {
    let theatre = Theatre([.success(subscribed + [.says(Message.set("a", "1", 1)), .ends(.broken("gone"))])])
    _ = theatre.watch(all)
    #expect(theatre.printed == ["a  1"])
    let many = (0...600).map { Message.set("\($0)", "1", 1) }
    let endless = Theatre([.success(subscribed + many.map { .says($0) })])
    var watcher = Watcher(all, output: .lines(), count: 501, in: endless.surroundings)
    #expect(throws: Never.self) { try watcher.run() }
    #expect(endless.printed.count == 501)
  }

  @Test func `the first connection has to succeed`() {
    let theatre = Theatre([.failure(.broken("cannot reach http://x: Connection refused"))])
    #expect(theatre.watch(all) == Failure(.unreachable, "cannot reach http://x: Connection refused"))
    #expect(theatre.slept.isEmpty)
  }

  @Test func `an upgrade that is refused ends it`() {
    let theatre = Theatre([.failure(.refused(status: 403, text: "Forbidden: no"))])
    #expect(theatre.watch(all) == Failure(.refused, "Forbidden: no"))
  }

  @Test func `a subscription that is refused ends it with title and detail`() {
    let error =
      #"{"id":1,"type":"error","error":{"code":"bad_filter","title":"Bad filter","detail":"at 3","temporary":false}}"#
    let theatre = Theatre([.success([.says(Message.hello("e")), .says(error)])])
    #expect(theatre.watch(all) == Failure(.refused, "Bad filter: at 3"))
  }

  @Test(
    arguments: [
      .broken("the connection broke"), .refused(status: 503, text: "Draining"), .refused(status: 502, text: "Gateway"),
      .closed(code: CloseCode(rawValue: 1001), reason: "bye"),
      .closed(code: CloseCode(rawValue: 4008), reason: ""), .closed(code: CloseCode(rawValue: 4399), reason: ""),
    ] as [LinkFailure])
  func `once there, it comes back after what invites to`(failure: LinkFailure) {
    let theatre = Theatre([
      .success(subscribed + [.says(Message.live(2)), .ends(failure)]),
      .failure(.broken("cannot reach")),
      .success([.says(Message.hello("e")), .says(Message.recovered), .says(Message.set("a", "1", 3))]),
    ])
    #expect(theatre.watch(all, count: 1) == nil)
    #expect(theatre.printed == ["a    → 1"])
    #expect(theatre.complaints.count == 1)
  }

  @Test(
    arguments: [
      .refused(status: 403, text: "Forbidden"), .closed(code: CloseCode(rawValue: 1000), reason: ""),
      .closed(code: CloseCode(rawValue: 1008), reason: "no"),
      .closed(code: CloseCode(rawValue: 4400), reason: ""), .closed(code: CloseCode(rawValue: 4000 - 1), reason: ""),
    ] as [LinkFailure])
  func `it does not come back after anything else`(failure: LinkFailure) {
    let theatre = Theatre([
      .success(subscribed + [.says(Message.live(2)), .ends(failure)]),
      .success(subscribed),
    ])
    #expect(theatre.watch(all) == Failure(.refused, failure.text))
    #expect(theatre.connections.count == 1)
  }

  @Test func `waits grow until all is well again`() {
    let broken = Result<[Theatre.Act], LinkFailure>.failure(.broken("no"))
    let well = Result<[Theatre.Act], LinkFailure>.success(subscribed + [.says(Message.live(2)), .ends(.broken("no"))])
    let theatre = Theatre([well, broken, broken, well, broken])
    _ = theatre.watch(all)
    let expected = [250, 500, 1000, 250, 500].map { Duration.milliseconds($0) }
    #expect(theatre.slept == expected)
    #expect(theatre.complaints == ["no; reconnecting", "connected again", "no; reconnecting"])
  }

  @Test func `after too slow it comes back at once`() {
    let theatre = Theatre([
      .success(subscribed + [.says(Message.live(2)), .ends(.closed(code: CloseCode(rawValue: 4008), reason: ""))]),
      .success(subscribed + [.says(Message.live(2)), .says(Message.set("a", "1", 3))]),
    ])
    #expect(theatre.watch(all, count: 1) == nil)
    #expect(theatre.slept.isEmpty)
  }

  @Test func `a silent server is asked once, then left`() {
    let theatre = Theatre([
      .success(subscribed + [.says(Message.live(2)), .isSilent, .says(#"{"id":0,"type":"ok"}"#), .isSilent, .isSilent])
    ])
    _ = theatre.watch(all)
    #expect(theatre.sent.dropFirst() == [#"{"id":0,"type":"ping"}"#, #"{"id":0,"type":"ping"}"#])
    #expect(theatre.complaints == ["the server does not answer; reconnecting"])
  }

  @Test func `a filter on the change is asked for without exits`() {
    let refusal = #"{"id":1,"type":"error","error":{"code":"exit_needs_state_filter","title":"T","detail":"D"}}"#
    let theatre = Theatre([
      .success(
        [Message.hello("e"), refusal, Message.ok, Message.live(1), Message.set("a", "1", 2)].map { .says($0) }
          + [.ends(.broken("no"))]),
      .success(
        [Message.hello("f"), Message.notRecovered, Message.reset, Message.live(1), Message.set("b", "1", 2)].map {
          .says($0)
        }),
    ])
    let command = SubscribeCommand(patterns: ["a/*", "b"], filter: "oldValue == \"x\"", oldValue: false)
    #expect(theatre.watch(command, count: 2) == nil)
    let common = #""type":"subscribe","match":["a/*","b"],"where":"oldValue == \"x\"","oldValue":false"#
    #expect(
      theatre.sent == [
        "{\"id\":1,\(common),\"exit\":true}", "{\"id\":2,\(common)}", "{\"id\":1,\(common),\"since\":\"e.2\"}",
      ])
    #expect(theatre.printed == ["a    → 1", "b    → 1"])
  }

  @Test func `delivery is asked for as it was written`() {
    var command = SubscribeCommand(patterns: ["a"])
    command.mode = "latest"
    command.maxRate = 2
    command.pointer = "/x"
    command.deadband = "0.50"
    #expect(
      String(decoding: command.message(id: 1), as: UTF8.self)
        == #"{"id":1,"type":"subscribe","match":["a"],"pointer":"/x","delivery":{"mode":"latest","maxRate":2.0,"deadband":0.50}}"#
    )
    var share = SubscribeCommand(patterns: ["a"])
    share.deadband = "2%"
    #expect(
      String(decoding: share.message(id: 1), as: UTF8.self)
        == #"{"id":1,"type":"subscribe","match":["a"],"delivery":{"deadband":"2%"}}"#)
  }

  @Test func `without exits they are not asked for`() {
    let theatre = Theatre([.success([])])
    let command = SubscribeCommand(patterns: ["a"], filter: "value > 1", initial: false, exit: false, since: "e.1")
    _ = theatre.watch(command)
    #expect(
      theatre.sent == [
        #"{"id":1,"type":"subscribe","match":["a"],"where":"value > 1","initial":false,"exit":false,"since":"e.1"}"#
      ])
  }

  @Test(arguments: [
    "", "{", "[]", "{\"type\":\"didSet\"}", "{\"type\":\"didSet\",\"path\":\"a\",\"revision\":1}",
    "{\"type\":\"live\"}", "{\"type\":\"live\",\"revision\":-1}",
  ])
  func `what is not the protocol ends it, if it matters`(text: String) {
    let theatre = Theatre([.success([.says(Message.hello("e")), .says(text)])])
    let failure = theatre.watch(all)
    // An unknown message is for a later client.
    #expect(failure?.status == .refused)
    #expect(failure?.message.contains(text == "[]" ? "script is over" : "the server sent") == true)
  }
}

@Suite("watch for people")
struct WatchPrinterTests {
  @Test func `columns are aligned and grow`() {
    var printer = WatchPrinter()
    let lines: [WatchFold.Line] = [
      .present(path: "kitchen/temperature", value: JSONText(21)),
      .present(path: "attic", value: JSONText("dark")),
      .set(path: "kitchen/temperature", old: JSONText(21), new: JSONText(22), entered: false),
      .set(path: "attic", old: JSONText("dark"), new: JSONText("light"), entered: true),
      .set(path: "cellar", old: nil, new: JSONText(true), entered: false),
      .left(path: "attic", old: JSONText("light"), new: JSONText(0)),
      .left(path: "attic", old: JSONText(1), new: nil),
      .deleted(path: "attic", old: JSONText(0)),
      .deleted(path: "attic", old: nil),
    ]
    let text = lines.map { printer.text(for: $0) }
    #expect(
      text == [
        "kitchen/temperature  21",
        "attic                \"dark\"",
        "kitchen/temperature  21      → 22",
        "attic                \"dark\"  → \"light\"  (entered)",
        "cellar                       → true",
        "attic                \"light\"  → 0  (left)",
        "attic                1        → (left)",
        "attic                0        → (deleted)",
        "attic                         → (deleted)",
      ])
  }

  @Test func `a style adds the time and colours, and nothing else`() {
    let style = WatchPrinter.Style(time: { "<\($0)>" }, isColoured: true)
    var printer = WatchPrinter(style)
    var plain = WatchPrinter()
    let lines: [WatchFold.Line] = [
      .present(path: "a", value: JSONText(1)), .set(path: "a", old: JSONText(1), new: JSONText(2), entered: true),
      .left(path: "a", old: JSONText(2), new: JSONText(0)), .deleted(path: "a", old: nil),
    ]
    for line in lines {
      let text = printer.text(for: line, at: "T")
      #expect(text.contains("\u{1B}[36ma\u{1B}[0m"))
      #expect(text.replacing(/\u{1B}\[[0-9]+m/, with: "") == "<T>  " + plain.text(for: line))
    }
  }

  @Test func `a time is that of this day, or the day, and always as wide`() throws {
    let now = try #require(Timestamp("2026-01-02T12:00:00.000Z"))
    #expect(LocalTime.text(of: "2026-01-02T12:00:00.042Z", now: now).hasSuffix(":00.042"))
    #expect(LocalTime.text(of: "2025-12-24T12:00:00.042Z", now: now) == "2025-12-24  ")
    #expect(LocalTime.text(of: "", now: now) == String(repeating: " ", count: 12))
  }

  @Test func `a long old value is cut, a new one is not`() {
    var printer = WatchPrinter()
    let long = JSONText(String(repeating: "x", count: 100))
    let line = printer.text(for: .set(path: "a", old: long, new: long, entered: false))
    #expect(line == "a  \"\(String(repeating: "x", count: 22))…  → \(long)")
    #expect(printer.text(for: .present(path: "b", value: long)) == "b  \(long)")
  }

  @Test func `nothing that a terminal would obey gets through`() throws {
    var printer = WatchPrinter()
    let value = try JSONText(validating: "\"\u{9B}2J\u{7F}\u{202E}e\u{301}👩‍👩‍👧\"")
    let line = printer.text(for: .present(path: "a\u{85}", value: value))
    #expect(line == "a\\u{0085}  \"\\u{009B}2J\\u{7F}\\u{202E}e\u{301}👩‍👩‍👧\"")
  }
}

@Suite("Waiting between attempts")
struct BackoffTests {
  @Test(arguments: [(1, 250), (2, 500), (3, 1000), (6, 8000), (7, 15_000), (8, 15_000), (1_000_000, 15_000)])
  func `waits double up to the longest`(failures: Int, milliseconds: Int) {
    #expect(Backoff().delay(after: failures, random: 1) == .milliseconds(milliseconds))
    #expect(Backoff().delay(after: failures, random: 0) == .milliseconds(milliseconds) / 2)
  }
}
