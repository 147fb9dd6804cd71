// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("REST §2.1, one property")
struct PropertyTests {
  private let date = "Fri, 02 Jan 2026 03:04:05 GMT"

  // MARK: GET

  @Test func `GET brings the value with its validators and the store's revision`() throws {
    let server = try TestServer()
    try server.store.set("kitchen/temperature", #"{ "value" : 21.50 , "unit":"°C" }"#)
    try server.store.set("other", "1")
    let response = try server.connect().request("GET", "/properties/kitchen/temperature")
    #expect(response.status == 200)
    #expect(response.text == #"{"value":21.50,"unit":"°C"}"#)
    #expect(response.value("Content-Type") == "application/json")
    #expect(response.value("ETag") == "\"e.1\"")
    #expect(response.value("Signal-Revision") == "e.2")
    #expect(response.value("Last-Modified") == date)
    #expect(response.value("Cache-Control") == "no-cache")
  }

  @Test func `HEAD is GET without the value`() throws {
    let server = try TestServer()
    try server.store.set("a", "[1,2,3]")
    let client = try server.connect()
    let get = try client.request("GET", "/properties/a")
    let head = try client.request("HEAD", "/properties/a")
    #expect(head.fields.filter { $0.name != "Date" } == get.fields.filter { $0.name != "Date" })
    #expect(head.body.isEmpty)
  }

  @Test func `what is not there is 404 with the revision at which it is not`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let response = try server.connect().request("GET", "/properties/b")
    #expect(response.status == 404 && response.code == "not_found")
    #expect(response.value("Signal-Revision") == "e.1")
  }

  @Test func `a year of two digits is not more than fifty years ahead of the clock`() throws {
    // RFC 9110 §5.6.7: with a clock that begins in 1970, 26 is 1926.
    let isNear = Timestamp.now > Timestamp(milliseconds: 200_000_000_000)
    let server = try TestServer()
    try server.store.set("a", "1")
    let date = ("If-Modified-Since", "Friday, 02-Jan-26 03:04:05 GMT")
    #expect(try server.connect().request("GET", "/properties/a", fields: [date]).status == (isNear ? 304 : 200))
  }

  @Test(arguments: [
    (["If-None-Match": "\"e.1\""], 304), (["If-None-Match": "W/\"e.1\""], 304), (["If-None-Match": "*"], 304),
    (["If-None-Match": "\"x\", \"e.1\", \"y\""], 304), (["If-None-Match": "\"e.2\""], 200),
    (["If-None-Match": "\"f.1\""], 200), (["If-Match": "\"e.1\""], 200), (["If-Match": "*"], 200),
    (["If-Match": "\"e.2\""], 412), (["If-Match": "W/\"e.1\""], 412),
    (["If-Modified-Since": "Fri, 02 Jan 2026 03:04:05 GMT"], 304),
    (["If-Modified-Since": "Fri, 02 Jan 2026 03:04:04 GMT"], 200),
    (["If-Modified-Since": "Fri Jan  2 03:04:05 2026"], 304), (["If-Modified-Since": "yesterday"], 200),
    (["If-None-Match": "\"e.2\"", "If-Modified-Since": "Fri, 02 Jan 2026 03:04:05 GMT"], 200),
    (["If-Match": "\"e.2\"", "If-None-Match": "\"e.1\""], 412),
    (["If-Match": "\"e.1\"", "If-None-Match": "\"e.1\""], 304),
    (["If-Unmodified-Since": "Fri, 02 Jan 2026 03:04:05 GMT"], 200),
    (["If-Unmodified-Since": "Fri, 02 Jan 2026 03:04:04 GMT"], 412), (["If-Unmodified-Since": "yesterday"], 200),
    (["If-Match": "\"e.1\"", "If-Unmodified-Since": "Fri, 02 Jan 2026 03:04:04 GMT"], 200),
  ])
  func `conditions are judged in the order of RFC 9110 §13.2.2`(_ fields: [String: String], _ status: Int) throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let client = try server.connect()
    for method in ["GET", "HEAD"] {
      let response = try client.request(method, "/properties/a", fields: fields.map { ($0, $1) })
      #expect(response.status == status)
      #expect(response.value("Signal-Revision") == "e.1")
      if status == 304 { #expect(response.value("ETag") == "\"e.1\"" && response.body.isEmpty) }
      if status == 412, method == "GET" {
        #expect(try LiveMessage(response.text).object("current")?.raw("value") == "1")
      }
    }
  }

