// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// What began while it was allowed, and would be told when it is not any more.
@Suite("Access, later") struct AccessLaterTests {
  private static func configuration(_ rules: [AccessRule]) throws -> LiveConfiguration {
    var live = LiveConfiguration(hosts: ["*"])
    live.policy = try AccessPolicy(AccessRules(rules: rules))
    return live
  }

  private let server: TestServer

  init() throws {
    let rules = [AccessRule(match: "**", conditions: ["read": "true", "demand": "true", "listen": "true"])]
    server = try TestServer(live: Self.configuration(rules))
    try server.store.set("a", "1")
  }

  /// Lets the server judge by other rules, on all of its loops.
  private func allow(_ rules: AccessRule...) throws {
    try server.server.reload(server.server.configuration, live: Self.configuration(rules))
    for client in try (0..<4).map({ _ in try server.connect() }) { #expect(client.isAlive()) }
  }

  private func begin(_ target: String) throws -> RawClient {
    let client = try server.connect(sending: "GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
    try eventually { server.store.commits.observerCount == 1 }
    return client
  }

  @Test(arguments: ["since=e.1&wait=1m", "until=value==2&wait=1m"])
  func `who waits is judged again by the rules of the moment of the answer`(query: String) throws {
    let waiting = try begin("/properties/a?\(query)")
    try allow(AccessRule(match: "b", conditions: ["read": "true"]))
    try server.store.set("a", "2")
    let answer = try waiting.receive()
    #expect(answer.status == 403 && answer.code == "forbidden" && answer.value("ETag") == nil)
    #expect(waiting.isAlive())
  }

  @Test func `who waits until the time is over is judged as well`() throws {
    let waiting = try begin("/properties/a?since=e.1&wait=200ms")
    try allow()
    let answer = try waiting.receive()
    #expect(answer.status == 403 && answer.value("ETag") == nil)
  }

  @Test func `a subscription to demand ends, and another one of the connection goes on`() throws {
    let client = try LiveClient(server)
    _ = try client.ask(#"{"id":1,"type":"subscribe","demand":["a/**"]}"#)
    _ = try client.ask(#"{"id":2,"type":"subscribe","demand":["b/**"]}"#)
    _ = try client.settle()
    let stream = try EventStreamClient(server, query: "demand=a/**")
    try allow(AccessRule(match: "b/**", conditions: ["demand": "true", "read": "true"]))
    let ended = try client.next { $0.type == "end" }
    #expect(ended.map(\.text) == [#"{"type":"end","subscription":1}"#])
    let other = try LiveClient(server)
    _ = try other.subscribe(#""match":["b/x","b/y"]"#)
    #expect(try client.next { $0.string("match") == "b/y" || $0.string("match") == "b/x" }.count == 1)
    _ = try client.settle()
    let gone = try client.ask(#"{"id":3,"type":"unsubscribe","subscription":1}"#)
    #expect(gone.text.contains(#""code":"no_such_subscription""#))
    #expect(try client.ask(#"{"id":4,"type":"unsubscribe","subscription":2}"#).type == "ok")
    #expect(try stream.rest().contains { $0.name == "end" })
  }

  @Test func `a subscription to signals begins anew, with what is kept`() throws {
    let client = try LiveClient(server)
    _ = try server.store.signals.send(PropertyPath("b/1"), JSONText(validating: "1"), remember: true)
    _ = try server.store.signals.send(PropertyPath("c/1"), JSONText(validating: "2"), remember: true)
    _ = try client.ask(#"{"id":1,"type":"subscribe","signals":["**"]}"#)
    _ = try client.settle()
    try allow(AccessRule(match: "b/**", conditions: ["listen": "true"]))
    let messages = try client.next { $0.type == "live" }
    #expect(messages.map(\.type) == ["reset", "signal", "live"] && messages[1].string("path") == "b/1")
    #expect(messages[0].string("reason") == "access")
  }
}
