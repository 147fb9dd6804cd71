// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP
import SignalStore
import Testing

@testable import signal_server

/// A moment so many seconds after the first.
private func moment(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }
private let start = ContinuousClock.now

@Suite("The table of top")
struct TopViewTests {
  private func view(_ screen: Screen, _ options: TopView.Options = .init(), isColoured: Bool = false) -> TopView {
    TopView(options, on: screen.canvas(isColoured: isColoured), time: { Timestamp(milliseconds: 0) })
  }

  private func set(_ path: String, _ value: Int) -> WatchFold.Line {
    .set(path: path, old: nil, new: JSONText(value), entered: false)
  }

  @Test func `it is redrawn in place, with the busiest first`() {
    let screen = Screen(.init(columns: 80, rows: 24))
    let view = view(screen)
    #expect(view.draw(at: moment(0)) == .seconds(1))
    for _ in 0..<3 { view.take(set("kitchen/temperature", 21)) }
    view.take(set("door", 1))
    view.receive(bytes: 3000)
    #expect(view.draw(at: moment(0.25)) == .milliseconds(750))
    #expect(screen.written.isEmpty)
    #expect(view.draw(at: moment(1)) == .seconds(1))
    #expect(
      screen.text.dropFirst() == [
        "4.0 changes/s  mean 4.0  2.9 KiB/s  2 paths  0 left out", "RATE  MEAN  TOTAL  PATH                 VALUE",
        " 3.0   3.0      3  kitchen/temperature  21", " 1.0   1.0      1  door                 1",
      ])
    #expect(screen.text[0].hasPrefix("signal-server top  "))
    view.take(.deleted(path: "door", old: nil))
    view.leaveOut(9)
    #expect(view.draw(at: moment(2)) == .seconds(1))
    #expect(
      screen.text.dropFirst() == [
        "10.0 changes/s  mean 7.0  0.0 B/s  2 paths  9 left out", "RATE  MEAN  TOTAL  PATH                 VALUE",
        " 0.0   1.5      3  kitchen/temperature  21", " 1.0   1.0      2  door                 (gone)",
      ])
    #expect(screen.written.last?.hasPrefix("\u{1B}[5A\r") == true)
    #expect(screen.written.allSatisfy { !$0.contains(/\u{1B}\[\d+m/) })
  }

  @Test func `it shows numbers beyond all bounds`() {
    let screen = Screen(.init(columns: 120, rows: 24))
    let view = view(screen)
    _ = view.draw(at: moment(0))
    for _ in 1...2 { view.leaveOut(.max) }
    view.take(set("door", 1))
    #expect(view.draw(at: moment(1)) == .seconds(1))
    #expect(screen.text[1].hasSuffix("1 paths  \(UInt64.max) left out"))
  }

  @Test(
    arguments: [
      ([0, Double.leastNonzeroMagnitude], "▅▅"), ([-Double.infinity, Double.infinity], "▅▅"),
      ([0, Double.infinity], "▅▅"), ([1, 1], "▅▅"),
      ([-Double.greatestFiniteMagnitude, Double.greatestFiniteMagnitude], "▁█"),
      ([0, 20 * Double.leastNonzeroMagnitude], "▁█"),
    ] as [([Double], String)])
  func `blocks are drawn of any numbers`(numbers: [Double], blocks: String) {
    #expect(Sparkline.blocks(for: numbers) == blocks)
  }

  @Test func `it fits on the terminal, also when that becomes smaller`() {
    let screen = Screen(.init(columns: 40, rows: 10))
    let view = view(screen)
    _ = view.draw(at: moment(0))
    for number in 0..<50 { view.take(set("a/long/path/of/a/property/\(number)", 123_456_789)) }
    _ = view.draw(at: moment(1))
    #expect(screen.text.count == 9 && screen.lines.allSatisfy { $0.count <= 40 })
    #expect(screen.text.last == " 1.0   1.0      1  a/long/path/of/a/pro…")
    screen.size = .init(columns: 20, rows: 6)
    _ = view.draw(at: moment(2))
    #expect(screen.text.count == 5 && screen.lines.allSatisfy { $0.count <= 20 })
    #expect(screen.written.last?.hasPrefix("\u{1B}[2J\u{1B}[H") == true)
  }

  @Test func `elsewhere one table follows the other, and ends after the count`() {
    let screen = Screen(nil)
    let view = view(screen, .init(count: 2, rows: 1))
    _ = view.draw(at: moment(0))
    view.take(set("a", 1))
    view.take(set("b", 2))
    view.say("the connection broke; reconnecting")
    #expect(screen.written.isEmpty)
    view.say(nil)
    #expect(view.draw(at: moment(1)) == .seconds(1))
    #expect(view.draw(at: moment(2)) == nil)
    #expect(screen.written.count == 2 && screen.written.allSatisfy { $0.hasSuffix("\n\n") && !$0.contains("\u{1B}") })
    #expect(screen.text.count == 8)
  }

  @Test func `as JSON each row is an object`() throws {
    let screen = Screen(nil)
    let view = view(screen, .init(isJSON: true))
    _ = view.draw(at: moment(0))
    view.take(set("a\"b", 1))
    view.take(.expired(path: "c", old: nil))
    _ = view.draw(at: moment(1))
    #expect(
      screen.text == [
        #"{"time":"1970-01-01T00:00:00.000Z","path":"a\"b","rate":1.0,"mean":1.0,"total":1,"value":1}"#,
        #"{"time":"1970-01-01T00:00:00.000Z","path":"c","rate":1.0,"mean":1.0,"total":1}"#,
      ])
  }

  @Test func `what is present is no change, and what a terminal would act on is escaped`() {
    let screen = Screen(.init(columns: 80, rows: 24))
    let view = view(screen, isColoured: true)
    _ = view.draw(at: moment(0))
    view.take(.present(path: "quiet", value: JSONText(1)))
    view.take(.signal(path: "bell\u{1B}[2J", message: JSONText("x")))
    view.say("broken\u{1B}[2J; reconnecting")
    _ = view.draw(at: moment(1))
    #expect(screen.text.count == 4 && screen.text[0].contains("reconnecting"))
    #expect(!screen.written.contains { $0.contains("\u{1B}[2J") })
    #expect(screen.written.last?.contains("\u{1B}[7m") == true)
  }
}

