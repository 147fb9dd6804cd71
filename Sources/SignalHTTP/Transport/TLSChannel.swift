// SPDX-License-Identifier: MIT
import CTLS
import Glibc

/// The encrypted bytes of the channel that is in use; shared by all channels of one thread.
@safe final class TLSBuffers {
  /// Received in one go; a session's buffer has room for their plaintext and that of the record begun before.
  fileprivate static let receivedBytes = 96 << 10
  /// Encrypted in one go before sending; the part that the socket does not take is all that a channel keeps encrypted.
  fileprivate static let sealedBytes = 48 << 10
  /// Additional room for a record that exceeds that, and for a whole handshake.
  private static let outputBytes = 128 << 10

  fileprivate let input = RawBuffer(count: receivedBytes)
  fileprivate let output = RawBuffer(count: outputBytes)
  fileprivate var buffers: ctls_buffers

  init() {
    unsafe buffers = ctls_buffers()
    unsafe buffers.output = output.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    unsafe buffers.output_capacity = output.bytes.count
  }
}

/// TLS on one connection: decrypts what a socket receives, and encrypts what it sends.
///
/// It buffers no plaintext: what is received is decrypted straight into the session's buffer, and of the output only
/// what the socket did not take is kept here, encrypted.
@safe final class TLSChannel {
  /// Pending encrypted bytes at most.
  ///
  /// Output stays far below: only a peer that reads nothing and requests new keys all the time reaches this.
  private static let mostRest = 256 << 10

  // Used by the owner of the channel, one thread at a time.
  private let channel: OpaquePointer
  /// Keeps certificates and settings alive as long as a channel uses them.
  private let context: TLSContext
  /// The buffers of the thread that the channel is used on.
  var buffers: TLSBuffers
  /// Encrypted bytes that the socket has not taken; sent before anything else.
  private var rest: [UInt8] = []
  private var restStart = 0
  /// A server has received nothing yet: what comes first may be a request without TLS.
  private var awaitsFirstBytes: Bool
  private var peerHasEnded = false
  private var isPlain = false

  /// - Parameter host: The server's name, on a client; nil on a server.
  init?(_ context: TLSContext, host: String? = nil, _ buffers: TLSBuffers) {
    guard let channel = unsafe context.channel(host: host) else { return nil }
    unsafe self.channel = channel
    self.context = context
    self.buffers = buffers
    awaitsFirstBytes = host == nil
  }

  deinit { unsafe ctls_channel_free(channel) }

  /// Whether encrypted bytes are pending for the socket.
  var hasRest: Bool { !rest.isEmpty }

  /// Whether the handshake is complete.
  var isEstablished: Bool { unsafe ctls_is_established(channel) != 0 }

  /// The verified certificate of the client, once the handshake is complete; nil when it has shown none.
  var clientCertificate: ClientCertificate? { unsafe ClientCertificate(of: channel) }

  /// Why the channel has failed.
  var reason: String {
    if isPlain { return "a request without TLS" }
    var text = [CChar](repeating: 0, count: 80)
    unsafe ctls_reason(channel, &text, text.count)
    return String(zeroTerminated: text)
  }

  /// Sends the first flight of the handshake, on a client.
  func begin(on socket: borrowing SocketHandle) -> TransferOutcome {
    var (state, nothing) = (Int32(0), UInt8(0))
    unsafe buffers.buffers.input_count = 0
    _ = unsafe ctls_open(channel, &buffers.buffers, &nothing, 1, &state)
    return state == ctls_failed ? .failed : flush(to: socket)
  }

