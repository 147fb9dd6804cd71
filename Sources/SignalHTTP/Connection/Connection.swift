// SPDX-License-Identifier: MIT
import Glibc

/// One accepted socket: receives for its session, sends for it, and keeps both within bounds.
///
///     open ──close──▶ flushing ──all sent──▶ lingering ──peer's end──▶ closed
///       └──abort, failure, deadline──────────────────────────────────▶ closed
///
/// *Lingering* (RFC 9112 §9.6): our end is sent, what still comes in is thrown away for a short time, because closing
/// at once would make the system answer with a reset that can destroy the response on its way.
final class Connection: LoopMember {
  private enum State { case open, flushing, lingering, closed }

  // What it takes to send comes first and together: of thousands that are sent an event, the memory of each is cold.

  private let transport: Transport
  private var state = State.open
  private var isDirty = false
  private var isServing = false
  /// The socket's buffer is full; a write edge will come.
  private var isFull = false
  /// The session is told once when all output has been sent.
  var tellsWhenSent = false
  /// The session has seen all of `input` and wants more behind it; false while it is held back.
  private var inputNeedsMore = true
  private var output = OutputQueue()
  /// What must not be sent yet; nil when all may be.
  private var held: HeldOutput?

  private let connections: LoopConnections
  let peer: Peer
  /// What holds answers back; nil when all may be sent at once.
  private let gate: AnswerGate?
  private(set) var id: ConnectionID
  private(set) var session: any Session
  /// Received and not yet consumed; empty, without storage, between requests.
  private var input: [UInt8] = []
  /// What is counted for input and for what the session keeps of it.
  private var inputBytes = 0
  /// What is counted for the connection itself; nil when it is one of those that are refused.
  private let ownBytes: Int?
  /// Readable was told and not yet exhausted (the set is edge-triggered: it is not told twice).
  private var isReadable = false
  private var isEnding = false
  private var peerHasEnded = false
  private var willProceed = false
  private var lingeredBytes = 0
  private(set) var isNew = true
  /// The session's own deadline; while the socket is full the send timeout stands in its place, and its time stands still:
  /// a peer that is slow, and takes what it is sent, cannot answer what is behind that.
  private var sessionDeadline = UInt64.max
  /// From when on the session's time stands still.
  private var blockedSince: UInt64 = 0
  /// Who is told of what happens here; nil costs nothing.
  let observation: Observation?

  var descriptor: Int32 { transport.descriptor }
  var limits: Limits { connections.limits }
  /// Bytes waiting to be sent.
  var backlog: Int { output.count + (held?.count ?? 0) }
  /// What is sent now has to wait.
  var isBlocked: Bool { isFull || held != nil }
  var isOpen: Bool { state == .open }
  /// The peer has ended its side; what it has sent before may not have been received yet.
  var peerIsEnding: Bool { isEnding || peerHasEnded }

  /// Takes over an accepted socket, which has been counted, and registers it; on failure the socket is closed.
  ///
  /// - Parameter ownBytes: What has been taken from the loop's memory for it, and is given back at its end.
  static func adopt(
    _ transport: consuming Transport, of peer: Peer, session: any Session, connections: LoopConnections,
    gate: AnswerGate? = nil, memory ownBytes: Int? = 0, on loop: isolated EventLoop
  ) throws(SystemError) -> Connection {
    if peer.isRemote { transport.disableNagle() }
    let connection = Connection(transport, peer, session, connections, gate, ownBytes)
    connection.id = try loop.add(connection)
    connection.observation?.tell(.opened)
    return connection
  }

  private init(
    _ transport: consuming Transport, _ peer: Peer, _ session: any Session, _ connections: LoopConnections,
    _ gate: AnswerGate?, _ ownBytes: Int?
  ) {
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
    serve(on: loop)
  }

  func proceed(on loop: isolated EventLoop) {
    willProceed = false
    serve(on: loop)
  }

  /// Gives the session what is there and receives more, until it wants no more, output piles up, the socket is
  /// empty, or the turn's share is used up.
  func serve(on loop: isolated EventLoop) {
    guard !isServing else { return }
    isServing = true
    defer { isServing = false }
    if state == .lingering || state == .flushing { return discard(on: loop) }
    if loop.hasSentEnough { return proceedLater(on: loop) }

    var budget = limits.turnBytes
    var hasOffered = false
    while state == .open, session.takesInput, backlog <= limits.highWaterMark, held?.isFull != true {
      if !inputNeedsMore {
        // Held back a second time although the socket takes what there is: the others have their turn first.
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
        proceedLater(on: loop)
        break
      } else {
        budget -= receive(on: loop)
        hasOffered = false
      }
    }
    if output.isEmpty { return }
    if session.collectsOutput { markDirty(on: loop) } else { flush(on: loop) }
  }

