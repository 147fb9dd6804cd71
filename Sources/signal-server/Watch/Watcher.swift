// SPDX-License-Identifier: MIT
import SignalHTTP

/// The work of `signal-server watch`: subscribes, prints the events, and resumes after a broken connection.
struct Watcher {
  /// The format of the standard output.
  enum Output {
    /// A line per event, for people.
    case lines(WatchPrinter.Style = WatchPrinter.Style(), tellsAll: Bool = false)
    /// Each event as it came, one per line, followed by the cursor to resume from.
    case events
    /// All together, drawn again and again.
    case view(any WatchView)

    fileprivate var view: (any WatchView)? { if case .view(let view) = self { view } else { nil } }
    /// Whether values are remembered, and what was missed is asked for.
    fileprivate var keepsState: Bool { !isEvents && view?.isComplete != false }
    fileprivate var isEvents: Bool { if case .events = self { true } else { false } }
    /// Whether to print more for an observing user: cursors, and the number of events dropped on request.
    fileprivate var tellsAll: Bool { if case .lines(_, true) = self { true } else { false } }
  }

  /// The dependencies provided by the process.
  struct Surroundings {
    /// Makes a connection.
    var connect: () throws(LinkFailure) -> any LiveLink
    /// Writes a line to the standard output.
    var print: ([UInt8]) -> Void
    /// Prints a message to the user that is not output.
    var complain: (String) -> Void
    var sleep: (Duration) -> Void
    /// A number from 0 to 1.
    var random: () -> Double
    /// Records where to resume.
    var note: (String?) -> Void = { _ in }
    var now: () -> ContinuousClock.Instant = { .now }

    /// The surroundings of this process, with connections to a server.
    static func process(_ url: ServerURL) -> Surroundings {
      Surroundings(
        connect: { () throws(LinkFailure) in try BlockingLink(url) },
        print: Terminal.print(bytes:),
        complain: Terminal.complain,
        sleep: ProcessClock.sleep,
        random: { Double.random(in: 0...1) })
    }

    /// The same, with messages to the user in a view where that is redrawn in place.
    static func process(_ url: ServerURL, showing view: any WatchView, on canvas: Canvas) -> Surroundings {
      var surroundings = process(url)
      if canvas.size() != nil { surroundings.complain = { view.say($0) } }
      return surroundings
    }
  }

  private var command: SubscribeCommand
  private let output: Output
  private let surroundings: Surroundings
  /// Events still to print before the end; nil is no end.
  private var remaining: Int?
  private var fold: WatchFold
  private var printer: WatchPrinter
  /// Lines of a snapshot that wait for the next ones, so that all are aligned.
  private var held: [(line: WatchFold.Line, time: String)] = []
  private var filter: WatchFold.Filter
  /// Whether a server has granted the subscription once; only then is it worth reconnecting.
  private var isEstablished = false
  /// Failed attempts since the last working connection.
  private var failures = 0

  /// How long a server may be silent before it is pinged, and then the timeout of its answer.
  static let silence = Duration.seconds(30)
  static let patience = Duration.seconds(10)
  /// How many lines of a snapshot wait for each other.
  private static let heldLines = 500

  init(_ command: SubscribeCommand, output: Output, count: Int? = nil, in surroundings: Surroundings) {
    self.command = command
    self.output = output
    self.surroundings = surroundings
    remaining = count
    printer = if case .lines(let style, _) = output { WatchPrinter(style) } else { WatchPrinter() }
    switch (command.filter, command.exit) {
    case (nil, _): filter = .none
    case (_, _) where command.isForSignals: filter = .none
    case (_, false?): filter = .stateWithoutExit
    case (_, _):
      // Requesting exits reveals the kind of the filter: the server refuses them for one on the change.
      filter = .state
      self.command.exit = true
    }
    fold = Self.fold(command, filter, output)
  }

  private static func fold(_ command: SubscribeCommand, _ filter: WatchFold.Filter, _ output: Output) -> WatchFold {
    WatchFold(cursor: command.since, initial: command.initial, filter: filter, keepsState: output.keepsState)
  }

  /// Watches until the count is reached.
  ///
  /// - Throws: `Failure` when the server refuses, or when the very first connection cannot be made.
  mutating func run() throws(Failure) {
    while true {
      do {
        let link = try surroundings.connect()
        if try follow(link) { return }
      } catch let failure as LinkFailure {
        release()
        guard isEstablished, failure.invitesReconnect else {
          if case .broken(let text) = failure { throw Failure(.unreachable, text) }
          throw Failure(.refused, failure.text)
        }
        if failures == 0 { surroundings.complain("\(failure.text); reconnecting") }
        // A connection closed for lagging can resume at once: what was missed is sent immediately.
        if failures > 0 || !failure.isTooSlow {
          surroundings.sleep(Backoff().delay(after: failures + 1, random: surroundings.random()))
        }
        failures += 1
      } catch {
        throw error as? Failure ?? Failure(.refused, "\(error)")
      }
    }
  }