@Suite("The drawing of watch")
struct ChartViewTests {
  private func present(_ path: String, _ value: String) throws -> WatchFold.Line {
    .present(path: path, value: try JSONText(validating: value))
  }

  private func set(_ path: String, _ value: String) throws -> WatchFold.Line {
    .set(path: path, old: nil, new: try JSONText(validating: value), entered: false)
  }

  @Test func `each path has a line, with a block for each of its last numbers`() throws {
    let screen = Screen(.init(columns: 80, rows: 24))
    let view = ChartView(on: screen.canvas())
    view.take(try present("kitchen/temperature", "20"))
    view.take(try present("door", #""open""#))
    #expect(view.draw(at: moment(0)) == ChartView.interval)
    // A third of the columns are for blocks, the newest at the right.
    let blank = String(repeating: " ", count: 80 / 3)
    #expect(
      screen.text == [
        "door" + "               " + "  \(blank)  \"open\"", "kitchen/temperature  \(blank.dropLast())▅  20",
      ])
    for value in ["21", "22", "null", "24"] { view.take(try set("kitchen/temperature", value)) }
    view.take(.deleted(path: "door", old: nil))
    // Not yet.
    #expect(view.draw(at: moment(0.04)) == .milliseconds(60))
    #expect(screen.text[0].hasSuffix("\"open\""))
    #expect(view.draw(at: moment(0.1)) == ChartView.interval)
    #expect(screen.text[0].hasSuffix("(deleted)"))
    #expect(screen.text[1].hasSuffix("▁▃▅ █  24  min 20.0  max 24.0"))
    // Nothing has changed, so nothing is written.
    let written = screen.written.count
    _ = view.draw(at: moment(1))
    #expect(screen.written.count == written)
  }

  @Test func `only the last numbers count, and those that are none have no block`() throws {
    let screen = Screen(.init(columns: 200, rows: 24))
    let view = ChartView(on: screen.canvas())
    for number in 0..<100 { view.take(try set("a", "\(number)")) }
    view.take(try set("a", "1e999999"))
    _ = view.draw(at: moment(0))
    #expect(screen.text[0].hasSuffix("  1e999999  min 61.0  max 99.0"), "\(screen.text)")
    #expect(screen.text[0].count { "▁▂▃▄▅▆▇█".contains($0) } == ChartView.blocks - 1)
  }

  @Test func `more paths than there is room for are counted`() throws {
    let screen = Screen(.init(columns: 80, rows: 8))
    let view = ChartView(on: screen.canvas())
    for number in 0..<(ChartView.mostPaths + 7) { view.take(try present("p/\(number + 10_000)", "1")) }
    _ = view.draw(at: moment(0))
    #expect(screen.text.count == 6)
    #expect(screen.text[0].hasPrefix("p/10000") && screen.text[5] == "and 1002 other paths")
    view.say("the connection broke; reconnecting")
    #expect(screen.text.count == 7 && screen.text[6] == "the connection broke; reconnecting")
    view.say(nil)
    _ = view.draw(at: moment(1))
    #expect(screen.text.count == 6)
  }

  @Test func `elsewhere the line is printed with each change`() throws {
    let screen = Screen(nil)
    let view = ChartView(on: screen.canvas())
    view.take(try present("a", "1"))
    view.take(try set("a", "2"))
    view.take(.expired(path: "a", old: nil))
    view.take(.left(path: "b", old: nil, new: JSONText(7)))
    view.take(.left(path: "b", old: nil, new: nil))
    view.drawNow()
    #expect(
      screen.written == [
        "a  ▅  1\n", "a  ▁█  2  min 1.0  max 2.0\n", "a  ▁█   (expired)  min 1.0  max 2.0\n", "b    7 (left)\n",
        "b    (left)\n",
      ])
  }

