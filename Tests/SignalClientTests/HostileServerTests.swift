// SPDX-License-Identifier: MIT

import JSON
import SignalHTTP
import SignalStore
import Signals
import TestSupport
import Testing

@testable import SignalClient

@Suite(.timeLimit(.minutes(2))) struct `A server that says what no server should` {
  @Test(arguments: [
    [#"{"type":"authExpires","in":1e300}"#], [#"{"type":"authExpires","in":-1e300}"#],
    [#"{"type":"authExpires","in":1e400}"#], [#"{"type":"authExpires","in":0}"#],
    [#"{"type":"live","subscription":1,"revision":18446744073709551615}"#],
    [#"{"type":"bookmark","subscription":1,"revision":18446744073709551615}"#],
    [#"{"type":"hello","epoch":"f","limits":{"messageBytes":18446744073709551615}}"#],
    [didSet("a/b", "1e999999", .max)],
    Array(
      repeating: #"{"type":"gap","subscription":1,"from":1,"to":2,"count":18446744073709551615}"#, count: 3),
  ])
  func `numbers beyond all bounds`(messages: [String]) async throws {
    let server = try ScriptedServer()
    let remote = try server.connect(.provider { "t" })
    let connection = await server.next()
    connection.accept(await connection.next())
    let isLast = Property(false)
    let watch = remote.watch(["a/**"]) { if $0.contains(where: { $0.path == "a/last" }) { isLast.value = true } }
    await connection.grant(1)
    try await watch.ready()
    for message in messages { connection.send(message) }
    connection.send(didSet("a/last", "1", 9))
    await isLast.becomes(true)
    #expect(remote.state.value == .live && (messages.count < 3 || watch.leftOut == .max))
  }

  @Test func `a number of a subscription is given back as it was`() async throws {
    let server = try ScriptedServer()
    let remote = try server.connect()
    let connection = await server.next()
    let watch = remote.watch(["a/**"])
    connection.accept(await connection.next(), #""subscription":18446744073709551615"#)
    connection.send(#"{"type":"live","subscription":18446744073709551615,"revision":1}"#)
    try await watch.ready()
    watch.cancel()
    #expect(await connection.next().number("subscription") == .max)
  }

  @Test(arguments: ["4008", "4401", "identity_mismatch"])
  func `is not asked as fast as it ends connections`(how: String) async throws {
    let server = try ScriptedServer()
    let remote = try server.connect(.provider { "t" }) { configuration in
      configuration.minDelay = .milliseconds(400)
      configuration.maxDelay = .milliseconds(400)
    }
    let begin = ContinuousClock.now
    for _ in 1...3 {
      let connection = await server.next()
      let command = await connection.next()
      connection.accept(command)
      guard how == "identity_mismatch" else {
        connection.close(UInt16(how) ?? 0)
        continue
      }
      connection.send(#"{"type":"authExpires","in":0}"#)
      connection.refuse(await connection.next(), how, 409)
    }
    // The first time at once, the second after half of the delay at least.
    #expect(ContinuousClock.now - begin >= .milliseconds(200))
    remote.close()
  }

  @Test func `or a proxy before it, refuses upgrades for now`() async throws {
    let statuses = try [500, 502, 504, 429].map { try #require(HTTPStatus(code: $0)) }
    let server = try ScriptedServer(refusals: statuses.map { HTTPResponse($0) })
    let remote = try server.connect()
    let told = Record<String>()
    let subscription = remote.errors.subscribe { told.add($0.code) }
    await remote.state.becomes(.live)
    #expect(told.entries.allSatisfy { $0 == "upgrade_refused" } && remote.error == nil)
    subscription.cancel()
  }

  @Test func `does not take a token for now`() async throws {
    let server = try ScriptedServer()
    let remote = try server.connect(.fixed("t"))
    var connection = await server.next()
    connection.refuse(await connection.next(), "too_many_requests", 429, isTemporary: true)
    connection = await server.next()
    connection.accept(await connection.next())
    await remote.state.becomes(.live)
  }

  @Test func `names a delay`() async throws {
    var refusal = HTTPResponse(try #require(HTTPStatus(code: 429)))
    try refusal.fields.set("Retry-After", "1")
    let server = try ScriptedServer(refusals: [refusal])
    let begin = ContinuousClock.now
    let remote = try server.connect()
    let connection = await server.next()
    #expect(ContinuousClock.now - begin >= .seconds(1))
    await remote.state.becomes(.live)
    connection.close(4029, "too much, connect again in 1 s")
    _ = await server.next()
    #expect(ContinuousClock.now - begin >= .seconds(2))
  }

  @Test(arguments: [
    ("30", 30), ("0", 0), ("99999999999999999999999999", 3600), ("3601", 3600), ("-1", 0), ("1e9", 0), ("", 0),
    ("Fri, 31 Dec 1999 23:59:59 GMT", 0),
  ])
  func `delays are obeyed as far as they are sensible`(text: String, seconds: Int) {
    #expect(NamedDelay.inField(text) == .seconds(seconds))
    #expect(NamedDelay.inReason("too much, connect again in \(text) s") == .seconds(seconds))
    #expect(NamedDelay.inField(nil) == .zero && NamedDelay.inReason(text) == .zero)
  }

  @Test func `is not there: each attempt is told`() async throws {
    var configuration = RemoteStore.Configuration()
    configuration.minDelay = .milliseconds(1)
    let remote = try RemoteStore("unix:/nowhere/at/all", configuration: configuration)
    let told = Record<String>()
    let subscription = remote.errors.subscribe { told.add($0.code) }
    await told.count(2)
    #expect(told.entries.allSatisfy { $0 == "unreachable" })
    subscription.cancel()
  }

  @Test func `answers a subscription late, and it is granted all the same`() async throws {
    let server = try ScriptedServer()
    let remote = try server.connect { $0.timeout = .seconds(5) }
    let connection = await server.next()
    let watch = remote.watch(["a/**"])
    let subscribe = await connection.next()
    let error = await #expect(throws: RemoteError.self) { try await remote.entry("x") }
    #expect(error?.code == "timeout")
    connection.accept(subscribe, #""subscription":1"#)
    connection.send(didSet("a/b", "1", 1), #"{"type":"live","subscription":1,"revision":1}"#)
    try await watch.ready()
    #expect(watch["a/b"]?.value == JSONText(1))
  }

  @Test func `is gone before the end of what was to be taken: the rest is asked for`() async throws {
    let server = try ScriptedServer()
    var options = WatchOptions()
    options.take = 3
    let remote = try server.connect()
    let told = Record<RemoteChange>()
    let watch = remote.watch(["a/**"], options) { changes in for change in changes { told.add(change) } }
    var connection = await server.next()
    let first = await connection.next()
    #expect(first.number("take") == 3)
    connection.accept(first, #""subscription":1"#)
    connection.send(didSet("a/a", "1", 1), #"{"type":"live","subscription":1,"revision":1}"#, didSet("a/b", "2", 2))
    await told.count(2)
    connection.drop()
    connection = await server.next()
    let second = await connection.next()
    #expect(second.number("take") == 1 && second.string("since") == "e.2")
    connection.accept(second, #""subscription":1,"recovered":true"#)
    connection.send(didSet("a/c", "3", 3))
    await told.count(3)
    // Only its end is lost.
    connection.drop()
    _ = await server.next()
    await watch.state.becomes(.closed)
    try await watch.ready()
  }

  @Test func `keeps a task waiting that is cancelled`() async throws {
    let server = try ScriptedServer()
    let remote = try server.connect()
    let watch = remote.watch(["a/**"])
    let task = Task { try await watch.ready() }
    task.cancel()
    let cancelled = await #expect(throws: RemoteError.self) { try await task.value }
    #expect(cancelled?.code == "cancelled")
    watch.cancel()
    let closed = await #expect(throws: RemoteError.self) { try await watch.ready() }
    #expect(closed?.code == "closed")
  }
}
