// SPDX-License-Identifier: MIT
import TestSupport
import Testing

@testable import SignalHTTP

@Suite struct `RFC 9110 Methods and statuses` {
  @Test func `§9.1 a method is any token, and nothing else`() {
    #expect(HTTPMethod("GET") == .get && HTTPMethod("get") != .get && HTTPMethod("get")?.name == "get")
    #expect(HTTPMethod("") == nil && HTTPMethod("A B") == nil && HTTPMethod("A\r\n") == nil && HTTPMethod("É") == nil)
    #expect(HTTPMethod.Known.allCases.allSatisfy { HTTPMethod($0).name == HTTPMethod($0).description })
  }

  @Test func `§9.2 safe and idempotent methods are known`() {
    let methods = HTTPMethod.Known.allCases.map { HTTPMethod($0) }
    #expect(methods.filter(\.isSafe) == [.get, .head, .options, .trace])
    #expect(methods.filter(\.isIdempotent) == [.get, .head, .put, .delete, .options, .trace])
    #expect(HTTPMethod("ANY")?.isSafe == false && HTTPMethod("ANY")?.isIdempotent == false)
  }

  @Test func `§15 a status has three digits and begins with 1 to 5`() {
    #expect(HTTPStatus(code: 99) == nil && HTTPStatus(code: 600) == nil && HTTPStatus(code: -200) == nil)
    #expect(HTTPStatus(code: 100) == .continue && HTTPStatus(code: 599)?.code == 599)
    #expect(HTTPStatus.notFound.description == "404 Not Found" && HTTPStatus(code: 299)?.description == "299")
  }

  @Test func `§15 every status line says the number of its status`() {
    for code in 100...599 {
      guard let status = HTTPStatus(code: code) else { continue }
      let line = status.statusLine.description
      #expect(line.isEmpty ? status.reason.isEmpty : line == "HTTP/1.1 \(code) \(status.reason)\r\n")
    }
  }

  @Test func `§6_4_1 statuses without a body are known`() {
    let bodiless = (100...599).compactMap { HTTPStatus(code: $0) }.filter(\.isBodiless).map(\.code)
    #expect(bodiless == Array(100...199) + [204, 304])
  }
}

@Suite struct `RFC 9110 §5_6_7 Dates` {
  private let now = HTTPDate(secondsSinceEpoch: 1_700_000_000)

