// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

@Suite("§11 The server itself")
struct ServerRouteTests {
  private func connections(_ server: TestServer) throws -> [LiveMessage] {
    try LiveMessage(server.connect().request("GET", "/server/connections").text).objects("connections")
  }

  @Test func `its state has what it is and holds`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let response = try server.connect().request("GET", "/server")
    #expect(response.status == 200 && response.value("Cache-Control") == "no-store")
    let state = try LiveMessage(response.text)
    #expect(state.string("version") == Server.version && state.string("cursor") == "e.1")
    #expect(state.int("properties") == 1 && state.int("loops") == 2)
    #expect((state.int("connections") ?? 0) >= 1 && Timestamp(state.string("started") ?? "") != nil)
  }

  @Test func `connections are told with what they subscribe to`() throws {
    let server = try TestServer()
    let live = try LiveClient(server)
    _ = try live.subscribe(#""match":["a/**","b"],"where":"value > 1","delivery":{"mode":"latest","maxRate":2}"#)
    try live.send(#"{"id":2,"type":"subscribe","signals":["bell"]}"#)
    try live.send(#"{"id":3,"type":"subscribe","demand":["c/**"]}"#)
    _ = try live.settle()
    let stream = try EventStreamClient(server, query: "match=d")
    _ = try stream.next()
    let all = try connections(server)
    let socket = try #require(all.first { $0.string("kind") == "websocket" })
    #expect(
      socket.raw("subscriptions") == """
        [{"id":1,"match":["a/**","b"],"where":"value > 1","mode":"latest","maxRate":2,"gaps":0,"behind":false},\
        {"id":2,"signals":["bell"],"gaps":0,"behind":false},{"id":3,"demand":["c/**"],"gaps":0,"behind":false}]
        """)
    #expect(socket.string("peer")?.contains("127.0.0.1") == true && socket.int("backlog") == 0)
    #expect(Timestamp(socket.string("since") ?? "") != nil && socket.object("identity") == nil)
    let other = try #require(all.first { $0.string("kind") == "event_stream" })
    #expect(other.raw("subscriptions") == #"[{"id":1,"match":["d"],"gaps":0,"behind":false}]"#)
    #expect(all.contains { $0.string("kind") == "http" && $0.raw("subscriptions") == nil })
    #expect(Set(all.compactMap { $0.string("id") }).count == all.count)
  }

  @Test func `gaps are counted`() throws {
    let server = try TestServer(loops: 1)
    let live = try LiveClient(server)
    _ = try live.subscribe(#""match":"a","delivery":{"maxRate":1000}"#)
    for number in 0..<5 { try server.store.set("a", JSONText(number)) }
    let events = try live.next { $0.raw("value") == "4" }
    let gaps = events.count { $0.string("type") == "gap" }
    let told = try connections(server).flatMap { $0.objects("subscriptions") }.compactMap { $0.int("gaps") }
    #expect(told == [gaps])
  }

  @Test func `pages go from loop to loop, and tell each connection once`() throws {
    let server = try TestServer(loops: 3)
    let others = try (0..<10).map { _ in try LiveClient(server) }
    let client = try server.connect()
    var ids: [String] = []
    var after = ""
    repeat {
      let page = try LiveMessage(client.request("GET", "/server/connections?limit=2\(after)").text)
      let found = page.objects("connections").filter { $0.string("kind") == "websocket" }.compactMap { $0.string("id") }
      #expect(page.objects("connections").count <= 2)
      ids += found
      after = page.string("next").map { "&after=\($0)" } ?? ""
    } while !after.isEmpty
    #expect(ids.count == others.count && Set(ids).count == ids.count)
    #expect(Set(ids.map { $0.prefix(1) }).count == 3)
    for query in ["after=x", "after=1", "after=1-2-3", "after=-1-0", "limit=0", "after=+1-2", "limit=1001"] {
      #expect(try client.request("GET", "/server/connections?\(query)").status == 400, "\(query)")
    }
    #expect(try client.request("GET", "/server/connections?after=99-99").text == #"{"connections":[]}"#)
  }

  @Test func `many subscriptions of one connection are cut`() throws {
    let server = try TestServer()
    let live = try LiveClient(server)
    let long = String(repeating: "x", count: 200)
    for number in 1...100 {
      try live.send(#"{"id":\#(number),"type":"subscribe","initial":false,"match":"\#(long)/\#(number)"}"#)
    }
    _ = try live.settle()
    let socket = try #require(try connections(server).first { $0.string("kind") == "websocket" })
    let told = socket.objects("subscriptions").count
    #expect(told < 100 && told + (socket.int("more") ?? 0) == 100)
  }

  @Test func `an administrator ends connections`() throws {
    let server = try TestServer()
    let live = try LiveClient(server)
    let stream = try EventStreamClient(server, query: "match=d")
    _ = try stream.next()
    let idle = try server.connect()
    #expect(idle.isAlive())
    let client = try server.connect()
    let own = try connections(server).count
    #expect(own >= 4)
    for connection in try connections(server) where connection.string("kind") != "http" {
      let response = try client.request("DELETE", "/server/connections/\(connection.string("id") ?? "")")
      #expect(response.status == 204)
    }
    #expect(try live.awaitClose().code == .ended)
    let rest = try stream.rest()
    #expect("\(rest)".contains("an administrator has ended the connection"))
    for name in ["0-0-99", "9-0-0", "x", "1-2", "0-99999-0", "0-4294967295-4294967295", "0-0-0-0"] {
      let refused = try client.request("DELETE", "/server/connections/\(name)")
      #expect(refused.status == 404 && refused.code == "no_such_connection", "\(name)")
    }
    #expect(client.isAlive())
  }

  @Test func `settings are those that the program tells`() throws {
    let facts = ServerFacts()
    facts.set([
      ServerFacts.Setting(name: "port", value: "8080", source: "default", summary: "where", pending: "8081"),
      ServerFacts.Setting(name: "loops", value: "0", source: "f.yaml:3", summary: "how \"many\""),
    ])
    #expect(
      try TestServer(facts: facts).connect().request("GET", "/server/settings").text == """
        {"settings":[{"name":"port","value":"8080","source":"default","summary":"where","pending":"8081"},\
        {"name":"loops","value":"0","source":"f.yaml:3","summary":"how \\"many\\""}]}
        """)
    #expect(try TestServer().connect().request("GET", "/server/settings").text == #"{"settings":[]}"#)
  }

  @Test func `where there are rules, they are for administrators`() throws {
    var live = LiveConfiguration()
    live.policy = try AccessPolicy(
      AccessRules(admin: "auth.role == 'admin'", rules: [AccessRule(match: "**", conditions: ["read": "true"])]))
    let server = try TokenServer(live: live)
    let ann = try server.make("ann")
    let admin = try server.make("root", claims: #"{"role":"admin"}"#)
    for (method, path) in [
      ("GET", "/server"), ("GET", "/server/settings"), ("GET", "/server/connections"),
      ("DELETE", "/server/connections/0-0-0"),
    ] {
      let unknown = try server.request(method, path)
      #expect(unknown.status == 401 && unknown.code == "unauthenticated", "\(method) \(path)")
      let other = try server.request(method, path, ann)
      #expect(other.status == 403 && other.code == "forbidden", "\(method) \(path)")
      #expect(![401, 403].contains(try server.request(method, path, admin).status), "\(method) \(path)")
    }
    let told = try LiveMessage(server.request("GET", "/server/connections", admin).text).objects("connections")
    #expect(told.allSatisfy { $0.object("identity") == nil })
  }
}
