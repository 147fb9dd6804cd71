// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("REST §2.2, the list")
struct ListTests {
  private func server(_ count: Int, live: LiveConfiguration = LiveConfiguration()) throws -> TestServer {
    let server = try TestServer(live: live)
    for number in 0..<count { try server.store.set("p/\(number + 100)", "\(number)") }
    return server
  }

  @Test func `it holds the properties in path order, for one revision`() throws {
    let server = try TestServer()
    for path in ["b", "a/x", "a", "a-b"] { try server.store.set(path, "1") }
    let response = try server.connect().request("GET", "/properties")
    #expect(response.status == 200 && response.value("Content-Type") == "application/json")
    #expect(response.value("Signal-Revision") == "e.4" && response.value("Vary") == "Accept")
    #expect(
      response.text == """
        {"cursor":"e.4","properties":[\
        {"path":"a","value":1,"revision":3,"time":"2026-01-02T03:04:05.678Z"},\
        {"path":"a/x","value":1,"revision":2,"time":"2026-01-02T03:04:05.678Z"},\
        {"path":"a-b","value":1,"revision":4,"time":"2026-01-02T03:04:05.678Z"},\
        {"path":"b","value":1,"revision":1,"time":"2026-01-02T03:04:05.678Z"}]}
        """)
  }

  @Test func `an empty store has an empty list`() throws {
    #expect(try TestServer().connect().request("GET", "/properties").text == #"{"cursor":"e.0","properties":[]}"#)
  }

  @Test(arguments: [
    ("match=p/100", 1), ("match=p/*", 5), ("match=**", 6), ("match=p/**", 5), ("match=**/x", 1), ("match=none", 0),
    ("match=p/100&match=q/x&match=p/100", 2), ("match=*/x", 1), ("match=*", 0), ("match=%2A%2A", 6), ("", 6),
  ])
  func `match chooses by pattern, each property once`(_ query: String, _ count: Int) throws {
    let server = try server(5)
    try server.store.set("q/x", "1")
    let list = try LiveMessage(try server.connect().request("GET", "/properties?\(query)").text)
    #expect(list.objects("properties").count == count)
  }

  @Test(arguments: [
    ("value+%3E%3D+3", ["p/103", "p/104"]), ("path+%3D%3D+'p/101'", ["p/101"]), ("revision+%3C+3", ["p/100", "p/101"]),
    ("time+%3D%3D+time+%26%26+value+%3D%3D+0", ["p/100"]), ("false", []),
  ])
  func `where chooses by path, value, revision and time`(_ expression: String, _ paths: [String]) throws {
    let response = try server(5).connect().request("GET", "/properties?where=\(expression)")
    #expect(try LiveMessage(response.text).objects("properties").map(\.path) == paths)
  }

  @Test func `pages follow each other until there is no next`() throws {
    let client = try server(25).connect()
    var paths: [String] = []
    var next: String?
    var pages = 0
    repeat {
      let after = next.map { "&after=\($0)" } ?? ""
      let page = try LiveMessage(try client.request("GET", "/properties?match=p/*&limit=10\(after)").text)
      paths += page.objects("properties").map(\.path)
      next = page.string("next")
      pages += 1
      #expect(next == nil || next == paths.last)
    } while next != nil && pages < 10
    #expect(paths == (100..<125).map { "p/\($0)" })
    #expect(pages == 3)
  }

  @Test func `the default page is 100 and the largest 1000`() throws {
    let client = try server(150).connect()
    #expect(try LiveMessage(try client.request("GET", "/properties").text).objects("properties").count == 100)
    #expect(
      try LiveMessage(try client.request("GET", "/properties?limit=1000").text).objects("properties").count == 150)
    #expect(try client.request("GET", "/properties?limit=1001").code == "bad_query")
  }

  @Test func `after needs no property of its own`() throws {
    let client = try server(5).connect()
    for (after, first) in [("p", "p/100"), ("p/1015", "p/102"), ("p/104", nil), ("zzz", nil)] as [(String, String?)] {
      let page = try LiveMessage(try client.request("GET", "/properties?after=\(after)").text)
      #expect(page.objects("properties").first?.path == first)
    }
  }

  @Test func `a page that is full of work ends early and says where to go on`() throws {
    var live = LiveConfiguration()
    live.limits.turnProperties = 10
    let client = try server(35, live: live).connect()
    var found: [String] = []
    var next: String? = nil
    var pages = 0
    repeat {
      let after = next.map { "&after=\($0)" } ?? ""
      let page = try LiveMessage(
        try client.request("GET", "/properties?where=value+%3D%3D+3+%7C%7C+value+%3D%3D+33\(after)").text)
      found += page.objects("properties").map(\.path)
      next = page.string("next")
      pages += 1
    } while next != nil && pages < 20
    #expect(found == ["p/103", "p/133"])
    #expect(pages >= 4)
  }

  @Test func `a page that is full of bytes ends early, too`() throws {
    var live = LiveConfiguration()
    live.limits.listBytes = 1000
    let server = try TestServer(live: live)
    for number in 0..<10 { try server.store.set("p/\(number)", "\"\(String(repeating: "x", count: 300))\"") }
    let page = try LiveMessage(try server.connect().request("GET", "/properties").text)
    #expect(1..<10 ~= page.objects("properties").count)
    #expect(page.string("next") == page.objects("properties").last?.path)
  }

  @Test func `as lines each property is one, and next is a field`() throws {
    let server = try TestServer()
    try server.store.transact(["a b/ü": "1", "c": #"{"x":"\n"}"#, "d": "3"])
    let client = try server.connect()
    let fields = [("Accept", "application/x-ndjson")]
    let response = try client.request("GET", "/properties?limit=1", fields: fields)
    #expect(response.value("Content-Type") == "application/x-ndjson")
    #expect(response.value("Signal-Revision") == "e.1")
    #expect(response.text == #"{"path":"a b/ü","value":1,"revision":1,"time":"2026-01-02T03:04:05.678Z"}"# + "\n")
    let next = try #require(response.value("Signal-Next"))
    #expect(next == "a%20b/%C3%BC")
    let rest = try client.request("GET", "/properties?after=\(next)", fields: fields)
    #expect(rest.text.split(separator: "\n").count == 2 && rest.text.hasSuffix("\n"))
    #expect(rest.values("Signal-Next").isEmpty)
  }

  @Test(arguments: [
    ("*/*", "application/json"), ("application/*", "application/json"), ("application/json", "application/json"),
    ("application/x-ndjson", "application/x-ndjson"),
    ("application/json;q=0.5, application/x-ndjson", "application/x-ndjson"),
    ("text/html, application/x-ndjson;q=0.1, */*;q=0.01", "application/x-ndjson"),
    ("application/json;q=0, */*", "application/x-ndjson"),
  ])
  func `the form is that which the client likes best (RFC 9110 §12.5.1)`(_ accept: String, _ type: String) throws {
    let response = try TestServer().connect().request("GET", "/properties", fields: [("Accept", accept)])
    #expect(response.value("Content-Type") == type)
  }

  @Test func `HEAD is GET without the list`() throws {
    let client = try server(3).connect()
    let get = try client.request("GET", "/properties")
    let head = try client.request("HEAD", "/properties")
    #expect(head.value("Content-Length") == "\(get.body.count)" && head.body.isEmpty)
  }

  @Test func `a page is true for its revision while others write`() throws {
    let server = try TestServer()
    try server.store.transact(["a": "0", "b": "0"])
    try concurrently(3) { index in
      if index == 0 {
        for number in 1...300 { try server.store.transact(["a": "\(number)", "b": "\(number)"]) }
        return
      }
      let client = try server.connect()
      for _ in 0..<100 {
        let page = try LiveMessage(try client.request("GET", "/properties").text)
        let values = page.objects("properties").compactMap { $0.int("value") }
        #expect(values[0] == values[1])
        #expect(page.string("cursor") == "e.\(values[0] + 1)")
      }
    }
  }
}
