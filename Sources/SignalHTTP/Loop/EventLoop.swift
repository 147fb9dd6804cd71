// SPDX-License-Identifier: MIT
import CReadiness
import Dispatch
import Glibc

/// Names a connection of a loop without keeping it alive; a closed connection's name is never given again.
struct ConnectionID: Sendable, Hashable {
  fileprivate let slot: UInt32
  fileprivate let generation: UInt32

  /// Names no connection: what a connection carries until its loop has taken it.
  static var none: ConnectionID { ConnectionID(slot: .max, generation: .max) }

  fileprivate var token: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}

/// What a loop drives: reacts to readiness, sends what it has to send, and dies at its deadlines.
protocol LoopMember: AnyObject {
  var descriptor: Int32 { get }
  /// Its first request has not come yet.
  var isNew: Bool { get }
  /// Since when its peer takes nothing of what waits for it, in the loop's time; nil when nothing waits.
  var blockedTime: UInt64? { get }
  func ready(_ event: ReadinessEvent, on loop: isolated EventLoop)
  /// More was readable than one turn allows; called in the next turn.
  func proceed(on loop: isolated EventLoop)
  /// End of a turn in which the member asked for it with `markDirty`.
  func flush(on loop: isolated EventLoop)
  func deadlineReached(on loop: isolated EventLoop)
  /// The server drains: finish what is under way, then close.
  func drain(on loop: isolated EventLoop)
  /// Drop everything now.
  func abort(on loop: isolated EventLoop)
}

/// Takes part in every turn of a loop, besides its members.
protocol TurnParticipant: AnyObject {
  /// Before the turn's events; the end of this turn will come.
  func turnBegins(on loop: isolated EventLoop)
  /// After the turn's events and work, before output is sent.
  func turnEnds(on loop: isolated EventLoop)
}

/// Takes over an accepted socket.
protocol ConnectionAcceptor: AnyObject {
  func accept(_ socket: AcceptedSocket, on loop: isolated EventLoop)
}

