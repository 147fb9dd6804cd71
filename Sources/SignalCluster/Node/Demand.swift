// SPDX-License-Identifier: MIT

internal import SignalHTTP
internal import SignalStore

/// What nodes tell each other of what their clients watch, while a client of one of them wants to know.
///
///     a client asks ──▶ beats carry a generation ──▶ the others tell everything once, and then what changes
///
/// Where something may have been missed, the next generation lets all begin anew. Times are in milliseconds.
struct Demand {
  /// After a client has asked for a number, one is expected to ask again for so long.
  static let interest: UInt64 = 60_000
  /// For the answers of other nodes; then clients get the numbers that are known.
  static let patience: UInt64 = 1000
  /// After this node has begun to hear others, it has heard of all who are there.
  static let hearing: UInt64 = 500
  /// Between two looks at what has changed here, and whether somebody wants to know.
  static let interval: UInt64 = 250
  /// Between two generations, as long as a node does not answer: at most this, since it may not know how to.
  static let longestPause: UInt64 = 30_000

  private var teller: DemandTeller
  private var told = ToldDemand()
  /// What this node asks for; 0 while no client here wants to know anything.
  private(set) var generation: UInt64 = 0
  private var lastGeneration: UInt64 = 0
  /// When the others are asked again, if they have not told everything by then, and after how long the next time.
  private var nextGeneration: UInt64 = 0
  private var pause = patience
  private var interestEnd: UInt64 = 0
  /// Since when this node hears others; nil while it does not.
  private var heardSince: UInt64?
  /// Silence after which another node is gone.
  private let silence: UInt64
  private var isComplete = false
  private var waits: [(end: UInt64, done: @Sendable () -> Void)] = []
  private var nextLook: UInt64 = 0

  init(node: String, session: String, silence: UInt64, bytes: Int = DemandTeller.bytes) {
    self.silence = silence
    teller = DemandTeller(node: node, session: session, silence: silence, bytes: bytes)
  }

  /// When there is something to do next.
  var deadline: UInt64 { told.hasWork ? 0 : min(nextLook, teller.deadline, waits.first?.end ?? .max) }

  /// Whether somebody wants to know something, here or elsewhere.
  var isActive: Bool { generation > 0 || teller.hasListeners }

  /// The engine is there: what was said meanwhile was not heard.
  mutating func begin(at now: UInt64) {
    heardSince = now
    teller.begin()
    pause = Self.patience
    if generation > 0 { next(at: now) }
  }

  /// What is watched here is counted by something else.
  mutating func beginTelling() { teller.begin() }

  /// The engine is gone.
  mutating func end() { heardSince = nil }

  mutating func received(_ beat: Beat, at now: UInt64) {
    teller.received(beat, at: now)
    if generation > 0 { told.received(beat) }
  }

  /// Adds to a beat what others have to know.
  func complete(_ beat: inout Beat) {
    beat.demand = generation
    beat.told = teller.number
  }

  mutating func received(_ message: DemandMessage, _ watchers: Watchers) {
    guard generation > 0 else { return }
    watchers.changeElsewhere(told.received(message))
  }

  /// Tells clients who wait, and other nodes.
  ///
  /// - Parameters:
  ///   - questions: Of clients who want to know who watches.
  ///   - others: The nodes that have been heard of lately.
  /// - Returns: What is to be sent to the others.
  mutating func tick(
    _ watchers: Watchers, questions: [@Sendable () -> Void], others: [String], at now: UInt64
  ) -> [DemandMessage] {
    waits += questions.map { (now + Self.patience, $0) }
    if now >= nextLook || !questions.isEmpty {
      nextLook = now + Self.interval
      if watchers.isDemanded() { interestEnd = now + Self.interest }
      if generation > 0, now >= interestEnd {
        // Somebody may ask just now: he is told to wait, or has asked before.
        watchers.setComplete(false)
        if watchers.isDemanded() { interestEnd = now + Self.interest }
      }
      if now >= interestEnd {
        generation = 0
        told.keep { _ in false }
      } else if generation == 0 || needsMore(at: now) {
        next(at: now)
      }
      // After an absence of the engine others count as there until they could have been heard.
      if generation > 0, let heardSince, now >= heardSince + silence { told.keep { others.contains($0) } }
    }
    watchers.changeElsewhere(told.takeForgotten())
    isComplete =
      generation > 0 && !told.hasWork && told.isWhole(others)
      && heardSince.map { now >= $0 + Self.hearing } == true
    // When another node lets all begin anew, that passes by itself.
    if isComplete { (pause, nextGeneration) = (Self.patience, now + Self.patience) }
    watchers.setComplete(isComplete)
    let over = isComplete || heardSince == nil ? waits.count : waits.prefix { now >= $0.end }.count
    for wait in waits.prefix(over) { wait.done() }
    waits.removeFirst(over)
    return teller.messages(watchers, at: now)
  }

