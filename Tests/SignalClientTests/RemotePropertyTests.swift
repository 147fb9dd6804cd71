// SPDX-License-Identifier: MIT

import JSON
import SignalClient
import SignalStore
import Signals
import TestSupport
import Testing

private struct Light: Codable, Equatable { var on: Bool, level: Int }

/// What `A property of a store as a Swift type` promises, over the wire.
@Suite(.timeLimit(.minutes(2))) struct `A property of a remote store` {
  @Test func `setting it sets the server, and a change there is told here`() async throws {
    let server = try RemoteServer()
    let remote = try server.connect()
    let temperature = remote.property("kitchen/temperature", as: Double.self)
    let log = Record<Double?>()
    let subscription = temperature.subscribe { log.add($0) }
    #expect(temperature.value == nil && temperature.error == nil)
    await temperature.state.becomes(.live)
    temperature.value = 21.5
    #expect(temperature.value == 21.5)
    await server.store.property("kitchen/temperature", as: Double.self).becomes(21.5)
    try server.store.set("kitchen/temperature", "22")
    try server.store.set("hall/temperature", "9")
    await temperature.becomes(22)
    try await temperature.set(nil)
    #expect(server.store.get("kitchen/temperature") == nil)
    #expect(log.entries == [nil, 21.5, 22, nil])
    subscription.cancel()
    #expect(temperature.observerCount == 0)
  }

  @Test func `what is set in one client is told in another, in order, each once`() async throws {
    let server = try RemoteServer()
    let (a, b) = (try server.connect(), try server.connect())
    let (here, there) = (a.property("count", as: Int.self), b.property("count", as: Int.self))
    await there.state.becomes(.live)
    let log = Record<Int?>()
    let subscription = there.subscribe(from: .future) { log.add($0) }
    for n in 1...2000 { here.value = n }
    await there.becomes(2000)
    await log.count(2000)
    #expect(log.entries == Array(1...2000))
    #expect(try server.store.text("count") == "2000")
    subscription.cancel()
  }

  @Test func `any type that is Codable will do, and a part of it can be set`() async throws {
    let server = try RemoteServer()
    let remote = try server.connect()
    let property = remote.property("light", as: Light.self)
    await property.state.becomes(.live)
    let light = property.defaulting(to: Light(on: false, level: 0))
    light[\.level].value = 3
    light[\.on].toggle()
    #expect(light.value == Light(on: true, level: 3))
    await server.store.property("light", as: Light.self).becomes(Light(on: true, level: 3))
  }

  @Test func `a value of another shape is an error that the property tells`() async throws {
    let server = try RemoteServer()
    let light = try server.connect().property("light", as: Light.self)
    await light.state.becomes(.live)
    let errors = Record<String>()
    let subscription = light.errors.subscribe { errors.add($0.code) }
    try server.store.set("light", #"{"on":true,"level":"high"}"#)
    await errors.count(1)
    #expect(light.value == nil && light.error?.code == "other_shape")
    try server.store.set("light", #"{"on":true,"level":1}"#)
    await light.becomes(Light(on: true, level: 1))
    #expect(light.error == nil && errors.entries == ["other_shape"])
    subscription.cancel()
  }

  @Test func `a set that is refused is taken back, and told`() async throws {
    let server = try RemoteServer(store: .forTests(limits: StoreLimits(properties: 1)))
    let remote = try server.connect()
    let (first, second) = (remote.property("a", as: Double.self), remote.property("b", as: Double.self))
    await second.state.becomes(.live)
    let values = Record<Double?>()
    let errors = Record<String>()
    let bag = SubscriptionBag()
    second.subscribe { values.add($0) }.stored(in: bag)
    second.errors.subscribe { errors.add($0.code) }.stored(in: bag)
    first.errors.subscribe { errors.add($0.code) }.stored(in: bag)
    try await first.set(1)
    first.value = .nan
    #expect(first.value == 1 && errors.entries == ["not_encodable"])
    second.value = 2
    await errors.count(2)
    #expect(second.value == nil && values.entries == [nil, 2, nil])
    let refusal = await #expect(throws: RemoteError.self) { try await second.set(3) }
    #expect(refusal?.outcome == .refused && second.error?.code == refusal?.code)
    #expect(values.entries == [nil, 2, nil, 3, nil] && server.store.revision.number == 1)
    #expect(errors.entries.count == 2)
  }

  @Test func `two of one path and several types agree`() async throws {
    let server = try RemoteServer()
    let remote = try server.connect()
    let number = remote.property("x", as: Int.self)
    let fraction = remote.property("x", as: Double.self)
    number.value = 4
    #expect(fraction.value == 4)
    fraction.value = 4.5
    #expect(number.value == nil && number.error != nil)
  }

  @Test func `it is a source like any other`() async throws {
    let server = try RemoteServer()
    let remote = try server.connect()
    let a = remote.property("a", as: Int.self)
    let b = remote.property("b", as: Int.self)
    await a.state.becomes(.live)
    await b.state.becomes(.live)
    let local = Property(7)
    let binding = local.bindBothWays(with: a.defaulting(to: 0))
    await server.store.property("a", as: Int.self).becomes(7)
    try server.store.set("a", "8")
    await local.becomes(8)
    let log = Record<Int>()
    let token = combineLatest(a, b).map { ($0 ?? 0) * ($1 ?? 1) }.subscribe { log.add($0) }
    try server.store.transact(["b": "5"])
    await log.count(2)
    #expect(log.entries == [8, 40])
    withExtendedLifetime((binding, token)) {}
  }

  @Test func `one revision is one step for properties that began to be watched together`() async throws {
    let server = try RemoteServer()
    let remote = try server.connect()
    let (a, b) = try await Self.together(remote, server)
    try server.store.transact(["a": "8", "b": "1"])
    await a.becomes(8)
    let log = Record<Int>()
    let token = combineLatest(a, b).map { ($0 ?? 0) * ($1 ?? 1) }.subscribe { log.add($0) }
    try server.store.transact(["a": "2", "b": "5"])
    await log.count(2)
    #expect(log.entries == [8, 10])
    withExtendedLifetime(token) {}
  }

  /// The properties `a` and `b`, which begin to be watched in one turn of the loop.
  private static func together(
    _ remote: RemoteStore, _ server: RemoteServer
  ) async throws -> (a: RemoteProperty<Int>, b: RemoteProperty<Int>) {
    try server.store.set("begin", "true")
    let begin = remote.property("begin", as: Bool.self)
    await begin.becomes(true)
    let made = Record<(a: RemoteProperty<Int>, b: RemoteProperty<Int>)>()
    // Observers of what comes from the server are called on the loop.
    let subscription = begin.subscribe(from: .future) { _ in
      made.add((remote.property("a", as: Int.self), remote.property("b", as: Int.self)))
    }
    try server.store.delete("begin")
    await made.count(1)
    subscription.cancel()
    return try #require(made.entries.first)
  }

  @Test func `what a transaction sets is one revision, and told once`() async throws {
    let server = try RemoteServer()
    let (remote, other) = (try server.connect(), try server.connect())
    let (a, b) = (remote.property("a", as: Int.self), remote.property("b", as: Int.self))
    let (otherA, otherB) = try await Self.together(other, server)
    await a.state.becomes(.live)
    await otherB.state.becomes(.live)
    let local = Property(0)
    let (here, there, commits) = (Record<String>(), Record<String>(), Record<Int>())
    let bag = SubscriptionBag()
    combineLatest(a, b, local).subscribe(from: .future) { here.add("\($0 ?? -1) \($1 ?? -1) \($2)") }.stored(in: bag)
    combineLatest(otherA, otherB).subscribe(from: .future) { there.add("\($0 ?? -1) \($1 ?? -1)") }.stored(in: bag)
    server.store.changes.subscribe { commits.add($0.count) }.stored(in: bag)
    withTransaction {
      local.value = 7
      a.value = 1
      b.value = 2
      a.modify { $0 = ($0 ?? 0) + 2 }
      #expect(a.value == 3)
    }
    #expect(here.entries == ["3 2 7"])
    await there.count(1)
    #expect(there.entries == ["3 2"] && commits.entries == [2])
    #expect(server.store.contents == ["a": "3", "b": "2"])
  }

  @Test func `what a transaction sets is refused as a whole, and each property tells why`() async throws {
    let server = try RemoteServer(store: .forTests(limits: StoreLimits(properties: 2)))
    let remote = try server.connect()
    let properties = try ["a", "b", "c"].map { remote.property(try PropertyPath($0), as: Int.self) }
    await properties[2].state.becomes(.live)
    let errors = Record<String>()
    let bag = SubscriptionBag()
    for property in properties { property.errors.subscribe { errors.add($0.code) }.stored(in: bag) }
    withTransaction {
      for (n, property) in properties.enumerated() { property.value = n }
      #expect(properties.map(\.value) == [0, 1, 2])
    }
    await errors.count(3)
    #expect(properties.map(\.value) == [nil, nil, nil] && server.store.count == 0)
  }

  @Test func `update tries again when somebody else was faster`() async throws {
    let server = try RemoteServer()
    let clients = try (0..<4).map { _ in try server.connect() }
    let properties = clients.map { $0.property("count", as: Int.self) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for property in properties {
        group.addTask { for _ in 0..<25 { try await property.update { ($0 ?? 0) + 1 } } }
      }
      try await group.waitForAll()
    }
    #expect(try server.store.text("count") == "100")
  }

  @Test func `modify is computed here, and taken by the server`() async throws {
    let server = try RemoteServer()
    let count = try server.connect().property("count", as: Int.self)
    try server.store.set("count", "5")
    await count.becomes(5)
    await count.state.becomes(.live)
    for _ in 0..<10 { count.modify { $0 = ($0 ?? 0) + 1 } }
    #expect(count.value == 15)
    await server.store.property("count", as: Int.self).becomes(15)
  }

  @Test func `a set under a condition that does not hold is taken back`() async throws {
    let server = try RemoteServer()
    let count = try server.connect().property("count", as: Int.self)
    try server.store.set("count", "5")
    await count.becomes(5)
    var options = WriteOptions()
    options.ifMatch = count.cursor
    try server.store.set("count", "50")
    let error = await #expect(throws: RemoteError.self) { try await count.set(7, options) }
    #expect(error?.code == "precondition_failed")
    await count.becomes(50)
    #expect(server.store.contents == ["count": "50"])
  }

  @Test func `more properties than a subscription may have patterns`() async throws {
    let server = try RemoteServer()
    let remote = try server.connect()
    for n in 0..<200 { try server.store.set("p/\(n)", "\(n)") }
    let properties = try (0..<200).map { remote.property(try PropertyPath("p/\($0)"), as: Int.self) }
    for (n, property) in properties.enumerated() { await property.becomes(n) }
    #expect(remote.state.value == .live)
  }

  @Test func `nothing of it is left when nobody keeps it`() async throws {
    let server = try RemoteServer()
    let remote = try server.connect()
    weak var gone: RemoteProperty<Int>?
    do {
      let property = remote.property("x", as: Int.self)
      await property.state.becomes(.live)
      gone = property
      let token = property.subscribe { _ in }
      token.cancel()
    }
    #expect(gone == nil)
    // A property of the same path begins anew.
    try server.store.set("x", "3")
    await remote.property("x", as: Int.self).becomes(3)
  }
}
