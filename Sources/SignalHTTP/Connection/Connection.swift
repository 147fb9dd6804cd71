// SPDX-License-Identifier: MIT
import Glibc

/// One accepted socket: receives for its session, sends for it, and bounds both.
///
///     open ──close──▶ flushing ──all sent──▶ lingering ──peer's end──▶ closed
///       └──abort, failure, deadline──────────────────────────────────▶ closed
///
/// *Lingering* (RFC 9112 §9.6): our end is sent, what still arrives is thrown away for a short time, because closing at
/// once would make the system answer with a reset that can destroy the response in transit.
final class Connection: LoopMember {
  private enum State { case open, flushing, lingering, closed }

  // The fields needed to send come first and together: when an event goes to thousands of connections, their memory is
  // cold.

  private let transport: Transport
  private var state = State.open
  private var isDirty = false
  private var isServing = false
  /// The socket's buffer is full; a write edge will follow.
  private(set) var isFull = false
  /// The session is notified once when all output has been sent.
  var tellsWhenSent = false
  /// The session has seen all of `input` and needs more bytes after it; false while it is held back.
  private var inputNeedsMore = true
  private var output = OutputQueue()
  /// Output that must not be sent yet; nil when there is none.
  private var held: HeldOutput?

  private let connections: LoopConnections
  /// The other end; with its certificate from the end of the handshake on.
  private(set) var peer: Peer
  /// Whether the peer may still show a certificate.
  private var awaitsCertificate: Bool
  /// Whom a trusted proxy has named as the client of the present WebSocket or stream; nil when it is the peer.
  private var named: NamedClient?
  /// Holds answers back until they are durable; nil when they may be sent at once.
  private let gate: AnswerGate?
  private(set) var id: ConnectionID
  private(set) var session: any Session
  /// Received and not yet consumed; empty, without storage, between requests.
  private var input: [UInt8] = []
  /// Memory claimed for input and for what the session keeps of it.
  private var inputBytes = 0
  /// One of those that its address may have; nil when it is not limited.
  private var claim: RateClaim?
  /// Memory claimed for the connection itself; nil when it is only to be refused.
  private let ownBytes: Int?
  /// Readable was reported and not yet exhausted (edge-triggered: it is not reported again).
  private var isReadable = false
  private var isEnding = false
  private var peerHasEnded = false
  private var willProceed = false
  /// How long its last requests took.
  private var load = LoopShares.Load()
  /// Whether it was given less than its share when it was served last, and has more.
  private var isCut = false
  private var lingeredBytes = 0
  private(set) var isNew = true
  /// The session's own deadline; while the socket is full the send timeout replaces it and the session's time is
  /// suspended: a peer that reads slowly cannot answer yet what is still queued for it.
  private var sessionDeadline = UInt64.max
  /// Since when the session's time is suspended.
  private var blockedSince: UInt64 = 0
  /// Reports events of this connection to the observer; nil costs nothing.
  private(set) var observation: Observation?

  /// The client of a request, apart from the connection: few have one.
  private final class NamedClient {
    let peer: Peer

    init(_ peer: Peer) { self.peer = peer }
  }

  var descriptor: Int32 { transport.descriptor }
  var limits: Limits { connections.limits }
  /// Bytes waiting to be sent.
  var backlog: Int { output.count + (held?.count ?? 0) }
  /// Whether output has to wait.
  var isBlocked: Bool { isFull || held != nil }
  var isOpen: Bool { state == .open }
  /// When it was accepted, in the loop's time.
  let opened: UInt64
  /// The client of the present session: the peer, or whom it has named.
  var client: Peer { named?.peer ?? peer }
  /// The peer has ended its side; data that it sent before may not have been received yet.
  var peerIsEnding: Bool { isEnding || peerHasEnded }

  /// Takes over an accepted socket, which has been counted, and registers it; on failure the socket is closed.
  ///
  /// - Parameters:
  ///   - awaitsCertificate: Whether the peer has been asked for one.
  ///   - ownBytes: Memory claimed for it on the loop, released at its end.
  ///   - claim: One of those that its address may have, likewise.
  static func adopt(
    _ transport: consuming Transport, of peer: Peer, session: any Session, connections: LoopConnections,
    awaitsCertificate: Bool = false, gate: AnswerGate? = nil, memory ownBytes: Int? = 0,
    claim: RateClaim? = nil, on loop: isolated EventLoop
  ) throws(SystemError) -> Connection {
    if peer.isRemote { transport.disableNagle() }
    let connection = Connection(
      transport, peer, session, connections, awaitsCertificate, gate, ownBytes, claim, at: loop.now)
    connection.id = try loop.add(connection)
    loop.counters.add(session.kind.counter)
    connection.observation?.tell(.opened)
    return connection
  }

