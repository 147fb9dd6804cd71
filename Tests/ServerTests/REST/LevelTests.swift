// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("REST §2.2, levels of the list")
struct LevelTests {
  private let server: TestServer

  init() throws {
    server = try TestServer()
    for path in ["a", "a/b", "a/b/c", "a/b/c/d", "a-b", "b/c/d", "b/c/e", "b/d", "c"] {
      try server.store.set(path, "1")
    }
  }

  /// The entries of all pages: paths, with `+` where there is more below, and `=` where there is a property.
  private func walk(_ query: String, limit: Int = 100) throws -> [String] {
    let client = try server.connect()
    var entries: [String] = []
    var after = ""
    while true {
      let text = try client.request("GET", "/properties?limit=\(limit)&\(query)\(after)").text
      let page = try LiveMessage(text)
      entries += page.objects("properties").map { entry in
        (entry.string("path") ?? "") + (entry.int("revision") == nil ? "" : "=")
          + (entry.bool("more") == true ? "+" : "")
      }
      guard let next = page.string("next") else { return entries }
      after = "&after=\(next)"
    }
  }

  @Test(arguments: [
    ("depth=1", ["a=+", "a-b=", "b+", "c="]),
    ("depth=2", ["a=", "a/b=+", "a-b=", "b/c+", "b/d=", "c="]),
    ("depth=2&match=a/**", ["a=", "a/b=+"]),
    ("depth=2&match=b/**", ["b/c+", "b/d="]),
    ("depth=3&match=a/**", ["a=", "a/b=", "a/b/c=+"]),
    ("depth=1&match=*/*", ["a+", "b+"]),
    ("depth=1&match=**/d", ["a+", "b+"]),
    ("depth=1&where=path+%3D%3D+'b/c/e'", ["b+"]),
    ("depth=32", ["a=", "a/b=", "a/b/c=", "a/b/c/d=", "a-b=", "b/c/d=", "b/c/e=", "b/d=", "c="]),
    ("depth=1&match=none", []),
  ])
  func `what is deeper is one entry`(query: String, entries: [String]) throws {
    #expect(try walk(query) == entries)
    // A page that ends somewhere goes on without a repeat, whatever its length.
    for limit in 1...4 { #expect(try walk(query, limit: limit) == entries, "\(limit)") }
  }

  @Test func `fields choose the members`() throws {
    let client = try server.connect()
    #expect(
      try client.request("GET", "/properties?match=c&fields=path").text
        == #"{"cursor":"e.9","properties":[{"path":"c"}]}"#)
    #expect(
      try client.request("GET", "/properties?match=c&fields=value,revision").text
        == #"{"cursor":"e.9","properties":[{"path":"c","value":1,"revision":9}]}"#)
    #expect(
      try client.request(
        "GET", "/properties?match=a/**&depth=2&fields=path", fields: [("Accept", "application/x-ndjson")]
      ).text == "{\"path\":\"a\"}\n{\"path\":\"a/b\",\"more\":true}\n")
    for query in ["fields=", "fields=path,", "fields=oldValue", "depth=0", "depth=33", "depth=x"] {
      let refused = try client.request("GET", "/properties?\(query)")
      #expect(refused.status == 400 && refused.code == "bad_query", "\(query)")
    }
  }

  @Test func `many siblings are one step each`() throws {
    let server = try TestServer()
    for number in 0..<300 { try server.store.set("f\(number % 30 + 100)/\(number)", "1") }
    let page = try LiveMessage(server.connect().request("GET", "/properties?depth=1&fields=path").text)
    #expect(page.objects("properties").map { $0.string("path") } == (100..<130).map { "f\($0)" })
    #expect(page.objects("properties").allSatisfy { $0.bool("more") == true } && page.string("next") == nil)
  }
}
