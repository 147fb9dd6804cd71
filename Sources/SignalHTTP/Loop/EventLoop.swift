// SPDX-License-Identifier: MIT
import CReadiness
import Dispatch
import Glibc

/// One thread of I/O: a serial Dispatch queue, an epoll set of its connections, and one Dispatch source on that set.
///
/// The source's handler runs *turns* (loop iterations) until the set has been idle for a second, then returns the
/// thread to Dispatch. Everything that a loop owns (connections, sessions, its hub) is accessed in turns only, which
/// the compiler checks: the methods take `on loop: isolated EventLoop`. Other threads use the submission queue:
/// `submit` is the only entry point.
///
/// A turn: readiness events → submitted work → new and closing connections → connections that had more to read → the
/// turn's end for participants (the hub routes changes) → one send per connection that has output → deadlines → release
/// of what was marked closed.
///
/// A *new* connection is one whose first request has not arrived yet: it is often the most expensive, with a TLS
/// handshake before the request and a snapshot after it. A *closing* connection is one whose peer has ended. Both occur
/// by the thousand when a network or another server fails; they get a limited share of each turn, so that established
/// connections do not wait for all of them.
public actor EventLoop {
  /// Tokens of members that are not connections; slots never reach these numbers.
  private enum Token {
    static let wake = UInt64.max
    static let timer = UInt64.max - 1
    /// The first listener; the others count downwards.
    static let listener = UInt64.max - 2
    /// The last possible listener: anything below is a connection.
    static let lastListener = listener - UInt64(UInt8.max)
  }

  /// The token by which the set reports a listener.
  static func token(ofListener number: UInt8) -> UInt64 { Token.listener - UInt64(number) }

  /// How long the set must be idle before the thread is returned to Dispatch.
  ///
  /// Longer than the interval between two updates of a dashboard: resuming costs two thread switches, more than
  /// delivering an update.
  private static let idleMilliseconds: Int32 = 1000
  /// Bytes received at most per call; also the largest piece that a session sees at once.
  static let receiveBufferBytes = Transport.receiveBufferBytes
  /// The share of a turn for new and closing connections; at least one is served in any case.
  private static let passingNanoseconds: UInt64 = 500_000
  /// Bytes sent in one turn before other work goes on: a few milliseconds' worth.
  private static let turnOutput = 4 << 20
  /// How often events are fetched in one turn, when there are many and few of them are handled at once.
  private static let batchesPerTurn = 16

  private nonisolated let executor: LoopExecutor
  private let source: any DispatchSourceRead
  private let readiness: Readiness
  private let timerDescriptor: Int32
  /// When the timer fires, in the time of `now`; `.max` when it is not armed.
  private var timerRings = UInt64.max
  private var sweepNanoseconds: UInt64
  private var nextSweep = UInt64.max
  /// When a participant needs a turn.
  private var nextTurn = UInt64.max

  private var slots: [LoopSlot] = []
  private var freeSlots: [UInt32] = []
  private var dirty: [any LoopMember] = []
  private var flushing: [any LoopMember] = []
  /// Members deferred to another turn, because too much was sent in theirs.
  private var unflushed: [any LoopMember] = []
  /// Members deferred to another turn, because they have had their share of theirs, or too much was sent in it.
  var toProceed: [any LoopMember] = []
  /// Members whose requests take long, in the order in which they have come.
  var heavy: [any LoopMember] = []
  var shares = LoopShares()
  private var closed: [any LoopMember] = []
  /// Tokens of new and closing connections, each once, in the order of their first report.
  private var passing: [UInt64] = []
  private var isStopped = false
  private var participants: [any TurnParticipant] = []
  /// Those who take part in the turns at present: a bit for each, by its place.
  ///
  /// Asking all whether they have something to do would cost a quiet loop more than reading its events.
  private var taking: UInt64 = 0
  private var listeners: [Listener] = []
  /// Bytes that may still be sent in this turn.
  private var outputLeft = turnOutput
  /// Set before the first socket is handed over; a replacement accepts later ones.
  private(set) var acceptor: (any ConnectionAcceptor)?

  /// Receive buffer for all connections of the loop, used by one at a time.
  let receiveBuffer = RawBuffer(count: receiveBufferBytes)
  /// Shared by the connections with TLS.
  lazy var sealedBuffers = TLSBuffers()
  /// Shared by all connections.
  let compressors: Compressors
  /// Output of the connection that is being served; taken and returned, so that two users never overlap.
  private var scratch: [UInt8] = []
  /// Monotonic nanoseconds, read once per turn; or set by a test, which then acts as the clock.
  var now: UInt64 = monotonicNanoseconds()
  /// Connections of this loop.
  private(set) var count = 0
  /// Whether the loop is draining: no new requests are begun.
  private(set) var isDraining = false
  /// When connections that have not drained are dropped.
  private var drainDeadline = UInt64.max
  /// Participants have work that did not fit into this turn: the next one begins at once.
  private var hasWorkLeft = false
  /// What this turn may still spend on evaluating clients' expressions.
  var work: TurnWork
  /// Accounts for the memory of the loop's connections; nil when it has no limit.
  let memory: MemoryKeeper?
  /// The memory of `counters`.
  nonisolated let counterTable: CounterTable
  /// What the loop counts, for those who operate the server.
  nonisolated let counters: LoopCounters
  /// Commits whose events are sent in this turn, and since when they have been waiting.
  private var delivered: [(commits: Int, since: UInt64)] = []
  /// The numbers of codes of refusals that have occurred.
  private var refusalCodes: [String: Int] = [:]
  /// All loops of the server in the order of their numbers, this one included; set before the first connection.
  private(set) var all: [EventLoop] = []
  /// Called once, when draining has closed the last connection.
  private var whenDrained: (@Sendable () -> Void)?

  /// The executor of this loop: its jobs use the same submission queue as `submit`.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    // Unowned, as the runtime requires: the loop owns its executor.
    unsafe executor.asUnownedSerialExecutor()
  }

  /// Creates a loop; it runs until `stop`.
  ///
  /// - Parameters:
  ///   - sweepMilliseconds: How often deadlines are checked; a timeout is late by at most this.
  ///   - turnWork: What each kind of work may cost in a turn; see `TurnWork`.
  ///   - memory: The server's memory; nil when it has no limit.
  init(
    label: String, sweepMilliseconds: Int, turnWork: Int = TurnWork.defaultLimit, memory: MemoryBudget? = nil
  ) throws(SystemError) {
    work = TurnWork(limit: turnWork)
    compressors = Compressors(work: turnWork)
    self.memory = memory.map { MemoryKeeper($0) }
    counterTable = CounterTable()
    counters = counterTable.counters
    executor = try LoopExecutor(label: label)
    readiness = try Readiness()
    timerDescriptor = creadiness_make_timer()
    guard timerDescriptor >= 0 else { throw SystemError("create a timerfd") }
    sweepNanoseconds = Self.nanoseconds(sweepMilliseconds)
    let source = DispatchSource.makeReadSource(fileDescriptor: readiness.descriptor, queue: executor.queue)
    self.source = source
    try readiness.add(executor.wakeDescriptor, .readableEdge, token: Token.wake)
    try readiness.add(timerDescriptor, .readableEdge, token: Token.timer)
    if let keeper = self.memory {
      participants.append(keeper)
      taking = 1
    }
    // The handler keeps the loop alive until `stop`.
    source.setEventHandler { self.assumeIsolated { $0.runTurns() } }
    source.activate()
  }

  deinit { close(timerDescriptor) }

  /// Runs `work` on the loop, between two turns, in the order of submission.
  ///
  /// May be called from anywhere.
  public nonisolated func submit(_ work: @escaping @Sendable (isolated EventLoop) -> Void) {
    executor.put(.submission(work))
  }

  /// Makes the loop run a turn soon, so that its participants see what has arrived.
  ///
  /// May be called from anywhere.
  nonisolated func wake() { executor.wake() }

  // MARK: Turns

  private func runTurns() {
    repeat {
      let deferred = toProceed.count
      let hasWork = deferred > 0 || !dirty.isEmpty || !unflushed.isEmpty || !passing.isEmpty || hasWorkLeft
      hasWorkLeft = false
      let pause: Int32 = hasWork ? 0 : heavy.isEmpty ? Self.idleMilliseconds : shares.restLeft < 1_000_000 ? 0 : 1
      // Other runnable threads get the processor first; by the time it is ours again, more events have gathered:
      // sleeping for one event at a time costs two thread switches and a wake-up for each.
      if !hasWork { sched_yield() }
      let events = readiness.wait(milliseconds: pause)
      if events == 0 && !hasWork && heavy.isEmpty { return }
      now = monotonicNanoseconds()
      work.begin()
      compressors.beginTurn(work: work.limit)
      outputLeft = Self.turnOutput
      shares.beginTurn(at: now)
      forEachTaking { participants[$0].turnBegins(on: self) }
      dispatch(events)
      for work in executor.take() {
        switch work {
        case .job(let job): executor.run(job)
        case .submission(let submission): submission(self)
        }
      }
      servePassing()
      if deferred > 0 { serveDeferred(deferred) }
      if !heavy.isEmpty { serveHeavy() }
      forEachTaking { if !participants[$0].turnEnds(on: self) { taking &= ~(1 << UInt64($0)) } }
      flushDirty()
      if !closed.isEmpty { closed.removeAll(keepingCapacity: true) }
      endTurn()
    } while !isStopped
  }

  /// Counts the turn, and what was answered and sent in it: the one time that the clock is read for that.
  private func endTurn() {
    let end = monotonicNanoseconds()
    if !delivered.isEmpty {
      for (commits, since) in delivered { counters.recordDeliveries(commits, after: end > since ? end - since : 0) }
      delivered.removeAll(keepingCapacity: true)
    }
    counters.endTurn(taking: end > now ? end - now : 0)
  }

  /// Handles the fetched events.
  ///
  /// New and closing connections are only queued, so further events are fetched after them: established connections do
  /// not wait in the kernel's queue either.
  private func dispatch(_ events: Int) {
    var events = events
    var handled = 0
    for _ in 0..<Self.batchesPerTurn {
      for index in 0..<events where dispatch(readiness.event(index)) { handled += 1 }
      guard events == Readiness.capacity, handled < Readiness.capacity else { return }
      events = readiness.wait(milliseconds: 0)
    }
  }

  /// Handles an event and returns true, or queues it when it is for a new or closing connection.
  private func dispatch(_ event: ReadinessEvent) -> Bool {
    guard event.token < Token.lastListener else {
      switch event.token {
      case Token.wake: break  // submitted work is taken in every turn
      case Token.timer: timerRang()
      default: for listener in listeners where listener.token == event.token { listener.isReady = true }
      }
      return true
    }
    guard let slot = slot(of: event.token) else { return true }
    guard event.isReadable, slots[slot].isNew || event.isEnding else {
      slots[slot].member?.ready(event, on: self)
      return true
    }
    if slots[slot].passingFlags == 0 { passing.append(event.token) }
    slots[slot].passingFlags |= event.flags
    return false
  }

  /// The slot of a token, unless its member is gone.
  private func slot(of token: UInt64) -> Int? {
    let slot = Int(token & 0xffff_ffff)
    return slots[slot].generation == UInt32(token >> 32) ? slot : nil
  }

  /// Accepts connections, and serves new and closing ones.
  private func servePassing() {
    for listener in listeners where listener.isReady { listener.accept(on: self) }
    guard !passing.isEmpty else { return }
    let begin = monotonicNanoseconds()
    shares.resume(at: begin)
    let end = begin + Self.passingNanoseconds
    var served = 0
    repeat {
      let token = passing[served]
      served += 1
      guard let slot = slot(of: token) else { continue }
      let event = ReadinessEvent(token: token, flags: slots[slot].passingFlags)
      slots[slot].passingFlags = 0
      guard let member = slots[slot].member else { continue }
      member.ready(event, on: self)
      if slots[slot].isNew { slots[slot].isNew = member.isNew }
    } while served < passing.count && monotonicNanoseconds() < end
    passing.removeFirst(served)
  }

  private func flushDirty() {
    // Members marked while flushing (a snapshot's next piece) are flushed in the next turn, so that no member
    // monopolizes the loop; so are those that are left when enough has been sent.
    //
    // The lists are moved out while members are called: this saves exclusivity checks wherever one is marked.
    var members: [any LoopMember] = []
    if !unflushed.isEmpty {
      // Neither deferred members nor those with little to send wait for the rest.
      swap(&members, &unflushed)
      flush(&members, downTo: Self.turnOutput / 2)
      swap(&members, &unflushed)
    }
    if dirty.isEmpty { return }
    swap(&members, &flushing)
    swap(&members, &dirty)
    flush(&members, downTo: 0)
    unflushed += members
    members.removeAll(keepingCapacity: true)
    swap(&members, &flushing)
  }

  /// Flushes members, at least one, until no more than `rest` bytes may be sent in the turn, and removes them from the
  /// list.
  private func flush(_ members: inout [any LoopMember], downTo rest: Int) {
    var flushed = 0
    while flushed < members.count, outputLeft > rest || flushed == 0 {
      members[flushed].flush(on: self)
      flushed += 1
    }
    if flushed == members.count { members.removeAll(keepingCapacity: true) } else { members.removeFirst(flushed) }
  }

  /// Counts bytes that have been sent in this turn.
  func noteSent(_ bytes: Int) {
    outputLeft -= bytes
    counters.add(.sentBytes, bytes)
  }

  /// Counts commits whose events are sent at the end of this turn, and that have been waiting since a time.
  func noteDelivered(_ commits: Int, since time: UInt64) { delivered.append((commits, time)) }

  /// The present time of the clock of ``now``, for what happens outside of turns; takes some 25 ns.
  nonisolated static var time: UInt64 { monotonicNanoseconds() }

  /// Counts a refusal by its code; empty for an application's own answer, which has none.
  func countRefusal(_ code: String) {
    if code.isEmpty { return }
    // Refusals are neither frequent nor fast; the table has a lock, which this keeps from being taken each time.
    let number = refusalCodes[code] ?? counterTable.number(of: code)
    refusalCodes[code] = number
    counters.countRefusal(number)
  }

  /// Whether so much has been sent in this turn that no further answers should be written.
  var hasSentEnough: Bool { outputLeft <= 0 }

  /// Asks for another turn right after this one: a participant has used up its share of this one and has more to do.
  func continueInNextTurn() { hasWorkLeft = true }

  /// Adds a participant for the lifetime of the loop; it takes part from now on.
  func addParticipant(_ participant: any TurnParticipant) {
    precondition(participants.count < UInt64.bitWidth, "There is a bit for each participant.")
    participants.append(participant)
    takePart(participant)
  }

  /// Lets a participant that has had nothing to do take part again, from the end of this turn on.
  func takePart(_ participant: any TurnParticipant) {
    guard let place = participants.firstIndex(where: { $0 === participant }) else { return }
    taking |= 1 << UInt64(place)
  }

  /// Calls `body` with the places of those who take part, also when it changes who does.
  private func forEachTaking(_ body: (Int) -> Void) {
    var rest = UInt64.max
    while taking & rest != 0 {
      let place = (taking & rest).trailingZeroBitCount
      rest = .max << UInt64(place + 1)
      body(place)
    }
  }

  // MARK: Members

  /// Registers a member and returns its identity.
  func add(_ member: any LoopMember) throws(SystemError) -> ConnectionID {
    let slot = freeSlots.popLast() ?? UInt32(slots.count)
    if slot == slots.count { slots.append(LoopSlot()) }
    let id = ConnectionID(slot: slot, generation: slots[Int(slot)].generation)
    do {
      try readiness.add(member.descriptor, .edges, token: id.token)
    } catch {
      freeSlots.append(slot)
      throw error
    }
    slots[Int(slot)].member = member
    slots[Int(slot)].isNew = true
    count += 1
    needSweep()
    return id
  }

  /// Removes a member.
  ///
  /// It is retained until the end of the turn, so that callers on the stack do not see it deallocated.
  func remove(_ id: ConnectionID) {
    let index = Int(id.slot)
    guard slots[index].generation == id.generation, let member = slots[index].member else { return }
    readiness.remove(member.descriptor)
    closed.append(member)
    slots[index].member = nil
    slots[index].isBlocked = false
    slots[index].deadline = .max
    slots[index].passingFlags = 0
    slots[index].generation &+= 1
    freeSlots.append(id.slot)
    count -= 1
    if isDraining && count == 0 { finishDraining() }
  }

  /// The member with that identity, unless it is gone.
  func member(_ id: ConnectionID) -> (any LoopMember)? {
    // An id that a client has named may be of another server.
    Int(id.slot) < slots.count && slots[Int(id.slot)].generation == id.generation ? slots[Int(id.slot)].member : nil
  }

  /// Calls `body` with members in the order of their slots.
  ///
  /// - Parameters:
  ///   - slots: Which slots are looked at, as far as there are so many.
  ///   - body: Whether to go on.
  /// - Returns: The next slot; nil behind the last.
  func visitMembers(in slots: Range<Int>, _ body: (any LoopMember) -> Bool) -> Int? {
    var slot = slots.lowerBound
    while slot < min(slots.upperBound, self.slots.count) {
      if let member = self.slots[slot].member, !body(member) { return slot }
      slot += 1
    }
    return slot < self.slots.count ? slot : nil
  }

  /// Sets the member's single deadline, in the time of `now`; `.max` is none.
  func setDeadline(_ deadline: UInt64, of id: ConnectionID) {
    guard slots[Int(id.slot)].generation == id.generation else { return }
    slots[Int(id.slot)].deadline = deadline
  }

  /// Notes whether the member's socket takes output.
  func setBlocked(_ isBlocked: Bool, _ id: ConnectionID) {
    guard slots[Int(id.slot)].generation == id.generation else { return }
    slots[Int(id.slot)].isBlocked = isBlocked
  }

  /// Asks for `flush` at the end of this turn.
  ///
  /// The caller keeps track of whether it has asked.
  func markDirty(_ member: any LoopMember) { dirty.append(member) }

  /// Asks for `proceed` in the next turn.
  ///
  /// The caller keeps track of whether it has asked.
  func proceedLater(_ member: any LoopMember) { toProceed.append(member) }

  // MARK: Scratch

  /// Lends the loop's output buffer, empty; return it with `returnScratch`.
  func takeScratch() -> [UInt8] {
    var lent: [UInt8] = []
    swap(&lent, &scratch)
    lent.removeAll(keepingCapacity: true)
    return lent
  }

  /// Takes the buffer back; one that has grown too large is freed.
  func returnScratch(_ buffer: consuming [UInt8]) {
    scratch = buffer.capacity > 4 << 20 ? [] : buffer
  }

  // MARK: Deadlines

  /// Makes sure that a turn begins at that time, or at most a millisecond later, for a participant.
  func needTurn(at time: UInt64) {
    guard time < nextTurn else { return }
    nextTurn = time
    armTimer()
  }

  /// Makes sure that `sweep` runs, for listeners that wait for descriptors or for deadlines.
  func needSweep() {
    guard nextSweep == .max else { return }
    nextSweep = now + sweepNanoseconds
    armTimer()
  }

  /// Sets how often deadlines are checked, from the next sweep on.
  func setSweep(milliseconds: Int) { sweepNanoseconds = Self.nanoseconds(milliseconds) }

  private static func nanoseconds(_ milliseconds: Int) -> UInt64 { UInt64(max(1, milliseconds)) * 1_000_000 }

  private func armTimer() {
    let next = min(nextSweep, nextTurn)
    guard next < timerRings else { return }
    timerRings = next
    // The turn may have taken a while; and an interval of zero would disarm the timer.
    let current = monotonicNanoseconds()
    _ = creadiness_arm_timer(timerDescriptor, next > current ? Int64(clamping: next - current) : 1)
  }

  private func timerRang() {
    timerRings = .max
    if nextTurn <= now { nextTurn = .max }
    if nextSweep <= now { sweep() }
    armTimer()
  }

  private func sweep() {
    nextSweep = .max
    for listener in listeners { listener.resumeIfPaused(on: self) }
    // Only the array of slots is scanned: a member is accessed when its deadline has passed.
    for index in slots.indices where slots[index].deadline <= now {
      slots[index].deadline = .max
      slots[index].member?.deadlineReached(on: self)
    }
    countBlocked()
    if drainDeadline <= now { abortAll() }
    if count > 0 || listeners.contains(where: \.isPaused) { needSweep() }
  }

  /// Counts what waits for sockets; only members that are blocked are looked at.
  private func countBlocked() {
    var (blocked, bytes) = (0, 0)
    for index in slots.indices where slots[index].isBlocked {
      blocked += 1
      bytes += slots[index].member?.backlog ?? 0
    }
    counters.set(.blockedConnections, to: blocked)
    counters.set(.backlogBytes, to: bytes)
  }

  // MARK: Listener and end

  /// Makes the loop one of several.
  func join(_ all: [EventLoop]) { self.all = all }

  func setAcceptor(_ acceptor: any ConnectionAcceptor) { self.acceptor = acceptor }

  func startListening(_ listener: Listener) {
    listeners.append(listener)
    watchListener(listener)
  }

  func watchListener(_ listener: Listener) {
    do {
      try readiness.add(listener.descriptor, .readableLevel, token: listener.token)
    } catch {
      // The kernel has no memory for it: retried at the next sweep.
      listener.pause(on: self)
    }
  }

  func unwatchListener(_ listener: Listener) { readiness.remove(listener.descriptor) }

  func stopListening() {
    for listener in listeners { readiness.remove(listener.descriptor) }
    listeners = []
  }

  /// Stops accepting, lets every connection finish, drops those that have not finished in time, and calls `done` when
  /// the last one is closed.
  func drain(within timeout: Duration, whenDone done: @escaping @Sendable () -> Void) {
    guard !isDraining else { return done() }
    isDraining = true
    whenDrained = done
    drainDeadline = now + timeout.nanosecondsClamped
    stopListening()
    for slot in slots { slot.member?.drain(on: self) }
    if count == 0 { finishDraining() }
  }

  /// Drops a quarter of the members whose peers accept none of the pending output: those blocked for the longest time.
  ///
  /// - Returns: How many.
  func abortBlocked() -> Int {
    var blocked: [(time: UInt64, member: any LoopMember)] = []
    for slot in slots {
      if let member = slot.member, let time = member.blockedTime { blocked.append((time, member)) }
    }
    blocked.sort { $0.time < $1.time }
    let count = (blocked.count + 3) / 4
    for (_, member) in blocked.prefix(count) { member.abort(on: self) }
    return count
  }

  /// Drops all remaining connections.
  private func abortAll() {
    for slot in slots { slot.member?.abort(on: self) }
  }

  private func finishDraining() {
    whenDrained?()
    whenDrained = nil
  }

  /// Ends the turns; the loop does nothing afterwards.
  func stop() {
    isStopped = true
    (participants, taking, heavy) = ([], 0, [])
    acceptor = nil
    all = []
    source.cancel()
  }
}
