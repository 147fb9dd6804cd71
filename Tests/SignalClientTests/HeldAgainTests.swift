// SPDX-License-Identifier: MIT

import JSON
import SignalClient
import SignalStore
import Signals
import TestSupport
import Testing

/// What is said again on a new connection; what else would be said is behind it, and marks that there was no more.
@Suite(.timeLimit(.minutes(2))) struct `What a remote store holds` {
  private static let hold: WriteOptions = {
    var options = WriteOptions()
    options.hold = true
    return options
  }()

  /// A store that holds `p`, and its connection.
  ///
  /// - Parameter timeout: also how long what is refused for now waits; a busy machine must not exceed it.
  private static func holding(
    timeout: Duration = RemoteStore.Configuration().timeout
  ) async throws -> (ScriptedServer, RemoteStore, ScriptedConnection) {
    let server = try ScriptedServer()
    let remote = try server.connect { $0.timeout = timeout }
    let connection = await server.next()
    async let result = remote.set("p", JSONText("held"), hold)
    connection.accept(await connection.next(), #""revision":5,"changed":true"#)
    _ = try await result
    return (server, remote, connection)
  }

  /// What comes first on the next connection: the value of a set, or else the type of the command.
  private static func again(_ server: ScriptedServer, _ remote: RemoteStore, _ old: ScriptedConnection) async -> String?
  {
    old.drop()
    let connection = await server.next()
    async let marker = try? remote.entry("marker")
    let command = await connection.next()
    connection.refuse(command, "not_found", 404)
    if command.string("type") != "get" { connection.refuse(await connection.next(), "not_found", 404) }
    _ = await marker
    return command.string("value") ?? command.string("type")
  }

  @Test func `a later set that is answered behind it takes its place`() async throws {
    let server = try ScriptedServer()
    let remote = try server.connect()
    let connection = await server.next()
    async let first = remote.set("p", JSONText("held"), Self.hold)
    let one = await connection.next()
    async let second = remote.set("p", JSONText("kept"))
    let two = await connection.next()
    connection.accept(one, #""revision":5,"changed":true"#)
    connection.accept(two, #""revision":6,"changed":true"#)
    _ = try await (first, second)
    #expect(await Self.again(server, remote, connection) == "get")
  }

  @Test(arguments: ["value", "modify", "two in a transaction", "patch", "transaction", "delete"])
  func `any write that succeeds ends it`(how: String) async throws {
    let (server, remote, connection) = try await Self.holding()
    let property = remote.property("p", as: String.self)
    await connection.grant(1, didSet("p", #""held""#, 5), revision: 5)
    await property.becomes("held")
    let other = how == "two in a transaction" ? remote.property("other", as: String.self) : nil
    // Its subscription comes first, so that the write is the next command.
    if other != nil { await connection.grant(2, revision: 5) }
    let answer = Task { connection.accept(await connection.next(), #""revision":6,"changed":true"#) }
    switch how {
    case "value": property.value = "a"
    case "modify": property.modify { $0 = "b" }
    case "two in a transaction":
      withTransaction {
        property.value = "c"
        other?.value = "d"
      }
    case "patch": try await remote.patch("p", JSONText("e"))
    case "transaction": try await remote.transaction([.set("p", JSONText("f")), .delete("q")])
    default: try await remote.delete("p")
    }
    await answer.value
    // Where something is held, it comes before the subscriptions.
    connection.drop()
    #expect(await server.next().next().string("type") == "subscribe")
  }

  @Test func `a write that is refused leaves it`() async throws {
    let (server, remote, connection) = try await Self.holding()
    var options = Self.hold
    options.ifMatch = "e.1"
    async let refused = try? remote.set("p", JSONText("busy"), options)
    connection.refuse(await connection.next(), "precondition_failed", 412)
    #expect(await refused == nil)
    #expect(await Self.again(server, remote, connection) == "held")
  }

  @Test func `what is refused for now is tried again`() async throws {
    let (server, remote, first) = try await Self.holding(timeout: .seconds(6))
    async let told: Void = remote.onDisconnect([.delete("q")])
    first.accept(await first.next())
    try await told
    first.drop()
    let connection = await server.next()
    for code in ["storage_slow", "too_many_requests"] {
      // Each waits by itself.
      var types: Set<String?> = []
      for _ in 1...2 {
        let command = await connection.next()
        types.insert(command.string("type"))
        connection.refuse(command, code, 503, isTemporary: true)
      }
      #expect(types == ["onDisconnect", "set"])
    }
    for _ in 1...2 { connection.accept(await connection.next(), #""revision":9,"changed":true"#) }
    withExtendedLifetime(remote) {}
  }

  @Test func `a merge patch is made again, a JSON Patch is not`() async throws {
    let server = try ScriptedServer()
    let remote = try server.connect()
    let connection = await server.next()
    for (path, patch) in [("m", #"{"a":1}"#), ("j", #"[{"op":"add","path":"/-","value":1}]"#)] {
      async let result = remote.patch(PropertyPath(path), JSONText(validating: patch), Self.hold)
      connection.accept(await connection.next(), #""revision":5,"changed":true"#)
      _ = try await result
    }
    connection.drop()
    let next = await server.next()
    async let marker = try? remote.entry("marker")
    let command = await next.next()
    #expect(command.string("type") == "patch" && command.string("path") == "m")
    let last = await next.next()
    #expect(last.string("type") == "get")
    next.refuse(last, "not_found", 404)
    _ = await marker
  }
}