  /// Whether others have to tell anew: at once where something is missing for the first time, otherwise now and then.
  private func needsMore(at now: UInt64) -> Bool {
    told.hasGap && pause == Self.patience || !isComplete && now >= nextGeneration
  }

  /// Lets all others tell everything anew.
  private mutating func next(at now: UInt64) {
    lastGeneration += 1
    generation = lastGeneration
    nextGeneration = now + pause
    pause = min(2 * pause, Self.longestPause)
    told.begin()
  }
}

/// What other nodes have told.
private struct ToldDemand {
  private struct Node {
    var session: String
    /// The numbers of the first message of the last beginning, and of the next one.
    var first: UInt64
    var next: UInt64
    /// Whether everything has been told, and whether a message is missing.
    var isWhole = false
    var hasGap = false
    /// How often it has begun to tell everything.
    var beginnings = 0
    /// How many subscriptions each list has, and since which beginning that is known.
    var lists: [[PathPattern]: (count: Int, beginning: Int)] = [:]
  }

  private var nodes: [String: Node] = [:]
  /// What is not watched any more, as far as it has not been taken.
  private var forgotten: [WatchedList] = []

  var hasWork: Bool { !forgotten.isEmpty }
  var hasGap: Bool { nodes.values.contains { $0.hasGap } }

  /// Whether these nodes, and all who have told something, have told everything.
  func isWhole(_ others: [String]) -> Bool {
    nodes.values.allSatisfy(\.isWhole) && others.allSatisfy { nodes[$0] != nil }
  }

  /// What has been told so far may be out of date.
  mutating func begin() {
    for name in nodes.keys {
      nodes[name]?.isWhole = false
      nodes[name]?.hasGap = false
    }
  }

  /// Notes whether a node has told something that has not come.
  mutating func received(_ beat: Beat) {
    guard let node = nodes[beat.node] else { return }
    if node.session != beat.session {
      // It has begun anew: what its earlier process has told is over once this one tells something.
      nodes[beat.node]?.isWhole = false
    } else if beat.told >= node.next {
      nodes[beat.node]?.hasGap = true
    }
  }

  /// Takes what a node tells; returns by how much the numbers of lists change.
  mutating func received(_ message: DemandMessage) -> [WatchedList] {
    var node = nodes.removeValue(forKey: message.node) ?? Node(session: "", first: 0, next: 0)
    defer { nodes[message.node] = node }
    if message.number == message.first {
      (node.session, node.first, node.next) = (message.session, message.first, message.number)
      (node.isWhole, node.hasGap) = (false, false)
      node.beginnings += 1
    }
    guard node.session == message.session, node.first == message.first, node.next == message.number else {
      node.hasGap = true
      return []
    }
    node.next += 1
    let changes = message.lists.map { list in
      let before = node.lists[list.patterns]?.count ?? 0
      node.lists[list.patterns] = list.count == 0 ? nil : (list.count, node.beginnings)
      return WatchedList(list.patterns, list.count - before)
    }
    if message.isWhole, !node.isWhole {
      node.isWhole = true
      forget(&node) { [last = node.beginnings] in $0 != last }
    }
    return changes
  }

  /// Forgets nodes that are not wanted any more.
  mutating func keep(_ isKept: (String) -> Bool) {
    for name in nodes.keys where !isKept(name) {
      guard var node = nodes.removeValue(forKey: name) else { continue }
      forget(&node) { _ in true }
    }
  }

  /// Forgets the lists that are known since then.
  private mutating func forget(_ node: inout Node, where isForgotten: (Int) -> Bool) {
    for (patterns, list) in node.lists where isForgotten(list.beginning) {
      forgotten.append(WatchedList(patterns, -list.count))
      node.lists[patterns] = nil
    }
  }

  /// Takes some of what is not watched any more, as changes of numbers.
  mutating func takeForgotten() -> [WatchedList] {
    let taken = Array(forgotten.suffix(DemandTeller.listsAtOnce))
    forgotten.removeLast(taken.count)
    return taken
  }
}

/// Tells other nodes what clients of this one watch.
struct DemandTeller {
  /// Lists in one message, which are counted at once by those who get it.
  static let listsAtOnce = 512
  /// Bytes of the patterns of one message, but for the last list.
  static let messageBytes = 64 << 10
  /// Messages at once, and milliseconds until the next: beats and records of the log go over the same connection.
  static let messagesAtOnce = 4
  static let pause: UInt64 = 20
  /// Bytes of all lists, about: where they are more, others are told that everything is watched.
  static let bytes = 64 << 20

