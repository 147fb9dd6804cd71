// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("REST §2.3, transactions")
struct TransactionTests {
  private func post(_ client: RawClient, _ operations: String...) throws -> HTTPClientResponse {
    try client.request(
      "POST", "/transactions", fields: [("Content-Type", "application/json")],
      body: #"{"operations":[\#(operations.joined(separator: ","))]}"#)
  }

  @Test func `all operations are one change`() throws {
    let server = try TestServer()
    try server.store.transact(["b": "1", "c": "1"])
    let response = try post(
      server.connect(), #"{"op":"set","path":"a","value": [ 1.50 ]}"#, #"{"op":"delete","path":"b"}"#,
      #"{"op":"set","path":"c","value":1}"#, #"{"op":"delete","path":"none"}"#)
    #expect(response.status == 200 && response.value("Content-Type") == "application/json")
    #expect(response.text == #"{"revision":"e.2","changed":2}"#)
    #expect(response.value("Signal-Revision") == "e.2")
    #expect(server.store.contents == ["a": "[1.50]", "c": "1"])
    #expect(server.store.revision == 2)
  }

  @Test func `what changes nothing takes no revision`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let client = try server.connect()
    #expect(try post(client).text == #"{"revision":"e.1","changed":0}"#)
    #expect(
      try post(client, #"{"op":"set","path":"a","value":1}"#, #"{"op":"delete","path":"b"}"#).text
        == #"{"revision":"e.1","changed":0}"#)
    #expect(
      try post(client, #"{"op":"set","path":"a","value":1,"always":true}"#).text == #"{"revision":"e.2","changed":1}"#)
  }

  @Test func `conditions look at the store before the transaction`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let client = try server.connect()
    #expect(
      try post(
        client, #"{"op":"set","path":"a","value":2,"ifMatch":"e.1"}"#,
        #"{"op":"set","path":"b","value":2,"ifNoneMatch":"*"}"#
      ).status == 200)
    #expect(
      try post(client, #"{"op":"delete","path":"a","ifMatch":"e.2"}"#, #"{"op":"delete","path":"b","ifMatch":"e.2"}"#)
        .text == #"{"revision":"e.3","changed":2}"#)
  }

  @Test func `one condition that fails undoes all, and says which`() throws {
    let server = try TestServer()
    try server.store.set("b", "1")
    let response = try post(
      server.connect(), #"{"op":"set","path":"a","value":2}"#, #"{"op":"set","path":"b","value":2,"ifNoneMatch":"*"}"#,
      #"{"op":"set","path":"c","value":2,"ifMatch":"e.1"}"#)
    #expect(response.status == 412 && response.code == "precondition_failed")
    #expect(response.value("Signal-Revision") == "e.1")
    let problem = try LiveMessage(response.text)
    #expect(problem.int("operation") == 1)
    #expect(problem.object("current")?.int("revision") == 1)
    #expect(server.store.contents == ["b": "1"])
  }

  @Test(arguments: [
    (#"{"op":"set","path":"a","value":1}"#, "duplicate_path"), (#"{"op":"set","path":"b//c","value":1}"#, "bad_path"),
    (#"{"op":"set","path":"b"}"#, "bad_message"), (#"{"op":"move","path":"b"}"#, "unknown_type"),
    (#"{"op":"delete","path":"b","value":1}"#, "unknown_member"), ("1", "bad_message"),
    (#"{"op":"delete","path":"b","ifMatch":"1"}"#, "bad_cursor"),
  ])
  func `an operation that is wrong is named, and nothing is changed`(_ operation: String, _ code: String) throws {
    let server = try TestServer()
    let response = try post(
      server.connect(), #"{"op":"set","path":"a","value":1}"#, #"{"op":"delete","path":"x"}"#, operation)
    #expect(response.status == 400 && response.code == code)
    #expect(try LiveMessage(response.text).int("operation") == 2)
    #expect(server.store.revision == 0)
  }

  @Test func `a thousand operations are taken and not one more`() throws {
    let server = try TestServer()
    let client = try server.connect()
    let operations = (0...1000).map { #"{"op":"set","path":"p/\#($0)","value":\#($0)}"# }
    let tooMany = try client.request(
      "POST", "/transactions", body: #"{"operations":[\#(operations.joined(separator: ","))]}"#)
    #expect(tooMany.status == 400 && tooMany.code == "too_many_operations")
    let most = try client.request(
      "POST", "/transactions", body: #"{"operations":[\#(operations.dropLast().joined(separator: ","))]}"#)
    #expect(most.text == #"{"revision":"e.1","changed":1000}"#)
    #expect(server.store.count == 1000)
  }

  @Test func `JSON that is none is refused with its position`() throws {
    let response = try TestServer().connect().request("POST", "/transactions", body: #"{"operations":[}"#)
    #expect(response.status == 400 && response.code == "bad_json")
    #expect(try LiveMessage(response.text).int("position") == 15)
  }

  @Test func `when the store is full nothing is changed, and a deletion makes room`() throws {
    let server = try TestServer(store: .forTests(limits: StoreLimits(properties: 2)))
    let client = try server.connect()
    #expect(
      try post(client, #"{"op":"set","path":"a","value":1}"#, #"{"op":"set","path":"b","value":1}"#).status == 200)
    let full = try post(client, #"{"op":"set","path":"a","value":2}"#, #"{"op":"set","path":"c","value":2}"#)
    #expect(full.status == 507 && full.code == "store_full")
    #expect(try LiveMessage(full.text).bool("temporary") == true)
    #expect(server.store.contents == ["a": "1", "b": "1"])
    #expect(
      try post(client, #"{"op":"set","path":"c","value":2}"#, #"{"op":"delete","path":"a"}"#).status == 200)
    #expect(server.store.contents == ["b": "1", "c": "2"])
  }
}

@Suite("REST §2.5, probes")
struct ProbeTests {
  @Test(arguments: [("live", "live"), ("ready", "ready")])
  func `a server that serves is live and ready`(_ probe: String, _ status: String) throws {
    let client = try TestServer().connect()
    let response = try client.request("GET", "/health/\(probe)")
    #expect(response.status == 200 && response.text == #"{"status":"\#(status)"}"#)
    #expect(response.value("Content-Type") == "application/json" && response.value("Cache-Control") == "no-store")
    #expect(try client.request("HEAD", "/health/\(probe)").body.isEmpty)
  }

  @Test func `a server that drains is live and not ready`() throws {
    let server = try TestServer()
    let clients = try ["ready", "live"].map { try server.connect(beginning: "GET /health/\($0) HTTP/1.1\r\nHo") }
    // Both are in the midst of a request when the shutdown begins.
    let third = try server.connect()
    #expect(third.isAlive())
    server.server.shutdown()
    #expect(third.awaitEnd())
    for client in clients { try client.send("st: x\r\n\r\n") }
    let ready = try clients[0].receive()
    #expect(ready.status == 503 && ready.text == #"{"status":"draining"}"#)
    #expect(try clients[1].receive().status == 200)
    for client in clients { #expect(client.awaitEnd()) }
  }
}
