// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Limits of memory")
struct MemoryLimitTests {
  /// The least that there can be: about 3 MiB for requests under way, as much for subscriptions.
  private static var limits: Limits {
    var limits = Limits()
    limits.memory = 64 << 20
    return limits
  }

  @Test func `requests whose bodies have not come are refused when there are too many bytes of them`() throws {
    let server = try TestServer(limits: Self.limits)
    for _ in 0..<2 {
      let half = [UInt8](repeating: UInt8(ascii: "1"), count: 500_000)
      var clients: [RawClient] = []
      for _ in 0..<12 {
        let client = try server.connect()
        try client.send("PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000002\r\n\r\n\"")
        try client.send(half)
        clients.append(client)
      }
      // Who is served meanwhile is served.
      #expect(try server.connect().request("GET", "/health/live").status == 200)
      try server.store.set("b", "1")
      var statuses: [Int] = []
      for client in clients {
        // One that was refused may be closed already.
        try? client.send(half)
        try? client.send("\"")
        let response = try client.receive()
        statuses.append(response.status)
        if response.status == 503 {
          #expect(response.code == "memory_full" && response.value("Connection") == "close")
          #expect(response.value("Retry-After") == "1")
        }
      }
      #expect(statuses.contains(503), "\(statuses)")
      #expect(statuses.allSatisfy { [201, 204, 503].contains($0) }, "\(statuses)")
      // In a second round there is as much room as in the first: nothing has been kept.
      #expect(statuses.contains { $0 != 503 }, "\(statuses)")
    }
  }

  @Test func `the state of the server has its memory, where that has a limit`() throws {
    let ready = try TestServer(limits: Self.limits).connect().request("GET", "/health/ready").text
    let match = try #require(ready.wholeMatch(of: /{"status":"ready","memory":{"inUse":([0-9]+),"limit":67108864}}/))
    #expect(Int(match.1).map { $0 > 1 << 20 } == true, "\(ready)")
    #expect(try TestServer().connect().request("GET", "/health/ready").text == #"{"status":"ready"}"#)
  }

  @Test func `messages that have not come as a whole are refused when there are too many bytes of them`() throws {
    let server = try TestServer(limits: Self.limits)
    var clients: [LiveClient] = []
    for _ in 0..<12 {
      let client = try LiveClient(server)
      _ = try client.ask(#"{"id":1,"type":"ping"}"#)
      // The first frame of a message that goes on.
      let blanks = [UInt8](repeating: UInt8(ascii: " "), count: 600_000)
      try client.socket.send(raw: frame(blanks, opcode: 1, isLast: false), timeout: LiveClient.patience)
      clients.append(client)
    }
    #expect(try server.connect().request("GET", "/health/live").status == 200)
    var codes: [CloseCode?] = []
    for client in clients {
      do {
        let rest = Array(#"{"id":2,"type":"ping"}"#.utf8)
        try client.socket.send(raw: frame(rest, opcode: 0, isLast: true), timeout: LiveClient.patience)
        codes.append(try client.next().type == "ok" ? nil : .normal)
      } catch LiveClient.Failure.closed(let frame) {
        codes.append(frame.code)
      }
    }
    #expect(codes.contains(.tryAgainLater) && codes.contains(nil), "\(codes)")
    #expect(codes.allSatisfy { $0 == nil || $0 == .tryAgainLater }, "\(codes)")
  }

  /// A masked frame of a client (RFC 6455 §5.2); a mask of zeros leaves the payload as it is.
  private func frame(_ payload: [UInt8], opcode: UInt8, isLast: Bool) -> [UInt8] {
    let length = UInt64(payload.count)
    let first: UInt8 = (isLast ? 0x80 : 0) | opcode
    if length < 126 { return [first, 0x80 | UInt8(length), 0, 0, 0, 0] + payload }
    let header: [UInt8] = [first, 0x80 | 127]
    return header + (0..<8).map { UInt8(truncatingIfNeeded: length >> (56 - 8 * $0)) } + [0, 0, 0, 0] + payload
  }

  @Test func `subscriptions are refused when there is no room for them, and leave it when they end`() throws {
    let server = try TestServer(limits: Self.limits)
    let client = try LiveClient(server)
    let patterns = (0..<32).map { "\"" + String(repeating: "p", count: 200) + "/\($0)\"" }.joined(separator: ",")
    func subscribe(_ id: Int) throws -> LiveMessage {
      try client.ask(#"{"id":\#(id),"type":"subscribe","initial":false,"match":[\#(patterns)]}"#)
    }
    for _ in 0..<2 {
      var count = 0
      var last = try subscribe(1)
      while last.type == "ok" {
        count += 1
        _ = try client.next()
        last = try subscribe(count + 1)
      }
      #expect(last.object("error")?.string("code") == "memory_full" && last.object("error")?.int("status") == 503)
      #expect((25..<35).contains(count), "\(count)")
      // What is left is room for small ones.
      let other = try LiveClient(server)
      var reply = try other.ask(#"{"id":1,"type":"subscribe","initial":false,"match":"a"}"#)
      while reply.type == "ok" {
        _ = try other.next()
        reply = try other.ask(#"{"id":1,"type":"subscribe","initial":false,"match":"a"}"#)
      }
      #expect(reply.object("error")?.string("code") == "memory_full")
      #expect(try server.connect().request("GET", "/events?match=a").code == "memory_full")
      #expect(try server.connect().request("GET", "/health/live").status == 200)
      try other.socket.close()
      for id in 1...count {
        #expect(try client.ask(#"{"id":1,"type":"unsubscribe","subscription":\#(id)}"#).type == "ok")
      }
    }
  }
}