  @Test func `wide letters take two columns`() {
    #expect("厨房".columns == 4 && "🙂".columns == 2 && "é".columns == 1 && "▁█".columns == 2)
    #expect("厨房".cut(toColumns: 4) == "厨房" && "厨房".cut(toColumns: 3) == "厨…" && "abc".cut(toColumns: 2) == "a…")
    #expect(
      "abc".cut(toColumns: 0) == "" && "a".padded(toColumns: 3) == "a  "
        && "a".padded(toColumns: 2, atStart: true) == " a")
  }
}

@Suite("Views over connections that break")
struct ViewedWatcherTests {
  /// Watches until the script is over, with a clock that goes on by a second with each look at it.
  private func watch(_ theatre: Theatre, _ command: SubscribeCommand, _ view: any WatchView, count: Int? = nil)
    -> Failure?
  {
    var surroundings = theatre.surroundings
    var seconds = 0.0
    surroundings.now = {
      seconds += 1
      return moment(seconds)
    }
    surroundings.complain = { view.say($0) }
    var watcher = Watcher(command, output: .view(view), count: count, in: surroundings)
    do {
      try watcher.run()
      return nil
    } catch {
      return error
    }
  }

  @Test func `a table does not ask for what it has missed, nor does the state count that comes after a reset`() {
    let screen = Screen(nil)
    let granted = [Message.hello("e"), Message.ok].map(Theatre.Act.says)
    let theatre = Theatre([
      .success(granted + [.says(Message.live(2)), .says(Message.set("a", "1", 3)), .ends(.broken("gone"))]),
      .success(
        granted + [Message.live(5), Message.reset, Message.set("b", "1", 4), Message.live(5)].map { .says($0) }
          + [.isSilent]),
    ])
    var command = SubscribeCommand(patterns: ["**"], filter: nil, initial: false)
    command.oldValue = false
    command.fields = ["path", "value", "revision"]
    let view = TopView(.init(count: 11), on: screen.canvas())
    #expect(watch(theatre, command, view) == nil)
    #expect(
      theatre.sent
        == Array(
          repeating:
            #"{"id":1,"type":"subscribe","match":["**"],"initial":false,"oldValue":false,"fields":["path","value","revision"]}"#,
          count: 2))
    #expect(screen.text.contains { $0.hasSuffix("  a     1") } && !screen.text.contains { $0.hasSuffix("  b     1") })
    #expect(theatre.printed.isEmpty && theatre.complaints.isEmpty)
  }

  @Test func `a drawing resumes, and counts events`() {
    let screen = Screen(nil)
    let granted = [Message.hello("e"), Message.ok].map(Theatre.Act.says)
    let theatre = Theatre([
      .success(granted + [.says(Message.set("a", "1", 1)), .says(Message.live(2)), .ends(.broken("gone"))]),
      .success([Message.hello("e"), Message.recovered, Message.set("a", "2", 3)].map { .says($0) }),
    ])
    #expect(watch(theatre, SubscribeCommand(patterns: ["**"]), ChartView(on: screen.canvas()), count: 2) == nil)
    #expect(screen.written == ["a  ▅  1\n", "a  ▁█  2  min 1.0  max 2.0\n"])
    #expect(theatre.sent.last == #"{"id":1,"type":"subscribe","match":["**"],"since":"e.2"}"#)
  }
}