  /// Receives once and decrypts; `.bytes(0)` when there was no application data.
  ///
  /// - Parameters:
  ///   - buffer: Of ``Transport/receiveBufferBytes``.
  ///   - isDrained: Set when the socket has nothing more for now.
  func receive(
    from socket: borrowing SocketHandle, into buffer: UnsafeMutableRawBufferPointer, isDrained: inout Bool
  ) -> TransferOutcome {
    assert(buffer.count >= TLSBuffers.receivedBytes + 2 << 14, "what is received has to fit when it is opened")
    if peerHasEnded { return .ended }
    let outcome = unsafe socket.receive(into: buffers.input.bytes)
    guard case .bytes(let count) = outcome else { return outcome }
    isDrained = count < TLSBuffers.receivedBytes
    if awaitsFirstBytes {
      awaitsFirstBytes = false
      if isPlainRequest { return refusePlainRequest(socket) }
    }
    unsafe buffers.buffers.input = UnsafePointer(buffers.input.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
    unsafe buffers.buffers.input_count = count
    var state: Int32 = 0
    let opened = unsafe ctls_open(channel, &buffers.buffers, buffer.baseAddress, buffer.count, &state)
    // Sends handshake and protocol messages; on failure, the alert for the peer.
    if flush(to: socket) == .failed || state == ctls_failed { return .failed }
    if state == ctls_ended {
      peerHasEnded = true
      if opened == 0 { return .ended }
      isDrained = false
    }
    return .bytes(opened)
  }

  /// Sends bytes, as many as the socket takes.
  func send(
    _ blocks: UnsafeMutableBufferPointer<iovec>, to socket: borrowing SocketHandle
  ) -> TransferOutcome {
    let before = flush(to: socket)
    guard before == .bytes(0) else { return before }
    // No application data can be sent before the handshake is complete, so there is no peer to send it to.
    guard isEstablished else { return .failed }
    var total = 0
    for index in 0..<blocks.count { unsafe total += blocks[index].iov_len }
    var sent = 0
    while sent < total, rest.isEmpty {
      let sealed = unsafe ctls_seal(
        channel, &buffers.buffers, blocks.baseAddress, Int32(blocks.count), sent, TLSBuffers.sealedBytes)
      guard sealed >= 0 else { return .failed }
      sent += sealed
      if flush(to: socket) == .failed { return .failed }
    }
    return .bytes(sent)
  }

  /// Sends pending encrypted bytes; `.bytes(0)` when none are left.
  func flush(to socket: borrowing SocketHandle) -> TransferOutcome {
    let fresh = unsafe UnsafeRawBufferPointer(
      rebasing: UnsafeRawBufferPointer(buffers.output.bytes)[..<buffers.buffers.output_count])
    unsafe buffers.buffers.output_count = 0
    if !rest.isEmpty {
      // Appended to what is pending: receiving may produce answers while the socket is full, but only up to a limit.
      guard rest.count + fresh.count <= Self.mostRest else { return .failed }
      unsafe rest.append(contentsOf: fresh)
      let outcome = unsafe rest.withUnsafeBytes {
        unsafe socket.send(UnsafeRawBufferPointer(rebasing: $0[restStart...]))
      }
      guard case .bytes(let count) = outcome else { return outcome }
      restStart += count
      guard restStart == rest.count else { return .wouldBlock }
      rest = []
      restStart = 0
      return .bytes(0)
    }
    guard fresh.count > 0 else { return .bytes(0) }
    var sent = 0
    switch unsafe socket.send(fresh) {
    case .bytes(fresh.count): return .bytes(0)
    case .bytes(let count): sent = count
    case .wouldBlock: break
    case .ended, .failed: return .failed
    }
    unsafe rest = Array(fresh[sent...])
    return .wouldBlock
  }

  /// Sends close_notify: nothing follows.
  func end(to socket: borrowing SocketHandle) {
    guard rest.isEmpty else { return }
    unsafe ctls_end(channel, &buffers.buffers)
    _ = flush(to: socket)
  }

  // MARK: HTTP without TLS

  /// Whether the first bytes are an unencrypted request: TLS begins with 22, the type of a handshake record.
  private var isPlainRequest: Bool { unsafe ByteSet.token.contains(buffers.input.bytes[0]) }

  /// Answers 400 to an unencrypted request on a TLS port (RFC 9110 §15.5.1).
  private func refusePlainRequest(_ socket: borrowing SocketHandle) -> TransferOutcome {
    let answer =
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 38\r\nConnection: close\r\n\r\n"
      + "This port speaks TLS: use https: here\n"
    _ = unsafe Array(answer.utf8).withUnsafeBytes { unsafe socket.send($0) }
    socket.endSending()
    isPlain = true
    return .failed
  }
}