  private init(
    _ transport: consuming Transport, _ peer: Peer, _ session: any Session, _ connections: LoopConnections,
    _ awaitsCertificate: Bool, _ gate: AnswerGate?, _ ownBytes: Int?, _ claim: RateClaim?, at time: UInt64
  ) {
    opened = time
    self.claim = claim
    self.awaitsCertificate = awaitsCertificate
    self.ownBytes = ownBytes
    self.gate = gate
    observation = connections.observe(peer)
    self.transport = transport
    self.peer = peer
    self.session = session
    self.connections = connections
    id = .none
  }

  // MARK: Readiness

  func ready(_ event: ReadinessEvent, on loop: isolated EventLoop) {
    if event.isWritable && isFull {
      isFull = false
      loop.setBlocked(false, id)
      if sessionDeadline != .max { sessionDeadline += loop.now - blockedSince }
      loop.setDeadline(sessionDeadline, of: id)
      if loop.hasSentEnough { markDirty(on: loop) } else { flush(on: loop) }
    }
    guard event.isReadable else { return }
    isReadable = true
    if event.isEnding {
      isEnding = true
      session.peerIsEnding(self, on: loop)
    }
    if loop.shares.putsInLine(load) { return proceedLater(on: loop) }
    serveTimed(on: loop)
  }

  func proceed(on loop: isolated EventLoop) {
    willProceed = false
    serveTimed(on: loop)
  }

  /// Serves, and notes how long that took.
  private func serveTimed(on loop: isolated EventLoop) {
    if loop.hasSentEnough { return proceedLater(on: loop) }
    let wasNew = isNew
    let begin = load.isSuspect ? threadNanoseconds() : nil
    serve(on: loop)
    load = loop.noteServed(load, since: begin, isNew: wasNew, isCut: isCut)
  }

  /// Offers the session what has been received and receives more, until it wants no more, output piles up, the socket
  /// is empty, or the turn's share is used up.
  func serve(on loop: isolated EventLoop) {
    guard !isServing else { return }
    isServing = true
    defer { isServing = false }
    if state == .lingering || state == .flushing { return discard(on: loop) }
    if loop.hasSentEnough { return proceedLater(on: loop) }

    // Those who wait in line have a turn of their own.
    let isShort = loop.shares.isSpent && !load.isHeavy && limits.turnBytes > LoopShares.spentTurnBytes
    var budget = isShort ? LoopShares.spentTurnBytes : limits.turnBytes
    isCut = false
    var hasOffered = false
    while state == .open, session.takesInput, backlog <= limits.highWaterMark, held?.isFull != true {
      if !inputNeedsMore {
        // Held back a second time although the socket takes output: other connections are served first.
        if hasOffered {
          proceedLater(on: loop)
          break
        }
        hasOffered = true
        offerInput(on: loop)
      } else if peerHasEnded {
        session.peerEnded(self, on: loop)
        break
      } else if !isReadable {
        break
      } else if budget <= 0 {
        isCut = isShort
        proceedLater(on: loop)
        break
      } else {
        budget -= receive(atMost: budget, on: loop)
        hasOffered = false
      }
    }
    if output.isEmpty { return }
    if session.collectsOutput { markDirty(on: loop) } else { flush(on: loop) }
  }

  private func offerInput(on loop: isolated EventLoop) {
    // Moved out, so that the session may access this connection while it reads.
    var bytes: [UInt8] = []
    swap(&bytes, &input)
    var span = bytes.mutableSpan
    let intake = session.receive(&span, from: self, on: loop)
    keep(intake, of: bytes.count, on: loop) { $0 = Array(bytes[intake.consumed...]) }
  }

