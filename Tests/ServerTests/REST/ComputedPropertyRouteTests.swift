// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("REST §2.1, computed properties")
struct ComputedPropertyRouteTests {
  private static let cel = [("Content-Type", "application/cel")]
  private let server: TestServer
  private let client: RawClient

  init() throws {
    server = try TestServer()
    client = try server.connect()
  }

  private func define(_ path: String, _ formula: String, fields: [(String, String)] = []) throws -> HTTPClientResponse {
    try client.request("PUT", "/properties/\(path)", fields: Self.cel + fields, body: formula)
  }

  @Test func `an expression over other properties becomes a property that follows them`() throws {
    try server.store.set("kitchen/temperature", "20.0")
    let created = try define("kitchen/fahrenheit", #"properties["kitchen/temperature"] * 1.8 + 32.0"#)
    #expect(created.status == 201 && created.value("Location") == "/properties/kitchen/fahrenheit")
    #expect(created.value("ETag") == nil)
    #expect(try client.request("GET", "/properties/kitchen/fahrenheit").text == "68.0")
    #expect(try client.request("PUT", "/properties/kitchen/temperature", body: "30").status == 204)
    let now = try client.request("GET", "/properties/kitchen/fahrenheit")
    #expect(now.text == "86.0" && now.value("ETag") == #""e.3""#)
  }

  @Test func `a media type with parameters and in capitals is the same`() throws {
    let fields = [("Content-Type", "Application/CEL; charset=utf-8")]
    #expect(try client.request("PUT", "/properties/x", fields: fields, body: "1 + 1").status == 201)
    #expect(try client.request("GET", "/properties/x").text == "2")
  }

  @Test func `a watcher gets input and result as one transaction`() throws {
    try server.store.set("a", "1")
    _ = try define("b", "properties.a + 1")
    let watcher = try LiveClient(server)
    _ = try watcher.subscribe(#""match":"**","initial":false"#)
    try server.store.set("a", "5")
    let events = try watcher.next(2)
    #expect(events.map(\.path) == ["a", "b"])
    #expect(events.map { $0.raw("value") } == ["5", "6"])
    #expect(events[0].bool("more") == true && events[1].bool("more") == nil)
    #expect(events[0].revision == events[1].revision)
  }

  @Test func `the list tells the formula, and why there is no value`() throws {
    _ = try define("b", "properties.a + 1")
    let list = try LiveMessage(try client.request("GET", "/properties").text)
    let property = try #require(list.objects("properties").first)
    #expect(property.raw("value") == "null")
    let computed = try #require(property.object("computed"))
    #expect(computed.string("formula") == "properties.a + 1")
    #expect(computed.string("error")?.contains("key") == true)
    try server.store.set("a", "1")
    let mended = try LiveMessage(try client.request("GET", "/properties?match=b").text)
    #expect(mended.objects("properties").first?.object("computed")?.string("error") == nil)
    let lines = try client.request("GET", "/properties?match=b", fields: [("Accept", "application/x-ndjson")]).text
    #expect(lines.hasSuffix(#","computed":{"formula":"properties.a + 1"}}"# + "\n"))
  }

  @Test func `optional and tested inputs need not be there`() throws {
    _ = try define("sum", #"properties[?"a"].orValue(0) + properties[?"b"].orValue(0)"#)
    _ = try define("known", #""a" in properties ? "yes" : "no""#)
    #expect(try client.request("GET", "/properties/sum").text == "0")
    #expect(try client.request("GET", "/properties/known").text == #""no""#)
    try server.store.set("a", "2")
    #expect(try client.request("GET", "/properties/sum").text == "2")
    #expect(try client.request("GET", "/properties/known").text == #""yes""#)
  }

  @Test func `paths that look alike in different bytes are different inputs`() throws {
    try server.store.set("é", "1")
    try server.store.set("e\u{301}", "2")
    _ = try define("x", "properties[\"é\"] * 10 + properties[\"e\u{301}\"]")
    #expect(try client.request("GET", "/properties/x").text == "12")
  }

  @Test func `a set is refused with 409 and a deletion frees the path`() throws {
    _ = try define("b", "1")
    let refused = try client.request("PUT", "/properties/b", body: "2")
    #expect(refused.status == 409 && refused.text.contains("is_computed"))
    // A single request has no operations, so none is named.
    let patched = try client.request(
      "PATCH", "/properties/b", fields: [("Content-Type", "application/merge-patch+json")], body: "{}")
    #expect(patched.status == 409 && patched.text.contains("is_computed"))
    for text in [refused.text, patched.text] {
      #expect(text.contains(#""detail":"The property is computed; its value follows from others.""#), "\(text)")
    }
    let together = try client.request(
      "POST", "/transactions", body: #"{"operations":[{"op":"set","path":"b","value":2}]}"#)
    #expect(together.text.contains("Operation 0 sets a computed property"), "\(together.text)")
    #expect(try client.request("DELETE", "/properties/b").status == 204)
    #expect(try client.request("PUT", "/properties/b", body: "2").status == 201)
  }

  @Test func `the same formula again is no change, and conditions hold`() throws {
    _ = try define("b", "1")
    let again = try define("b", "1")
    #expect(again.status == 204 && again.value("Signal-Revision") == "e.1")
    #expect(try define("b", "2", fields: [("If-None-Match", "*")]).status == 412)
    #expect(try define("b", "2", fields: [("If-Match", #""e.1""#)]).status == 204)
    #expect(try client.request("GET", "/properties/b").text == "2")
  }

  @Test func `a transaction defines and sets at once`() throws {
    let body = #"""
      {"operations":[{"op":"define","path":"b","formula":"properties.a * 2"},{"op":"set","path":"a","value":21}]}
      """#
    #expect(try client.request("POST", "/transactions", body: body).status == 200)
    #expect(try client.request("GET", "/properties/b").text == "42")
    #expect(server.store.revision == 1)
  }

  @Test func `a cycle is refused with its way`() throws {
    _ = try define("b", "properties.a")
    let refused = try define("a", "properties.b")
    #expect(refused.status == 409)
    #expect(refused.text.contains("formula_cycle") && refused.text.contains("a → b → a"))
    #expect(server.store.revision == 1)
  }

  @Test func `a formula over too many steps is refused`() throws {
    let server = try TestServer(store: .forTests(limits: StoreLimits(formulaDepth: 2)))
    let client = try server.connect()
    for (path, formula) in [("b", "properties.a"), ("c", "properties.b")] {
      #expect(try client.request("PUT", "/properties/\(path)", fields: Self.cel, body: formula).status == 201)
    }
    let refused = try client.request("PUT", "/properties/d", fields: Self.cel, body: "properties.c")
    #expect(refused.status == 400 && refused.text.contains("formula_too_deep"))
    #expect(server.store.revision == 2)
    #expect(try client.request("GET", "/properties/c").status == 200)
  }

  @Test func `definitions that are too much for one step are refused`() throws {
    let server = try TestServer(store: .forTests(limits: StoreLimits(formulaUnits: 60)))
    let client = try server.connect()
    let define = #"{"op":"define","path":"b","formula":"properties.a"}"#
    let other = define.replacing(#""b""#, with: #""c""#)
    let refused = try client.request("POST", "/transactions", body: #"{"operations":[\#(define),\#(other)]}"#)
    #expect(refused.status == 507 && refused.text.contains("too_many_computed"))
    #expect(server.store.revision == 0)
  }

  @Test func `expensive formulas over one input are not computed beyond the commit's budget`() throws {
    let formula = "properties.a.all(x, properties.a.all(y, x + y >= 0))"
    for number in 0..<8 { #expect(try define("f\(number)", "\(formula) || \(number) > 9").status == 201) }
    // 350 times 350 steps each: two of them are more than what one commit may cost.
    let list = "[\((0..<350).map(String.init).joined(separator: ","))]"
    #expect(try client.request("PUT", "/properties/a", body: list).status == 201)
    let errors = (0..<8).compactMap { server.store.get(PropertyPath(stringLiteral: "f\($0)"))?.computation?.error }
    #expect(errors.count >= 7)
    #expect(errors.allSatisfy { $0 == "the commit's budget for formulas is used up" })
    #expect(try client.request("GET", "/properties/f7").text == "null")
    #expect(try client.request("PUT", "/properties/a", body: "[1,2]").status == 204)
    #expect(try client.request("GET", "/properties/f7").text == "true")
  }
}
