// SPDX-License-Identifier: MIT

/// The application's side of one WebSocket.
///
/// Called on the connection's loop, never concurrently; must not block.
///
/// One object per connection, created for the upgrade and released after `closed`.
public protocol WebSocketHandler: AnyObject {
  /// The handshake is complete; messages may be sent.
  func opened(_ socket: WebSocket, on loop: isolated EventLoop)

  /// Called with a complete message; text is valid UTF-8. The bytes are valid during the call.
  func received(
    _ message: Span<UInt8>, _ kind: MessageKind, from socket: WebSocket, on loop: isolated EventLoop)

  /// Everything sent so far has been taken by the system: the moment to send the next piece of something long.
  ///
  /// Called once after each ``WebSocket/askForDrained(on:)``, or after several of them.
  func drained(_ socket: WebSocket, on loop: isolated EventLoop)

  /// Our side has begun to close: nothing can be sent any more, and messages that still arrive are not delivered.
  func closing(_ socket: WebSocket, on loop: isolated EventLoop)

  /// The last call. Nothing can be sent any more.
  func closed(on loop: isolated EventLoop)
}

extension WebSocketHandler {
  /// Does nothing.
  public func opened(_ socket: WebSocket, on loop: isolated EventLoop) {}
  /// Does nothing.
  public func drained(_ socket: WebSocket, on loop: isolated EventLoop) {}
  /// Does nothing.
  public func closing(_ socket: WebSocket, on loop: isolated EventLoop) {}
  /// Does nothing.
  public func closed(on loop: isolated EventLoop) {}
}

/// One WebSocket of the server (RFC 6455), on the loop that owns it.
///
/// From other threads use `handle`.
public final class WebSocket: Session {
  let handler: any WebSocketHandler
  private var machine: WebSocketMachine {
    // Changed by calls of the machine alone, which calls nobody back, on one loop: checking each access at run time would
    // cost as much as most of these calls.
    _read { yield unsafe uncheckedMachine }
    _modify { yield unsafe &uncheckedMachine }
  }
  @exclusivity(unchecked) private var uncheckedMachine: WebSocketMachine
  unowned let connection: Connection
  private let loop: EventLoop
  /// Output collected while input is being read, in the loop's scratch buffer.
  private var collected: [UInt8] {
    // As for the machine, which appends to it.
    _read { yield unsafe uncheckedCollected }
    _modify { yield unsafe &uncheckedCollected }
  }
  @exclusivity(unchecked) private var uncheckedCollected: [UInt8] = []
  private var isReading = false
  /// The timeout for the peer's answer, which starts once all pending output has been sent.
  private var answerTimeout: Duration?
  private var awaitsPong = false
  private var isAskedForDrained = false
  /// Whether nothing is read, because the handler wants no more messages for a while.
  private(set) var isPaused = false
  /// Since when messages that have been received are not read, in the time of the loop, because it has been paused again
  /// and again; nil when all have been read.
  private(set) var waitingSince: UInt64?
  /// The compression that has been negotiated, if any.
  let deflate: MessageDeflate?
  /// Whether the client gets messages that refer to earlier ones, in frames of others: what is sent here is not
  /// compressed then, as the client would take it for one of those (RFC 7692 §7.2.3.2).
  var isInWindow = false
  /// Whether what is sent may be compressed; set to false when the client turns out to be one for whom nothing is.
  var compressesOutput = true

  init(
    on connection: Connection, handler: any WebSocketHandler, acceptsBinary: Bool, deflate: MessageDeflate?,
    loop: isolated EventLoop
  ) {
    self.connection = connection
    self.handler = handler
    self.loop = loop
    self.deflate = deflate
    unsafe uncheckedMachine = WebSocketMachine(
      role: .server, limits: connection.limits.webSocket, acceptsBinary: acceptsBinary,
      allowsCompression: deflate != nil)
  }

  /// Notifies the handler that the handshake's response has been queued.
  func open(on loop: isolated EventLoop) {
    connection.setDeadline(after: connection.limits.pingInterval, on: loop)
    handler.opened(self, on: loop)
  }

  /// Identifies this WebSocket for other threads, without keeping it alive.
  public var handle: WebSocketHandle { WebSocketHandle(loop: loop, id: connection.id) }

  /// The client, and the listener that accepted the connection.
  public var peer: Peer { connection.client }

