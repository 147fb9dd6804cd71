// SPDX-License-Identifier: MIT

import JSON
import SignalClient
import SignalStore
import Signals
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct `A remote store` {
  @Test(arguments: ["", "localhost:8080", "http://", "ftp://a", "http://a/b"])
  func `a URL that is none is refused`(url: String) {
    let error = #expect(throws: RemoteError.self) { try RemoteStore(url) }
    #expect(error?.code == "bad_url")
  }

  @Test func `certificates that cannot be read are refused`() {
    var configuration = RemoteStore.Configuration()
    configuration.authorities = "/nowhere/at/all.pem"
    let error = #expect(throws: RemoteError.self) { try RemoteStore("https://localhost", configuration: configuration) }
    #expect(error?.code == "bad_certificates")
  }

  @Test func `commands write, read and refuse`() async throws {
    let server = try RemoteServer()
    let remote = try server.connect()
    let written = try await remote.set("a", JSONText(1))
    #expect(written.cursor == "e.1" && written.changed == 1)
    #expect(try await remote.set("a", JSONText(1)).changed == 0)
    #expect(try await remote.entry("a")?.value == JSONText(1))
    #expect(try await remote.entry("none") == nil)
    try await remote.set("o", JSONText(validating: #"{"x":1}"#))
    try await remote.patch("o", JSONText(validating: #"{"y":2}"#))
    try await remote.patch("o", JSONText(validating: #"[{"op":"remove","path":"/x"}]"#))
    #expect(try server.store.text("o") == #"{"y":2}"#)
    #expect(try await remote.transaction([.set("b", JSONText(2)), .delete("a")]).changed == 2)
    var options = WriteOptions()
    options.ifAbsent = true
    let refusal = await #expect(throws: RemoteError.self) { try await remote.set("b", JSONText(3), options) }
    #expect(refusal?.code == "precondition_failed" && refusal?.outcome == .refused)
    #expect(server.store.contents == ["b": "2", "o": #"{"y":2}"#])
    try await remote.delete("b")
  }

  @Test func `a watch shows what matches, and tells its changes`() async throws {
    let server = try RemoteServer()
    try server.store.set("a/x", "1")
    let remote = try server.connect()
    let told = Record<[RemoteChange]>()
    var options = WatchOptions()
    options.filter = "value > 0"
    let watch = remote.watch(["a/**"], options) { told.add($0) }
    try await watch.ready()
    #expect(watch.entries.mapValues(\.value) == ["a/x": JSONText(1)])
    try server.store.transact(["a/x": "0", "a/y": "2", "b": "3"])
    await told.count(2)
    let changes = try #require(told.entries.dropFirst().first)
    #expect(changes.map(\.kind) == [.exit, .set] && changes.map(\.path) == ["a/x", "a/y"])
    #expect(watch["a/y"]?.cursor == "e.2" && watch["a/x"] == nil)
    watch.cancel()
    await watch.state.becomes(.closed)
    #expect(watch.error == nil)
  }

  @Test func `a watch that is refused says why`() async throws {
    let server = try RemoteServer()
    let remote = try server.connect()
    var options = WatchOptions()
    options.filter = "valeu > 0"
    let watch = remote.watch(["a/**"], options)
    let error = await #expect(throws: RemoteError.self) { try await watch.ready() }
    #expect(error?.code == watch.error?.code && error?.outcome == .refused)
    #expect(remote.state.value == .live)
  }

  @Test func `signals are sent and heard`() async throws {
    let server = try RemoteServer()
    let remote = try server.connect()
    try await remote.send("doorbell/back", JSONText(1), isRemembered: true)
    let heard = Record<RemoteMessage>()
    let listener = remote.listen(["doorbell/**"]) { heard.add($0) }
    await listener.state.becomes(.live)
    try await remote.send("doorbell/front", JSONText("ring"))
    await heard.count(2)
    #expect(heard.entries.map(\.message) == [JSONText(1), JSONText("ring")])
    #expect(heard.entries.map(\.isRemembered) == [true, false])
    listener.cancel()
    await listener.state.becomes(.closed)
  }

  @Test func `what is held goes with the client, and what it has registered is done`() async throws {
    let server = try RemoteServer()
    let remote = try server.connect()
    var options = WriteOptions()
    options.hold = true
    try await remote.set("presence/ann", JSONText("here"), options)
    try await remote.onDisconnect([.set("last", JSONText("ann"))])
    let last = server.store.property("last", as: String.self)
    remote.close()
    await last.becomes("ann")
    await server.store.property("presence/ann", as: String.self).becomes(nil)
    await remote.state.becomes(.closed)
    let error = await #expect(throws: RemoteError.self) { try await remote.set("x", .null) }
    #expect(error?.code == "closed" && error?.outcome == .unsent)
  }

  @Test func `without a server commands end in time, and are not sent`() async throws {
    var configuration = RemoteStore.Configuration()
    configuration.timeout = .milliseconds(50)
    let remote = try RemoteStore("unix:/nowhere/at/all", configuration: configuration)
    let error = await #expect(throws: RemoteError.self) { try await remote.set("x", .null) }
    #expect(error?.code == "timeout" && error?.outcome == .unsent)
    #expect(remote.state.value == .connecting)
  }

  @Test func `one command more than may wait is not sent`() throws {
    var configuration = RemoteStore.Configuration()
    configuration.pendingCommands = 2
    let property = try RemoteStore("unix:/nowhere/at/all", configuration: configuration).property("a", as: Int.self)
    let errors = Record<String>()
    let subscription = property.errors.subscribe { errors.add($0.code) }
    for n in 1...3 { property.value = n }
    #expect(errors.entries == ["too_many_commands"])
    subscription.cancel()
  }

  @Test func `a command that has its reply makes place for another`() async throws {
    let server = try RemoteServer()
    let remote = try server.connect { $0.pendingCommands = 1 }
    for n in 1...3 { try await remote.set("a", JSONText(n)) }
    #expect(server.store.contents == ["a": "3"])
  }

  @Test func `a server that ends leaves what was shown, as stale`() async throws {
    let server = try RemoteServer()
    let remote = try server.connect()
    try server.store.set("a", "1")
    let property = remote.property("a", as: Int.self)
    await property.becomes(1)
    await property.state.becomes(.live)
    server.shutDown()
    await remote.state.becomes(.stale)
    await property.state.becomes(.stale)
    #expect(property.value == 1)
  }
}
