// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import Synchronization
import TestSupport
import Testing

/// What a program around a server is told of connections and refusals.
@Suite("The observer of a server")
struct ObserverTests {
  /// What has been told, in the order in which it was.
  private final class Record: Sendable {
    private let events = Mutex<[ServerEvent]>([])

    func add(_ event: ServerEvent) { events.withLock { $0.append(event) } }

    var kinds: [ServerEvent.Kind] { events.withLock { $0.map(\.kind) } }
    var peers: [String?] { events.withLock { $0.map { $0.peer?.description } } }

    /// Waits until so many have been told, and gives them.
    func kinds(_ count: Int) -> [ServerEvent.Kind] {
      let end = ContinuousClock.now + .seconds(20)
      while kinds.count < count, ContinuousClock.now < end { Thread.sleep(forTimeInterval: 0.005) }
      return kinds
    }
  }

  private func observed(_ limits: Limits = Limits()) throws -> (TestServer, Record) {
    let record = Record()
    return (try TestServer(limits: limits, observer: { record.add($0) }), record)
  }

  @Test func `a connection is told with its peer, from its beginning to its end`() throws {
    let (server, record) = try observed()
    do {
      let client = try server.connect()
      #expect(try client.request("PUT", "/properties/a", body: "1").status == 201)
      #expect(record.kinds == [.opened])
    }
    #expect(record.kinds(2) == [.opened, .closed])
    #expect(record.peers.allSatisfy { $0?.hasPrefix("127.0.0.1:") == true } && Set(record.peers).count == 1)
  }

  @Test(
    arguments: [
      ("GET /properties/none?pointer=/secret HTTP/1.1\r\nHost: x\r\n\r\n", "GET", "/properties/none", 404, "not_found"),
      (
        "PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nsecret", "PUT", "/properties/a", 400,
        "bad_json"
      ),
      (
        "POST /events HTTP/1.1\r\nHost: x\r\nOrigin: http://evil\r\nContent-Length: 0\r\n\r\n", "POST", "/events", 403,
        "origin_refused"
      ),
      ("POST /events HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "POST", "/events", 405, "method_not_allowed"),
      (
        "GET /events?match=a HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", "GET",
        "/events",
        426, "upgrade_required"
      ),
      (
        "PUT /none HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n", "PUT", "/none", 404,
        "no_such_route"
      ),
      ("GET secret HTTP/1.1\r\nHost: x\r\n\r\n", "", "", 400, "bad_request"),
      ("GET / HTTP/9.9\r\nHost: x\r\n\r\n", "", "", 505, "version_not_supported"),
    ] as [(String, String, String, Int, String)])
  func `a request that is refused is told with its route and code, and nothing that was sent`(
    bytes: String, method: String, path: String, status: Int, code: String
  ) throws {
    let (server, record) = try observed()
    let client = try server.connect(sending: bytes)
    #expect(try client.receive().status == status)
    let expected = ServerEvent.Kind.refused(method: method, path: path, status: status, code: code)
    #expect(record.kinds(2).prefix(2) == [.opened, expected])
    #expect(!"\(record.kinds)".contains("secret"))
    #expect(try server.connect().request("GET", "/health/live").status == 200)
  }

  @Test func `commands that are refused and the codes of closings are told`() throws {
    let (server, record) = try observed()
    let client = try LiveClient(server)
    try client.send(#"{"id":1,"type":"get","path":"none"}"#)
    #expect(try client.next().type == "error")
    try client.send("secret")
    #expect(try client.next().type == "error")
    try client.socket.send(.binary, [1])
    #expect(throws: (any Error).self) { try client.next() }
    let kinds = record.kinds(4)
    #expect(kinds.count >= 4 && kinds[1] == .refusedCommand(status: 404, code: "not_found"))
    #expect(kinds[2] == .refusedCommand(status: 400, code: "bad_json"))
    guard case .closing(.unsupportedData, _) = kinds[3] else {
      Issue.record("\(kinds)")
      return
    }
    server.server.shutdown()
  }

  @Test func `a connection over the limit is told`() throws {
    var limits = Limits()
    limits.connections = 1
    let (server, record) = try observed(limits)
    let first = try server.connect()
    #expect(try first.request("GET", "/health/live").status == 200)
    #expect(try server.connect().request("GET", "/secret").status == 503)
    #expect(
      record.kinds(3).prefix(3) == [
        .opened, .opened, .refused(method: "GET", path: "/secret", status: 503, code: "too_many_connections"),
      ])
  }

  @Test func `a filter that fails for a change is told with the path`() throws {
    let (server, record) = try observed()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":["**"],"where":"value.temp + 1 > 2""#)
    try server.store.set("a", "1")
    try server.store.set("b", #"{"temp":2}"#)
    #expect(try client.next().string("path") == "b")
    #expect(record.kinds.dropFirst().contains(.filterFailed(path: "a", filters: 1)))
  }
}