  private let node: String
  private let session: String
  /// After which a node is gone that wanted to know.
  private let silence: UInt64
  private let bytes: Int
  /// Who wants to know, by their process: which generation, and when that was heard of last.
  private var listeners: [String: (generation: UInt64, heard: UInt64)] = [:]
  /// Messages so far.
  private(set) var number: UInt64 = 0
  private var first: UInt64 = 0
  /// Whether everything is to be told anew.
  private var begins = false
  /// Where that goes on; nil when it has been done.
  private var position: Int?
  private var hasTold = false
  /// Whether only that is told that everything is watched, as there are too many lists.
  private var tellsAll = false
  /// Lists whose numbers have changed and are to be told.
  private var changed: [[PathPattern]] = []
  private var nextChanges: UInt64 = 0
  private var nextMessages: UInt64 = 0

  init(node: String, session: String, silence: UInt64, bytes: Int) {
    self.node = node
    self.session = session
    self.silence = silence
    self.bytes = bytes
  }

  /// When there is more to send.
  var deadline: UInt64 {
    !listeners.isEmpty && (begins || position != nil || !changed.isEmpty) ? nextMessages : .max
  }

  var hasListeners: Bool { !listeners.isEmpty }

  /// What was sent may not have arrived.
  mutating func begin() { begins = true }

  mutating func received(_ beat: Beat, at now: UInt64) {
    guard beat.demand > 0 else { return listeners[beat.session] = nil }
    if listeners[beat.session]?.generation != beat.demand { begins = true }
    listeners[beat.session] = (beat.demand, now)
  }

  mutating func messages(_ watchers: Watchers, at now: UInt64) -> [DemandMessage] {
    for (session, listener) in listeners where now >= listener.heard + silence { listeners[session] = nil }
    guard !listeners.isEmpty else {
      if hasTold {
        watchers.noteChanges(false)
        (position, changed, hasTold) = (nil, [], false)
      }
      return []
    }
    if !begins, hasTold, now >= nextChanges { takeChanges(watchers, at: now) }
    guard now >= nextMessages else { return [] }
    // What is being told is finished first.
    if begins, position == nil { beginAnew(watchers) }
    var messages: [DemandMessage] = []
    if tellsAll, position != nil {
      position = nil
      append([WatchedList([.all], 1)], isWhole: true, to: &messages)
    }
    while messages.count < Self.messagesAtOnce, let start = position {
      let (lists, next) = watchers.own(from: start, atMost: Self.listsAtOnce)
      position = next
      if !lists.isEmpty || next == nil { append(lists, isWhole: next == nil, to: &messages) }
    }
    while position == nil, messages.count < Self.messagesAtOnce, !changed.isEmpty {
      let some = changed.suffix(Self.listsAtOnce)
      append(watchers.own(some), isWhole: true, to: &messages)
      changed.removeLast(some.count)
    }
    if !messages.isEmpty { nextMessages = now + Self.pause }
    return messages
  }

  private mutating func beginAnew(_ watchers: Watchers) {
    (begins, hasTold, changed) = (false, true, [])
    watchers.noteChanges(true)
    first = number + 1
    tellsAll = watchers.ownBytes > bytes
    position = 0
  }

  /// Takes what has changed since the last time.
  private mutating func takeChanges(_ watchers: Watchers, at now: UInt64) {
    nextChanges = now + Demand.interval
    let own = watchers.ownBytes
    // Not back again at once when it is about so much.
    if tellsAll ? own < bytes / 2 : own > bytes { begins = true }
    let taken = watchers.takeChanges()
    if !tellsAll { changed += taken }
  }

  /// Adds messages with lists.
  private mutating func append(_ lists: [WatchedList], isWhole: Bool, to messages: inout [DemandMessage]) {
    var bytes = 0
    var start = 0
    func size(_ list: WatchedList) -> Int { list.patterns.reduce(8) { $0 + $1.bytes.count + 3 } }
    for (index, list) in lists.enumerated() {
      bytes += size(list)
      guard bytes >= Self.messageBytes, index + 1 < lists.count else { continue }
      add(lists[start...index], isWhole: false, to: &messages)
      (start, bytes) = (index + 1, 0)
    }
    add(lists[start...], isWhole: isWhole, to: &messages)
  }

  private mutating func add(_ lists: ArraySlice<WatchedList>, isWhole: Bool, to messages: inout [DemandMessage]) {
    number += 1
    messages.append(
      DemandMessage(
        node: node, session: session, number: number, first: first, isWhole: isWhole, lists: Array(lists)))
  }
}