  /// Bytes that wait to be taken by the system.
  public var backlog: Int { connection.backlog + collected.count }

  // MARK: Sending

  /// Sends a message in one frame.
  ///
  /// Dropped silently once closing has begun.
  public func send(_ message: Span<UInt8>, _ kind: MessageKind, on loop: isolated EventLoop) {
    if let deflate, compressesOutput, !isInWindow,
      let compressed = loop.compressors.alone(message, largest: deflate.largestAlone)
    {
      return write(on: loop) { machine, output in _ = machine.send(kind, compressed: compressed.span, to: &output) }
    }
    write(on: loop) { machine, output in _ = machine.send(kind, message, to: &output) }
  }

  /// Sends a text message.
  public func send(_ text: String, on loop: isolated EventLoop) { send(text.utf8.span, .text, on: loop) }

  /// Begins the closing handshake.
  ///
  /// Pending output is sent before; the reason is cut at 123 bytes.
  public func close(_ code: CloseCode = .normal, reason: String = "", on loop: isolated EventLoop) {
    guard machine.maySend else { return }
    // To see the peer's answer.
    resume(on: loop)
    connection.observation?.tell(.closing(code, reason: reason))
    write(on: loop) { machine, output in machine.close(code, reason: reason, to: &output) }
    handler.closing(self, on: loop)
    expectAnswer(within: connection.limits.closeTimeout, on: loop)
  }

  /// Sets the deadline for the peer's answer to what has just been written.
  ///
  /// While that is queued after a backlog, the peer cannot answer, and only has to keep accepting output; the timeout
  /// starts when all has been sent.
  private func expectAnswer(within timeout: Duration, on loop: isolated EventLoop) {
    connection.setDeadline(after: timeout, on: loop)
    guard connection.isBlocked else { return answerTimeout = nil }
    answerTimeout = timeout
    connection.tellsWhenSent = true
  }

  /// Asks for ``WebSocketHandler/drained(_:on:)``, even when nothing is pending.
  public func askForDrained(on loop: isolated EventLoop) {
    expectDrained()
    connection.markDirty(on: loop)
  }

  /// Asks for it when output is pending.
  func expectDrained() {
    isAskedForDrained = true
    connection.tellsWhenSent = true
  }

  private func write(on loop: isolated EventLoop, _ append: (inout WebSocketMachine, inout [UInt8]) -> Void) {
    if isReading { return append(&machine, &collected) }
    var block: [UInt8] = []
    append(&machine, &block)
    connection.sendAnswer(block, on: loop)
  }

  /// Passes collected output to the connection, so that finished frames can follow it.
  func sendCollected(on loop: isolated EventLoop) {
    guard !collected.isEmpty else { return }
    connection.sendAnswer(Array(collected), on: loop)
    collected.removeAll(keepingCapacity: true)
  }

  // MARK: Reading

  /// Reads nothing more; what has been received is kept.
  ///
  /// - Returns: Whether it is paused now and was not: one that closes is read until the peer's answer.
  func pause() -> Bool {
    guard !isPaused, machine.maySend, connection.isOpen else { return false }
    isPaused = true
    return true
  }

  /// Reads again, later in this turn.
  func resume(on loop: isolated EventLoop) {
    guard isPaused else { return }
    isPaused = false
    connection.proceedLater(on: loop)
  }

  // MARK: Session

  var kind: ConnectionKind { .webSocket }
  var takesInput: Bool { !isPaused }
  var collectsOutput: Bool { true }
  var heldBytes: Int { machine.heldBytes }

  func memoryIsFull(_ connection: Connection, on loop: isolated EventLoop) {
    machine.abandonMessage()
    close(.tryAgainLater, reason: "no memory left for the rest of the message", on: loop)
  }

