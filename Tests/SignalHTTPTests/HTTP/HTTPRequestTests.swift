// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

@Suite struct `A request to keep` {
  private func kept(_ text: String, body: [UInt8] = []) throws -> HTTPRequest {
    try withHead(text) { HTTPRequest(copying: $0, body: body) }
  }

  @Test func `it says what the head said, when the buffer is long gone`() throws {
    let request = try kept(
      "PUT /a%20b/%C3%A9?x=1&y=a+b&x=2 HTTP/1.1\r\nHost: h:81\r\nX-A: 1\r\nB: c\r\nx-a: é\r\n\r\n", body: [1, 2])
    #expect(request.method == .put && request.body == [1, 2] && request.minorVersion == 1)
    #expect(request.target == "/a%20b/%C3%A9?x=1&y=a+b&x=2" && request.path == "/a%20b/%C3%A9")
    #expect(try request.decodedPath == "/a b/é")
    #expect(request.query == "x=1&y=a+b&x=2" && request.authority == "h:81")
    #expect(try request.queryItems().map { "\($0.name)=\($0.value)" } == ["x=1", "y=a b", "x=2"])
    #expect(try request.queryValue("y") == "a b")
    #expect(try request.queryValue("x") == "1")
    #expect(try request.queryValue("z") == nil)
    #expect(request["X-a"] == "1, é" && request["b"] == "c" && request["none"] == nil)
    #expect(request.fields.map { "\($0.name)=\($0.value)" } == ["Host=h:81", "X-A=1", "B=c", "x-a=é"])
  }

  @Test func `without a query there are no items`() throws {
    let request = try kept("DO /a HTTP/1.0\r\n\r\n")
    #expect(request.method == HTTPMethod("DO") && request.query == nil && request.authority == "")
    #expect(try request.queryItems().isEmpty)
    #expect(try request.queryValue("a") == nil)
    #expect(request.fields.isEmpty && request.minorVersion == 0)
  }

  @Test func `what is not UTF-8 is an error in a path and a query, and replaced in a field`() throws {
    let request = try kept("GET /%FF?a=%FF HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(throws: HTTPParseError.malformedUTF8) { try request.decodedPath }
    #expect(throws: HTTPParseError.malformedUTF8) { try request.queryItems() }
    #expect(throws: HTTPParseError.malformedUTF8) { try request.queryValue("a") }
    var parser = RequestHeadParser()
    let bytes = Array("GET / HTTP/1.1\r\nHost: h\r\nX: a".utf8) + [0xFF] + Array("b\r\n\r\n".utf8)
    try bytes.withView { (view) throws in
      #expect(HTTPRequest(copying: try parser.parse(view), body: [])["x"] == "a\u{FFFD}b")
    }
  }

  @Test func `it gives the borrowed form back`() throws {
    let request = try kept("GET http://b:1 HTTP/1.1\r\nHost: h\r\nOrigin: o\r\n\r\n")
    request.withHead { head in
      #expect(head.path.string == "/" && head.host.string == "b" && head.port == 1 && head[.origin]?.string == "o")
      #expect(head.fieldCount == 2)
    }
  }
}

@Suite struct `Random requests` {
  /// A request of random parts, and what parsing it must give.
  private func make(_ generator: inout SplitMix) -> (text: String, head: ParsedHead) {
    func pick(_ letters: String, _ lengths: ClosedRange<Int>) -> String {
      let letters = Array(letters)
      return String(
        (0..<Int.random(in: lengths, using: &generator)).map { _ in
          letters[Int.random(in: 0..<letters.count, using: &generator)]
        })
    }
    let token = "abcXYZ019!#$%&'*+-.^_`|~"
    var head = ParsedHead()
    head.method = pick(token, 1...32)
    head.path = "/" + pick("abc/.-_~!$&'()*+,;=:@[]^|019", 0...40)
    head.query = Bool.random(using: &generator) ? pick("abc/?=&+<>{}|\\^`[]:;,", 0...30) : nil
    head.target = head.path + (head.query.map { "?" + $0 } ?? "")
    head.host = pick("abc.-_~019", 1...20)
    head.port = Bool.random(using: &generator) ? UInt16.random(in: .min ... .max, using: &generator) : nil
    let length = Bool.random(using: &generator) ? Int.random(in: 0...HTTPLimits().bodyBytes, using: &generator) : nil
    head.framing = length.map { .sized($0) } ?? .none
    head.keepsAlive = Bool.random(using: &generator)

    var fields = ["Host=\(head.host)\(head.port.map { ":\($0)" } ?? "")"]
    if let length { fields.append("Content-Length=\(length)") }
    if !head.keepsAlive { fields.append("connection=close") }
    for _ in 0..<Int.random(in: 0...8, using: &generator) {
      let value = pick("abc 019,;=\"\\é\t()<>@", 0...30)
      fields.append("x\(pick(token, 1...20))=\(value.trimmingBlanks)")
    }
    fields.shuffle(using: &generator)
    head.fields = fields
    let blanks = ["", " ", "  ", "\t", " \t "]
    let lines = fields.map { field in
      let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let before = blanks[Int.random(in: 0..<blanks.count, using: &generator)]
      let after = blanks[Int.random(in: 0..<blanks.count, using: &generator)]
      return "\(parts[0]):\(before)\(parts[1])\(after)\r\n"
    }
    let empty = String(repeating: "\r\n", count: Int.random(in: 0...4, using: &generator))
    let text = "\(empty)\(head.method) \(head.target) HTTP/1.1\r\n\(lines.joined())\r\n"
    head.length = text.utf8.count
    return (text, head)
  }

  @Test(arguments: 0..<8) func `what is put together is taken apart again, however it is cut`(seed: UInt64) throws {
    var generator = SplitMix(state: seed)
    for _ in 0..<10 {
      let (text, head) = make(&generator)
      #expect(try parsed(text) == head, "seed \(seed)")
    }
  }

  @Test(arguments: 0..<8) func `a damaged request is parsed or refused, the same however it is cut`(seed: UInt64) throws
  {
    var generator = SplitMix(state: seed)
    for _ in 0..<20 {
      var bytes = Array(make(&generator).text.utf8)
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes[place] = .random(in: .min ... .max, using: &generator)
        case 1: bytes.insert(Array("\r\n :\t,;%".utf8).randomElement(using: &generator) ?? 0, at: place)
        case 2: bytes.remove(at: place)
        default: bytes.replaceSubrange(place..<place, with: "\r\nTransfer-Encoding: chunked".utf8)
        }
      }
      _ = try Splits.all(of: bytes, randomRuns: 4, seed: seed) { headOutcome(of: $0) }
    }
  }
}

extension String {
  fileprivate var trimmingBlanks: String {
    let blanks: Set<Character> = [" ", "\t"]
    return String(drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed())
  }
}
