// SPDX-License-Identifier: MIT
import SignalStore
import TestSupport

@testable import SignalHTTP

/// A client that knows what happened, and finds fault with what it is told of it.
///
/// It may know more than a client does, but it takes its cursor only from where `docs/protocol.md` §4 allows it.
final class ModelClient {
  /// What is wrong with what came.
  struct Fault: Error, CustomStringConvertible {
    let description: String
  }

  let options: ModelOptions
  /// Whether it is told of exactly those events that the deadband of the model lets through; else, of some that the
  /// deadband may hide.
  let isExact: Bool
  var connection: FakeConnection?
  /// What it is still to be told.
  private(set) var due: [ModelEvent] = []
  /// What it was told last of each path.
  private(set) var known: [String: String] = [:]
  /// Where it can resume.
  private(set) var cursor: UInt64?
  /// Whether `known` is everything there is.
  private(set) var knowsAll = false
  private(set) var hasEnded = false
  /// How often it was told so.
  private(set) var gaps = 0
  private(set) var received = 0

  /// What it was told, for a look at a fault.
  private var log: [String] = []

  private enum Phase { case snapshot, missed, live }
  private var phase = Phase.live
  private var snapshot: [String] = []
  private var unit: (gap: LiveMessage, events: [(message: LiveMessage, text: String)])?
  private var liveSince: UInt64 = 0
  private var lastTimes: [String: UInt64] = [:]
  private var wanted: Int?

  init(_ options: ModelOptions, isExact: Bool) {
    self.options = options
    self.isExact = isExact
  }

  // MARK: What happens

  /// It subscribes.
  ///
  /// - Parameters:
  ///   - snapshot: The properties there are, with their revisions, in path order.
  ///   - missed: What came after its cursor.
  func begins(
    recovered: Bool?, snapshot state: [(path: String, value: ModelValue, revision: UInt64)], missed: [ModelChange],
    at time: UInt64
  ) {
    log.append("\(time) subscribes, recovered \(recovered.map(String.init) ?? "-") cursor \(cursor ?? 0)")
    due = []
    unit = nil
    lastTimes = [:]
    hasEnded = false
    wanted = options.take
    if recovered == true {
      phase = .missed
      due = missed.compactMap { options.event($0, at: time) }
      // Of what it was told last nothing is known.
      var deadband = DeadbandModel(options)
      if isExact { due = deadband.passed(due) }
      return
    }
    phase = .snapshot
    snapshot = []
    known = [:]
    cursor = nil
    guard options.initial || recovered == false else {
      knowsAll = false
      return
    }
    knowsAll = true
    for (path, value, revision) in state where options.isAbout(path) {
      guard let seen = options.view(value) else { continue }
      let event = ModelEvent(
        kind: .didSet, path: path, value: seen, wasThere: false, entered: false, op: nil, revision: revision, time: time
      )
      snapshot.append(event.text(options.fields) + "}")
      known[path] = seen
    }
  }

  func happens(_ events: [ModelEvent]) {
    guard connection != nil, !hasEnded else { return }
    due += events
  }

  /// Whether an event that is due may be left out without a word.
  private func mayHide(_ event: ModelEvent) -> Bool {
    !isExact && options.mayHide(event, knowing: known[event.path])
  }

  // MARK: What it is told

  func hears(_ message: FakeConnection.Message) throws(Fault) {
    log.append("\(message.time) \(message.text.withoutTime)")
    guard !hasEnded else { throw Fault(description: "after its end: \(message.text)") }
    if message.text.isEmpty {
      guard let id = message.id, id.hasPrefix("e.") else { throw Fault(description: "a block of nothing") }
      return try reaches(UInt64(id.dropFirst(2)) ?? 0)
    }
    guard let parsed = try? LiveMessage(message.text) else { throw Fault(description: "no JSON: \(message.text)") }
    let mayResume = try take(parsed, message)
    guard case .eventStream = options.wire else { return }
    let expected = mayResume.map { "e.\($0)" }
    guard message.id == expected else {
      throw Fault(description: "id \(message.id ?? "-") instead of \(expected ?? "-"): \(message.text)")
    }
    let names: Set = ["gap", "end"]
    guard message.name == (names.contains(parsed.type) ? parsed.type : nil) else {
      throw Fault(description: "event name \(message.name ?? "-"): \(message.text)")
    }
  }

