// SPDX-License-Identifier: MIT
import SignalHTTP
import Testing

private func written(
  _ status: HTTPStatus, _ body: ResponseBody = .sized(0), _ persistence: Persistence = .implied,
  fields: (ResponseHeadWriter, inout [UInt8]) -> Void = { _, _ in }
) -> String {
  var output: [UInt8] = []
  var date = DateField()
  let writer = ResponseHeadWriter(status, date: &date, second: 784_111_777, to: &output)
  fields(writer, &output)
  writer.end(body, persistence, to: &output)
  return String(decoding: output, as: UTF8.self)
}

private let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

@Suite struct `RFC 9112 §4 Status line and head of a response` {
  @Test func `a head is status line, date, fields, framing and an empty line`() {
    let text = written(.ok, .sized(4)) { writer, output in
      writer.field("Content-Type", "application/json", to: &output)
      writer.field("ETag", Array("\"x7.1042\"".utf8), to: &output)
    }
    #expect(
      text
        == "HTTP/1.1 200 OK\r\n\(date)Content-Type: application/json\r\nETag: \"x7.1042\"\r\nContent-Length: 4\r\n\r\n")
  }

  @Test func `a status without registered words keeps the space behind its number`() throws {
    let status = try #require(HTTPStatus(code: 299))
    #expect(written(status) == "HTTP/1.1 299 \r\n\(date)Content-Length: 0\r\n\r\n")
  }

  @Test func `a head is appended to what is there`() {
    var output = Array("before".utf8)
    var date = DateField()
    let writer = ResponseHeadWriter(.noContent, date: &date, second: 0, to: &output)
    writer.end(.sized(0), .implied, to: &output)
    #expect(String(decoding: output, as: UTF8.self).hasPrefix("beforeHTTP/1.1 204 No Content\r\n"))
  }
}

@Suite struct `RFC 9112 §6 Framing of a response` {
  @Test func `a length, chunks, or the end of the connection say where the body ends`() {
    #expect(written(.ok, .sized(0)).hasSuffix("Content-Length: 0\r\n\r\n"))
    #expect(written(.ok, .sized(1_048_576)).hasSuffix("Content-Length: 1048576\r\n\r\n"))
    #expect(written(.ok, .chunked) == "HTTP/1.1 200 OK\r\n\(date)Transfer-Encoding: chunked\r\n\r\n")
    #expect(written(.ok, .untilClose, .closes) == "HTTP/1.1 200 OK\r\n\(date)Connection: close\r\n\r\n")
  }

  @Test(arguments: [ResponseBody.sized(0), .sized(5), .chunked, .untilClose])
  func `no body is framed where there is none`(body: ResponseBody) {
    #expect(written(.noContent, body) == "HTTP/1.1 204 No Content\r\n\(date)\r\n")
    #expect(written(.notModified, body) == "HTTP/1.1 304 Not Modified\r\n\(date)\r\n")
    #expect(written(.switchingProtocols, body, .upgrades) == "HTTP/1.1 101 Switching Protocols\r\n\r\n")
    #expect(written(.earlyHints, body) == "HTTP/1.1 103 Early Hints\r\n\r\n")
  }

  @Test func `what becomes of the connection is said when it is not what the client expects`() {
    #expect(written(.ok, .sized(0), .announced).hasSuffix("Content-Length: 0\r\nConnection: keep-alive\r\n\r\n"))
    #expect(written(.ok, .sized(0), .closes).hasSuffix("Content-Length: 0\r\nConnection: close\r\n\r\n"))
  }

  @Test func `the go-ahead for a body is one line`() {
    var output: [UInt8] = []
    output.appendContinue()
    #expect(output == Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
  }
}

@Suite struct `RFC 9112 §11_1 Response splitting` {
  @Test(arguments: [
    ("a\r\nSet-Cookie: b", "a  Set-Cookie: b"), ("a\nb", "a b"), ("a\u{0}b\u{7F}", "a b "),
    ("\r\n\r\n<html>", "    <html>"),
    ("a\tb", "a\tb"), ("é", "é"), ("", ""),
  ])
  func `a control character in a value is written as a space`(value: String, line: String) {
    let text = written(.ok) { writer, output in writer.field("X", Array(value.utf8), to: &output) }
    #expect(text == "HTTP/1.1 200 OK\r\n\(date)X: \(line)\r\nContent-Length: 0\r\n\r\n")
  }

  @Test func `an application's fields are written without those that frame the message`() throws {
    var fields = HTTPFields()
    for name in [
      "X", "Content-Length", "Connection", "date", "Transfer-Encoding", "KEEP-ALIVE", "Upgrade", "Trailer", "y",
    ] {
      try fields.append(#require(HTTPFieldName(name)), "1")
    }
    let text = written(.ok, .sized(3)) { writer, output in writer.fields(fields, to: &output) }
    #expect(text == "HTTP/1.1 200 OK\r\n\(date)X: 1\r\ny: 1\r\nContent-Length: 3\r\n\r\n")
  }
}
