// SPDX-License-Identifier: MIT

/// A client's connection that sends requests and counts the answers, ignoring their content.
final class RequestSession: Session {
  private let driver: LoadDriver
  private weak var connection: Connection?
  /// When the requests in flight were due, oldest first.
  private var due: [UInt64] = []
  /// How many of them have been answered; the array is cleared when all have.
  private var answered = 0
  /// Remaining bytes of the current answer's content.
  private var contentLeft = 0

  init(_ driver: LoadDriver) { self.driver = driver }

  func begin(_ connection: Connection, on loop: isolated EventLoop) {
    self.connection = connection
    for _ in 0..<driver.window { driver.isFree(self, on: loop) }
  }

  func request(_ next: (number: Int, due: UInt64), on loop: isolated EventLoop) {
    due.append(next.due)
    connection?.send(driver.makeRequest(next.number, monotonicNanoseconds()), on: loop)
  }

  var takesInput: Bool { true }
  var collectsOutput: Bool { true }

  func receive(
    _ bytes: inout MutableSpan<UInt8>, from connection: Connection, on loop: isolated EventLoop
  ) -> Intake {
    var position = 0
    while position < bytes.count {
      if contentLeft == 0 {
        guard let head = ResponseHead(bytes, from: position) else { break }
        position = head.end
        contentLeft = head.contentLength
        driver.answered(head.status, due: takeDue())
      }
      let count = min(contentLeft, bytes.count - position)
      position += count
      contentLeft -= count
      if contentLeft == 0 { driver.isFree(self, on: loop) }
    }
    return Intake(consumed: position, isHeldBack: false)
  }

  private func takeDue() -> UInt64 {
    guard answered < due.count else { return monotonicNanoseconds() }
    let first = due[answered]
    answered += 1
    if answered == due.count {
      due.removeAll(keepingCapacity: true)
      answered = 0
    }
    return first
  }

  func peerEnded(_ connection: Connection, on loop: isolated EventLoop) { connection.close(on: loop) }
  func outputSent(_ connection: Connection, on loop: isolated EventLoop) {}
  func deadlineReached(_ connection: Connection, on loop: isolated EventLoop) {}
  func drain(_ connection: Connection, on loop: isolated EventLoop) { connection.close(on: loop) }
  func closed(on loop: isolated EventLoop) { driver.isGone(self) }
}

/// The framing of an answer, from its head; handles the responses of this server, or equally simple ones.
struct ResponseHead {
  let status: Int
  /// The offset after the empty line.
  let end: Int
  let contentLength: Int

  /// Parses a head; nil when it is incomplete.
  init?(_ bytes: borrowing MutableSpan<UInt8>, from start: Int) {
    var end: Int?
    var position = start
    while position + 3 < bytes.count {
      if bytes[position] == 13, bytes[position + 1] == 10, bytes[position + 2] == 13, bytes[position + 3] == 10 {
        end = position + 4
        break
      }
      position += 1
    }
    guard let end, end - start > 12 else { return nil }
    self.end = end
    status = (9..<12).reduce(0) { $0 * 10 + Int(bytes[start + $1] &- UInt8(ascii: "0")) }
    contentLength = Self.contentLength(bytes, start..<end)
  }

  private static func contentLength(_ bytes: borrowing MutableSpan<UInt8>, _ head: Range<Int>) -> Int {
    let name: StaticString = "\ncontent-length:"
    var position = head.lowerBound
    search: while position + name.utf8CodeUnitCount < head.upperBound {
      for offset in 0..<name.utf8CodeUnitCount {
        // The name is a constant, and the offset is within it.
        let wanted = unsafe name.utf8Start[offset]
        let byte = bytes[position + offset]
        guard byte == wanted || byte | 0x20 == wanted && byte >= UInt8(ascii: "A") else {
          position += 1
          continue search
        }
      }
      var length = 0
      position += name.utf8CodeUnitCount
      while bytes[position] != 13, position < head.upperBound {
        let digit = bytes[position] &- UInt8(ascii: "0")
        if digit < 10 { length = length * 10 + Int(digit) }
        position += 1
      }
      return length
    }
    return 0
  }
}