  /// Returns the revision to resume from after this message.
  private func take(_ message: LiveMessage, _ raw: FakeConnection.Message) throws(Fault) -> UInt64? {
    let more = message.bool("more") == true
    switch message.type {
    case "reset":
      guard phase == .snapshot else { throw Fault(description: "a reset out of place") }
      return nil
    case "live":
      guard snapshot.isEmpty, phase != .live else { throw Fault(description: "live, but before it \(snapshot)") }
      phase = .live
      liveSince = raw.time
      try reaches(UInt64(message.revision))
      return cursor
    case "bookmark":
      try reaches(UInt64(message.revision))
      return cursor
    case "gap":
      guard unit == nil, phase != .snapshot else { throw Fault(description: "a gap in a unit") }
      gaps += 1
      unit = (message, [])
      if more { return nil }
      return try endUnit()
    case "end":
      guard wanted == 0 else { throw Fault(description: "ended \(wanted ?? -1) too early") }
      // A unit may be cut as well as a transaction.
      if let cut = unit {
        let to = UInt64(cut.gap.int("to") ?? 0)
        let kept = Array(due.prefix { $0.revision <= to })
        try check(cut.gap, cut.events, kept, isCut: true)
        for event in told(kept, cut.events) { learn(event) }
      }
      unit = nil
      // What it was told by bookmarks does not move the end on.
      cursor = nil
      hasEnded = true
      guard let revision = message.int("revision").map({ UInt64($0) }) else {
        guard phase == .snapshot else {
          throw Fault(description: "an end without revision")
        }
        return nil
      }
      try reaches(revision)
      return revision
    default:
      received += 1
      if let wanted {
        guard wanted > 0 else { throw Fault(description: "one too many: \(message.text)") }
        self.wanted = wanted - 1
      }
      let text = String(raw.text.withoutTime.dropLast())
      if phase == .snapshot {
        guard snapshot.first == text + "}" else {
          throw Fault(description: "snapshot: \(text), not \(snapshot.first ?? "nothing")")
        }
        snapshot.removeFirst()
        return nil
      }
      if phase == .live { try checkRate(message, raw.time) }
      if unit != nil {
        unit?.events.append((message, text))
        return more ? nil : try endUnit()
      }
      try single(text, more: more)
      return more ? nil : cursor
    }
  }