  private func offerInput(on loop: isolated EventLoop) {
    // Moved out, so that the session may look at this connection while it reads.
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

  /// Counts what is kept of what has come; false when there is no memory for it, and the session has refused it.
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

  private func receive(on loop: isolated EventLoop) -> Int {
    let buffer = unsafe loop.receiveBuffer.bytes
    var isDrained = false
    let outcome = unsafe transport.receive(into: buffer, isDrained: &isDrained)
    // An answer of the transport's own waits for the socket.
    if transport.hasRest, !isFull { block(on: loop) }
    switch outcome {
    case .bytes(let count):
      // Unless the end is already behind it: that is not told again.
      if isDrained && !isEnding { isReadable = false }
      guard count > 0 else { return transport.cost }
      // The bytes just received, in the loop's buffer, which stays untouched while the session reads them.
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
      abort(on: loop)
    }
    return 0
  }

  /// Goes on with the input later in this turn.
  func proceedLater(on loop: isolated EventLoop) {
    guard !willProceed else { return }
    willProceed = true
    loop.proceedLater(self)
  }

  // MARK: Output

  /// Appends a block; it is sent at the end of the turn at the latest.
  func send(_ block: [UInt8], on loop: isolated EventLoop) {
    guard state == .open else { return }
    if let held { return held.append(block, until: 0) }
    output.append(block)
    if !isServing || session.collectsOutput { markDirty(on: loop) }
  }

  /// Sends what a session has answered: as ``send(_:on:)``, but not before what the answer tells is durable.
  func sendAnswer(_ block: [UInt8], on loop: isolated EventLoop) {
    guard state == .open else { return }
    if hold(block) { return }
    send(block, on: loop)
  }

  /// Sends an answer that will not outlive the call; only what the socket does not take is copied.
  func sendAnswerNow(_ bytes: [UInt8], on loop: isolated EventLoop) {
    guard state == .open, !bytes.isEmpty else { return }
    if hold(bytes) { return }
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

  /// Keeps of an answer what the socket does not take; when memory is short, a peer that leaves much of it is dropped.
  private func keep(_ rest: [UInt8], on loop: isolated EventLoop) {
    if let memory = loop.memory {
      memory.note(rest.count)
      if memory.isShort, rest.count > MemoryKeeper.smallRest { return abort(on: loop) }
    }
    output.append(rest)
  }

  /// Keeps a block back if it has to wait for records, or for what waits for some; false when it may be sent.
  private func hold(_ block: @autoclosure () -> [UInt8]) -> Bool {
    guard let gate else { return false }
    let record = gate.takeDependence()
    guard held != nil || record > 0 else { return false }
    if held == nil {
      held = HeldOutput()
      gate.add(id)
    }
    // A copy, as the buffer that it may be in is used again.
    held?.append(Array(block()), until: record)
    return true
  }

  /// Sends what waits for no more than this record; true when nothing is left to wait.
  func releaseOutput(through record: UInt64, on loop: isolated EventLoop) -> Bool {
    guard let held else { return true }
    while let block = held.takeFirst(through: record) { output.append(block) }
    if held.isEmpty { self.held = nil }
    if !output.isEmpty { markDirty(on: loop) }
    // It may not have been received from, because so much waited.
    if isReadable || !inputNeedsMore { proceedLater(on: loop) }
    return self.held == nil
  }

  private func block(on loop: isolated EventLoop) {
    isFull = true
    blockedSince = loop.now
    loop.setDeadline(loop.now + limits.sendTimeout.nanosecondsClamped, of: id)
  }

  /// Since when the peer takes nothing of what waits for it; nil when nothing waits, or not for the peer.
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

  /// Sends once.
  private func sendOutput() -> TransferOutcome {
    if output.isEmpty { return transport.flush() }
    return unsafe output.withBlocks { blocks in
      unsafe blocks.withMemoryRebound(to: iovec.self) { unsafe transport.send($0) }
    }
  }

  // MARK: Session

  /// Hands the connection to another protocol.
  ///
  /// What has been received and not consumed is the new session's.
  func become(_ session: any Session) {
    self.session = session
  }

  /// The session waits no more (its answer came from elsewhere): go on with the input.
  func resume(on loop: isolated EventLoop) {
    guard state == .open else { return }
    if isServing { return }
    if !output.isEmpty { flush(on: loop) }
    // Also while output waits: no edge will tell again that there is input.
    serve(on: loop)
  }

  func setDeadline(after timeout: Duration, on loop: isolated EventLoop) {
    sessionDeadline = loop.now + timeout.nanosecondsClamped
    if isFull { blockedSince = loop.now } else { loop.setDeadline(sessionDeadline, of: id) }
  }

  func deadlineReached(on loop: isolated EventLoop) {
    if isFull || state != .open { return abort(on: loop) }
    session.deadlineReached(self, on: loop)
  }

  func drain(on loop: isolated EventLoop) {
    if state == .open { session.drain(self, on: loop) }
  }

  // MARK: End

  /// Sends what is waiting, then ends.
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

  /// Throws away what still comes in, within bounds.
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
    connections.count.remove()
    loop.remove(id)
    observation?.tell(.closed)
  }
}
