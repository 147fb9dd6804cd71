// SPDX-License-Identifier: MIT
import SignalHTTP
import Testing

private func bytes(_ values: [String]) -> [[UInt8]] { values.map { Array($0.utf8) } }

private func request(
  get: Bool = true, version1_1: Bool = true, upgrade: [String] = ["websocket"], connection: [String] = ["Upgrade"],
  key: [String] = ["dGhlIHNhbXBsZSBub25jZQ=="], version: [String] = ["13"], protocols: [String] = []
) -> UpgradeRequest {
  UpgradeRequest(
    isGet: get, isVersion1_1: version1_1, upgrade: bytes(upgrade), connection: bytes(connection), key: bytes(key),
    version: bytes(version), protocols: bytes(protocols))
}

private let sampleAccept = Array("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=".utf8)

private func answer(_ request: UpgradeRequest, offering: [String] = []) -> UpgradeOutcome {
  WebSocketHandshake.answer(request, offering: offering)
}

@Suite("Opening handshake, RFC 6455 section 4")
struct Section4HandshakeTests {
  @Suite("Client requirements, section 4.1")
  struct Client {
    @Test func `a key is the Base64 of sixteen bytes and fresh each time`() {
      let keys = (0..<50).map { _ in WebSocketHandshake.makeKey() }
      #expect(keys.allSatisfy { $0.count == 24 && Base64.decodedCount($0.span) == 16 })
      #expect(Set(keys).count == 50)
    }

    @Test func `the request has the fields of the RFC, in a form the server accepts`() {
      var output: [UInt8] = []
      WebSocketHandshake.appendRequest(
        host: "server.example.com", target: "/chat", key: Array("dGhlIHNhbXBsZSBub25jZQ==".utf8),
        subprotocols: ["chat", "superchat"], fields: [("Origin", "http://example.com")], to: &output)
      #expect(
        String(decoding: output, as: UTF8.self)
          == "GET /chat HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
          + "Sec-WebSocket-Protocol: chat, superchat\r\nOrigin: http://example.com\r\n\r\n")
    }

    private func accepts(
      upgrade: [String] = ["websocket"], connection: [String] = ["Upgrade"],
      accept: [String] = ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo="], protocols: [String] = [], extensions: [String] = []
    ) -> Bool {
      WebSocketHandshake.accepts(
        upgrade: bytes(upgrade), connection: bytes(connection), accept: bytes(accept), protocols: bytes(protocols),
        extensions: bytes(extensions), key: Array("dGhlIHNhbXBsZSBub25jZQ==".utf8), offered: ["chat", "superchat"])
    }

    @Test func `a response with the right accept value is taken`() {
      #expect(accepts())
      #expect(accepts(upgrade: ["WebSocket"], connection: ["keep-alive, upgrade"]))
      #expect(accepts(accept: [" s3pPLMBiTxaQ9kYGzzhZRbK+xOo= "]))
      #expect(accepts(protocols: ["superchat"]))
    }

