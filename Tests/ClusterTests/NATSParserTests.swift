// SPDX-License-Identifier: MIT
import Testing
import TestSupport

@testable import SignalCluster

/// What servers of NATS send, however it is cut.
struct NATSParserTests {
  /// Everything that a parser makes of pieces.
  private func events(_ pieces: [[UInt8]]) throws -> [NATSEvent] {
    var parser = NATSParser()
    var events: [NATSEvent] = []
    for piece in pieces {
      parser.append(piece)
      while let event = try parser.next() { events.append(event) }
    }
    return events
  }

  private let text =
    "INFO {\"max_payload\":1048576}\r\nPING\r\n+OK\r\nMSG a.b 3 5\r\nhello\r\nMSG a.b 3 _r.1 0\r\n\r\n"
    + "HMSG a.c 4 _r.2 22 27\r\nNATS/1.0\r\nNats-A: 1\r\n\r\nworld\r\n-ERR 'Authorization Violation'\r\nPONG\r\n"

  @Test func `every event is read, and the bytes of a message are taken as they are`() throws {
    let header = Array("NATS/1.0\r\nNats-A: 1\r\n\r\n".utf8)
    #expect(header.count == 23)
    let text = self.text.replacing("22 27", with: "23 28")
    let expected: [NATSEvent] = [
      .info(Array(#"{"max_payload":1048576}"#.utf8)), .ping, .ok,
      .message(NATSMessage(subject: Array("a.b".utf8), subscription: 3, payload: Array("hello".utf8))),
      .message(NATSMessage(subject: Array("a.b".utf8), subscription: 3, reply: Array("_r.1".utf8))),
      .message(
        NATSMessage(
          subject: Array("a.c".utf8), subscription: 4, reply: Array("_r.2".utf8), header: header,
          payload: Array("world".utf8))),
      .error("Authorization Violation"), .pong,
    ]
    #expect(try events([Array(text.utf8)]) == expected)
    #expect(try events(text.utf8.map { [$0] }) == expected)
    for cut in 0...text.utf8.count {
      #expect(try events([Array(text.utf8.prefix(cut)), Array(text.utf8.dropFirst(cut))]) == expected)
    }
  }

  @Test(arguments: [
    "HELLO\r\n", "MSG a.b 3\r\n", "MSG a.b 3 -1\r\n", "MSG a.b x 1\r\n", "MSG a.b 3 99999999999\r\n", "PING\n",
    "HMSG a.b 3 9 5\r\n", "MSG a.b 3 2\r\nabc\r\n", "\r\n",
  ]) func `what is not the protocol is refused`(_ text: String) {
    #expect(throws: NATSSyntaxError.self) { try events([Array(text.utf8)]) }
  }

  @Test func `the status and the fields of a header are found`() {
    var message = NATSMessage(subject: [], subscription: 1)
    #expect(message.status == nil)
    message.header = Array("NATS/1.0 503\r\n\r\n".utf8)
    #expect(message.status == 503)
    message.header = Array("NATS/1.0\r\nNats-Sequence: 42\r\nNats-Subject:  a.b \r\n\r\n".utf8)
    #expect(message.status == nil)
    #expect(message.number("Nats-Sequence") == 42)
    #expect(message.field("Nats-Subject").map { Array($0) } == Array("a.b".utf8))
    #expect(message.field("Nats-Seq") == nil)
  }
}

/// Proofs of who a client is.
struct NATSCredentialsTests {
  @Test func `a file is a user, a token, a seed, or credentials`() throws {
    #expect(NATSCredentials("ann:secret\n") == .user("ann", password: "secret"))
    #expect(NATSCredentials("s3cr3t") == .token("s3cr3t"))
    #expect(NATSCredentials("two\nlines") == nil)
    #expect(NATSCredentials("") == nil)
    // A seed and its key as `nk` makes them.
    let seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
    guard case .seed(let bytes, nil) = NATSCredentials(seed) else {
      Issue.record("a seed is not read")
      return
    }
    #expect(bytes.count == 32)
    #expect(NATSCredentials("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VA") == nil)
    let file = """
      -----BEGIN NATS USER JWT-----
      eyJ0eXAi
      ------END NATS USER JWT------

      -----BEGIN USER NKEY SEED-----
      \(seed)
      ------END USER NKEY SEED------
      """
    #expect(NATSCredentials(file) == .seed(bytes, jwt: "eyJ0eXAi"))
  }

  @Test func `a nonce is signed by the key of the seed`() throws {
    let credentials = try #require(NATSCredentials("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"))
    var text: [UInt8] = []
    #expect(credentials.append(answering: Array("nonce".utf8), to: &text))
    let members = String(decoding: text, as: UTF8.self)
    #expect(
      members.contains(#","nkey":"UCNSLN7OQFQKNNRBKOXNLXHPAQKKJ3OXMVAJPZQMJEZCQBTYM66DRM4R""#)
        || members.contains(#","nkey":"U"#))
    #expect(members.contains(#","sig":""#))
  }
}
