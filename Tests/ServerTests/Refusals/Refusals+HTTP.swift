// SPDX-License-Identifier: MIT

extension Refusal {
  private static let host = "Host: x\r\n"

  private static func get(_ line: String) -> String { "\(line)\r\n\(host)\r\n" }

  private static func fields(_ lines: String...) -> String {
    "GET /properties/a HTTP/1.1\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
  }

  /// A request with a body under these framing fields.
  private static func framed(_ fields: String, _ body: String = "") -> String {
    "PUT /properties/a HTTP/1.1\r\n\(host)\(fields)\r\n\r\n\(body)"
  }

  private static func chunked(_ body: String) -> String { framed("Transfer-Encoding: chunked", body) }

  /// Requests that break RFC 9112 or RFC 9110, in the order of the RFC.
  static let messages9112: [Refusal] = [
    // §2
    .bytes("§2.2 a bare line feed ends the request line", "GET / HTTP/1.1\nHost: x\r\n\r\n", 400),
    .bytes("§2.2 a bare line feed ends a field", "GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", 400),
    .bytes("§2.2 a bare carriage return in a field", fields("Host: x", "A: b\rc"), 400),
    .bytes("§2.2 white space before the first field", "GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400),
    .bytes("§2.2 more empty lines than are skipped", "\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    .bytes("§2.3 the version in small letters", get("GET / http/1.1"), 400),
    .bytes("§2.3 a version of one number", get("GET / HTTP/1"), 400),
    .bytes("§2.3 a version of two digits", get("GET / HTTP/1.10"), 400),
    .bytes("§2.3 another name of a protocol", get("GET / HTTPS/1.1"), 400),
    .bytes("§2.3 a version that is not served", get("GET / HTTP/2.0"), 505, "version_not_supported"),
    .bytes("§2.3 the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "version_not_supported"),
    .bytes("§2.3 version 0.9", get("GET / HTTP/0.9"), 505, "version_not_supported"),
    .bytes("§2 TLS instead of HTTP", [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03], 400),

    // §3
    .bytes("§3 two spaces before the target", get("GET  / HTTP/1.1"), 400),
    .bytes("§3 two spaces before the version", get("GET /  HTTP/1.1"), 400),
    .bytes("§3 a space behind the version", get("GET / HTTP/1.1 "), 400),
    .bytes("§3 a tabulator between the parts", get("GET\t/ HTTP/1.1"), 400),
    .bytes("§3 a space in the target", get("GET /a b HTTP/1.1"), 400),
    .bytes("§3 no version, as in HTTP/0.9", "GET /\r\n\r\n", 400),
    .bytes("§3.1 a method that is no token", get("G@T / HTTP/1.1"), 400),
    .bytes("§3.1 no method", get(" / HTTP/1.1"), 400),
    .bytes("§3.1 a method that is too long", get(String(repeating: "M", count: 33) + " / HTTP/1.1"), 400),
    .bytes("§3.1 a control character in the method", get("GE\u{1}T / HTTP/1.1"), 400),
    .bytes("§3.2 no slash at the beginning", get("GET a HTTP/1.1"), 400),
    .bytes("§3.2 a fragment", get("GET /a#b HTTP/1.1"), 400),
    .bytes("§3.2 a byte above ASCII in the target", Array("GET /\u{E9} HTTP/1.1\r\nHost: x\r\n\r\n".utf8), 400),
    .bytes("§3.2 NUL in the target", get("GET /\u{0} HTTP/1.1"), 400),
    .bytes("§3.2 DEL in the target", get("GET /\u{7F} HTTP/1.1"), 400),
    .bytes("§3.2 a percent sign without two digits in the path", get("GET /properties/%4 HTTP/1.1"), 400),
    .bytes("§3.2 a percent sign with other letters in the query", get("GET /properties?match=%zz HTTP/1.1"), 400),
    .bytes("§3.2 the asterisk with GET", get("GET * HTTP/1.1"), 400),
    .bytes("§3.2 CONNECT without a port", get("CONNECT x HTTP/1.1"), 400),
    .bytes("§3.2 CONNECT to a path", get("CONNECT /properties/a HTTP/1.1"), 400),
    .bytes("§3.2 another scheme", get("GET ftp://x/ HTTP/1.1"), 400),
    .bytes("§3.2 https on a connection without TLS", get("GET https://x/properties/a HTTP/1.1"), 421, "misdirected"),
    .bytes("§3.2 user information", get("GET http://me@x/ HTTP/1.1"), 400),
    .bytes(
      "§3 a target over the limit", get("GET /\(String(repeating: "a", count: 2048)) HTTP/1.1"), 414,
      "target_too_long"),
    .bytes("§3.2 no Host", "GET / HTTP/1.1\r\n\r\n", 400),
    .bytes("§3.2 two Hosts", fields("Host: x", "Host: x"), 400),
    .bytes("§3.2 Host is a list", fields("Host: x, y"), 400),
    .bytes("§3.2 Host is a URL", fields("Host: http://x"), 400),
    .bytes("§3.2 Host with a port that is none", fields("Host: x:y"), 400),
    .bytes("§3.2 Host with a port over 65535", fields("Host: x:65536"), 400),
    .bytes("§3.2 Host is empty", fields("Host:"), 400),
    .bytes("§3.2 a wrong Host beside a right absolute target", "GET http://x/ HTTP/1.1\r\nHost: x y\r\n\r\n", 400),

    // §5
    .bytes("§5 a field without a colon", fields("Host: x", "A"), 400),
    .bytes("§5 a field without a name", fields("Host: x", ": b"), 400),
    .bytes("§5 a name that is no token", fields("Host: x", "A(b): c"), 400),
    .bytes("§5 a name of bytes above ASCII", fields("Host: x", "\u{C4}: c"), 400),
    .bytes("§5.1 a space before the colon", fields("Host: x", "A : b"), 400),
    .bytes("§5.1 a space before the colon of a framing field", fields("Host: x", "Content-Length : 0"), 400),
    .bytes("§5.2 a folded line", fields("Host: x", "A: b", " c"), 400),
    .bytes("§5.2 a line folded with a tabulator", fields("Host: x", "A: b", "\tc"), 400),
    .bytes("§5.5 NUL in a value", fields("Host: x", "A: b\u{0}"), 400),
    .bytes("§5.5 another control character in a value", fields("Host: x", "A: \u{1B}[0m"), 400),
    .bytes("§5 Connection is no list of tokens", fields("Host: x", "Connection: a b"), 400),
    .bytes(
      "§5 more fields than allowed", fields("Host: x\r\n" + String(repeating: "A: b\r\n", count: 19) + "A: b"), 431,
      "head_too_large"),
    .bytes(
      "§5 a head over the limit", fields("Host: x", "A: " + String(repeating: "b", count: 4096)), 431, "head_too_large"),
    .bytes("§11.2 a framing field with an underscore", fields("Host: x", "Content_Length: 5"), 400),

    // §6
    .bytes("§6.1 both framings", framed("Content-Length: 1\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), 400),
    .bytes("§6.1 both framings, the other way round", framed("Transfer-Encoding: chunked\r\nContent-Length: 1"), 400),
    .bytes(
      "§6.1 a coding in HTTP/1.0", "PUT /properties/a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    .bytes("§6.1 chunked twice", framed("Transfer-Encoding: chunked, chunked"), 400),
    .bytes("§6.1 chunked twice on two lines", framed("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), 400),
    .bytes("§6.1 chunked is not the last", framed("Transfer-Encoding: chunked, gzip"), 400),
    .bytes("§6.1 chunked with a parameter", framed("Transfer-Encoding: chunked;q=1"), 400),
    .bytes("§6.1 no coding in the field", framed("Transfer-Encoding:"), 400),
    .bytes("§6.1 a vertical tabulator before chunked", framed("Transfer-Encoding: \u{B}chunked"), 400),
    .bytes("§6.1 a quoted coding", framed("Transfer-Encoding: \"chunked\""), 400),
    .bytes("§6.1 an unknown coding", framed("Transfer-Encoding: gzip, chunked"), 501, "not_implemented"),
    .bytes("§6.1 a name like chunked", framed("Transfer-Encoding: xchunked"), 501, "not_implemented"),
    .bytes("§6.1 identity", framed("Transfer-Encoding: identity"), 501, "not_implemented"),
    .bytes("§6.2 a length that is no number", framed("Content-Length: one"), 400),
    .bytes("§6.2 a length with a sign", framed("Content-Length: +1", "1"), 400),
    .bytes("§6.2 a negative length", framed("Content-Length: -1"), 400),
    .bytes("§6.2 a length in hexadecimal", framed("Content-Length: 0x1", "1"), 400),
    .bytes("§6.2 a length of 20 digits", framed("Content-Length: 00000000000000000001", "1"), 400),
    .bytes("§6.2 an empty length", framed("Content-Length:"), 400),
    .bytes("§6.2 a list of equal lengths", framed("Content-Length: 1, 1", "1"), 400),
    .bytes("§6.2 two numbers", framed("Content-Length: 1 1", "1"), 400),
    .bytes("§6.3 two lengths", framed("Content-Length: 1\r\nContent-Length: 2", "12"), 400),
    .bytes("§6.3 two equal lengths", framed("Content-Length: 1\r\nContent-Length: 1", "1"), 400),
    .bytes("§6.2 a length over 64 bits", framed("Content-Length: 18446744073709551617"), 400),
    .bytes("§6.2 a body over the limit", framed("Content-Length: 8193"), 413, "body_too_large"),
    .bytes("§6.2 a body far over the limit", framed("Content-Length: 9223372036854775807"), 413, "body_too_large"),

    // §7
    .bytes("§7.1 a size that is no number", chunked("g\r\n1\r\n0\r\n\r\n"), 400),
    .bytes("§7.1 an empty size", chunked("\r\n1\r\n0\r\n\r\n"), 400),
    .bytes("§7.1 a negative size", chunked("-1\r\n1\r\n0\r\n\r\n"), 400),
    .bytes("§7.1 a size with 0x", chunked("0x1\r\n1\r\n0\r\n\r\n"), 400),
    .bytes("§7.1 a size over 64 bits", chunked("10000000000000001\r\n1\r\n0\r\n\r\n"), 400),
    .bytes("§7.1 a bare line feed behind the size", chunked("1\n1\r\n0\r\n\r\n"), 400),
    .bytes("§7.1 data that goes on behind its size", chunked("1\r\n12\r\n0\r\n\r\n"), 400),
    .bytes("§7.1 data that ends with a bare line feed", chunked("1\r\n1\n0\r\n\r\n"), 400),
    .bytes("§7.1 a space before the size", chunked(" 1\r\n1\r\n0\r\n\r\n"), 400),
    .bytes("§7.1 chunks over the limit", chunked("2001\r\n"), 413, "body_too_large"),
    .bytes("§7.1.1 an extension without a name", chunked("1;=b\r\n1\r\n0\r\n\r\n"), 400),
    .bytes("§7.1.1 a control character in an extension", chunked("1;a=\u{1}\r\n1\r\n0\r\n\r\n"), 400),
    .bytes("§7.1.1 a bare carriage return in an extension", chunked("1;a=\"\r\"\r\n1\r\n0\r\n\r\n"), 400),
    .bytes(
      "§7.1.1 extensions over the limit", chunked("1;" + String(repeating: "a", count: 5000) + "\r\n1\r\n0\r\n\r\n"),
      400),
    .bytes("§7.1.2 a length in the trailers", chunked("0\r\nContent-Length: 1\r\n\r\n"), 400),
    .bytes("§7.1.2 a Host in the trailers", chunked("0\r\nHost: y\r\n\r\n"), 400),
    .bytes("§7.1.2 a folded line in the trailers", chunked("0\r\nA: b\r\n c\r\n\r\n"), 400),
    .bytes(
      "§7.1.2 trailers over the limit", chunked("0\r\nA: " + String(repeating: "b", count: 5000) + "\r\n\r\n"), 431,
      "head_too_large"),

    // RFC 9110
    .bytes(
      "RFC 9110 §10.1.1 another expectation", framed("Expect: 200-ok\r\nContent-Length: 1", "1"), 417,
      "expectation_failed"),
  ]
}
