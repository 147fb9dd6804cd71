// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("REST §2.1, waiting")
struct WaitTests {
  private let server: TestServer
  private let client: RawClient

  init() throws {
    server = try TestServer()
    client = try server.connect()
  }

  /// Sends a request whose answer is to come later, and returns when the server waits for it.
  private func begin(_ query: String, path: String = "a", on client: RawClient, _ fields: String = "") throws {
    let observers = server.store.commits.observerCount
    try client.send("GET /properties/\(path)?\(query) HTTP/1.1\r\nHost: x\r\n\(fields)\r\n")
    try settle(at: observers + 1)
    // A loop observes before it looks at what is there: when it has answered others after that, it has.
    let others = try (0..<2).map { _ in try server.connect() }
    for other in others { #expect(try other.request("GET", "/health/live").status == 200) }
  }

  /// Waits until so many observe the store: each loop on which a request waits does.
  private func settle(at observers: Int) throws {
    try eventually("\(observers) observers") { server.store.commits.observerCount == observers }
  }

  @Test func `what is newer than the cursor is answered at once`() throws {
    try server.store.set("a", "1")
    try server.store.set("a", "2")
    try server.store.set("b", "3")
    let response = try client.request("GET", "/properties/a?since=e.1&wait=5m")
    #expect(response.status == 200 && response.text == "2")
    #expect(response.value("ETag") == "\"e.2\"" && response.value("Signal-Revision") == "e.3")
  }

  @Test func `a change ends the wait, with the value and the validators of that change`() throws {
    try server.store.set("a", "1")
    try begin("since=e.1&wait=5m", on: client)
    try server.store.set("b", "1")
    try server.store.set("a", #"{"x":[1,2]}"#)
    let response = try client.receive()
    #expect(response.status == 200 && response.text == #"{"x":[1,2]}"#)
    #expect(response.value("ETag") == "\"e.3\"" && response.value("Signal-Revision") == "e.3")
    #expect(response.value("Content-Type") == "application/json")
    #expect(client.isAlive())
    try settle(at: 0)
  }

  @Test func `the revision of one answer is the cursor of the next, and nothing is missed`() throws {
    try server.store.set("n", "0")
    let writer = Thread { [server] in
      for value in 1...300 { _ = try? server.store.set("n", "\(value)") }
    }
    writer.start()
    var cursor = "e.1"
    var last = 0
    while last < 300 {
      let response = try client.request("GET", "/properties/n?since=\(cursor)&wait=10s")
      try #require(response.status == 200)
      let value = try #require(Int(response.text))
      #expect(value > last)
      last = value
      cursor = try #require(response.value("Signal-Revision"))
    }
  }

  @Test func `the wait for what is not there ends when it comes, and a deletion ends a wait, too`() throws {
    try begin("since=e.0&wait=5m", on: client)
    try server.store.set("a", "1")
    #expect(try client.receive().text == "1")
    try begin("since=e.1&wait=5m", on: client)
    try server.store.delete("a")
    let gone = try client.receive()
    #expect(gone.status == 404 && gone.code == "not_found" && gone.value("Signal-Revision") == "e.2")
    // The history knows that it was deleted after 1, and that nothing has happened to it since 2.
    try server.store.set("b", "1")
    #expect(try client.request("GET", "/properties/a?since=e.1&wait=5m").status == 404)
    #expect(try client.request("GET", "/properties/a?since=e.2&wait=10ms").status == 304)
  }

  @Test func `a property that comes while the request is judged is answered, not that it was missing`() throws {
    var cursor = "e.0"
    for round in 0..<2000 {
      let path = "round/\(round)"
      try client.send("GET /properties/\(path)?since=\(cursor)&wait=5m HTTP/1.1\r\nHost: x\r\n\r\n")
      // Before the request has come, while it is judged, or behind that.
      let moment = ContinuousClock.now + .microseconds(round * 7 % 200)
      while ContinuousClock.now < moment {}
      try server.store.set(path, "1")
      let response = try client.receive()
      try #require(response.status == 200)
      cursor = try #require(response.value("Signal-Revision"))
    }
  }

  @Test(arguments: ["f.1", "e.99"])
  func `a cursor of another history is answered at once`(cursor: String) throws {
    try server.store.set("a", "1")
    #expect(try client.request("GET", "/properties/a?since=\(cursor)&wait=5m").status == 200)
    #expect(try client.request("GET", "/properties/b?since=\(cursor)&wait=5m").status == 404)
  }

  @Test func `a cursor older than the history is answered at once when the property is not there`() throws {
    let server = try TestServer(store: .forTests(limits: StoreLimits(historyChanges: 4)))
    for value in 1...20 { try server.store.set("a", "\(value)") }
    let client = try server.connect()
    #expect(try client.request("GET", "/properties/none?since=e.1&wait=5m").status == 404)
    #expect(try client.request("GET", "/properties/none?since=e.20&wait=10ms").status == 304)
  }

  @Test func `at the end of the wait it is 304 with the cursor to go on from`() throws {
    try server.store.set("a", "1")
    try server.store.set("b", "1")
    let response = try client.request("GET", "/properties/a?since=e.1&wait=20ms")
    #expect(response.status == 304 && response.body.isEmpty)
    #expect(response.value("ETag") == "\"e.1\"" && response.value("Signal-Revision") == "e.2")
    let none = try client.request("GET", "/properties/none?since=e.2&wait=20ms")
    #expect(none.status == 304 && none.value("ETag") == nil && none.value("Signal-Revision") == "e.2")
    #expect(try client.request("GET", "/properties/a?since=e.1").status == 304)
    #expect(try client.request("GET", "/properties/a?since=e.0").status == 200)
    try settle(at: 0)
  }

  @Test func `a condition is waited for, whatever else happens`() throws {
    try server.store.set("a", "1")
    try begin("until=value+>+20.0&wait=5m", on: client)
    for value in ["5", "20", #""x""#, "21"] { try server.store.set("a", value) }
    let response = try client.receive()
    #expect(response.text == "21" && response.value("ETag") == "\"e.5\"")
    #expect(try client.request("GET", "/properties/a?until=value+>+20.0&wait=5m").text == "21")
    #expect(try client.request("GET", "/properties/a?until=value+>+21.0&wait=10ms").status == 304)
  }

  @Test func `a condition that holds for a moment only is not missed`() throws {
    try server.store.set("a", "0")
    try begin("until=value+==+1&wait=5m", on: client)
    try server.store.set("a", "1")
    try server.store.set("a", "2")
    let response = try client.receive()
    #expect(response.text == "1" && response.value("ETag") == "\"e.2\"" && response.value("Signal-Revision") == "e.2")
  }

  @Test func `a condition on what is not there is answered 404 when it holds`() throws {
    try server.store.set("a", "0")
    try begin("until=value+==+null&wait=5m", on: client)
    try server.store.delete("a")
    #expect(try client.receive().status == 404)
    #expect(try client.request("GET", "/properties/a?until=value+==+null&wait=5m").status == 404)
  }

  @Test func `with a cursor and a condition both have to be true`() throws {
    try server.store.set("a", "30")
    #expect(try client.request("GET", "/properties/a?until=value+>+20&since=e.1&wait=10ms").status == 304)
    try begin("until=value+>+20&since=e.1&wait=5m", on: client)
    try server.store.set("a", "1")
    try server.store.set("a", "25")
    #expect(try client.receive().text == "25")
  }

  @Test func `pointer, HEAD and conditions of the request work as without a wait`() throws {
    try server.store.set("a", #"{"x":1}"#)
    try begin("since=e.1&wait=5m&pointer=/x", on: client)
    try server.store.set("a", #"{"x":7}"#)
    #expect(try client.receive().text == "7")
    try begin("since=e.2&wait=5m&pointer=/x", on: client)
    try server.store.set("a", "5")
    #expect(try client.receive().code == "pointer_not_found")
    try begin("since=e.3&wait=5m", on: client, "If-None-Match: \"e.4\"\r\n")
    try server.store.set("a", "6")
    #expect(try client.receive().status == 304)
    let head = try client.request("HEAD", "/properties/a?since=e.1&wait=5m")
    #expect(head.status == 200 && head.value("Content-Length") == "1")
  }

  @Test func `a listed page may read the answer that it waited for`() throws {
    let server = try TestServer(live: LiveConfiguration(origins: ["https://listed.example"]))
    let client = try server.connect()
    try client.send(
      "GET /properties/a?since=e.0&wait=5m HTTP/1.1\r\nHost: x\r\nOrigin: https://listed.example\r\n\r\n")
    let deadline = ContinuousClock.now + LiveClient.patience
    while server.store.commits.observerCount == 0, ContinuousClock.now < deadline { sched_yield() }
    try server.store.set("a", "1")
    let response = try client.receive()
    #expect(response.status == 200)
    #expect(response.value("Access-Control-Allow-Origin") == "https://listed.example")
  }

  @Test func `one connection waits for one thing at a time, and the next request is answered after it`() throws {
    try begin("since=e.0&wait=5m", on: client)
    try client.send("GET /properties/b?since=e.0&wait=5m HTTP/1.1\r\nHost: x\r\n\r\n")
    try server.store.set("b", "2")
    try server.store.set("a", "1")
    #expect(try client.receive().text == "1")
    #expect(try client.receive().text == "2")
  }

  @Test func `many that wait for one property are all answered`() throws {
    let clients = try (0..<100).map { _ in try server.connect() }
    for client in clients { try client.send("GET /properties/a?since=e.0&wait=5m HTTP/1.1\r\nHost: x\r\n\r\n") }
    // Answered behind those, on each connection's loop, when they have begun.
    while server.store.commits.observerCount < 2 { sched_yield() }
    try server.store.set("a", "1")
    for client in clients { #expect(try client.receive().text == "1") }
    try settle(at: 0)
  }

  @Test func `a client that goes away while it waits leaves nothing behind`() async {
    // In a process of its own: the descriptors of other tests come and go.
    await #expect(processExitsWith: .success) {
      let server = try TestServer()
      let client = try server.connect()
      precondition(client.isAlive())
      let before = try descriptors()
      var waiting: [RawClient] = []
      for index in 0..<20 {
        let client = try server.connect()
        try client.send("GET /properties/a?since=e.0&wait=5m HTTP/1.1\r\nHost: x\r\n\r\n")
        if index % 2 == 0 { client.socket.resetAtEnd() }
        waiting.append(client)
      }
      while server.store.commits.observerCount < 2 { sched_yield() }
      waiting = []
      // The wait is over long before its time: nobody observes the store, and the descriptors are free.
      let deadline = ContinuousClock.now + LiveClient.patience
      while server.store.commits.observerCount > 0 {
        precondition(ContinuousClock.now < deadline, "somebody still observes the store")
        sched_yield()
      }
      try awaitDescriptors(atMost: before)
      precondition(client.isAlive())
    }
  }

  @Test func `a client that has ended its side before is answered without a wait`() throws {
    let client = try server.connect()
    try client.send("GET /properties/a?since=e.0&wait=5m HTTP/1.1\r\nHost: x\r\n\r\n")
    client.socket.endSending()
    // It may have been found waiting already; then the connection ends.
    let answer = String(decoding: try client.receiveToEnd(allowingReset: true), as: UTF8.self)
    #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 304 "))
    try settle(at: 0)
  }

  @Test func `a server that shuts down answers who waits`() throws {
    try begin("since=e.0&wait=5m", on: client)
    server.server.shutdown()
    let response = try client.receive()
    #expect(response.status == 304 && response.value("Connection") == "close")
    #expect(client.awaitEnd())
  }

  @Test func `the longest wait is a limit`() throws {
    var live = LiveConfiguration()
    live.limits.waitLimit = .seconds(2)
    let client = try TestServer(live: live).connect()
    let refused = try client.request("GET", "/properties/a?since=e.0&wait=2001ms")
    #expect(refused.status == 400 && refused.code == "bad_duration")
  }
}