  @Test(arguments: [
    ("", #"{"a":[1,{"b/c":"x"}],"~":null,"":2,"a b":3}"#), ("/a/0", "1"), ("/a/1/b~1c", #""x""#), ("/~0", "null"),
    ("/", "2"), ("/a%20b", "3"), ("/a+b", "3"),
  ])
  func `a pointer brings a part of the value`(_ pointer: String, _ part: String) throws {
    let server = try TestServer()
    try server.store.set("p", #"{"a":[1,{"b/c":"x"}],"~":null,"":2,"a b":3}"#)
    let response = try server.connect().request("GET", "/properties/p?pointer=\(pointer)")
    #expect(response.status == 200 && response.text == part)
    #expect(response.value("ETag") == "\"e.1\"")
  }

  @Test func `a pointer to nothing is 404 and one that is none is 400 with its position`() throws {
    let server = try TestServer()
    try server.store.set("p", "[1]")
    let client = try server.connect()
    let missing = try client.request("GET", "/properties/p?pointer=/1")
    #expect(missing.status == 404 && missing.code == "pointer_not_found")
    #expect(missing.value("Signal-Revision") == "e.1")
    let bad = try client.request("GET", "/properties/p?pointer=/a~x")
    #expect(bad.status == 400 && bad.code == "bad_pointer")
    #expect(try LiveMessage(bad.text).int("position") == 2)
  }

  // MARK: PUT

  @Test func `PUT makes a property and then changes it`() throws {
    let server = try TestServer()
    let client = try server.connect()
    let created = try client.request("PUT", "/properties/a%20b/%C3%BC", body: "1")
    #expect(created.status == 201)
    #expect(created.value("Location") == "/properties/a%20b/%C3%BC")
    #expect(created.value("Signal-Revision") == "e.1" && created.value("ETag") == "\"e.1\"")
    #expect(created.value("Content-Length") == "0")
    let changed = try client.request("PUT", "/properties/a%20b/%C3%BC", body: "2")
    #expect(changed.status == 204)
    #expect(changed.value("Location") == nil && changed.value("Signal-Revision") == "e.2")
    #expect(server.store.contents == ["a b/ü": "2"])
  }

  @Test func `an ETag comes only when the bytes were kept as they were (RFC 9110 §9.3.4)`() throws {
    let client = try TestServer().connect()
    #expect(try client.request("PUT", "/properties/a", body: "[1,2]").value("ETag") == "\"e.1\"")
    #expect(try client.request("PUT", "/properties/a", body: "[1, 2]").value("ETag") == nil)
    #expect(try client.request("PUT", "/properties/a", body: "[1,2]\n").value("ETag") == nil)
  }

  @Test func `an equal value changes nothing unless always is asked for`() throws {
    let server = try TestServer()
    let client = try server.connect()
    let outcomes = try ["", "", "?always=true", "?always=false"].map { query in
      let response = try client.request("PUT", "/properties/a\(query)", body: "1")
      return "\(response.status) \(response.value("ETag") ?? "") \(response.value("Signal-Revision") ?? "")"
    }
    #expect(outcomes == ["201 \"e.1\" e.1", "204 \"e.1\" e.1", "204 \"e.2\" e.2", "204 \"e.2\" e.2"])
  }

  @Test(arguments: [nil, "application/json", "text/plain", "application/x-www-form-urlencoded", "image/png"])
  func `any Content-Type is taken whose body is JSON`(_ type: String?) throws {
    let client = try TestServer().connect()
    let fields = type.map { [("Content-Type", $0)] } ?? []
    #expect(try client.request("PUT", "/properties/a", fields: fields, body: "21.5").status == 201)
    #expect(
      try client.request("PUT", "/properties/a", fields: fields + [("Content-Encoding", "identity")], body: "3").status
        == 204)
  }

  @Test func `JSON that is none is refused with its position`() throws {
    let response = try TestServer().connect().request("PUT", "/properties/a", body: #"{"a":01}"#)
    #expect(response.status == 400 && response.code == "bad_json")
    #expect(try LiveMessage(response.text).int("position") == 6)
  }

  @Test(arguments: [
    "1e400", "-1E-400", "9007199254740993", "21.50", "-0", "0.1e+1", "123456789012345678901234567890",
    #"{"a":1,"a":2}"#, #""\u0041\/\ud83d\ude00""#, #""é""#, #""e\u0301""#, "[[],{}]", "true", "null", #""""#,
  ])
  func `a value keeps its bytes`(_ value: String) throws {
    let server = try TestServer()
    let client = try server.connect()
    #expect(try client.request("PUT", "/properties/a", body: " \(value)\r\n\t").status == 201)
    #expect(try client.request("GET", "/properties/a").text == value)
    #expect(try client.request("GET", "/properties").text.contains(#""value":\#(value),"#))
  }

  @Test func `the deepest value is taken`() throws {
    let client = try TestServer().connect()
    let deep = String(repeating: "[", count: 256) + String(repeating: "]", count: 256)
    #expect(try client.request("PUT", "/properties/a", body: deep).status == 201)
    #expect(try client.request("PUT", "/properties/a", body: "[\(deep)]").code == "bad_json")
    let body = #"{"operations":[{"op":"set","path":"b","value":\#(deep)}]}"#
    #expect(try client.request("POST", "/transactions", body: body).status == 200)
    #expect(
      try client.request("POST", "/transactions", body: body.replacing("[[", with: "[[[").replacing("]]", with: "]]]"))
        .code == "bad_json")
  }

  // MARK: Conditions

  @Test func `a condition that holds lets the change through`() throws {
    let server = try TestServer()
    let client = try server.connect()
    func put(_ name: String, _ value: String, _ query: String = "") throws -> Int {
      try client.request("PUT", "/properties/a\(query)", fields: [(name, value)], body: "\(server.store.revision)")
        .status
    }
    #expect(try put("If-None-Match", "*") == 201)
    #expect(try put("If-Match", "\"e.1\"") == 204)
    #expect(try put("If-Match", "\"x\", W/\"e.2\", \"e.2\"") == 204)
    #expect(try put("If-Match", "*") == 204)
    #expect(try put("If-None-Match", "\"e.1\", \"x\"") == 204)
    #expect(try put("If-Match", "\"e.5\"", "?if=value%3D%3D4") == 204)
    #expect(try put("If-Unmodified-Since", "Fri, 02 Jan 2026 03:04:05 GMT") == 204)
    #expect(try client.request("DELETE", "/properties/a", fields: [("If-Match", "\"e.7\"")]).status == 204)
    #expect(server.store.contents.isEmpty)
  }

  @Test func `a condition that fails tells what is there`() throws {
    let server = try TestServer()
    try server.store.set("a", #"{"n":1}"#)
    let client = try server.connect()
    for (method, target, fields) in [
      ("PUT", "/properties/a", [("If-Match", "\"e.9\"")]), ("PUT", "/properties/a", [("If-None-Match", "*")]),
      ("PUT", "/properties/a?if=value.n%20%3E%201", []), ("DELETE", "/properties/a", [("If-Match", "\"e.9\"")]),
      ("PUT", "/properties/a", [("If-Unmodified-Since", "Fri, 02 Jan 2026 03:04:04 GMT")]),
      ("DELETE", "/properties/a", [("If-Unmodified-Since", "Fri, 02 Jan 2026 03:04:04 GMT")]),
      ("DELETE", "/properties/a?if=false", []), ("DELETE", "/properties/a", [("If-None-Match", "\"e.1\"")]),
    ] {
      let response = try client.request(method, target, fields: fields, body: "2")
      #expect(response.status == 412 && response.code == "precondition_failed")
      #expect(response.value("Signal-Revision") == "e.1")
      #expect(
        try LiveMessage(response.text).raw("current")
          == #"{"value":{"n":1},"revision":1,"time":"2026-01-02T03:04:05.678Z"}"#)
    }
    let absent = try client.request("PUT", "/properties/b", fields: [("If-Match", "*")], body: "2")
    #expect(try LiveMessage(absent.text).raw("current") == "null")
    #expect(server.store.revision == 1)
  }

  @Test func `an expression decides over path and value, which is null when there is none`() throws {
    let server = try TestServer()
    let client = try server.connect()
    func put(_ condition: String) throws -> Int {
      try client.request("PUT", "/properties/n?if=\(condition)", body: "\(server.store.revision.number + 1)").status
    }
    #expect(try put("value%20!%3D%20null") == 412)
    #expect(try put("value%20%3D%3D%20null") == 201)
    #expect(try put("value+%3C+2+%26%26+path+%3D%3D+'n'") == 204)
    #expect(try put("value+%3C+2") == 412)
    #expect(try client.request("DELETE", "/properties/n?if=value+%3D%3D+2").status == 204)
  }

  @Test func `many that set on a condition change it one after the other`() throws {
    let server = try TestServer()
    try server.store.set("counter", "0")
    try concurrently(6) { index in
      let client = try server.connect()
      var done = 0
      while done < 20 {
        let now = try client.request("GET", "/properties/counter")
        let number = try #require(Int(now.text))
        let response =
          index.isMultiple(of: 2)
          ? try client.request(
            "PUT", "/properties/counter", fields: [("If-Match", now.value("ETag") ?? "")], body: "\(number + 1)")
          : try client.request("PUT", "/properties/counter?if=value+%3D%3D+\(number)", body: "\(number + 1)")
        if response.status == 204 { done += 1 } else { #expect(response.status == 412) }
      }
    }
    #expect(try server.store.text("counter") == "120")
    #expect(server.store.revision == 121)
  }

  // MARK: DELETE, OPTIONS, paths

  @Test(arguments: [
    ("GET", "/prop%65rties/a"), ("GET", "/%70%72%6F%70%65%72%74%69%65%73/%61"), ("GET", "/propertie%73/a"),
    ("GET", "http://x/prop%65rties/a"), ("PUT", "/prop%65rties/a"), ("POST", "/sign%61ls/a"), ("GET", "/timer%73"),
    ("GET", "/he%61lth/liv%65"), ("GET", "/ope%6Eapi%2Eyaml"), ("GET", "/p%72operties"),
    ("GET", "/event%73?match=a&take=1"),
  ])
  func `an unreserved character and its encoding are equivalent, also in a route (RFC 3986 §6.2.2.2)`(
    _ method: String, _ target: String
  ) throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let response = try server.connect().request(method, target, body: method == "GET" ? nil : "1")
    #expect(response.status == (method == "GET" ? 200 : 204))
    #expect(server.store.contents == ["a": "1"])
  }

  @Test func `DELETE removes a property once, and nothing beneath it`() throws {
    let server = try TestServer()
    try server.store.transact(["a": "1", "a/b": "2"])
    let client = try server.connect()
    let gone = try client.request("DELETE", "/properties/a")
    #expect(gone.status == 204 && gone.value("Signal-Revision") == "e.2" && gone.values("ETag").isEmpty)
    let again = try client.request("DELETE", "/properties/a")
    #expect(again.status == 404 && again.value("Signal-Revision") == "e.2")
    #expect(server.store.contents == ["a/b": "2"])
  }

  @Test(arguments: [
    ("/properties/a", "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"), ("/properties", "GET, HEAD, OPTIONS"),
    ("/transactions", "POST, OPTIONS"), ("/events", "GET, HEAD, OPTIONS"), ("/health/live", "GET, HEAD, OPTIONS"),
    ("/health/ready", "GET, HEAD, OPTIONS"), ("/health/writable", "GET, HEAD, OPTIONS"),
  ])
  func `OPTIONS and 405 say which methods there are`(_ target: String, _ methods: String) throws {
    let client = try TestServer().connect()
    let options = try client.request("OPTIONS", target)
    #expect(options.status == 204 && options.value("Allow") == methods)
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "TRACE"] where !methods.contains(method) {
      let response = try client.request(method, target)
      #expect(response.status == 405 && response.value("Allow") == methods)
    }
  }

  @Test(arguments: [
    ("a", "a"), ("A", "A"), ("a%2Db", "a-b"), ("%61", "a"), ("a+b", "a+b"), ("a%20b", "a b"), ("a%25b", "a%b"),
    ("%E2%82%AC", "€"), ("e%CC%81", "e\u{301}"), ("%C3%A9", "\u{E9}"), ("...", "..."), ("a*b", "a*b"), ("~_-.", "~_-."),
    ("a;b=c,d", "a;b=c,d"), ("x%3Fy", "x?y"), ("%23", "#"), (".a/b.", ".a/b."), ("%22%5C", "\"\\"),
  ])
  func `a path is percent-encoded UTF-8 and compared byte by byte`(_ encoded: String, _ path: String) throws {
    let server = try TestServer()
    let client = try server.connect()
    #expect(try client.request("PUT", "/properties/\(encoded)", body: "1").status == 201)
    let stored = try #require(server.store.snapshot().scan().map(\.path).first)
    #expect(Array(path.utf8) == stored.bytes)
    #expect(try client.request("GET", "/properties/\(encoded)").status == 200)
    // In messages it is a JSON string.
    let list = try LiveMessage(try client.request("GET", "/properties").text)
    #expect(list.objects("properties").map { Array($0.path.utf8) } == [Array(path.utf8)])
  }

  @Test func `the longest path is taken`() throws {
    let server = try TestServer()
    let client = try server.connect()
    let segment = String(repeating: "x", count: 255)
    let longest = [segment, segment, segment, segment].joined(separator: "/") + "/"
    let deepest = Array(repeating: "x", count: 32).joined(separator: "/")
    #expect(longest.utf8.count == 1024)
    #expect(try client.request("PUT", "/properties/\(longest.dropLast())", body: "1").status == 201)
    #expect(try client.request("PUT", "/properties/\(longest)x", body: "1").code == "bad_path")
    #expect(try client.request("PUT", "/properties/\(deepest)", body: "1").status == 201)
    // Encoded it is three times as long and still a path.
    let encoded = longest.dropLast().replacing("x", with: "%78")
    #expect(try client.request("GET", "/properties/\(encoded)").status == 200)
  }

  @Test func `a tag of before a restart is as good as one of now`() throws {
    let before = try #require(Epoch("before"))
    var replica = try Replica(epoch: #require(Epoch("now")))
    for (revision, path) in [(1, "a"), (2, "b"), (3, "c")] {
      let value = StoredValue(
        path: try PropertyPath(path), value: try JSONText(validating: "1"), revision: Revision(UInt64(revision)),
        time: Timestamp(milliseconds: 1))
      replica.apply(.commit(Commit(Change(set: value, replacing: nil))))
    }
    let store = PropertyStore(restoring: replica, ancestors: [before: 2]) { source throws(FormulaError) in
      throw FormulaError("there are none")
    }
    let client = try TestServer(store: store).connect()
    func status(_ path: String, _ field: String, _ tag: String) throws -> Int {
      try client.request("GET", "/properties/\(path)", fields: [(field, tag)]).status
    }
    #expect(try status("a", "If-None-Match", #""before.1""#) == 304)
    #expect(try status("a", "If-None-Match", #"W/"before.1-gzip", "x.1""#) == 304)
    #expect(try status("a", "If-Match", #""x.1", "before.1""#) == 200)
    #expect(try status("a", "If-Match", #"W/"before.1""#) == 412)
    #expect(try status("b", "If-None-Match", #""before.1""#) == 200)
    #expect(try status("b", "If-Match", #""before.1""#) == 412)
    // What the epoch before did not have any more.
    #expect(try status("c", "If-None-Match", #""before.3""#) == 200)
    #expect(try status("c", "If-Match", #""before.3""#) == 412)
  }
}
