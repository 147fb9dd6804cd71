// SPDX-License-Identifier: MIT
import SignalHTTP
import Testing

@testable import SignalHTTP

private func address(_ text: String) -> IPAddress? { Array(text.utf8).withView { IPAddress($0) } }

@Suite struct `RFC 4291 and RFC 5952: addresses` {
  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1"), ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("::", "::"),
    ("::1", "::1"), ("1::", "1::"), ("2001:DB8::1", "2001:db8::1"), ("2001:0db8:0:0:0:0:0:1", "2001:db8::1"),
    ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
    ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
    ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
    ("64:ff9b::192.0.2.1", "64:ff9b::c000:201"),
    ("1:2:3:4:5:6:192.0.2.1", "1:2:3:4:5:6:c000:201"), ("::ffff:192.0.2.1", "192.0.2.1"),
    ("::FFFF:c000:201", "192.0.2.1"),
    ("fe80::1:2", "fe80::1:2"), ("::ffff:0:192.0.2.1", "::ffff:0:c000:201"),
  ])
  func `an address is written in one way, however it was written before`(text: String, written: String) throws {
    let parsed = try #require(address(text))
    #expect("\(parsed)" == written)
    #expect(address(written) == parsed)
  }

  @Test(arguments: [
    "", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.", ".1.2.3", "1..2.3", "1.2.3.4 ", "a.b.c.d", ":",
    ":::",
    "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "::g", "1:", ":1", "1:2:3:4:5:6:7:1.2.3.4", "::1.2.3",
    "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "[::1]", "::1%eth0", "1.2.3.4:80", "::1.2.3.4:1", "-1.2.3.4", "0x1.2.3.4",
  ])
  func `what is no address is none`(text: String) { #expect(address(text) == nil) }
}

@Suite struct `RFC 4632: blocks of addresses` {
  @Test(arguments: [
    ("10.0.0.0/8", "10.0.0.0", true), ("10.0.0.0/8", "10.255.255.255", true), ("10.0.0.0/8", "11.0.0.0", false),
    ("10.0.0.0/8", "9.255.255.255", false), ("10.0.0.0/8", "::ffff:10.1.2.3", true), ("10.0.0.0/8", "a00::", false),
    ("192.0.2.128/25", "192.0.2.127", false), ("192.0.2.128/25", "192.0.2.255", true), ("192.0.2.1", "192.0.2.1", true),
    ("192.0.2.1", "192.0.2.2", false), ("192.0.2.1/32", "192.0.2.1", true), ("0.0.0.0/0", "1.2.3.4", true),
    ("0.0.0.0/0", "::1", false), ("::/0", "::1", true), ("::/0", "1.2.3.4", true), ("::1", "::1", true),
    ("::1", "::2", false), ("2001:db8::/32", "2001:db8:ffff::", true), ("2001:db8::/32", "2001:db9::", false),
    ("2001:db8:0:8000::/49", "2001:db8:0:7fff::", false), ("2001:db8:0:8000::/49", "2001:db8:0:ffff::1", true),
    ("2001:db8::/64", "2001:db8::ffff:ffff:ffff:ffff", true), ("2001:db8::/64", "2001:db8:0:1::", false),
    ("2001:db8::8000:0:0:0/65", "2001:db8::7fff:0:0:0", false),
    ("2001:db8::8000:0:0:0/65", "2001:db8::f000:0:0:1", true),
    ("::ffff:10.0.0.0/104", "10.9.8.7", true),
  ])
  func `a block contains the addresses that begin as it does`(block: String, text: String, isIn: Bool) throws {
    let block = try AddressBlock(block)
    #expect(block.contains(try #require(address(text))) == isIn)
    #expect(try AddressBlock(block.description) == block)
  }

  @Test(arguments: [
    "", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/08", "10.0.0.0/-1", "10.0.0.0/8/8", "10/8", "[::1]", "a/8",
    "/8",
  ])
  func `what is no block is refused`(text: String) {
    #expect(throws: AddressBlock.Fault.malformed) { try AddressBlock(text) }
  }

  @Test(arguments: [("10.1.2.3/8", "10.0.0.0/8"), ("2001:db8::1/32", "2001:db8::/32"), ("192.0.2.1/0", "0.0.0.0/0")])
  func `bits behind the prefix are a mistake, and the block that may be meant is named`(text: String, meant: String) {
    let fault = #expect(throws: AddressBlock.Fault.self) { try AddressBlock(text) }
    #expect(fault?.description == "has bits behind its prefix; is it \(meant)?")
  }
}