  func receive(
    _ bytes: inout MutableSpan<UInt8>, from connection: Connection, on loop: isolated EventLoop
  ) -> Intake {
    awaitsPong = false
    if machine.maySend {
      connection.setDeadline(after: connection.limits.pingInterval, on: loop)
      answerTimeout = nil
    }
    collected = loop.takeScratch()
    isReading = true
    let begin = waitingSince ?? loop.now
    var position = 0
    var end: WebSocketEnd?
    var needsMore = false
    // Where nothing is left to decompress with in this turn, even one that is not compressed waits: it may be behind
    // one that is.
    reading: while !isPaused, backlog <= connection.limits.highWaterMark,
      deflate == nil || loop.compressors.inflationLeft > 0
    {
      var event = machine.next(in: &bytes, at: &position, replies: &collected)
      if case .message(let message) = event, message.isCompressed {
        event = inflate(message, in: bytes, on: loop)
        if case .end = event { position = bytes.count }
      }
      switch event {
      case .needMore:
        needsMore = true
        break reading
      case .message(let message):
        loop.counters.add(.webSocketMessages)
        message.payload.withBytes(in: bytes) { handler.received($0, message.kind, from: self, on: loop) }
      case .replied, .pong: continue
      case .end(let how):
        end = how
        if case .failed(let error) = how {
          connection.observation?.tell(.closing(error.closeCode, reason: error.description))
        }
        break reading
      }
      if !connection.isOpen { break }
    }
    isReading = false
    waitingSince = isPaused && position < bytes.count ? begin : nil
    sendCollected(on: loop)
    loop.returnScratch(collected)
    collected = []
    if end != nil {
      machine.ended()
      connection.close(on: loop)
    }
    return Intake(consumed: position, isHeldBack: !needsMore)
  }

  private func inflate(
    _ message: WebSocketMessage, in bytes: borrowing MutableSpan<UInt8>, on loop: isolated EventLoop
  ) -> WebSocketEvent {
    let inflater = loop.compressors.inflater
    defer { loop.compressors.inflationLeft -= inflater.cost }
    return machine.inflate(message, in: bytes, by: inflater, replies: &collected)
  }

  func replacement(for lost: [UInt8], on connection: Connection, _ loop: isolated EventLoop) -> [UInt8]? {
    // The answer to the handshake itself cannot be a frame.
    guard machine.maySend, !lost.starts(with: Array("HTTP/1.".utf8)) else { return nil }
    let reason = "a change was not confirmed in time; it may be made or not"
    connection.observation?.tell(.closing(.tryAgainLater, reason: reason))
    var frame: [UInt8] = []
    machine.close(.tryAgainLater, reason: reason, to: &frame)
    return frame
  }

  func peerEnded(_ connection: Connection, on loop: isolated EventLoop) { connection.close(on: loop) }

  func outputSent(_ connection: Connection, on loop: isolated EventLoop) {
    if let answerTimeout {
      self.answerTimeout = nil
      connection.setDeadline(after: answerTimeout, on: loop)
    }
    guard isAskedForDrained else { return }
    isAskedForDrained = false
    handler.drained(self, on: loop)
  }

  func deadlineReached(_ connection: Connection, on loop: isolated EventLoop) {
    guard machine.maySend, !awaitsPong else { return connection.abort(on: loop) }
    awaitsPong = true
    write(on: loop) { machine, output in machine.ping(to: &output) }
    let rest = connection.limits.idleTimeout - connection.limits.pingInterval
    let patience = rest > .zero ? rest : .seconds(1)
    expectAnswer(within: patience, on: loop)
  }

  func drain(_ connection: Connection, on loop: isolated EventLoop) {
    close(.goingAway, reason: "the server shuts down", on: loop)
  }

  func closed(on loop: isolated EventLoop) {
    machine.ended()
    handler.closed(on: loop)
  }
}

/// Identifies a WebSocket, usable from any thread.
///
/// Once the WebSocket is gone, what is sent is dropped.
public struct WebSocketHandle: Sendable {
  private let loop: EventLoop
  private let id: ConnectionID

  init(loop: EventLoop, id: ConnectionID) {
    self.loop = loop
    self.id = id
  }

  /// Sends a message; messages from one thread keep their order.
  public func send(_ message: [UInt8], _ kind: MessageKind) {
    withSocket { $0.send(message.span, kind, on: $1) }
  }

  /// Sends a text message.
  public func send(_ text: String) { send(Array(text.utf8), .text) }

  /// Begins the closing handshake.
  public func close(_ code: CloseCode = .normal, reason: String = "") {
    withSocket { $0.close(code, reason: reason, on: $1) }
  }

  private func withSocket(_ body: @escaping @Sendable (WebSocket, isolated EventLoop) -> Void) {
    loop.submit { [id] loop in
      guard let connection = loop.member(id) as? Connection, let socket = connection.session as? WebSocket else {
        return
      }
      body(socket, loop)
    }
  }
}
