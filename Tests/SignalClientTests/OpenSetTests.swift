// SPDX-License-Identifier: MIT

import JSON
import SignalClient
import SignalStore
import Signals
import TestSupport
import Testing

/// Between what is set here, its answer and its event.
@Suite(.timeLimit(.minutes(2))) struct `A set that is under way` {
  /// A property `a` with the value 1 of the revision 5, and its connection.
  private static func live() async throws -> (
    ScriptedServer, RemoteStore, RemoteProperty<JSONText>, ScriptedConnection
  ) {
    let server = try ScriptedServer()
    let remote = try server.connect()
    let connection = await server.next()
    let property = remote.property("a", as: JSONText.self)
    await connection.grant(1, didSet("a", "1", 5), revision: 5)
    await property.state.becomes(.live)
    return (server, remote, property, connection)
  }

  @Test func `is shown no longer than until its event, also where its group is another by then`() async throws {
    let (server, remote, property, connection) = try await Self.live()
    defer { withExtendedLifetime(server) {} }
    async let result = property.set(JSONText("mine"))
    connection.accept(await connection.next(), #""revision":6,"changed":true"#)
    _ = try await result
    // So many that those of a subscription each are joined.
    var others: [RemoteProperty<Int>] = []
    for n in 1...31 {
      others.append(remote.property(try PropertyPath("p/\(n)"), as: Int.self))
      _ = await connection.next()
    }
    others.append(remote.property("p/32", as: Int.self))
    var group: Members
    repeat { group = await connection.next() } while !group.elements("match").contains(JSONText("a"))
    connection.accept(group, #""subscription":2"#)
    connection.send(
      didSet("a", "1", 5, of: 2), #"{"type":"live","subscription":2,"revision":5}"#,
      didSet("a", #""mine""#, 6, of: 2), didSet("a", #""other""#, 7, of: 2))
    await property.becomes(JSONText("other"))
    withExtendedLifetime(others) {}
  }

  @Test func `is known by the newest cursor also where a reset has brought an equal value`() async throws {
    let (server, _, property, first) = try await Self.live()
    first.drop()
    let connection = await server.next()
    connection.accept(await connection.next(), #""subscription":1,"recovered":false"#)
    connection.send(
      #"{"type":"reset","subscription":1}"#, didSet("a", "1", 60), #"{"type":"live","subscription":1,"revision":60}"#)
    await property.state.becomes(.live)
    property.modify { $0 = JSONText(2) }
    #expect(await connection.next().string("ifMatch") == "e.60")
  }

  @Test func `is what a change goes on from, before its event has come`() async throws {
    let (server, _, property, connection) = try await Self.live()
    defer { withExtendedLifetime(server) {} }
    async let result = property.set(JSONText(2))
    connection.accept(await connection.next(), #""revision":6,"changed":true"#)
    _ = try await result
    property.modify { $0 = JSONText(3) }
    let modify = await connection.next()
    #expect(modify.string("ifMatch") == "e.6")
    connection.refuse(modify, "precondition_failed", 412)
    await property.becomes(JSONText(2))
    // One that changes nothing is answered with the revision of the store, which is none of the property.
    async let same = property.set(JSONText(2))
    connection.accept(await connection.next(), #""revision":8,"changed":false"#)
    _ = try await same
    async let update = property.update { _ in JSONText(4) }
    let command = await connection.next()
    #expect(command.string("ifMatch") == "e.6")
    connection.accept(command, #""revision":9,"changed":true"#)
    _ = try await update
  }

  @Test func `keeps its condition within a transaction`() async throws {
    let (server, remote, property, connection) = try await Self.live()
    defer { withExtendedLifetime(server) {} }
    let other = remote.property("b", as: Int.self)
    await connection.grant(2)
    await other.state.becomes(.live)
    withTransaction {
      property.modify { $0 = JSONText(2) }
      property.modify { $0 = JSONText(3) }
      other.value = 1
      other.modify { $0 = ($0 ?? 0) + 1 }
    }
    let command = await connection.next()
    let operations = command.elements("operations").map { Members($0) }
    #expect(operations.map { $0.string("ifMatch") } == ["e.5", nil])
    #expect(operations.map { $0.has("ifNoneMatch") } == [false, false])
    #expect(operations.map { $0.text("value") } == [JSONText(3), JSONText(2)])
    connection.accept(command, #""revision":6,"changed":2"#)
    // One that is behind its answer.
    async let marker = try? remote.entry("marker")
    connection.refuse(await connection.next(), "not_found", 404)
    _ = await marker
    withTransaction {
      property.modify { $0 = JSONText(4) }
      property.value = JSONText(5)
    }
    let set = await connection.next()
    #expect(!set.has("ifMatch"))
    connection.refuse(set, "forbidden", 403)
    await property.becomes(JSONText(3))
    property.modify { $0 = JSONText(4) }
    #expect(await connection.next().string("ifMatch") == "e.6")
  }

  @Test func `is shown again when a later one fails`() async throws {
    let (server, _, property, connection) = try await Self.live()
    defer { withExtendedLifetime(server) {} }
    let large = JSONText(String(repeating: "x", count: 3000))
    let errors = Record<String>()
    let token = property.errors.subscribe { errors.add($0.code) }
    property.value = JSONText(2)
    let set = await connection.next()
    property.value = large
    property.value = large
    await errors.count(2)
    #expect(property.value == JSONText(2) && property.error?.code == "body_too_large")
    // It is not the newest, whose failure stays.
    connection.accept(set, #""revision":6,"changed":true"#)
    connection.send(didSet("a", "2", 6), didSet("a", "3", 7))
    await property.becomes(JSONText(3))
    #expect(property.error?.code == "body_too_large" && errors.entries.count == 2)
    property.value = JSONText(4)
    connection.accept(await connection.next(), #""revision":8,"changed":true"#)
    connection.send(didSet("a", "4", 8), didSet("a", "5", 9))
    await property.becomes(JSONText(5))
    #expect(property.error == nil)
    token.cancel()
  }

  @Test func `tells that it cannot be written as JSON`() async throws {
    let (server, remote, _, _) = try await Self.live()
    defer { withExtendedLifetime(server) {} }
    let number = remote.property("n", as: Double.self)
    number.value = .nan
    #expect(number.error?.code == "not_encodable")
    let thrown = await #expect(throws: RemoteError.self) { try await number.set(.infinity) }
    #expect(thrown?.outcome == .unsent && number.error?.code == "not_encodable")
  }

  @Test func `is watched with no more than half of what nobody keeps`() async throws {
    let server = try ScriptedServer()
    let remote = try server.connect()
    let connection = await server.next()
    let begin = remote.property("begin", as: Bool.self)
    await connection.grant(1)
    await begin.state.becomes(.live)
    let kept = Record<RemoteProperty<Int>>()
    let left = Property<[RemoteProperty<Int>]>([])
    // On the loop, so that all are of one turn.
    let token = begin.subscribe(from: .future) { _ in
      kept.add(remote.property("p/0", as: Int.self))
      left.value = ["p/1", "p/2", "p/3"].map { remote.property($0, as: Int.self) }
    }
    connection.send(didSet("begin", "true", 2))
    await kept.count(1)
    await connection.grant(2, didSet("p/0", "7", 1, of: 2), revision: 2)
    await (try #require(kept.entries.first)).becomes(7)
    left.value = []
    #expect(await connection.next().string("type") == "unsubscribe")
    #expect(await connection.next().elements("match") == [JSONText("p/0")])
    withExtendedLifetime((token, remote)) {}
  }
}