  /// Keeps what the session has not consumed.
  private func keep(_ intake: Intake, of count: Int, on loop: isolated EventLoop, _ copy: (inout [UInt8]) -> Void) {
    if intake.consumed > 0 { isNew = false }
    guard state == .open else { return }
    input = []
    guard countInput(count - intake.consumed, on: loop) else { return }
    if intake.consumed < count { copy(&input) }
    inputNeedsMore = input.isEmpty || !intake.isHeldBack
  }

  /// Counts kept input; false when there is no memory for it, and the session has refused it.
  private func countInput(_ bytes: Int, on loop: isolated EventLoop) -> Bool {
    let needed = bytes + session.heldBytes
    guard needed != inputBytes, let memory = loop.memory else { return true }
    guard memory.budget.requests.take(needed - inputBytes) else {
      inputNeedsMore = true
      session.memoryIsFull(self, on: loop)
      return false
    }
    inputBytes = needed
    return true
  }

  private func receive(atMost most: Int, on loop: isolated EventLoop) -> Int {
    let buffer = unsafe loop.receiveBuffer.bytes
    var isDrained = false
    let outcome = unsafe transport.receive(into: buffer, atMost: most, isDrained: &isDrained)
    // Output of the transport itself waits for the socket.
    if transport.hasRest, !isFull { block(on: loop) }
    switch outcome {
    case .bytes(let count):
      // Unless the peer's end is already queued: that is not reported again.
      if isDrained && !isEnding { isReadable = false }
      guard count > 0 else { return Transport.handshakeCost }
      if awaitsCertificate { identify() }
      // The bytes just received, in the loop's buffer, which is not modified while the session reads them.
      loop.counters.add(.receivedBytes, count)
      let bytes = unsafe UnsafeMutableBufferPointer<UInt8>(
        rebasing: buffer.assumingMemoryBound(to: UInt8.self)[..<count])
      if input.isEmpty {
        var span = unsafe MutableSpan(_unsafeElements: bytes)
        let intake = session.receive(&span, from: self, on: loop)
        keep(intake, of: count, on: loop) { unsafe $0 = Array(bytes[intake.consumed...]) }
      } else if countInput(input.count + count, on: loop) {
        unsafe input.append(contentsOf: bytes)
        inputNeedsMore = false
      }
      return count
    case .wouldBlock:
      isReadable = false
    case .ended:
      isReadable = false
      peerHasEnded = true
    case .failed:
      if let reason = transport.failure { connections.refuse(peer, because: .tls(reason), on: loop) }
      abort(on: loop)
    }
    return 0
  }

  /// Reads the certificate of the peer, whose first bytes come behind the handshake.
  private func identify() {
    awaitsCertificate = false
    if let certificate = transport.clientCertificate { peer = peer.showing(certificate) }
  }

  /// Continues with the input later in this turn.
  func proceedLater(on loop: isolated EventLoop) {
    guard !willProceed else { return }
    willProceed = true
    if loop.shares.putsInLine(load) { loop.waitInLine(self) } else { loop.proceedLater(self) }
  }

  // MARK: Output

  /// Appends a block; it is sent at the end of the turn at the latest.
  func send(_ block: [UInt8], on loop: isolated EventLoop) {
    guard state == .open else { return }
    if let held { return held.append(block, until: 0) }
    output.append(block)
    if !isServing || session.collectsOutput { markDirty(on: loop) }
  }

  /// Sends a session's answer: as ``send(_:on:)``, but not before the state that it reports is durable.
  func sendAnswer(_ block: [UInt8], on loop: isolated EventLoop) {
    guard state == .open else { return }
    if gate?.takeLoss() == true { return replaceAnswer(block, on: loop) }
    if let held = holdBack() { return held.output.append(block, until: held.record) }
    send(block, on: loop)
  }

  /// Sends an answer whose bytes do not outlive the call; only what the socket does not take is copied.
  func sendAnswerNow(_ bytes: [UInt8], on loop: isolated EventLoop) {
    guard state == .open, !bytes.isEmpty else { return }
    if gate?.takeLoss() == true { return replaceAnswer(bytes, on: loop) }
    if let held = holdBack() { return held.output.append(copying: bytes, until: held.record) }
    guard output.isEmpty, !isFull else { return output.append(Array(bytes)) }
    let outcome = unsafe bytes.withUnsafeBytes { unsafe transport.send($0) }
    switch outcome {
    case .bytes(bytes.count): loop.noteSent(bytes.count)
    case .bytes(let sent):
      loop.noteSent(sent)
      keep(Array(bytes[sent...]), on: loop)
    case .wouldBlock: keep(Array(bytes), on: loop)
    case .ended, .failed: abort(on: loop)
    }
    if !output.isEmpty || transport.hasRest { block(on: loop) }
  }

