// SPDX-License-Identifier: MIT
import SignalHTTP
import Testing

@Suite("Implementation-specific limits, RFC 6455 section 10.4")
struct Section10LimitTests {
  private func limits(message: Int) -> WebSocketLimits {
    var limits = WebSocketLimits()
    limits.messageBytes = message
    return limits
  }

  @Test func `the defaults take a value of one mebibyte with its command around it`() {
    #expect(WebSocketLimits().messageBytes == 1_114_112)
    let message = [UInt8](repeating: 0x20, count: 1_114_112)
    #expect(receive([frame(.text, message)]).told == [.text(message)])
  }

  @Test(arguments: [0, 1, 125, 126, 200, 65535, 65536])
  func `a message of exactly the limit is taken, one byte more is answered 1009`(limit: Int) {
    let fits = [UInt8](repeating: 1, count: limit)
    let bounds = limits(message: limit)
    #expect(receive([frame(.binary, fits)], limits: bounds).told == [.binary(fits)])
    #expect(receive([frame(.binary, fits + [1])], limits: bounds) == failure(.frameTooLarge))
    let half = limit / 2
    let fragments =
      frame(.binary, Array(fits[..<half]), fin: false) + frame(.continuation, Array(fits[half...]), fin: false)
    #expect(receive([fragments + frame(.continuation)], limits: bounds).told == [.binary(fits)])
    let overflow = receive([fragments + frame(.continuation, [1])], limits: bounds)
    #expect(overflow == failure(limit == 0 ? .frameTooLarge : .messageTooLarge))
  }

  @Test func `what was announced is refused before a byte of it has come`() throws {
    let bounds = limits(message: 1000)
    let announced = TestFrame(first: 0x81, announced: 1001).bytes
    #expect(receive([announced], limits: bounds) == failure(.frameTooLarge))
    #expect(receive([TestFrame(first: 0x81, announced: 1000).bytes], limits: bounds).told.isEmpty)
    let second = TestFrame(first: 0x80, announced: 999).bytes
    let input = frame(.text, [0x61, 0x62], fin: false) + second
    #expect(try everyWay(input, limits: bounds) == failure(.messageTooLarge))
  }

  @Test func `control frames are not under the limits of data`() {
    let ping = [UInt8](repeating: 3, count: 125)
    #expect(receive([frame(.ping, ping)], limits: limits(message: 1)).replies == reply(.pong, ping))
  }

  @Test func `limits without sense refuse everything and do not trap`() {
    let bounds = limits(message: -5)
    #expect(receive([frame(.text, [1])], limits: bounds) == failure(.frameTooLarge))
    #expect(receive([frame(.text)], limits: bounds).told == [.text([])])
    #expect(receive([frame(.text, [1])], limits: limits(message: .max)).told == [.text([1])])
    let endless = TestFrame(first: 0x82, announced: UInt64(Int.max)).bytes
    #expect(receive([endless + [1, 2]], limits: limits(message: .max)).told.isEmpty)
    let twice = frame(.binary, [1], fin: false) + TestFrame(first: 0x80, announced: UInt64(Int.max)).bytes
    #expect(receive([twice], limits: limits(message: .max)) == failure(.messageTooLarge))
  }

  @Test func `binary is answered 1003 by the header where only text is understood`() throws {
    let header = TestFrame(first: 0x02, announced: 1000).bytes
    #expect(try everyWay(header, acceptsBinary: false) == failure(.binaryRefused))
    #expect(receive([text("ok")], acceptsBinary: false).told == [.text(Array("ok".utf8))])
  }
}