  /// Reads one connection to its end; true when enough has been printed.
  private mutating func follow(_ link: any LiveLink) throws -> Bool {
    var command = command
    if command.isForSignals {
      // There is nothing to resume; the kept messages were printed the first time.
      if isEstablished { command.initial = false }
    } else if output.isEvents || output.keepsState {
      command.since = fold.cursor
    }
    try link.send(command.message(id: 1))
    var isAsked = false
    while true {
      let bytes: [UInt8]
      switch try next(from: link, within: isAsked ? Self.patience : Self.silence) {
      case .message(let message): bytes = message
      case .end: return true
      case .silence:
        if isAsked { throw LinkFailure.broken("the server does not answer") }
        try link.send(Array(#"{"id":0,"type":"ping"}"#.utf8))
        isAsked = true
        continue
      }
      isAsked = false
      let message = try ServerMessage(bytes)
      if case .error("exit_needs_state_filter", _) = message, filter == .state {
        filter = .transition
        self.command.exit = nil
        command.exit = nil
        let epoch = fold.epoch
        fold = Self.fold(self.command, filter, output)
        fold.begin(epoch: epoch)
        try link.send(command.message(id: 2))
      } else if try take(message, bytes) {
        return true
      }
    }
  }

  /// What a wait for the next message ends with.
  private enum Arrival {
    case message([UInt8])
    case silence
    /// The view has been drawn for the last time.
    case end
  }

  /// Waits for the next message, and draws the view meanwhile whenever that is due.
  private func next(from link: any LiveLink, within patience: Duration) throws(LinkFailure) -> Arrival {
    guard let view = output.view else { return try link.receive(within: patience).map(Arrival.message) ?? .silence }
    let deadline = surroundings.now() + patience
    while true {
      let now = surroundings.now()
      guard let wait = view.draw(at: now) else { return .end }
      if let bytes = try link.receive(within: min(wait, now.duration(to: deadline))) {
        view.receive(bytes: bytes.count)
        return .message(bytes)
      }
      if surroundings.now() >= deadline { return .silence }
    }
  }

  /// Handles one message; true when enough has been printed.
  private mutating func take(_ message: ServerMessage, _ bytes: [UInt8]) throws(Failure) -> Bool {
    switch message {
    case .hello(let epoch): fold.begin(epoch: epoch)
    case .ok(let recovered):
      isEstablished = true
      fold.granted(recovered: recovered)
    case .error(_, let text): throw Failure(.refused, text.printable)
    case .change(let change):
      let event = output.isEvents ? bytes.adding(cursor: fold.cursor(behind: message)) : []
      guard let line = fold.take(change) else { return false }
      surroundings.note(fold.cursor)
      return show([line], at: change.time, event)
    case .signal(let path, let text, let time): return show([.signal(path: path, message: text)], at: time, bytes)
    case .live(let revision):
      if failures > 0 {
        surroundings.complain("connected again")
        output.view?.say(nil)
      }
      failures = 0
      let vanished = fold.live(revision: revision)
      let isOver = !output.isEvents && show(vanished, at: "", [])
      release()
      if !command.isForSignals { tellCursor(bytes) }
      return isOver
    case .bookmark(let revision):
      fold.bookmark(revision: revision)
      surroundings.note(fold.cursor)
      if output.isEvents { surroundings.print(bytes.adding(cursor: fold.cursor)) }
    case .gap(let revision, let count, let isSlow, let more):
      let event = output.isEvents ? bytes.adding(cursor: fold.cursor(behind: message)) : []
      if !more { fold.bookmark(revision: revision) }
      surroundings.note(fold.cursor)
      if output.isEvents {
        surroundings.print(event)
      } else if let view = output.view {
        view.leaveOut(count)
      } else {
        release()
        tellGap(count, isSlow: isSlow)
      }
    case .reset:
      fold.reset()
      if output.isEvents { surroundings.print(bytes) }
    case .other: break
    }
    return false
  }

  /// Reports the cursor of a subscription that is live.
  private func tellCursor(_ bytes: [UInt8]) {
    surroundings.note(fold.cursor)
    if output.isEvents {
      surroundings.print(bytes.adding(cursor: fold.cursor))
    } else if output.tellsAll, let cursor = fold.cursor {
      surroundings.complain("live at cursor \(cursor)")
    }
  }

  private func tellGap(_ count: UInt64, isSlow: Bool) {
    let changes = count == 1 ? "1 change" : "\(count) changes"
    if isSlow {
      surroundings.complain("too slow for all changes: \(changes) left out")
    } else if output.tellsAll {
      surroundings.complain("\(changes) left out, as asked for")
    }
  }

  /// Prints, and counts; true when enough has been printed.
  private mutating func show(_ lines: [WatchFold.Line], at time: String, _ bytes: [UInt8]) -> Bool {
    for line in lines {
      if output.isEvents {
        surroundings.print(bytes)
      } else if let view = output.view {
        view.take(line)
      } else if case .present = line, held.count < Self.heldLines {
        held.append((line, time))
      } else {
        release()
        surroundings.print(Array(printer.text(for: line, at: time).utf8))
      }
      if let left = remaining {
        remaining = left - 1
        if left <= 1 {
          release()
          return true
        }
      }
    }
    return false
  }

  /// Prints the lines that wait.
  private mutating func release() {
    for (line, _) in held { printer.makeRoom(for: line) }
    for (line, time) in held { surroundings.print(Array(printer.text(for: line, at: time).utf8)) }
    held = []
  }
}

extension [UInt8] {
  /// The object with a member `cursor` appended, if there is one.
  fileprivate func adding(cursor: String?) -> [UInt8] {
    guard let cursor, last == UInt8(ascii: "}") else { return self }
    return dropLast() + Array(#","cursor":"\#(cursor)"}"#.utf8)
  }
}

extension LinkFailure {
  fileprivate var isTooSlow: Bool { if case .closed(.tooSlow?, _) = self { true } else { false } }
}