    @Test func `any other response fails the connection`() {
      #expect(!accepts(upgrade: []))
      #expect(!accepts(upgrade: ["h2c"]))
      #expect(!accepts(connection: []))
      #expect(!accepts(connection: ["close"]))
      #expect(!accepts(accept: []))
      #expect(!accepts(accept: ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo"]))
      #expect(!accepts(accept: ["S3PPLMBITXAQ9KYGZZHZRBK+XOO="]))
      #expect(!accepts(accept: ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="]))
      #expect(!accepts(protocols: ["other"]))
      #expect(!accepts(protocols: ["Chat"]))
      #expect(!accepts(protocols: ["chat", "chat"]))
      #expect(!accepts(protocols: ["chat, superchat"]))
      #expect(!accepts(extensions: ["permessage-deflate"]))
    }
  }

  @Suite("Reading the client's handshake, section 4.2.1")
  struct Reading {
    @Test func `the request of the RFC is accepted`() {
      #expect(answer(request()) == .accept(key: sampleAccept, subprotocol: nil))
    }

    @Test(arguments: [
      (["websocket"], ["upgrade"]), (["WebSocket"], ["UPGRADE"]), (["h2c, websocket"], ["keep-alive, Upgrade"]),
      (["h2c", "websocket"], ["keep-alive", "Upgrade"]), ([" ,, websocket\t"], [",Upgrade,"]),
    ])
    func `tokens are found in any case and in lists`(upgrade: [String], connection: [String]) {
      #expect(
        answer(request(upgrade: upgrade, connection: connection)) == .accept(key: sampleAccept, subprotocol: nil))
      #expect(WebSocketHandshake.isUpgrade(upgrade: bytes(upgrade), connection: bytes(connection)))
    }

    @Test(arguments: [
      ([], ["upgrade"]), (["websocket"], []), (["websockets"], ["upgrade"]), (["websocket/13"], ["upgrade"]),
      (["web socket"], ["upgrade"]), (["websocket"], ["upgrades"]), (["websocket"], ["close"]), ([""], [""]),
      (["h2c"], ["Upgrade"]), (["web,socket"], ["upgrade"]),
    ])
    func `without both tokens it is not an upgrade`(upgrade: [String], connection: [String]) {
      #expect(answer(request(upgrade: upgrade, connection: connection)) == .refuse(.notAnUpgrade))
      #expect(!WebSocketHandshake.isUpgrade(upgrade: bytes(upgrade), connection: bytes(connection)))
    }

    @Test func `another method is answered 405 and told what is allowed`() {
      #expect(answer(request(get: false)) == .refuse(.method))
      #expect(UpgradeRefusal.method.status == 405)
      #expect(UpgradeRefusal.method.fields.map { "\($0.name): \($0.value)" } == ["Allow: GET"])
    }

    @Test func `HTTP 1.0 knows no upgrade`() {
      #expect(answer(request(version1_1: false)) == .refuse(.notAnUpgrade))
    }

    @Test(arguments: [
      [], ["dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ=="], [""], ["dGhlIHNhbXBsZSBub25jZQ"],
      ["dGhlIHNhbXBsZSBub25jZQ="], ["dGhlIHNhbXBsZSBub25jZQ==="], ["dGhlIHNhbXBsZSBub25jZQ==="],
      ["dGhlIHNhbXBsZSBub25jZTE="], ["dGhlIHNhbXBsZSBub25jZTEy"], ["dGhlIHNhbXBsZSBub25j"],
      ["dGhlIHNhbXBsZSBub25j*Q=="], ["dGhlIHNhbXBs SBub25jZQ=="], ["dGhlIHNhbXBsZSBub25-_Q=="],
      ["=GhlIHNhbXBsZSBub25jZQ=="], ["dGhlIHNhbXBsZSBub25=ZQ=="], [String(repeating: "A", count: 70_000)],
    ])
    func `a key that is missing, repeated or not sixteen bytes is answered 400`(key: [String]) {
      #expect(answer(request(key: key)) == .refuse(.key))
      #expect(UpgradeRefusal.key.status == 400)
      #expect(UpgradeRefusal.key.fields.isEmpty)
    }

    @Test func `white space around a key is not part of it`() {
      #expect(answer(request(key: [" dGhlIHNhbXBsZSBub25jZQ==\t"])) == .accept(key: sampleAccept, subprotocol: nil))
    }

    @Test(arguments: ["aaaaaaaaaaaaaaaaaaaaaa==", "AAAAAAAAAAAAAAAAAAAAAA==", "+/+/+/+/+/+/+/+/+/+/+Q=="])
    func `any sixteen bytes are a key`(key: String) {
      guard case .accept = answer(request(key: [key])) else {
        Issue.record("refused")
        return
      }
    }
  }

  @Suite("Sending the server's handshake, section 4.2.2")
  struct Sending {
    @Test func `the accept value is the one of the RFC`() {
      #expect(WebSocketHandshake.acceptKey(for: Array("dGhlIHNhbXBsZSBub25jZQ==".utf8)) == sampleAccept)
      // Computed with another implementation of SHA-1.
      #expect(
        WebSocketHandshake.acceptKey(for: Array("x3JJHMbDL1EzLkh9GBhXDw==".utf8))
          == Array("HSmrc0sMlYUkAGmm5OPpG2HaGWk=".utf8))
    }

    @Test func `the server picks the first of its own that the client offers`() {
      func chosen(_ offered: [String], _ ours: [String]) -> UpgradeOutcome {
        answer(request(protocols: offered), offering: ours)
      }
      #expect(
        chosen(["chat, superchat"], ["superchat", "chat"]) == .accept(key: sampleAccept, subprotocol: "superchat"))
      #expect(chosen(["chat", "superchat"], ["superchat"]) == .accept(key: sampleAccept, subprotocol: "superchat"))
      #expect(chosen(["a,b ,c"], ["x", "b"]) == .accept(key: sampleAccept, subprotocol: "b"))
    }

    @Test(arguments: [[], ["other"], ["Chat"], ["chatt"], ["cha"]])
    func `with none in common no subprotocol is chosen`(offered: [String]) {
      #expect(
        answer(request(protocols: offered), offering: ["chat"]) == .accept(key: sampleAccept, subprotocol: nil))
      #expect(answer(request(protocols: offered), offering: []) == .accept(key: sampleAccept, subprotocol: nil))
    }

    @Test(arguments: ["chat room", "chat;q=1", "\"chat\"", "a@b", "ok, b\u{7F}", "ü"])
    func `a subprotocol that is no token is answered 400`(value: String) {
      #expect(answer(request(protocols: [value]), offering: ["chat"]) == .refuse(.subprotocol))
      #expect(UpgradeRefusal.subprotocol.status == 400)
    }

    @Test func `the response is the one of the RFC`() {
      var output: [UInt8] = []
      WebSocketHandshake.appendResponse(acceptKey: sampleAccept, subprotocol: "chat", to: &output)
      #expect(
        String(decoding: output, as: UTF8.self)
          == "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: chat\r\n\r\n")
      output = []
      WebSocketHandshake.appendResponse(acceptKey: sampleAccept, subprotocol: nil, to: &output)
      #expect(!String(decoding: output, as: UTF8.self).contains("Protocol:"))
    }
  }

  @Suite("Versions, section 4.4")
  struct Versions {
    @Test(arguments: [[], ["8"], ["7"], ["0"], ["12"], ["14"], ["013"], ["+13"], ["13, 8"], ["13 8"], [""], ["255"]])
    func `any version but 13 is answered 426 with the one we speak`(version: [String]) {
      #expect(answer(request(version: version)) == .refuse(.version))
      #expect(UpgradeRefusal.version.status == 426)
      let fields = UpgradeRefusal.version.fields.map { "\($0.name): \($0.value)" }
      #expect(fields == ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"])
    }

    @Test func `two version fields are answered 400`() {
      #expect(answer(request(version: ["13", "13"])) == .refuse(.repeatedVersion))
      #expect(UpgradeRefusal.repeatedVersion.status == 400)
    }

    @Test func `every refusal names the section it comes from`() {
      let all: [UpgradeRefusal] = [.method, .notAnUpgrade, .version, .repeatedVersion, .key, .subprotocol]
      for refusal in all { #expect(refusal.description.contains("RFC 6455 section")) }
      #expect(UpgradeRefusal.notAnUpgrade.status == 426)
    }
  }

  @Suite("Base64, RFC 4648 section 10")
  struct Base64Tests {
    @Test(arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ])
    func `the test vectors come out and are measured`(plain: String, encoded: String) {
      let text = Base64.encode(Array(plain.utf8).span)
      #expect(String(decoding: text, as: UTF8.self) == encoded)
      #expect(Base64.decodedCount(text.span) == plain.utf8.count)
    }

    @Test(arguments: [
      "A", "AB", "ABC", "=", "====", "A===", "AB=C", "=ABC", "Zg==Zg==", "Zm 9", "Zm9\n", "Zm9-", "Zm9_", "Zm9é",
    ])
    func `other texts are not Base64`(text: String) {
      #expect(Base64.decodedCount(Array(text.utf8).span) == nil)
    }

    @Test func `all letters are used`() {
      let all = (0..<64).map { UInt32($0) }
      var bytes: [UInt8] = []
      for group in stride(from: 0, to: 64, by: 4) {
        let word = all[group] << 18 | all[group + 1] << 12 | all[group + 2] << 6 | all[group + 3]
        bytes += [UInt8(word >> 16 & 255), UInt8(word >> 8 & 255), UInt8(word & 255)]
      }
      #expect(
        String(decoding: Base64.encode(bytes.span), as: UTF8.self)
          == "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    }
  }
}
