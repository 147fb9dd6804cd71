// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

@testable import SignalHTTP

@Suite("The header of the PROXY protocol")
struct ProxyHeaderTests {
  private enum Outcome: Equatable {
    case needsMore
    case header(ProxyHeader.Source, length: Int)
    case refused(ProxyHeaderError)
  }

  /// What a reader makes of bytes that arrive in pieces, however they are cut.
  private func outcome(_ bytes: [UInt8]) throws -> Outcome {
    try Splits.all(of: bytes) { pieces in
      var arrived: [UInt8] = []
      for piece in pieces {
        arrived += piece
        do throws(ProxyHeaderError) {
          if let header = try arrived.withView({ (view) throws(ProxyHeaderError) in try ProxyHeader.parse(view) }) {
            return .header(header.source, length: header.length)
          }
        } catch {
          return .refused(error)
        }
      }
      return .needsMore
    }
  }

  private func client(_ text: String, _ port: UInt16) throws -> ProxyHeader.Source {
    .client(try #require(Array(text.utf8).withView { IPAddress($0) }), port: port)
  }

  // MARK: Version 1

  @Test(
    arguments: [
      ("PROXY TCP4 192.0.2.1 198.51.100.2 50000 443\r\n", "192.0.2.1", 50_000),
      ("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255", 65_535),
      ("PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n", "0.0.0.0", 0),
      ("PROXY TCP6 2001:db8::1 ::1 1 2\r\n", "2001:db8::1", 1),
      (
        "PROXY TCP6 ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n".replacing(
          "f...f", with: "ffff:ffff:ffff:ffff:ffff:ffff"),
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 65_535
      ),
    ] as [(String, String, UInt16)])
  func `version 1 names addresses and ports of TCP`(line: String, address: String, port: UInt16) throws {
    let expected = Outcome.header(try client(address, port), length: line.utf8.count)
    #expect(try outcome(Array(line.utf8)) == expected)
    // What follows belongs to somebody else.
    #expect(try outcome(Array((line + "GET / HTTP/1.1\r\n\r\n").utf8)) == expected)
  }

  @Test func `version 1 may not know the client`() throws {
    for line in ["PROXY UNKNOWN\r\n", "PROXY UNKNOWN ffff::1 anything at all 1 2\r\n"] {
      #expect(try outcome(Array(line.utf8)) == .header(.unknown, length: line.utf8.count))
    }
  }

  @Test(
    arguments: [
      ("GET / HTTP/1.1\r\n\r\n", .missing), ("PROXX", .missing), ("proxy TCP4 1.2.3.4 1.2.3.4 1 2\r\n", .missing),
      ("PROXY\tTCP4 1.2.3.4 1.2.3.4 1 2\r\n", .missing), ("\r\n\r\nGET", .missing), ("\u{16}\u{3}\u{1}", .missing),
      ("\0", .missing),
      ("PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r ", .malformed), ("PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n", .malformed),
      ("PROXY TCP4 1.2.3.4 1.2.3.4 1 2 \r\n", .malformed), ("PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n", .malformed),
      ("PROXY TCP4  1.2.3.4 1.2.3.4 1 2\r\n", .malformed), ("PROXY TCP4 1.2.3.4 1.2.3.4 01 2\r\n", .malformed),
      ("PROXY TCP4 1.2.3.4 1.2.3.4 65536 2\r\n", .malformed), ("PROXY TCP4 1.2.3.4 1.2.3.4 1 -2\r\n", .malformed),
      ("PROXY TCP4 1.2.3.256 1.2.3.4 1 2\r\n", .malformed), ("PROXY TCP4 1.2.3.4 1.2.3 1 2\r\n", .malformed),
      ("PROXY TCP4 ::1 ::1 1 2\r\n", .malformed), ("PROXY TCP6 1.2.3.4 1.2.3.4 1 2\r\n", .malformed),
      ("PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n", .malformed), ("PROXY tcp4 1.2.3.4 1.2.3.4 1 2\r\n", .malformed),
      ("PROXY UDP4 1.2.3.4 1.2.3.4 1 2\r\n", .malformed), ("PROXY \r\n", .malformed),
      ("PROXY TCP4 1.2.3.4 1.2.3.4 1 \r\n", .malformed),
      ("PROXY UNKNOWN " + String(repeating: "x", count: 92) + "\r\n", .tooLong),
      ("PROXY " + String(repeating: "\n", count: 200), .tooLong),
    ] as [(String, ProxyHeaderError)])
  func `what is no header of version 1 is refused as early as it can be`(text: String, error: ProxyHeaderError) throws {
    #expect(try outcome(Array(text.utf8)) == .refused(error))
  }

  @Test func `the longest line of version 1 has 107 bytes`() throws {
    let line = "PROXY UNKNOWN " + String(repeating: "x", count: 91) + "\r\n"
    #expect(line.utf8.count == 107)
    #expect(try outcome(Array(line.utf8)) == .header(.unknown, length: 107))
    #expect(try outcome(Array(line.utf8.dropLast())) == .needsMore)
  }

  // MARK: Version 2

  private func binary(
    _ command: UInt8, _ family: UInt8, _ addresses: [UInt8], extensions: [UInt8] = [], length: Int? = nil
  ) -> [UInt8] {
    let length = length ?? addresses.count + extensions.count
    return Array("\r\n\r\n\0\r\nQUIT\n".utf8) + [command, family, UInt8(length >> 8), UInt8(length & 0xFF)] + addresses
      + extensions
  }

  private let ipv4: [UInt8] = [192, 0, 2, 1, 198, 51, 100, 2, 0xC3, 0x50, 0x01, 0xBB]
  private let ipv6: [UInt8] =
    [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1] + [UInt8](repeating: 7, count: 16)
    + [0xC3, 0x50, 0x01, 0xBB]

  @Test func `version 2 names addresses and ports of TCP, and extensions are passed over`() throws {
    let crc: [UInt8] = [0x03, 0x00, 0x04, 1, 2, 3, 4]
    for (family, addresses, text) in [(0x11, ipv4, "192.0.2.1"), (0x21, ipv6, "2001:db8::1")]
      as [(UInt8, [UInt8], String)]
    {
      for extensions in [[], crc, [UInt8](repeating: 0xFF, count: 300)] {
        let bytes = binary(0x21, family, addresses, extensions: extensions)
        let expected = Outcome.header(try client(text, 50_000), length: bytes.count)
        #expect(try outcome(bytes) == expected)
        #expect(try outcome(bytes + Array("GET".utf8)) == expected)
      }
    }
  }

  @Test func `what version 2 does not name is unknown, and its own connections are the proxy's`() throws {
    let unix = [UInt8](repeating: 0x2F, count: 216)
    for (family, addresses) in [(0x00, []), (0x00, ipv4), (0x31, unix), (0x10, ipv4), (0x01, [1])] as [(UInt8, [UInt8])]
    {
      let bytes = binary(0x21, family, addresses)
      #expect(try outcome(bytes) == .header(.unknown, length: bytes.count))
    }
    // Datagrams over IPv4, IPv6 and unix: valid, and not handled here.
    for (family, addresses) in [(0x12, ipv4), (0x22, ipv6), (0x32, unix)] as [(UInt8, [UInt8])] {
      let bytes = binary(0x21, family, addresses, extensions: [1, 2, 3])
      #expect(try outcome(bytes) == .header(.unknown, length: bytes.count))
    }
    for (family, addresses) in [
      (0x00, []), (0x11, ipv4), (0x11, []), (0x31, [9, 9]), (0x12, []), (0x4F, [9]), (0xFF, ipv4),
    ] as [(UInt8, [UInt8])] {
      let bytes = binary(0x20, family, addresses)
      #expect(try outcome(bytes) == .header(.proxy, length: bytes.count))
    }
  }

  @Test func `what is no header of version 2 is refused as early as it can be`() throws {
    let refused: [([UInt8], ProxyHeaderError)] = [
      (Array("\r\n\r\n\0\r\nQUIT\r".utf8), .missing), (binary(0x11, 0x11, ipv4), .unsupported),
      (binary(0x31, 0x11, ipv4), .unsupported), (binary(0x22, 0x11, ipv4), .unsupported),
      (binary(0x21, 0x41, ipv4), .malformed), (binary(0x21, 0x12, ipv4, length: 11), .malformed),
      (binary(0x21, 0x13, ipv4), .malformed), (binary(0x21, 0x11, ipv4, length: 11), .malformed),
      (binary(0x21, 0x21, ipv6, length: 35), .malformed), (binary(0x21, 0x31, ipv6, length: 215), .malformed),
      (binary(0x21, 0x11, ipv4, length: ProxyHeader.mostBytes - 15), .tooLong),
      (binary(0x20, 0, [], length: 0xFFFF), .tooLong),
    ]
    for (bytes, error) in refused { #expect(try outcome(bytes) == .refused(error)) }
  }

  @Test func `the longest header is taken, and an incomplete one waits`() throws {
    let longest = binary(
      0x21, 0x11, ipv4, extensions: [UInt8](repeating: 0, count: ProxyHeader.mostBytes - 16 - ipv4.count))
    let header = try longest.withView { (view) throws(ProxyHeaderError) in try ProxyHeader.parse(view) }
    #expect(header == ProxyHeader(source: try client("192.0.2.1", 50_000), length: ProxyHeader.mostBytes))
    for count in [0, 1, 12, 13, 15, 16, 27] {
      #expect(try outcome(Array(binary(0x21, 0x11, ipv4)[..<count])) == .needsMore, "\(count)")
    }
  }
}
