// SPDX-License-Identifier: MIT
import JSON
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

@Suite("Live protocol §3.4, writing")
struct WriteTests {
  @Test func `commands that do not wait for replies are carried out and replied to in order`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    for id in 1...500 { try client.send(#"{"id":\#(id),"type":"set","path":"p","value":\#(id)}"#) }
    try client.send(#"{"id":501,"type":"delete","path":"p","ifMatch":"e.500"}"#)
    let replies = try client.next(501)
    #expect(replies.map { $0.int("id") } == Array(1...501))
    #expect(replies.map(\.revision) == Array(1...501))
    #expect(replies.allSatisfy { $0.type == "ok" && $0.bool("changed") == true })
  }

  @Test func `a command that is refused does not keep the next from being carried out`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    try client.send(#"{"id":1,"type":"set","path":"a","value":1}"#)
    try client.send(#"{"id":2,"type":"set","path":"a","value":2,"ifNoneMatch":"*"}"#)
    try client.send(#"{"id":3,"type":"set","path":"a","value":3,"ifMatch":"e.1"}"#)
    try client.send("nonsense")
    try client.send(#"{"id":4,"type":"delete","path":"a"}"#)
    #expect(
      try client.next(5).map(\.description) == [
        "ok 1 @1 changed", "error 2 412 precondition_failed", "ok 3 @2 changed", "error 400 bad_json",
        "ok 4 @3 changed",
      ])
  }

  @Test func `an expression decides over a set and a delete`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    func ask(_ members: String) throws -> String { try client.ask(#"{"id":1,\#(members)}"#).description }
    #expect(try ask(#""type":"set","path":"door","value":"open","if":"value == null""#) == "ok 1 @1 changed")
    #expect(
      try ask(#""type":"set","path":"door","value":"x","if":"value == 'closed'""#) == "error 1 412 precondition_failed")
    #expect(
      try ask(#""type":"set","path":"door","value":"closed","if":"value == 'open' && path == 'door'""#)
        == "ok 1 @2 changed")
    #expect(
      try ask(#""type":"delete","path":"door","if":"value == 'closed'","ifMatch":"e.1""#)
        == "error 1 412 precondition_failed")
    #expect(
      try ask(#""type":"delete","path":"door","if":"value == 'closed'","ifMatch":"e.2""#) == "ok 1 @3 changed")
  }

  @Test func `a transaction is one revision, and nothing when a condition fails`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    #expect(
      try client.ask(
        """
        {"id":1,"type":"transaction","operations":[{"op":"set","path":"a","value":1},\
        {"op":"set","path":"b","value":[1, 2],"if":"value == null"},{"op":"delete","path":"x"}]}
        """
      ).text == #"{"id":1,"type":"ok","revision":1,"changed":2}"#)
    let refused = try client.ask(
      """
      {"id":2,"type":"transaction","operations":[{"op":"set","path":"a","value":2},\
      {"op":"delete","path":"b","if":"size(value) > 2"}]}
      """)
    #expect(refused.description == "error 2 412 precondition_failed")
    #expect(refused.object("error")?.int("operation") == 1)
    #expect(refused.object("error")?.object("current")?.raw("value") == "[1,2]")
    #expect(server.store.contents == ["a": "1", "b": "[1,2]"])
    #expect(
      try client.ask(#"{"id":3,"type":"transaction","operations":[]}"#).text
        == #"{"id":3,"type":"ok","revision":1,"changed":0}"#)
  }

  @Test func `a transaction over HTTP takes expressions, too`() throws {
    let server = try TestServer()
    try server.store.set("stock", "3")
    let client = try server.connect()
    let body =
      #"{"operations":[{"op":"set","path":"stock","value":2,"if":"value > 0"},{"op":"set","path":"sold","value":1}]}"#
    #expect(try client.request("POST", "/transactions", body: body).text == #"{"revision":"e.2","changed":2}"#)
    try server.store.set("stock", "0")
    let refused = try client.request("POST", "/transactions", body: body)
    #expect(refused.status == 412 && refused.value("Signal-Revision") == "e.3")
    #expect(server.store.contents == ["stock": "0", "sold": "1"])
  }

  /// Everyone adds one, under the condition that nobody else has meanwhile.
  @Test func `no increment under a condition is lost, however many write at once`() throws {
    let server = try TestServer()
    try server.store.set("n", "0")
    try concurrently(4) { _ in
      let client = try LiveClient(server)
      var done = 0
      while done < 50 {
        let value = try client.ask(#"{"id":1,"type":"get","path":"n"}"#).int("value") ?? -1
        let operations = #"[{"op":"set","path":"n","value":\#(value + 1),"if":"value == \#(value)"}]"#
        let reply = try client.ask(#"{"id":2,"type":"transaction","operations":\#(operations)}"#)
        if reply.type == "ok" { done += 1 }
      }
    }
    #expect(try server.store.text("n") == "200")
  }

  @Test func `a write that is overtaken each time gives up, and says that it may be tried again`() throws {
    let store = PropertyStore.forTests()
    let commands = Commands(store, LiveConfiguration())
    var attempts = 0
    var code: Problem.Code?
    do throws(Problem) {
      _ = try commands.update("a", .any, filter: nil, as: Caller(peer: nil, holder: nil)) { _, _ in
        attempts += 1
        // Somebody else is always faster.
        _ = try? store.set("a", JSONText(attempts))
        return .set(.null, always: false)
      }
    } catch {
      code = error.code
    }
    #expect(code == .contended && Problem.Code.contended.isTemporary)
    #expect(attempts == Commands.writeAttempts)
    #expect(store.revision == Revision(UInt64(attempts)))
  }
}