/// One thread of I/O: a serial Dispatch queue, an epoll set of its connections, and one Dispatch source on that set.
///
/// The source's handler runs *turns* until the set has been idle for a second, then gives the thread back to
/// Dispatch. All that a loop owns (connections, sessions, its hub) is touched in turns only, which the compiler
/// checks: their methods take `on loop: isolated EventLoop`. From other threads `submit` is the only door.
///
/// A turn: readiness events → work from the door → who comes and who goes → connections that had more to read → the turn's
/// end for participants (the hub routes changes) → one send per connection that has output → deadlines → close what was
/// marked closed.
///
/// *Who comes* is a connection whose first request has not come yet: that is often its dearest, with a handshake of TLS
/// before and a snapshot behind. *Who goes* is one whose peer has ended. Both happen to thousands at once, when a network or another
/// server fails; a turn has a share of its time for them, so that those who stay do not wait for all of them.
public actor EventLoop {
  private struct Slot {
    var member: (any LoopMember)?
    var generation: UInt32 = 0
    /// The member's first request has not come yet.
    var isNew = false
    /// What has been told of the member while it waits among `passing`; zero when it does not.
    var passingFlags: UInt32 = 0
    var deadline: UInt64 = .max
  }

  /// Tokens of members that are not connections; a slot never grows to these.
  private enum Token {
    static let door = UInt64.max
    static let timer = UInt64.max - 1
    /// The first listener; the others follow downwards.
    static let listener = UInt64.max - 2
    /// The last listener there can be: what is below is a connection.
    static let lastListener = listener - UInt64(UInt8.max)
  }

  /// What the set reports of a listener by.
  static func token(ofListener number: UInt8) -> UInt64 { Token.listener - UInt64(number) }

  /// How long the set must be idle before the thread goes back to Dispatch.
  ///
  /// Longer than what is between two updates of a dashboard: to come back takes two changes of threads, which is more
  /// than to deliver one.
  private static let idleMilliseconds: Int32 = 1000
  /// Bytes received at most per call; also the largest piece a session sees at once.
  static let receiveBufferBytes = Transport.receiveBufferBytes
  /// How much of a turn those have who come and go; one is served in any case.
  private static let passingNanoseconds: UInt64 = 500_000
  /// Bytes that are sent in one turn before the others are looked at: a few milliseconds' worth.
  private static let turnOutput = 4 << 20
  /// How often events are taken in one turn, when there are many and few of them are handled at once.
  private static let batchesPerTurn = 16

  private nonisolated let executor: LoopExecutor
  private let source: any DispatchSourceRead
  private let readiness: Readiness
  private let timerDescriptor: Int32
  /// When the timer rings, in the time of `now`; `.max` when it is not armed.
  private var timerRings = UInt64.max
  private var sweepNanoseconds: UInt64
  private var nextSweep = UInt64.max
  /// When a participant wants a turn.
  private var nextTurn = UInt64.max

  private var slots: [Slot] = []
  private var freeSlots: [UInt32] = []
  private var dirty: [any LoopMember] = []
  private var flushing: [any LoopMember] = []
  /// Those that had to wait for another turn, because so much was sent in theirs.
  private var unflushed: [any LoopMember] = []
  private var toProceed: [any LoopMember] = []
  private var closed: [any LoopMember] = []
  /// Tokens of those who come and go, each once, in the order in which that was told.
  private var passing: [UInt64] = []
  private var isStopped = false
  private var participants: [any TurnParticipant] = []
  private var listeners: [Listener] = []
  /// How much may still be sent in this turn.
  private var outputLeft = turnOutput
  /// Set before the first socket is handed over; another one takes those that follow.
  private(set) var acceptor: (any ConnectionAcceptor)?

  /// Receives for all connections of the loop, one at a time.
  let receiveBuffer = RawBuffer(count: receiveBufferBytes)
  /// For the connections that have TLS.
  lazy var sealedBuffers = TLSBuffers()
  /// Output of the connection that is being served; taken and put back so that two users never overlap.
  private var scratch: [UInt8] = []
  /// Monotonic nanoseconds, read once a turn; or told by a test, which is the clock then.
  var now: UInt64 = monotonicNanoseconds()
  /// Connections of this loop.
  private(set) var count = 0
  /// Whether the loop is on its way to its end: no new requests are begun.
  private(set) var isDraining = false
  /// When what has not drained is dropped.
  private var drainDeadline = UInt64.max
  /// Participants have work that did not fit into this turn: the next begins at once.
  private var hasWorkLeft = false
  /// What this turn may still spend on what strangers' expressions cost.
  var work: TurnWork
  /// Counts the memory that is taken for the loop's connections; nil when it has no limit.
  let memory: MemoryKeeper?
  /// Called once, when draining has closed the last connection.
  private var whenDrained: (@Sendable () -> Void)?

  /// The executor of this loop: its jobs come through the same door as `submit`.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    // Unowned, as the runtime asks for it: the loop owns its executor.
    unsafe executor.asUnownedSerialExecutor()
  }

  /// Makes a loop; it runs until `stop`.
  ///
  /// - Parameters:
  ///   - sweepMilliseconds: How often deadlines are looked at; a timeout is late by at most this.
  ///   - turnWork: What each kind of work may cost in a turn; see `TurnWork`.
  ///   - memory: That of the server; nil when it has no limit.
  init(
    label: String, sweepMilliseconds: Int, turnWork: Int = TurnWork.defaultLimit, memory: MemoryBudget? = nil
  ) throws(SystemError) {
    work = TurnWork(limit: turnWork)
    self.memory = memory.map { MemoryKeeper($0) }
    executor = try LoopExecutor(label: label)
    readiness = try Readiness()
    timerDescriptor = creadiness_make_timer()
    guard timerDescriptor >= 0 else { throw SystemError("create a timerfd") }
    sweepNanoseconds = Self.nanoseconds(sweepMilliseconds)
    let source = DispatchSource.makeReadSource(fileDescriptor: readiness.descriptor, queue: executor.queue)
    self.source = source
    try readiness.add(executor.wakeDescriptor, .readableEdge, token: Token.door)
    try readiness.add(timerDescriptor, .readableEdge, token: Token.timer)
    if let keeper = self.memory { participants.append(keeper) }
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

  /// Makes the loop run a turn soon, so that its hooks see what came in.
  ///
  /// May be called from anywhere.
  nonisolated func wake() { executor.wake() }

  // MARK: Turns

  private func runTurns() {
    repeat {
      let again = toProceed
      let hasWork = !again.isEmpty || !dirty.isEmpty || !unflushed.isEmpty || !passing.isEmpty || hasWorkLeft
      hasWorkLeft = false
      // Whoever else wants the processor has it first, and there is more to do when it is ours again: to sleep for one
      // event at a time costs two changes of threads and a waking for each.
      if !hasWork { sched_yield() }
      let events = readiness.wait(milliseconds: hasWork ? 0 : Self.idleMilliseconds)
      if events == 0 && !hasWork { return }
      now = monotonicNanoseconds()
      work.begin()
      outputLeft = Self.turnOutput
      for participant in participants { participant.turnBegins(on: self) }
      dispatch(events)
      for work in executor.take() {
        switch work {
        case .job(let job): executor.run(job)
        case .submission(let submission): submission(self)
        }
      }
      servePassing()
      if !again.isEmpty {
        toProceed.removeFirst(again.count)
        for member in again { member.proceed(on: self) }
      }
      for participant in participants { participant.turnEnds(on: self) }
      flushDirty()
      closed.removeAll(keepingCapacity: true)
    } while !isStopped
  }

  /// Handles the events that were taken.
  ///
  /// Those who come and go only take their places in a queue, so more events are taken behind them: whoever stays does
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

  /// Handles an event and returns true; or puts off what is for someone who comes or goes.
  private func dispatch(_ event: ReadinessEvent) -> Bool {
    guard event.token < Token.lastListener else {
      switch event.token {
      case Token.door: break  // its work is taken in every turn
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

  /// The slot that a token names, unless its member is gone.
  private func slot(of token: UInt64) -> Int? {
    let slot = Int(token & 0xffff_ffff)
    return slots[slot].generation == UInt32(token >> 32) ? slot : nil
  }

  /// Accepts connections, and serves those who come and go.
  private func servePassing() {
    for listener in listeners where listener.isReady { listener.accept(on: self) }
    guard !passing.isEmpty else { return }
    let end = monotonicNanoseconds() + Self.passingNanoseconds
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
    // What is marked while flushing (a snapshot's next piece) has its turn in the next turn, so that no member
    // keeps the loop to itself; and so have those for whom too much has been sent already.
    if unflushed.isEmpty {
      swap(&dirty, &flushing)
      flush(&flushing, downTo: 0)
      if !flushing.isEmpty { swap(&flushing, &unflushed) }
    } else {
      // Neither those who have waited nor those who have little to be sent wait for the others.
      flush(&unflushed, downTo: Self.turnOutput / 2)
      swap(&dirty, &flushing)
      flush(&flushing, downTo: 0)
      unflushed += flushing
      flushing.removeAll(keepingCapacity: true)
    }
  }

  /// Flushes members, at least one, until no more than this may be sent in the turn, and takes them off the list.
  private func flush(_ members: inout [any LoopMember], downTo rest: Int) {
    var flushed = 0
    while flushed < members.count, outputLeft > rest || flushed == 0 {
      members[flushed].flush(on: self)
      flushed += 1
    }
    if flushed == members.count { members.removeAll(keepingCapacity: true) } else { members.removeFirst(flushed) }
  }

  /// Notes bytes that have been sent in this turn.
  func noteSent(_ bytes: Int) { outputLeft -= bytes }

  /// So much has been sent in this turn that nobody should be given an answer any more.
  var hasSentEnough: Bool { outputLeft <= 0 }

  /// Asks for another turn right behind this one: a participant has spent what it may in one, and has more to do.
  func continueInNextTurn() { hasWorkLeft = true }

  /// Adds a participant, for as long as the loop runs.
  func addParticipant(_ participant: any TurnParticipant) { participants.append(participant) }

  // MARK: Members

  /// Registers a member and returns its name.
  func add(_ member: any LoopMember) throws(SystemError) -> ConnectionID {
    let slot = freeSlots.popLast() ?? UInt32(slots.count)
    if slot == slots.count { slots.append(Slot()) }
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

  /// Takes a member out.
  ///
  /// It is kept until the end of the turn, so that nobody on the stack sees it die.
  func remove(_ id: ConnectionID) {
    let index = Int(id.slot)
    guard slots[index].generation == id.generation, let member = slots[index].member else { return }
    readiness.remove(member.descriptor)
    closed.append(member)
    slots[index].member = nil
    slots[index].deadline = .max
    slots[index].passingFlags = 0
    slots[index].generation &+= 1
    freeSlots.append(id.slot)
    count -= 1
    if isDraining && count == 0 { finishDraining() }
  }

  /// The member of that name, unless it is gone.
  func member(_ id: ConnectionID) -> (any LoopMember)? {
    slots[Int(id.slot)].generation == id.generation ? slots[Int(id.slot)].member : nil
  }

  /// Sets the member's one deadline, in the time of `now`; `.max` is none.
  func setDeadline(_ deadline: UInt64, of id: ConnectionID) {
    guard slots[Int(id.slot)].generation == id.generation else { return }
    slots[Int(id.slot)].deadline = deadline
  }

  /// Asks for `flush` at the end of this turn.
  ///
  /// The caller remembers that it has asked.
  func markDirty(_ member: any LoopMember) { dirty.append(member) }

  /// Asks for `proceed` in the next turn.
  ///
  /// The caller remembers that it has asked.
  func proceedLater(_ member: any LoopMember) { toProceed.append(member) }

  // MARK: Scratch

  /// Lends the loop's output buffer, empty; give it back with `returnScratch`.
  func takeScratch() -> [UInt8] {
    var lent: [UInt8] = []
    swap(&lent, &scratch)
    lent.removeAll(keepingCapacity: true)
    return lent
  }

  /// Takes the buffer back; one that has grown beyond reason is let go.
  func returnScratch(_ buffer: consuming [UInt8]) {
    scratch = buffer.capacity > 4 << 20 ? [] : buffer
  }

  // MARK: Deadlines

  /// Makes sure that a turn begins then, or at most a millisecond later, for a participant.
  func needTurn(at time: UInt64) {
    guard time < nextTurn else { return }
    nextTurn = time
    armTimer()
  }

  /// Makes sure that `sweep` runs, for listeners that wait for descriptors, or for deadlines.
  func needSweep() {
    guard nextSweep == .max else { return }
    nextSweep = now + sweepNanoseconds
    armTimer()
  }

  /// Looks at deadlines so often, from the next time on.
  func setSweep(milliseconds: Int) { sweepNanoseconds = Self.nanoseconds(milliseconds) }

  private static func nanoseconds(_ milliseconds: Int) -> UInt64 { UInt64(max(1, milliseconds)) * 1_000_000 }

  private func armTimer() {
    let next = min(nextSweep, nextTurn)
    guard next < timerRings else { return }
    timerRings = next
    // The turn may have lasted for a while; and an interval of zero would disarm the timer.
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
    // Only the slots' array is walked: a member is touched when its time has come.
    for index in slots.indices where slots[index].deadline <= now {
      slots[index].deadline = .max
      slots[index].member?.deadlineReached(on: self)
    }
    if drainDeadline <= now { abortAll() }
    if count > 0 || listeners.contains(where: \.isPaused) { needSweep() }
  }

  // MARK: Listener and end

  func setAcceptor(_ acceptor: any ConnectionAcceptor) { self.acceptor = acceptor }

  func startListening(_ listener: Listener) {
    listeners.append(listener)
    watchListener(listener)
  }

  func watchListener(_ listener: Listener) {
    do {
      try readiness.add(listener.descriptor, .readableLevel, token: listener.token)
    } catch {
      // The kernel is out of memory for it: tried again at the next sweep.
      listener.pause(on: self)
    }
  }

  func unwatchListener(_ listener: Listener) { readiness.remove(listener.descriptor) }

  func stopListening() {
    for listener in listeners { readiness.remove(listener.descriptor) }
    listeners = []
  }

  /// Stops accepting, lets every connection finish, drops those that have not in time, and calls `done` when the last
  /// has gone.
  func drain(within timeout: Duration, whenDone done: @escaping @Sendable () -> Void) {
    guard !isDraining else { return done() }
    isDraining = true
    whenDrained = done
    drainDeadline = now + timeout.nanosecondsClamped
    stopListening()
    for slot in slots { slot.member?.drain(on: self) }
    if count == 0 { finishDraining() }
  }

  /// Drops a quarter of the members whose peers take nothing of what waits for them: those that have taken nothing for
  /// longest.
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

  /// Drops every connection that is left.
  private func abortAll() {
    for slot in slots { slot.member?.abort(on: self) }
  }

  private func finishDraining() {
    whenDrained?()
    whenDrained = nil
  }

  /// Ends the turns; the loop does nothing any more.
  func stop() {
    isStopped = true
    participants = []
    acceptor = nil
    source.cancel()
  }
}