  /// Keeps the part of an answer that the socket does not take; when memory is short, a peer that leaves much of it is
  /// dropped.
  private func keep(_ rest: [UInt8], on loop: isolated EventLoop) {
    if let memory = loop.memory {
      memory.note(rest.count)
      if memory.isShort, rest.count > MemoryKeeper.smallRest { return abort(on: loop) }
    }
    output.append(rest)
  }

  /// Where to the answer being sent has to be appended, and until which record, if it or output before it waits for
  /// records; nil when it may be sent.
  private func holdBack() -> (output: HeldOutput, record: UInt64)? {
    guard let gate else { return nil }
    let record = gate.takeDependence()
    if held == nil, record > 0 { held = gate.begin(id) }
    return held.map { ($0, record) }
  }

  /// Sends held output that waits for this record or an earlier one; true when none is left.
  func releaseOutput(through record: UInt64, on loop: isolated EventLoop) -> Bool {
    guard let held else { return true }
    let isSingle = held.isSingle && output.isEmpty && !isDirty
    var last: [UInt8] = []
    while let block = held.takeFirst(through: record) {
      output.append(block)
      last = block
    }
    let isEmpty = held.isEmpty
    if isEmpty { self.held = nil }
    // Receiving may have stopped because so much was held.
    if isReadable || !inputNeedsMore { proceedLater(on: loop) }
    if !output.isEmpty {
      if isSingle { flush(on: loop) } else { markDirty(on: loop) }
    }
    if isEmpty {
      if output.isEmpty { held.reuse(last) }
      gate?.takeBack(held)
    }
    // If it holds output back again after this, it has been noted as such.
    return isEmpty
  }

  /// Drops held output, the first of which tells of what was taken back, and ends the connection.
  func loseOutput(on loop: isolated EventLoop) {
    let block = held?.takeFirst(through: .max) ?? []
    held = nil
    replaceAnswer(block, on: loop)
  }

  /// Ends the connection with what the session says in the place of an answer that must not be sent.
  private func replaceAnswer(_ block: [UInt8], on loop: isolated EventLoop) {
    guard let replacement = session.replacement(for: block, on: self, loop) else { return abort(on: loop) }
    output.append(replacement)
    if state == .open { close(on: loop) } else { markDirty(on: loop) }
  }

  /// Whether held output waits for this record or an earlier one.
  func isHolding(through record: UInt64) -> Bool { held?.waits(through: record) ?? false }

  private func block(on loop: isolated EventLoop) {
    isFull = true
    blockedSince = loop.now
    loop.setBlocked(true, id)
    loop.setDeadline(loop.now + limits.sendTimeout.nanosecondsClamped, of: id)
  }

  /// Since when the peer accepts no output; nil when nothing is pending, or when it is not the peer that blocks.
  var blockedTime: UInt64? { isFull ? blockedSince : nil }

  func markDirty(on loop: isolated EventLoop) {
    guard !isDirty else { return }
    isDirty = true
    loop.markDirty(self)
  }

  func flush(on loop: isolated EventLoop) {
    isDirty = false
    let wasAbove = output.count > limits.highWaterMark
    while !output.isEmpty || transport.hasRest, !isFull, state != .closed {
      switch sendOutput() {
      case .bytes(let sent):
        output.consume(sent)
        loop.noteSent(sent)
      case .wouldBlock:
        loop.memory?.note(output.count)
        block(on: loop)
      case .ended, .failed: return abort(on: loop)
      }
    }
    guard output.isEmpty, !transport.hasRest, held == nil else { return }
    switch state {
    case .open:
      if tellsWhenSent {
        tellsWhenSent = false
        session.outputSent(self, on: loop)
      }
      if wasAbove || (!inputNeedsMore && !isServing) { serve(on: loop) }
    case .flushing: linger(on: loop)
    case .lingering, .closed: break
    }
  }