  /// An event that came for itself: the next that is due.
  private func single(_ text: String, more: Bool) throws(Fault) {
    let bare = more ? String(text.dropLast(#","more":true"#.utf8.count)) : text
    while true {
      guard let next = due.first else { throw Fault(description: "not due: \(text)") }
      due.removeFirst()
      if next.text(options.fields) == bare {
        if isExact, more != (due.first?.revision == next.revision) {
          throw Fault(description: "more is wrong: \(text)")
        }
        learn(next)
        if !more { cursor = next.revision }
        return
      }
      guard mayHide(next) else {
        throw Fault(description: "\(text), but due was \(next.text(options.fields))")
      }
    }
  }

  private func endUnit() throws(Fault) -> UInt64? {
    guard let (gap, events) = unit else { return nil }
    unit = nil
    let to = UInt64(gap.int("to") ?? 0)
    let kept = Array(due.prefix { $0.revision <= to })
    try check(gap, events, kept, isCut: false)
    due.removeFirst(kept.count)
    let told = told(kept, events)
    for event in told { learn(event) }
    cursor = told.last?.revision ?? to
    return cursor
  }

  private func check(
    _ gap: LiveMessage, _ events: [(message: LiveMessage, text: String)], _ kept: [ModelEvent], isCut: Bool
  ) throws(Fault) {
    let count = gap.int("count") ?? 0
    let fault = Fault(
      description: """
        \(gap.text) \(events.map(\.text)) for \(kept.map { $0.text(options.fields) })
        """)
    guard count > 0, let first = kept.first, let last = kept.last else { throw fault }
    for (index, event) in events.enumerated() {
      let isLast = index == events.count - 1 && !isCut
      guard event.text.hasSuffix(#","more":true"#) != isLast else { throw fault }
    }
    guard isExact || options.delivery.deadband == nil else {
      return try checkLoosely(count, events, kept, fault, isCut: isCut)
    }
    let expected = options.conflated(kept, isMissed: phase == .missed)
    guard gap.int("from") == Int(first.revision), gap.int("to") == Int(last.revision),
      count == kept.count - expected.count
    else { throw fault }
    let bare = events.map { $0.text.replacing(#","more":true"#, with: "") }
    let texts = expected.map { $0.text(options.fields) }
    guard isCut ? texts.starts(with: bare) : texts == bare else { throw fault }
  }

  /// Which of those within the band were kept depends on others of the group; what was told must be near the truth.
  private func checkLoosely(
    _ count: Int, _ events: [(message: LiveMessage, text: String)], _ kept: [ModelEvent], _ fault: Fault, isCut: Bool
  ) throws(Fault) {
    guard count <= kept.count - events.count else { throw fault }
    if isCut { return }
    for path in Set(kept.map(\.path)) {
      let same = kept.filter { $0.path == path }
      if let told = events.first(where: { $0.message.path == path }) {
        guard let place = same.firstIndex(where: { $0.revision == UInt64(told.message.revision) }),
          told.message.raw("value") == same[place].value
        else { throw fault }
        for later in same[(place + 1)...] {
          guard options.mayHide(later, knowing: same[place].value) else { throw fault }
        }
      } else {
        let isGone = !options.isTransition && known[path] == nil && same.last?.kind != .didSet
        guard isGone || same.allSatisfy({ options.mayHide($0, knowing: known[path]) }) else { throw fault }
      }
    }
  }

  /// The events of the model that were told.
  private func told(
    _ kept: [ModelEvent], _ events: [(message: LiveMessage, text: String)]
  ) -> [ModelEvent] {
    if isExact { return Array(options.conflated(kept, isMissed: phase == .missed).prefix(events.count)) }
    return kept.filter { event in
      events.contains { $0.message.path == event.path && UInt64($0.message.revision) == event.revision }
    }
  }

  private func learn(_ event: ModelEvent) { known[event.path] = event.kind == .didSet ? event.value : nil }

  private func checkRate(_ message: LiveMessage, _ time: UInt64) throws(Fault) {
    guard options.delivery.maxRate != nil, options.fields.contains(.path) else { return }
    if let last = lastTimes[message.path], time - last < options.delivery.interval {
      throw Fault(description: "\(message.path) after \(time - last) ns")
    }
    lastTimes[message.path] = time
  }

  /// It was too slow: everything up to the cursor that it is given has been told; nil is to begin anew.
  func wasClosed(resumeFrom revision: UInt64?) throws(Fault) {
    unit = nil
    guard let revision else {
      guard phase == .snapshot else { throw Fault(description: "no cursor to resume from") }
      cursor = nil
      return
    }
    // It is good for all subscriptions, so this one may have been told more.
    cursor = nil
    try reaches(revision)
  }

  /// Everything up to here has been told.
  private func reaches(_ revision: UInt64) throws(Fault) {
    guard unit == nil else { throw Fault(description: "a cursor in a unit") }
    if let cursor, revision < cursor { throw Fault(description: "the cursor goes back from \(cursor) to \(revision)") }
    while let next = due.first, next.revision <= revision {
      guard mayHide(next) else {
        throw Fault(description: "at \(revision) without \(next.text(options.fields))")
      }
      due.removeFirst()
    }
    cursor = revision
  }

  // MARK: What must be by now

  /// A client that takes everything has been told of what happened, but for what has to wait for its time.
  ///
  /// - Parameter since: From when on it has taken everything.
  func checkPrompt(_ now: UInt64, since: UInt64) throws(Fault) {
    guard !hasEnded else { return }
    let late = due.first { event in
      max(event.time, since, liveSince) + options.delivery.interval <= now
        && !mayHide(event)
    }
    if let late { throw Fault(description: "late: \(late.text(options.fields))") }
    guard unit == nil else { throw Fault(description: "a unit without an end") }
  }

  /// What it has been told adds up to the truth.
  func checkTruth(_ state: [String: ModelValue]) throws(Fault) {
    guard !hasEnded, !options.isTransition, options.exit || !options.hasFilter else { return }
    for path in Set(known.keys).union(knowsAll ? Array(state.keys) : []) where options.isAbout(path) {
      let truth = options.view(state[path])
      if truth == known[path] { continue }
      if let truth {
        let event = ModelEvent(
          kind: .didSet, path: path, value: truth, wasThere: true, entered: false, op: nil, revision: 0, time: 0)
        if options.mayHide(event, knowing: known[path]) { continue }
      }
      throw Fault(description: "\(path) is \(truth ?? "gone"), not \(known[path] ?? "gone")")
    }
  }
}

extension ModelClient: CustomStringConvertible {
  /// What it asked for, heard, and waits for.
  var description: String {
    """
    \(options)
    heard
      \(log.suffix(30).joined(separator: "\n  "))
    due
      \(due.map { "\($0.time) \($0.text(.all))" }.joined(separator: "\n  "))
    """
  }
}
