// SPDX-License-Identifier: MIT
import Glibc
import JSON
import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// With a store whose records are durable only when somebody says so, nothing is told before.
@Suite("Answers that wait until what they tell is durable")
struct HeldAnswerTests {
  /// Long enough for an answer that does not wait.
  private static let moment = Duration.milliseconds(60)

  private let store: PropertyStore
  private let server: TestServer

  init() throws {
    store = .forTests()
    store.holdBack(after: 0)
    server = try TestServer(store: store)
  }

  /// Waits until the store has made so many records; they are not durable by that.
  private func awaitRecords(_ count: UInt64) throws {
    let end = ContinuousClock.now + .seconds(20)
    while store.dependence() < count {
      try #require(ContinuousClock.now < end, "the store has not made record \(count)")
      usleep(1000)
    }
  }

  @Test func `a PUT is answered when its record is durable`() throws {
    let client = try server.connect(sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1")
    try awaitRecords(1)
    #expect(try client.receive(within: Self.moment) == nil)
    store.announce(through: 1)
    #expect(try client.receive().status == 201)
  }

  @Test func `what was read waits, too, and probes do not`() throws {
    try store.set("a", "1")
    let reader = try server.connect(sending: "GET /properties/a HTTP/1.1\r\nHost: x\r\n\r\n")
    let list = try server.connect(sending: "GET /properties HTTP/1.1\r\nHost: x\r\n\r\n")
    let absent = try server.connect(sending: "GET /properties/b HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(try server.connect().request("GET", "/health/ready").status == 200)
    for client in [reader, list, absent] { #expect(try client.receive(within: Self.moment) == nil) }
    store.announce(through: 1)
    #expect(try reader.receive().text == "1" && list.receive().status == 200 && absent.receive().status == 404)
    // From now on there is nothing to wait for.
    #expect(try server.connect().request("GET", "/properties/a").text == "1")
  }

  @Test func `what was announced before a server began need not be waited for`() throws {
    try store.set("a", "1")
    store.announce(through: 1)
    let later = try TestServer(store: store)
    #expect(try later.connect().request("GET", "/properties/a").text == "1")
  }

  @Test func `requests in a row are answered in their order, each when its record is durable`() throws {
    let client = try server.connect()
    for number in 1...3 {
      try client.send("PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n\(number)")
      try awaitRecords(UInt64(number))
    }
    for number in 1...3 {
      #expect(try client.receive(within: Self.moment) == nil)
      store.announce(through: UInt64(number))
      #expect(try client.receive().value("Signal-Revision") == "e.\(number)")
    }
  }

  @Test(arguments: [#"{"mode":"latest"}"#, #"{"mode":"latest","maxRate":1000}"#])
  func `what is left out while the disk is awaited is not for slowness of the client`(delivery: String) throws {
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"a","delivery":\#(delivery)"#)
    for number in 1...3 { try store.set("a", "\(number)") }
    try client.send(#"{"id":1,"type":"set","path":"b","value":1}"#)
    try awaitRecords(4)
    // The events can be told now, and nothing is sent before the reply behind which they stand.
    for record in 1...3 {
      store.announce(through: UInt64(record))
      for _ in 1...4 { _ = try server.connect().request("GET", "/health/ready") }
    }
    store.announce(through: 4)
    let messages = try client.next { $0.type == "didSet" && $0.raw("value") == "3" }
    let gaps = messages.compactMap { $0.type == "gap" ? $0.string("reason") : nil }
    #expect(gaps == ["paced"], "\(messages)")
  }

  @Test func `replies on a WebSocket keep their order, and events wait behind them`() throws {
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"a""#)
    try client.send(#"{"id":2,"type":"set","path":"a","value":1}"#)
    try client.send(#"{"id":3,"type":"get","path":"a"}"#)
    try client.send(#"{"id":4,"type":"set","path":"b","value":2}"#)
    try awaitRecords(2)
    #expect(try client.next(within: Self.moment) == nil)
    store.announce(through: 2)
    let messages = try client.next(4)
    #expect(messages.filter { $0.type != "didSet" }.map { $0.int("id") } == [2, 3, 4])
    #expect(messages.contains { $0.type == "didSet" && $0.revision == 1 })
  }

  @Test func `who watches hears of nothing that is not durable, and no snapshot has it`() throws {
    let watcher = try LiveClient(server)
    _ = try watcher.subscribe(#""match":"**""#)
    let stream = try EventStreamClient(server, query: "match=**")
    _ = try stream.next(2)
    let newcomer = try LiveClient(server)
    try store.set("a", "1")
    #expect(try watcher.next(within: Self.moment) == nil && stream.next(within: Self.moment) == nil)
    try newcomer.send(#"{"id":1,"type":"subscribe","match":"**"}"#)
    #expect(try newcomer.next(within: Self.moment) == nil)
    store.announce(through: 1)
    #expect(try watcher.next().revision == 1)
    #expect(try newcomer.next(upTo: { $0.type == "live" }).contains { $0.type == "didSet" && $0.revision == 1 })
  }

  @Test func `signals are told in the order in which they were sent, when they are durable`() throws {
    let listener = try LiveClient(server)
    _ = try listener.ask(#"{"id":1,"type":"subscribe","signals":"**"}"#)
    _ = try listener.next()
    for number in 1...2 { try store.signals.send("bell", JSONText(number), remember: true) }
    #expect(try listener.next(within: Self.moment) == nil)
    store.announce(through: 1)
    #expect(try listener.next().raw("message") == "1")
    #expect(try listener.next(within: Self.moment) == nil)
    store.announce(through: 2)
    #expect(try listener.next().raw("message") == "2")
  }

  @Test func `a message that leaves nothing behind waits for what was before it, and otherwise for nothing`() throws {
    let listener = try LiveClient(server)
    _ = try listener.ask(#"{"id":1,"type":"subscribe","signals":"**"}"#)
    _ = try listener.next()
    #expect(try server.connect().request("POST", "/signals/bell", body: "1").status == 204)
    #expect(try listener.next().raw("message") == "1")
    try store.set("a", "1")
    let sender = try server.connect(
      sending: "POST /signals/bell HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n2")
    #expect(try sender.receive(within: Self.moment) == nil && listener.next(within: Self.moment) == nil)
    store.announce(through: 1)
    #expect(try sender.receive().status == 204 && listener.next().raw("message") == "2")
  }

  @Test func `the probe says how the storage is`() throws {
    #expect(try server.connect().request("GET", "/health/ready").text == #"{"status":"ready"}"#)
    let disk = FakeDisk()
    store.record(to: disk)
    let states: [(StorageRefusal?, String)] = [(nil, "ok"), (.full, "full"), (.slow, "slow"), (.failed, "failed")]
    for (refusal, word) in states {
      disk.set(StorageStatus(refusal: refusal, taken: 9, durable: 8, revision: 7, queuedBytes: 64))
      let answer = try server.connect().request("GET", "/health/ready")
      #expect(answer.text == #"{"status":"ready","storage":"\#(word)","durable":7,"queued":64}"#)
      #expect(answer.status == 200)
    }
    #expect(try server.connect().request("GET", "/health/live").text == #"{"status":"live"}"#)
  }

  @Test func `one who leaves meanwhile costs nothing, and the next is served`() throws {
    do {
      let client = try server.connect(sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1")
      try awaitRecords(1)
      _ = client
    }
    store.announce(through: 1)
    #expect(try server.connect().request("GET", "/properties/a").text == "1")
  }

  @Test func `a client with too many answers under way is not read until they are sent`() throws {
    let client = try server.connect()
    for number in 1...200 {
      try client.send("PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n\(number + 100)")
      if number <= 60 { try awaitRecords(UInt64(number)) }
    }
    // Those that came one by one wait one by one; of the others many are in one piece.
    store.announce(through: 200)
    for _ in 1...200 {
      let status = try client.receive().status
      #expect(status == 201 || status == 204)
      store.announce(through: store.dependence())
    }
    #expect(try store.text("a") == "300")
  }

  // MARK: A full disk

  @Test func `while the disk is full, what is durable is read and watched`() throws {
    let watcher = try LiveClient(server)
    _ = try watcher.subscribe(#""match":"**""#)
    try store.transact(["a": "1", "b": "1"])
    store.announce(through: 1)
    #expect(try watcher.next(2).map(\.revision) == [1, 1])
    try store.set("a", "2")
    try store.set("c", "1")
    try store.delete("b")
    let early = try server.connect(sending: "GET /properties/a HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(try early.receive(within: Self.moment) == nil)
    store.readAnnounced()
    let client = try server.connect()
    let found = try client.request("GET", "/properties/a")
    #expect(found.text == "1" && found.value("ETag") == "\"e.1\"" && found.value("Signal-Revision") == "e.1")
    #expect(try client.request("GET", "/properties/b").text == "1")
    #expect(try client.request("GET", "/properties/c").status == 404)
    #expect(try client.request("GET", "/properties/a?since=e.1&wait=10ms").status == 304)
    let list = try client.request("GET", "/properties")
    #expect(list.text.contains(#""a""#) && list.text.contains(#""b""#) && !list.text.contains(#""c""#))
    let late = try LiveClient(server)
    let begun = try late.subscribe(#""match":"**""#)
    #expect(begun.map(\.type) == ["ok", "didSet", "didSet", "live"] && begun[3].revision == 1)
    let resumed = try LiveClient(server)
    #expect(try resumed.subscribe(#""match":"**","since":"e.0""#).filter { $0.type == "didSet" }.count == 2)
    // With room again, everyone is told what was left.
    store.announce(through: 4)
    for client in [watcher, late, resumed] {
      #expect(try client.next(3).map(\.type) == ["didSet", "didSet", "didDelete"])
    }
    #expect(try client.request("GET", "/properties/a").text == "2" && early.receive().text == "2")
  }

  @Test func `while the disk is full, messages that are not kept are sent, and timers wait`() throws {
    let listener = try LiveClient(server)
    _ = try listener.ask(#"{"id":1,"type":"subscribe","signals":["**"]}"#)
    _ = try listener.settle()
    try store.set("a", "1")
    try store.signals.send("s", JSONText(validating: "0"))
    #expect(try listener.next(within: Self.moment) == nil)
    store.readAnnounced()
    #expect(try listener.next().raw("message") == "0")
    let client = try server.connect()
    #expect(try client.request("POST", "/signals/s", body: "1").status < 300)
    #expect(try listener.next().raw("message") == "1")
    #expect(try client.request("GET", "/timers").status == 200)
    // Nothing is written that readers would not see.
    #expect(try client.request("PUT", "/properties/a", body: "2").code == "disk_full")
    #expect(try client.request("PUT", "/timers/t", body: #"{"after":"1h"}"#).code == "disk_full")
    store.announce(through: 1)
    try store.timers.set("t", .after(.seconds(3600)), message: JSONText(validating: "1"))
    store.readAnnounced()
    #expect(try client.request("GET", "/properties/a").text == "1")
    try client.send("GET /timers HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(try client.receive(within: Self.moment) == nil)
    store.announce(through: 2)
    #expect(try client.receive().text.contains(#""t""#))
  }

  @Test func `a loop that has slept since answers its first request with what is durable`() throws {
    let clients = try (0..<4).map { _ in try server.connect() }
    for client in clients { #expect(client.isAlive()) }
    try store.set("a", "1")
    usleep(50_000)
    store.readAnnounced()
    for client in clients { #expect(try client.request("GET", "/properties/a").status == 404) }
  }
}
