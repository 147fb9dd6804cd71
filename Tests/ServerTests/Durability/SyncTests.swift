// SPDX-License-Identifier: MIT
import Glibc
import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// `sync`: a write that is answered when it is durable, where others are answered at once.
@Suite("Writes that ask to be durable")
struct SyncTests {
  /// Long enough for an answer that does not wait.
  private static let moment = Duration.milliseconds(60)

  private let store: PropertyStore
  private let disk = FakeDisk()
  private let server: TestServer

  init() throws {
    store = .forTests()
    store.record(to: disk)
    server = try TestServer(store: store)
  }

  private func awaitHurry(_ count: Int) throws {
    let end = ContinuousClock.now + .seconds(20)
    while disk.hurries < count {
      try #require(ContinuousClock.now < end, "nobody has asked for a sync")
      usleep(1000)
    }
  }

  private static let writes: [(method: String, target: String, body: String, status: Int)] = [
    ("PUT", "/properties/a?sync=true", "1", 201), ("PATCH", "/properties/a?sync=true", "{}", 204),
    ("DELETE", "/properties/a?sync=true", "", 204),
    ("POST", "/transactions?sync=true", #"{"operations":[{"op":"set","path":"b","value":1}]}"#, 200),
    ("POST", "/signals/s?sync=true&remember=true", "1", 204), ("PUT", "/timers/t?sync=true", #"{"after":"1h"}"#, 201),
    ("DELETE", "/timers/t?sync=true", "", 204),
  ]

  @Test func `every write can wait, and is hurried`() throws {
    for (number, write) in Self.writes.enumerated() {
      let client = try server.connect(
        sending: "\(write.method) \(write.target) HTTP/1.1\r\nHost: x\r\n"
          + (write.method == "PATCH" ? "Content-Type: application/merge-patch+json\r\n" : "")
          + "Content-Length: \(write.body.utf8.count)\r\n\r\n\(write.body)")
      try awaitHurry(number + 1)
      #expect(try client.receive(within: Self.moment) == nil, "\(write)")
      store.announce(through: disk.sync())
      #expect(try client.receive().status == write.status, "\(write)")
    }
    // Others do not wait, nor does what finds everything durable.
    #expect(try server.connect().request("PUT", "/properties/c?sync=false", body: "1").status == 201)
    store.announce(through: disk.sync())
    #expect(try server.connect().request("PUT", "/properties/c?sync=true", body: "1").status == 204)
    #expect(disk.hurries == Self.writes.count)
  }

  @Test func `a command can wait, and those behind it wait with it`() throws {
    let client = try LiveClient(server)
    let commands = [
      #""type":"set","path":"a","value":1"#, #""type":"patch","path":"a","merge":2"#, #""type":"delete","path":"a""#,
      #""type":"define","path":"f","formula":"1""#,
      #""type":"transaction","operations":[{"op":"set","path":"b","value":1}]"#,
      #""type":"send","path":"s","remember":true"#,
      #""type":"onDisconnect","operations":[{"op":"delete","path":"b"}]"#,
    ]
    for (number, command) in commands.enumerated() {
      try client.send(#"{"id":\#(number + 1),\#(command),"sync":true}"#)
      try awaitHurry(number + 1)
      try client.send(#"{"id":100,"type":"ping"}"#)
      #expect(try client.next(within: Self.moment) == nil, "\(command)")
      store.announce(through: disk.sync())
      let replies = try client.next(2)
      #expect(replies.map(\.type) == ["ok", "ok"] && replies.map { $0.int("id") } == [number + 1, 100], "\(replies)")
    }
    let refused = try client.ask(#"{"id":9,"type":"get","path":"b","sync":true}"#)
    #expect(refused.type == "error")
  }

  @Test(
    arguments: [
      (.commit, "commit"), (.interval(.milliseconds(100)), "100ms"), (.interval(.seconds(2)), "2s"), (nil, nil),
    ] as [(StorageSync?, String?)])
  func `the hello says when a write is on disk`(sync: StorageSync?, text: String?) throws {
    disk.set(StorageStatus(sync: sync))
    let hello = try LiveClient(server).hello.text
    #expect(hello.contains(#""revision":0,"# + (text.map { #""sync":"\#($0)","# } ?? "") + #""limits":{"#), "\(hello)")
    #expect(try MessageSchema().faults(in: hello, as: "hello", isClosed: true).isEmpty)
  }

  @Test func `a refusal does not wait`() throws {
    let client = try LiveClient(server)
    try store.set("a", "1")
    #expect(
      try server.connect().request("PUT", "/properties/a?sync=true", fields: [("If-None-Match", "*")], body: "2").status
        == 412)
    #expect(
      try client.ask(#"{"id":1,"type":"set","path":"a","value":2,"ifNoneMatch":"*","sync":true}"#).type == "error")
    #expect(disk.hurries == 0)
  }

  @Test func `a disk that fails ends those who wait without an answer, and refuses others`() throws {
    let client = try server.connect(
      sending: "PUT /properties/a?sync=true HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1")
    try awaitHurry(1)
    disk.set(StorageStatus(refusal: .failed, taken: 1))
    store.announceFailure()
    #expect(throws: (any Error).self) { try client.receive() }
    let refused = try server.connect().request("POST", "/signals/a?sync=true", body: "1")
    #expect(refused.status == 503 && refused.text.contains("storage_failed"))
    #expect(try server.connect().request("GET", "/properties/a").text == "1")
  }

  @Test func `where nothing becomes durable, it is refused and nothing is written`() throws {
    let memory = try TestServer()
    for write in Self.writes {
      let fields = write.method == "PATCH" ? [("Content-Type", "application/merge-patch+json")] : []
      let answer = try memory.connect().request(write.method, write.target, fields: fields, body: write.body)
      #expect(answer.status == 400 && answer.text.contains(#""code":"not_durable""#), "\(write): \(answer.text)")
    }
    let client = try LiveClient(memory)
    let refused = try client.ask(#"{"id":1,"type":"set","path":"a","value":1,"sync":true}"#)
    #expect(refused.type == "error" && refused.raw("error")?.contains("not_durable") == true)
    #expect(memory.store.count == 0 && memory.store.timers.count == 0 && memory.store.signals.last("s") == nil)
    #expect(try client.ask(#"{"id":2,"type":"set","path":"a","value":1,"sync":false}"#).type == "ok")
  }
}