  /// Makes one send call.
  private func sendOutput() -> TransferOutcome {
    if output.isEmpty { return transport.flush() }
    return unsafe output.withBlocks { blocks in
      unsafe blocks.withMemoryRebound(to: iovec.self) { unsafe transport.send($0) }
    }
  }

  // MARK: Session

  /// Switches the connection to another protocol.
  ///
  /// The new session gets what has been received and not consumed.
  ///
  /// - Parameter client: The client of that session; nil when it is the peer.
  func become(_ session: any Session, of client: Peer? = nil, on loop: isolated EventLoop) {
    loop.counters.add(self.session.kind.counter, -1)
    loop.counters.add(session.kind.counter)
    self.session = session
    guard client != nil || named != nil else { return }
    named = client.map { NamedClient($0) }
    observation = connections.observe(self.client)
  }

  /// The session stops waiting (its answer came from elsewhere): continue with the input.
  func resume(on loop: isolated EventLoop) {
    guard state == .open else { return }
    if isServing { return }
    if !output.isEmpty { flush(on: loop) }
    // Also while output waits: no further edge will report the input.
    serve(on: loop)
  }

  func setDeadline(after timeout: Duration, on loop: isolated EventLoop) {
    sessionDeadline = loop.now + timeout.nanosecondsClamped
    if isFull { blockedSince = loop.now } else { loop.setDeadline(sessionDeadline, of: id) }
  }

  func deadlineReached(on loop: isolated EventLoop) {
    if isFull || state != .open {
      if isFull { loop.counters.add(.droppedAfterSendTimeout) }
      return abort(on: loop)
    }
    // What has come is not late because it waits in the line; it is served soon, which sets another deadline.
    if hasInputInLine { return loop.setDeadline(loop.now + Self.lineDelay, of: id) }
    session.deadlineReached(self, on: loop)
  }

  func drain(on loop: isolated EventLoop) {
    if state == .open, hasInputInLine { serve(on: loop) }
    if state == .open { session.drain(self, on: loop) }
  }

  /// Whether something has come that waits for another turn, or in the line of those whose requests take long.
  private var hasInputInLine: Bool { willProceed && isReadable && session.takesInput }

  /// How long a deadline is put off while its connection waits in the line, in nanoseconds.
  private static let lineDelay: UInt64 = 1_000_000_000

  // MARK: End

  /// Sends pending output, then ends the connection.
  func close(on loop: isolated EventLoop) {
    guard state == .open else { return }
    state = .flushing
    input = []
    loop.memory?.release(input: inputBytes)
    inputBytes = 0
    inputNeedsMore = true
    session.closed(on: loop)
    loop.setDeadline(loop.now + limits.sendTimeout.nanosecondsClamped, of: id)
    if output.isEmpty, !transport.hasRest, held == nil { linger(on: loop) } else { markDirty(on: loop) }
  }

  private func linger(on loop: isolated EventLoop) {
    if peerHasEnded { return finish(on: loop) }
    state = .lingering
    transport.endSending()
    loop.setDeadline(loop.now + limits.lingerTimeout.nanosecondsClamped, of: id)
    isReadable = true
    if !isServing { discard(on: loop) } else { proceedLater(on: loop) }
  }

  /// Throws away what still arrives, within bounds.
  private func discard(on loop: isolated EventLoop) {
    let buffer = unsafe loop.receiveBuffer.bytes
    while state == .lingering || state == .flushing {
      switch unsafe transport.discard(into: buffer) {
      case .bytes(let count):
        lingeredBytes += count
        if lingeredBytes > limits.lingerBytes { return abort(on: loop) }
      case .wouldBlock: return
      case .ended:
        peerHasEnded = true
        if state == .lingering { finish(on: loop) }
        return
      case .failed: return abort(on: loop)
      }
    }
  }

  /// Drops the connection now; nothing more is sent.
  func abort(on loop: isolated EventLoop) {
    guard state != .closed else { return }
    let wasOpen = state == .open
    finish(on: loop)
    if wasOpen { session.closed(on: loop) }
  }

  private func finish(on loop: isolated EventLoop) {
    state = .closed
    loop.memory?.release(input: inputBytes, connection: ownBytes)
    inputBytes = 0
    output = OutputQueue()
    held = nil
    input = []
    claim = nil
    connections.count.remove()
    loop.counters.add(session.kind.counter, -1)
    loop.remove(id)
    observation?.tell(.closed)
  }
}
