// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Connections that come and go")
struct ConnectionLifeTests {
  @Test func `a second round of 500 idle connections adds no descriptor`() async {
    await #expect(processExitsWith: .success) {
      let test = try TestServer()
      func round() throws {
        var clients: [RawClient] = []
        for index in 0..<500 {
          let client = try test.connect()
          if index.isMultiple(of: 5) { try client.send("GET / HTT") }
          if index.isMultiple(of: 3) { client.socket.resetAtEnd() }
          clients.append(client)
        }
        #expect(try test.connect().isAlive())
      }
      #expect(try test.connect().isAlive())
      let before = try descriptors()
      for _ in 0..<2 {
        try round()
        try awaitDescriptors(atMost: before)
      }
    }
  }

  @Test func `a client that has sent its last and reads on gets its answer`() throws {
    let test = try TestServer()
    let client = try test.connect(
      sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1"
        + "GET /properties/a HTTP/1.1\r\nHost: x\r\n\r\n")
    client.socket.endSending()
    #expect(try client.receive().status == 201)
    #expect(try client.receive().text == "1")
    #expect(client.awaitEnd())
  }

  @Test func `a client that has sent its last and waits for a large answer gets all of it`() throws {
    let test = try TestServer()
    let value = "\"" + String(repeating: "x", count: 1_000_000) + "\""
    try test.store.set("a", value)
    let client = try RawClient(test, receiveBuffer: 4096)
    for _ in 0..<8 { try client.send("GET /properties/a HTTP/1.1\r\nHost: x\r\n\r\n") }
    client.socket.endSending()
    for _ in 0..<8 { #expect(try client.receive().body.count == value.utf8.count) }
    #expect(client.awaitEnd())
  }

  @Test func `a client that breaks the connection at any moment harms nobody`() throws {
    let test = try TestServer()
    try test.store.set("a", "\"" + String(repeating: "x", count: 200_000) + "\"")
    let watcher = try LiveClient(test)
    _ = try watcher.subscribe(#""match":"b""#)
    let deeds = [
      "", "GET /prop", "GET /properties/a HTTP/1.1\r\nHost: x\r\n\r\n",
      String(repeating: "GET /properties/a HTTP/1.1\r\nHost: x\r\n\r\n", count: 20),
      "PUT /properties/c HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n1", "BROKEN\r\n\r\n",
      "GET /events?match=** HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /events?match=** HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    ]
    for round in 0..<10 {
      for deed in deeds {
        let client = try test.connect(sending: deed)
        client.socket.resetAtEnd()
        // Sometimes the server has begun to answer, sometimes not.
        if round.isMultiple(of: 2), deed.contains("\r\n\r\n"), !deed.hasPrefix("PUT") {
          _ = try client.receive(within: .seconds(1))
        }
      }
      try test.store.set("b", "\(round)")
      #expect(try watcher.next().raw("value") == "\(round)")
    }
    #expect(test.store.contents.count == 2)
    #expect(try test.connect().isAlive())
  }
}
