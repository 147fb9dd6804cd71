// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("REST §2.8, explain")
struct ExplainTests {
  private func explain(_ body: String, _ server: TestServer) throws -> LiveMessage {
    let response = try server.connect().request("POST", "/expressions/explain", body: body)
    #expect(response.status == 200 && response.value("Content-Type") == "application/json")
    return try LiveMessage(response.text)
  }

  @Test func `a filter is told with its kind, what is indexed and how many match`() throws {
    let server = try TestServer()
    for number in 0..<10 { try server.store.set("a/\(number)", "\(number)") }
    try server.store.set("b", #""text""#)
    let answer = try explain(#"{"where":"value > 6.0 && path.startsWith('a/')","match":["**"]}"#, server)
    #expect(answer.bool("valid") == true && answer.string("type") == "bool" && answer.string("kind") == "state")
    #expect(answer.raw("variables") == #"["path","value"]"#)
    #expect(answer.raw("indexed") == ##"["value > 6","path.startsWith(\"a/\")"]"##)
    #expect(answer.int("cost") ?? 0 > 0)
    let properties = try #require(answer.object("properties"))
    #expect(properties.int("examined") == 11 && properties.int("matching") == 3)
    #expect(properties.int("failed") == 0 && properties.bool("all") == true)
  }

  @Test func `what a filter fails on is counted and shown`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    try server.store.set("b", #"{"temp":1}"#)
    let answer = try explain(#"{"where":"value.temp + 1 > 0"}"#, server)
    let properties = try #require(answer.object("properties"))
    #expect(properties.int("matching") == 1 && properties.int("failed") == 1)
    #expect(properties.string("failure")?.contains("^") == true)
  }

  @Test func `a transition cannot be tried on properties at rest`() throws {
    let answer = try explain(#"{"where":"value > oldValue"}"#, try TestServer())
    #expect(answer.string("kind") == "transition" && answer.object("properties") == nil)
  }

  @Test func `a mistake is told with its place and a caret`() throws {
    let answer = try explain(#"{"where":"valeu > 3"}"#, try TestServer())
    #expect(answer.bool("valid") == false)
    #expect(answer.int("position") == 0 && answer.int("line") == 1 && answer.int("column") == 1)
    #expect(answer.string("detail")?.contains("'value'") == true)
    #expect(answer.string("text")?.hasSuffix("valeu > 3\n^") == true)
  }

  @Test func `a division that may drop a fraction is warned of, in filters and formulas`() throws {
    let server = try TestServer()
    for (body, position) in [
      (#"{"where":"(value.a + value.b) / 2 > 1.0"}"#, 20), (#"{"formula":"properties['a'] / 2"}"#, 16),
    ] {
      let answer = try explain(body, server)
      #expect(answer.bool("valid") == true)
      let warnings = try #require(answer.raw("warnings"))
      #expect(
        warnings.contains(#""position":\#(position),"line":1,"column":\#(position + 1),"text":"1:"#), "\(warnings)")
      #expect(warnings.contains("write 2.0 to keep it"))
    }
    #expect(try explain(#"{"where":"value.a / 2.0 > 1.0"}"#, server).raw("warnings") == nil)
  }

  @Test func `a formula is told with its inputs and its value, or why there is none`() throws {
    let server = try TestServer()
    let missing = try explain(#"{"formula":"properties['a/b'] * 2"}"#, server)
    #expect(missing.string("kind") == "formula" && missing.raw("inputs") == #"["a/b"]"#)
    #expect(missing.string("failure") != nil && missing.raw("value") == nil)
    try server.store.set("a/b", "4")
    #expect(try explain(#"{"formula":"properties['a/b'] * 2"}"#, server).raw("value") == "8")
    // Nothing was defined by asking.
    #expect(server.store.revision == 1)
  }

  @Test func `a formula whose key is not constant is not valid`() throws {
    let answer = try explain(#"{"formula":"['a'].map(k, properties[k])"}"#, try TestServer())
    #expect(answer.bool("valid") == false && answer.string("detail")?.contains("constant") == true)
    #expect(try explain(#"{"formula":"properties['a//b']"}"#, try TestServer()).bool("valid") == false)
  }
}
