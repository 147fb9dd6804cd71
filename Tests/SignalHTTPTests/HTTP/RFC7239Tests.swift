// SPDX-License-Identifier: MIT
import SignalHTTP
import Testing

@testable import SignalHTTP

/// What the fields of a request say of its client to a server that trusts 10.0.0.0/8 and fd00::/8: the address, perhaps a
/// port, and the scheme; nil when they say nothing.
private func client(_ lines: [String]) throws -> String? {
  let trusted = TrustedProxies([try AddressBlock("10.0.0.0/8"), try AddressBlock("fd00::/8")])
  return try withHead((["GET / HTTP/1.1", "Host: a"] + lines + ["", ""]).joined(separator: "\r\n")) { head in
    guard let client = try ForwardedClient(head, trusting: trusted) else { return nil }
    let node =
      switch client.node {
      case .address(let address, let port)?: "\(address)\(port == 0 ? "" : " \(port)")"
      case .unknown?: "unknown"
      case nil: "-"
      }
    return node + (client.isSecured.map { $0 ? " https" : " http" } ?? "")
  }
}

@Suite struct `RFC 7239 Forwarded` {
  @Test(arguments: [
    // The examples of §4, §6.1, §7.1.
    (#"for="_gazonk""#, "unknown"), (#"For="[2001:db8:cafe::17]:4711""#, "2001:db8:cafe::17 4711"),
    ("for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60 http"),
    ("for=192.0.2.43, for=198.51.100.17", "198.51.100.17"),
    ("for=_hidden, for=_SEVKISEK", "unknown"), (#"for="192.0.2.43:47011""#, "192.0.2.43 47011"),
    (#"for="[2001:db8:cafe::17]""#, "2001:db8:cafe::17"),
    ("for=192.0.2.43,for=\"[2001:db8:cafe::17]\",for=unknown", "unknown"),
    (#"for="_mystery:_port""#, "unknown"), (#"for="192.0.2.1:_p""#, "192.0.2.1"), (#"for="unknown:80""#, "unknown"),
    // From the right, what is trusted is passed over.
    ("for=192.0.2.1, for=10.0.0.2", "192.0.2.1"),
    (#"for=192.0.2.9, for=192.0.2.1, for=10.0.0.2, for="[fd00::1]""#, "192.0.2.1"),
    ("for=10.0.0.3;proto=https, for=10.0.0.2;proto=http", "10.0.0.3 https"), ("for=_client, for=10.0.0.2", "unknown"),
    ("for=192.0.2.1;proto=https, for=10.0.0.2;proto=http", "192.0.2.1 https"),
    ("for=192.0.2.1, for=10.0.0.2;proto=https", "192.0.2.1"), (#"for="[::ffff:10.0.0.1]", for=192.0.2.1"#, "192.0.2.1"),
    (#"for=192.0.2.1, for="[::ffff:10.0.0.1]""#, "192.0.2.1"),
    // Names in any case, parameters in any order, with spaces, without, and such as are not known.
    ("PROTO=HTTPS;FOR=192.0.2.1", "192.0.2.1 https"),
    ("by=a ; for=192.0.2.1;; proto=wss;x=\"a,b;\\\"c\"", "192.0.2.1 https"),
    (#"for="192.0.2.1";host="a:1";proto="ws""#, "192.0.2.1 http"), ("proto=https", "unknown https"),
    ("by=10.0.0.1", "unknown"),
    // What stands before the client may be anything.
    ("for=\"not an address\", for=192.0.2.1", "192.0.2.1"), ("=, for=192.0.2.1", "192.0.2.1"),
    ("for=1;for=2;proto=gopher, for=192.0.2.1, for=10.0.0.1", "192.0.2.1"),
  ])
  func `the client is the first from the right that is not trusted`(value: String, expected: String) throws {
    #expect(try client(["Forwarded: \(value)"]) == expected)
  }

  @Test func `lines are one list`() throws {
    #expect(try client(["Forwarded: for=192.0.2.1", "Forwarded: for=10.0.0.2"]) == "192.0.2.1")
    #expect(try client(["Forwarded: for=\"", "Forwarded: for=192.0.2.1, for=10.0.0.2"]) == "192.0.2.1")
    #expect(try client(["X-Forwarded-For: 192.0.2.9", "X-Forwarded-For: 192.0.2.1, 10.0.0.2"]) == "192.0.2.1")
  }

  @Test(arguments: [
    "for=", "for", "192.0.2.1", "for=2001:db8::1", "for=\"2001:db8::1\"", "for=[::1]", "for=\"[::1\"", "for=\"[::1]x\"",
    "for=192.0.2.256", "for=192.0.2.1:80", "for=\"192.0.2.1:\"", "for=\"192.0.2.1:x\"", "for=\"192.0.2.1:70000\"",
    "for=name",
    "for=_", "for=\"_a b\"", "for=192.0.2.1;proto=ftp", "for=192.0.2.1;proto=", "for=192.0.2.1;for=192.0.2.1",
    "proto=http;proto=http;for=192.0.2.1", "for=192.0.2.1 proto=http", "for =192.0.2.1", "for= 192.0.2.1",
    "for=\"192.0.2.1",
    "for=192.0.2.1;=a", "for=192.0.2.1, for=\"10.0.0.1", "for=x, for=10.0.0.2", "for=\"192.0.2.\\1\"",
    "for='192.0.2.1'",
  ])
  func `what would count and is malformed is refused`(value: String) {
    #expect(throws: HTTPParseError.malformedForwarding) { try client(["Forwarded: \(value)"]) }
  }

  @Test func `without fields, or with empty ones, nothing is said`() throws {
    #expect(try client([]) == nil)
    #expect(try client(["Forwarded:", "X-Forwarded-For: ,, ", "X-Forwarded-Proto:"]) == nil)
    #expect(try client(["X-Real-IP: 192.0.2.1", "Forwarded-For: 192.0.2.1"]) == nil)
  }
}

@Suite struct `X-Forwarded-For and X-Forwarded-Proto` {
  @Test(
    arguments: [
      (["X-Forwarded-For: 192.0.2.1"], "192.0.2.1"), (["X-Forwarded-For: 192.0.2.1:4711"], "192.0.2.1 4711"),
      (["X-Forwarded-For: 2001:db8::1"], "2001:db8::1"), (["X-Forwarded-For: [2001:db8::1]:80"], "2001:db8::1 80"),
      (["X-Forwarded-For: unknown"], "unknown"),
      (["X-Forwarded-For: 1.1.1.1, 192.0.2.1,10.0.0.2 , fd00::2"], "192.0.2.1"),
      (["X-Forwarded-For: junk junk, 192.0.2.1"], "192.0.2.1"), (["X-Forwarded-For: 10.0.0.9, 10.0.0.2"], "10.0.0.9"),
      (["X-Forwarded-Proto: https"], "- https"),
      (["X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: HTTPS"], "192.0.2.1 https"),
      (["X-Forwarded-For: 192.0.2.1, 10.0.0.2", "X-Forwarded-Proto: https"], "192.0.2.1 https"),
      (["X-Forwarded-For: 192.0.2.1, 10.0.0.2", "X-Forwarded-Proto: https, http"], "192.0.2.1 https"),
      (["X-Forwarded-For: 1.1.1.1, 192.0.2.1", "X-Forwarded-Proto: gopher, http"], "192.0.2.1 http"),
      // Beside Forwarded, if they say the same.
      (
        ["Forwarded: for=192.0.2.1;proto=https", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https"],
        "192.0.2.1 https"
      ),
      (
        ["Forwarded: for=\"192.0.2.1:80\"", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https"],
        "192.0.2.1 80 https"
      ),
      (["Forwarded: for=192.0.2.1, for=10.0.0.2", "X-Forwarded-For: 192.0.2.1"], "192.0.2.1"),
    ] as [([String], String)])
  func `they say the same as Forwarded`(lines: [String], expected: String) throws {
    #expect(try client(lines) == expected)
  }

  @Test(
    arguments: [
      (["X-Forwarded-For: junk"], .malformedForwarding), (["X-Forwarded-For: junk, 10.0.0.2"], .malformedForwarding),
      (["X-Forwarded-For: \"192.0.2.1, 192.0.2.2"], .malformedForwarding),
      (["X-Forwarded-Proto: gopher"], .malformedForwarding),
      (["X-Forwarded-Proto: https, http"], .malformedForwarding),
      (["X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https, http"], .malformedForwarding),
      (["X-Forwarded-For: 192.0.2.1, 10.0.0.2", "X-Forwarded-Proto: gopher, http"], .malformedForwarding),
      // What only one kind of proxy sets, the client may have sent the other kind of.
      (["Forwarded: for=10.0.0.1", "X-Forwarded-For: 192.0.2.1"], .contradictoryForwarding),
      (["Forwarded: for=unknown", "X-Forwarded-For: 192.0.2.1"], .contradictoryForwarding),
      (["Forwarded: proto=https", "X-Forwarded-For: 192.0.2.1"], .contradictoryForwarding),
      (["Forwarded: for=192.0.2.1;proto=https", "X-Forwarded-Proto: http"], .contradictoryForwarding),
    ] as [([String], HTTPParseError)])
  func `what would count and is malformed, or contradicts, is refused`(lines: [String], error: HTTPParseError) {
    #expect(throws: error) { try client(lines) }
  }
}