  private static let known: [(Int64, String)] = [
    (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
    (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"),
    (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"), (1_700_000_000, "Tue, 14 Nov 2023 22:13:20 GMT"),
    (4_102_444_799, "Thu, 31 Dec 2099 23:59:59 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
    (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (-86_400, "Wed, 31 Dec 1969 00:00:00 GMT"),
    (-2_208_988_800, "Mon, 01 Jan 1900 00:00:00 GMT"), (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
    (-62_167_219_200, "Sat, 01 Jan 0000 00:00:00 GMT"),
  ]

  @Test(arguments: known) func `a date is written in the fixed form, and read back`(seconds: Int64, text: String) {
    #expect(HTTPDate(secondsSinceEpoch: seconds).description == text)
    #expect(HTTPDate(text, now: now)?.secondsSinceEpoch == seconds)
  }

  @Test func `a time that has no four-digit year is the nearest that has`() {
    #expect(HTTPDate(secondsSinceEpoch: .max).description == "Fri, 31 Dec 9999 23:59:59 GMT")
    #expect(HTTPDate(secondsSinceEpoch: .min).description == "Sat, 01 Jan 0000 00:00:00 GMT")
  }

  @Test func `every day of 400 years is written and read back`() {
    var weekday = 4
    let names = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    for day in Int64(0)..<146_097 {
      let date = HTTPDate(secondsSinceEpoch: day * 86_400 + day % 86_400)
      var text: [UInt8] = []
      date.append(to: &text)
      let isRight =
        text.count == 29 && text.starts(with: names[weekday].utf8)
        && text.withView { HTTPDate($0, now: now) } == date
      if !isRight { Issue.record("\(String(decoding: text, as: UTF8.self))") }
      weekday = (weekday + 1) % 7
    }
  }

  @Test(arguments: [
    "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 GMT",
    // The day of the week is not compared with the date.
    "Monday, 06-Nov-94 08:49:37 GMT", "Mon Nov  6 08:49:37 1994",
  ])
  func `the obsolete forms are read`(text: String) {
    #expect(HTTPDate(text, now: now)?.secondsSinceEpoch == 784_111_777)
  }

  @Test func `asctime has a day of one or two places`() {
    #expect(HTTPDate("Wed Nov 16 08:49:37 1994", now: now)?.secondsSinceEpoch == 784_975_777)
    #expect(HTTPDate("Wed Nov 06 08:49:37 1994", now: now) != nil)
    #expect(HTTPDate("Wed Nov 6 08:49:37 1994", now: now) == nil)
  }

  @Test(arguments: [
    ("94", 1994), ("23", 2023), ("70", 2070), ("73", 2073), ("74", 1974), ("99", 1999), ("00", 2000),
  ])
  func `a year of two digits is at most fifty years in the future`(digits: String, year: Int) {
    // Seen from November 2023.
    let date = HTTPDate("Sunday, 06-Nov-\(digits) 08:49:37 GMT", now: now)
    #expect(date?.description.contains(" \(year) ") == true)
  }

  @Test func `a leap second is the first of the next minute`() {
    #expect(HTTPDate("Sat, 31 Dec 2016 23:59:60 GMT", now: now)?.description == "Sun, 01 Jan 2017 00:00:00 GMT")
  }

  @Test(arguments: [
    "", "x", "Sun", "Sun,", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Nov 1994 08:49:37 gmt",
    "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
    "Sun, 06 nov 1994 08:49:37 GMT", "sun, 06 Nov 1994 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT",
    "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
    "Sun, 32 Oct 1994 08:49:37 GMT", "Wed, 29 Feb 1995 08:49:37 GMT", "Thu, 29 Feb 1900 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
    "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 +0000",
    "Sun, 06 Abc 1994 08:49:37 GMT", "Sund, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37", "784111777",
    "Sun Nov  6 08:49:37 1994 GMT", "Sun Nov  6 08:49:37 94", "1994-11-06T08:49:37Z", "Sun,\t06 Nov 1994 08:49:37 GMT",
    "Sun, 0é Nov 1994 08:49:37 GMT", "Sunday, 31-Feb-94 08:49:37 GMT",
  ])
  func `anything else is no date`(text: String) {
    #expect(HTTPDate(text, now: now) == nil)
  }

  @Test func `the date line is written anew when the second changes`() {
    var date = DateField()
    var output: [UInt8] = []
    for second in [Int64(784_111_777), 784_111_777, 784_111_778] { date.append(to: &output, second: second) }
    #expect(
      String(decoding: output, as: UTF8.self)
        == """
        Date: Sun, 06 Nov 1994 08:49:37 GMT\r
        Date: Sun, 06 Nov 1994 08:49:37 GMT\r
        Date: Sun, 06 Nov 1994 08:49:38 GMT\r

        """)
  }
}

@Suite struct `RFC 9110 §8_3 Content-Type` {
  private func type(_ text: String) throws -> (String, String, [UInt8]?) {
    try Array(text.utf8).withView { (view) throws in
      let type = try MediaType(view)
      return (type.type.string, type.subtype.string, type.parameter("charset"))
    }
  }

  @Test(
    arguments: [
      ("text/html", "text", "html", nil), ("Text/HTML;Charset=\"utf-8\"", "Text", "HTML", "utf-8"),
      ("text/html; charset=utf-8", "text", "html", "utf-8"), ("text/html ;\tcharset=a ; b=c", "text", "html", "a"),
      ("application/merge-patch+json", "application", "merge-patch+json", nil), ("a/b;", "a", "b", nil),
      ("a/b; ;charset=x;", "a", "b", "x"), ("a/b;c=\"d;charset=e\"", "a", "b", nil),
      ("a/b;charset=\"a\\\"b\"", "a", "b", "a\"b"), ("a/b;charset=\"\"", "a", "b", ""),
      ("a/b;charset=1;charset=2", "a", "b", "1"),
      ("*/*", "*", "*", nil),
    ] as [(String, String, String, String?)])
  func `a type is read with its parameters`(text: String, type: String, subtype: String, charset: String?) throws {
    let parts = try self.type(text)
    #expect(parts.0 == type && parts.1 == subtype && parts.2 == charset.map { Array($0.utf8) })
  }

  @Test(arguments: [
    "", "text", "text/", "/html", "text/html/x", "text /html", "text/ html", "te(xt/html", "text/html x", "text/html;a",
    "text/html;a=", "text/html;=b", "text/html;a =b", "text/html;a= b", "text/html;a=\"b", "text/html;a=b c",
    "text/html,a/b",
    "text/html;a=b\"c\"", "é/b", ";a=b", "text/html;a=(b)",
  ])
  func `anything else is refused`(text: String) {
    #expect(throws: HTTPParseError.malformedMediaType) { try type(text) }
  }

  @Test func `types are compared without case and parameters`() throws {
    try Array("Application/JSON; charset=utf-8".utf8).withView { (view) throws in
      let type = try MediaType(view)
      #expect(type.matches("application/json") && !type.matches("application/jso") && !type.matches("application/xml"))
    }
  }
}

@Suite struct `RFC 9110 §12_5_1 Accept` {
  private let offered: [StaticString] = ["application/json", "application/x-ndjson", "text/plain;version=0.0.4"]

  private func best(_ lines: String...) throws -> Int? {
    try withHead((["GET / HTTP/1.1", "Host: a"] + lines.map { "Accept: \($0)" } + ["", ""]).joined(separator: "\r\n")) {
      Accept.best(of: offered, for: $0)
    }
  }

  @Test func `without the field the first is as good as any`() throws {
    #expect(try withHead(request()) { Accept.best(of: offered, for: $0) } == 0)
    #expect(try withHead(request()) { Accept.best(of: [], for: $0) } == nil)
  }

  @Test(
    arguments: [
      ("*/*", 0), ("application/*", 0), ("text/*", 2), ("application/x-ndjson", 1), ("APPLICATION/X-NDJSON", 1),
      ("application/json, application/x-ndjson", 0), ("application/json;q=0.5, application/x-ndjson", 1),
      ("application/x-ndjson;q=0.5, */*;q=0.1", 1), ("application/json;q=0, */*", 1), ("*/*;q=0", nil),
      ("application/json;q=0.000", nil), ("image/png", nil), ("text/html, application/xhtml+xml, */*;q=0.8", 0),
      ("application/*;q=0.2, application/x-ndjson;q=0.1, text/plain;version=0.0.4;q=0.15", 0),
      ("*/*, application/json;q=0.1, application/*;q=0.2", 2), ("text/plain", 2), ("text/plain;version=0.0.4", 2),
      ("text/plain;version=\"0.0.4\"", 2), ("text/plain;version=1", nil),
      ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", 2),
      ("application/json; charset=utf-8", 0), ("application/json;q=1.000;ext=x", 0), ("application/json;Q=0.5", 0),
      ("text/plain;version=1, text/plain;q=0.1", 2), ("", 0), (",,", 0),
    ] as [(String, Int?)])
  func `the most specific range counts, then the weight, then the order of what is offered`(
    value: String, place: Int?
  ) throws {
    #expect(try best(value) == place)
  }

  @Test func `the ranges of all lines count`() throws {
    #expect(try best("application/json;q=0.1", "application/x-ndjson;q=0.2") == 1)
  }

  @Test(arguments: [
    "json", "*/json", "application/json;q=2", "application/json;q=1.001", "application/json;q=0.1234",
    "application/json;q=-1",
    "application/json;q=", "application/json;q=a", "application/json;q=.5", "application/json;q=\"0.5\"",
    "application/json q=1",
    "/", "*", "application/json;q=1.5", "application/json;q=00",
  ])
  func `a malformed element is left out`(element: String) throws {
    #expect(try best(element) == 0, "alone, it is as if nothing had been sent")
    #expect(try best("\(element), application/x-ndjson") == 1)
  }
}

@Suite struct `RFC 9110 §8_8_3 Entity tags` {
  private func tags(_ lines: String...) throws -> [String] {
    try withHead(request(lines.map { "If-Match: \($0)" }.joined(separator: "\r\n"))) { head in
      var tags: [String] = []
      try head.forEachEntityTag(in: .ifMatch) { tag in
        tags.append(tag.map { ($0.isWeak ? "W/" : "") + $0.opaque.string } ?? "*")
      }
      return tags
    }
  }

  @Test(arguments: [
    ("*", ["*"]), ("\"a\"", ["\"a\""]), ("W/\"a\"", ["W/\"a\""]), ("\"\"", ["\"\""]),
    ("\"a\",\"b\"", ["\"a\"", "\"b\""]),
    ("\"a\" , W/\"b\"", ["\"a\"", "W/\"b\""]), (",\"a\",, ,\"b\",", ["\"a\"", "\"b\""]), ("\"a,b\"", ["\"a,b\""]),
    ("\"a\\\"", ["\"a\\\""]), ("\"é!#*\"", ["\"é!#*\""]), ("\"x7.1042\"", ["\"x7.1042\""]), ("\"W/\"", ["\"W/\""]),
  ])
  func `tags are read, a comma or a backslash in one is part of it`(value: String, tags expected: [String]) throws {
    #expect(try tags(value) == expected)
  }

  @Test func `tags of all lines belong together`() throws {
    #expect(try tags("\"a\"", "W/\"b\"") == ["\"a\"", "W/\"b\""])
    #expect(throws: HTTPParseError.malformedEntityTag) { try tags("*", "\"a\"") }
    #expect(throws: HTTPParseError.malformedEntityTag) { try tags("*", "*") }
  }

  @Test(arguments: [
    "", " ", ",", "a", "\"", "\"a", "a\"", "x7.1042", "'a'", "w/\"a\"", "W\"a\"", "W/a", "W/", "W", "\"a\"\"b\"",
    "\"a\" \"b\"",
    "\"a\"x", "x\"a\"", "\"a b\"", "\"a\tb\"", "*,\"a\"", "\"a\",*", "**", "*a", "* *", "W/*", "\"a\";q=1", "\"a\",b",
    "W/ \"a\"",
  ])
  func `anything else is refused`(value: String) {
    #expect(throws: HTTPParseError.malformedEntityTag) { try tags(value) }
  }

  private func contain(
    _ value: String?, _ tag: String?, _ comparison: RequestHead.TagComparison
  ) throws -> Bool? {
    try withHead(request(value.map { "If-None-Match: \($0)" } ?? "X: y")) { head in
      guard let tag else { return try head.entityTags(in: .ifNoneMatch, contain: nil, by: comparison) }
      return try Array(tag.utf8).withView { (view) throws in
        try head.entityTags(in: .ifNoneMatch, contain: view, by: comparison)
      }
    }
  }

  @Test func `§8_8_3_2 a weak comparison looks at the tag, a strong one at its strength too`() throws {
    #expect(try contain("W/\"1\"", "\"1\"", .weak) == true)
    #expect(try contain("W/\"1\"", "\"1\"", .strong) == false)
    #expect(try contain("\"1\"", "\"1\"", .strong) == true)
    #expect(try contain("\"1\"", "\"2\"", .weak) == false)
    #expect(try contain("\"2\", W/\"1\"", "\"1\"", .weak) == true)
    #expect(try contain("\"A\"", "\"a\"", .weak) == false)
  }

  @Test func `§13 an asterisk is any current state`() throws {
    #expect(try contain("*", "\"1\"", .strong) == true)
    #expect(try contain("*", nil, .strong) == false)
    #expect(try contain("\"1\"", nil, .weak) == false)
    #expect(try contain(nil, "\"1\"", .weak) == nil)
  }

  @Test func `a list is checked to its end, also behind a match and without a current state`() {
    #expect(throws: HTTPParseError.malformedEntityTag) { try contain("\"1\", x", "\"1\"", .weak) }
    #expect(throws: HTTPParseError.malformedEntityTag) { try contain("\"1\", x", nil, .weak) }
  }
}

@Suite struct `RFC 6454 §7 Origin` {
  private func matches(_ origin: String, _ host: String) throws -> Bool {
    try withHead("GET / HTTP/1.1\r\nHost: \(host)\r\nOrigin: \(origin)\r\n\r\n") { head in
      guard let value = try head.single(.origin) else { return false }
      return try Origin(value).matches(host: head.host, port: head.port, isSecured: false)
    }
  }

  @Test(arguments: [
    ("http://a", "a"), ("http://a:80", "a"), ("http://a", "a:80"), ("HTTP://A:8080", "a:8080"),
    ("http://[::1]:1", "[::1]:1"),
    ("http://localhost:8080", "LOCALHOST:8080"),
  ])
  func `scheme, host and port are those of the request`(origin: String, host: String) throws {
    #expect(try matches(origin, host))
  }

  @Test(arguments: [
    ("http://b", "a"), ("http://a:81", "a"), ("http://a", "a:81"), ("http://a.b", "a"), ("http://b.a", "a"),
    ("null", "a"),
    ("https://a:80", "a:443"), ("app://a", "a:80"), ("http://a", "a:443"), ("https://a", "a"), ("https://a", "a:443"),
    ("https://a:443", "a:443"), ("https://a:80", "a:80"), ("https://a:8080", "a:8080"),
  ])
  func `or they are not`(origin: String, host: String) throws {
    #expect(try !matches(origin, host))
  }

  @Test(arguments: [
    "", "a", "a:80", "//a", "http:", "http:/", "http:/a", "http://", "http://a/", "http://a/b", "http://a?b",
    "http://a#b",
    "http://u@a", "http://a b", "http://a http://b", "http://a, http://b", "http://a:x", "http://a:70000", "://a",
    "1http://a",
    "ht tp://a", "NULL", "http://[::1", "http://é", "-http://a", "http//a",
  ])
  func `a value of another form is refused`(origin: String) {
    #expect(throws: HTTPParseError.malformedOrigin) { try matches(origin, "a") }
  }

  @Test func `null is an origin that matches nothing`() throws {
    for host in ["a", "null"] { #expect(try !matches("null", host)) }
  }
}
