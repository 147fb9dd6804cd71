// SPDX-License-Identifier: MIT

/// A client's connection that subscribes over WebSocket, counts the events and reads the timestamp in each.
final class WatchSession: Session {
  private enum Stage { case handshake, snapshot, live }

  private let driver: LoadDriver
  /// When the connection was started; the end of its snapshot is then recorded as an answer, and the connection closes.
  private let begun: UInt64?
  private var stage = Stage.handshake
  /// The beginning of an incomplete frame.
  private var held: [UInt8] = []
  private var frames = FrameParser(role: .client, frameLimit: 1 << 20)

  init(_ driver: LoadDriver, begun: UInt64?) {
    self.driver = driver
    self.begun = begun
  }

  func begin(
    _ connection: Connection, host: String, target: String, _ fields: [(String, String)], on loop: isolated EventLoop
  ) {
    var request: [UInt8] = []
    WebSocketHandshake.appendRequest(
      host: host, target: target, key: WebSocketHandshake.makeKey(), subprotocols: [], fields: fields, to: &request)
    connection.send(request, on: loop)
  }

  var takesInput: Bool { true }
  var collectsOutput: Bool { true }

  func receive(
    _ bytes: inout MutableSpan<UInt8>, from connection: Connection, on loop: isolated EventLoop
  ) -> Intake {
    var position = 0
    if stage == .handshake {
      guard let head = ResponseHead(bytes, from: 0) else { return Intake(consumed: 0, isHeldBack: false) }
      guard head.status == 101 else {
        connection.abort(on: loop)
        return Intake(consumed: bytes.count, isHeldBack: false)
      }
      position = head.end
      stage = .snapshot
    }
    do throws(WebSocketError) {
      while true {
        switch try frames.next(in: &bytes, at: &position) {
        case .needMore: return Intake(consumed: position, isHeldBack: false)
        case .control(.ping, let payload):
          // Unmasked content with a mask of zeros: a client's frame must have a mask.
          var pong: [UInt8] = [0x8A, 0x80 | UInt8(payload.count), 0, 0, 0, 0]
          payload.withBytes(in: bytes) { content in
            for index in content.indices { pong.append(content[index]) }
          }
          connection.send(pong, on: loop)
        case .control: break
        case .data(let slice): take(slice, of: bytes, connection, on: loop)
        }
      }
    } catch {
      connection.abort(on: loop)
      return Intake(consumed: bytes.count, isHeldBack: false)
    }
  }

  /// Each frame of this server is one message; one that arrives in pieces is joined first.
  private func take(
    _ slice: DataSlice, of bytes: borrowing MutableSpan<UInt8>, _ connection: Connection, on loop: isolated EventLoop
  ) {
    if slice.startsFrame, slice.endsFrame {
      return take(bytes.span.extracting(slice.range), connection, on: loop)
    }
    for index in slice.range { held.append(bytes[index]) }
    guard slice.endsFrame else { return }
    take(held.span, connection, on: loop)
    held.removeAll(keepingCapacity: false)
  }

  private func take(_ message: Span<UInt8>, _ connection: Connection, on loop: isolated EventLoop) {
    guard stage == .live else {
      if Self.find(#""type":"live""#, in: message) != nil { isLive(connection, on: loop) }
      return
    }
    guard var position = Self.find(#""ts":"#, in: message) else { return }
    driver.counts.delivered += 1
    var sent: UInt64 = 0
    while position < message.count {
      let digit = message[position] &- UInt8(ascii: "0")
      guard digit < 10 else { break }
      sent = sent &* 10 &+ UInt64(digit)
      position += 1
    }
    let now = monotonicNanoseconds()
    driver.counts.deliveries.record(now > sent ? now - sent : 0)
  }

  private func isLive(_ connection: Connection, on loop: isolated EventLoop) {
    stage = .live
    driver.counts.live += 1
    guard let begun else { return }
    driver.answered(200, due: begun)
    connection.close(on: loop)
  }

  /// The position after the first occurrence of the text.
  private static func find(_ text: StaticString, in message: Span<UInt8>) -> Int? {
    let count = text.utf8CodeUnitCount
    var position = 0
    while position + count <= message.count {
      var offset = 0
      // The text is a constant, and the offset is within it.
      while offset < count, message[position + offset] == (unsafe text.utf8Start[offset]) { offset += 1 }
      if offset == count { return position + count }
      position += 1
    }
    return nil
  }

  func peerEnded(_ connection: Connection, on loop: isolated EventLoop) { connection.close(on: loop) }
  func outputSent(_ connection: Connection, on loop: isolated EventLoop) {}
  func deadlineReached(_ connection: Connection, on loop: isolated EventLoop) {}
  func drain(_ connection: Connection, on loop: isolated EventLoop) { connection.close(on: loop) }
  func closed(on loop: isolated EventLoop) {
    if begun == nil || stage != .live { driver.watcherIsGone() }
  }
}
