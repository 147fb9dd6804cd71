// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// Requests whose work does not fit into one turn of their loop are answered all the same, and others meanwhile.
@Suite("Requests, bounded work")
struct BoundedRequestTests {
  /// Some thousand units each time, and true.
  private static let expensive = "size(lists.range(1000).filter(x,x==-1))==0"

  private func server(turnWork: Int, requestWork: Int? = nil, properties: Int) throws -> TestServer {
    var limits = Limits()
    limits.turnWork = turnWork
    var live = LiveConfiguration()
    if let requestWork { live.limits.requestWork = requestWork }
    let server = try TestServer(live: live, limits: limits, loops: 1)
    for number in 0..<properties { try server.store.set("p/\(number + 1000)", "\(number)") }
    return server
  }

  @Test(arguments: [1, 20_000, 100_000])
  func `a list over several turns is the same as in one`(_ turnWork: Int) throws {
    let server = try server(turnWork: turnWork, properties: 60)
    let client = try server.connect()
    // Three of them in a row: their answers keep their order.
    let query = "GET /properties?where=\(Self.expensive)&limit="
    let requests = [60, 5, 200].map { "\(query)\($0) HTTP/1.1\r\nHost: x\r\n\r\n".replacing("==", with: "%3D%3D") }
    try client.send(requests.joined())
    for count in [60, 5, 60] {
      let list = try LiveMessage(try client.receive().text)
      #expect(list.objects("properties").count == count)
    }
  }

  @Test func `another connection is served while a list is under way`() throws {
    let server = try server(turnWork: 1, properties: 100)
    let lister = try server.connect()
    let query = Self.expensive.replacing("==", with: "%3D%3D")
    for _ in 0..<20 {
      try lister.send("GET /properties?where=\(query)&limit=1000 HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(try server.connect().request("GET", "/properties/p/1000").status == 200)
    }
    for _ in 0..<20 { #expect(try LiveMessage(try lister.receive().text).objects("properties").count == 100) }
  }

  @Test func `a page ends when the request's work is done, and the next begins there`() throws {
    let server = try server(turnWork: 5000, requestWork: 30_000, properties: 60)
    let client = try server.connect()
    var next: String?
    var found = 0
    var pages = 0
    repeat {
      let query = "where=\(Self.expensive)&limit=1000".replacing("==", with: "%3D%3D")
      let page = try LiveMessage(
        try client.request("GET", "/properties?\(query)" + (next.map { "&after=\($0)" } ?? "")).text)
      found += page.objects("properties").count
      next = page.string("next")
      pages += 1
    } while next != nil && pages < 100
    #expect(found == 60 && (5..<60).contains(pages))
  }

  @Test func `an explanation says that it has not looked at all`() throws {
    let body = #"{"where":"\#(Self.expensive)"}"#
    let whole = try server(turnWork: 5000, properties: 60).connect().request(
      "POST", "/expressions/explain", body: body)
    #expect(
      whole.text.hasSuffix(#""properties":{"examined":60,"matching":60,"failed":0,"all":true}}"#), "\(whole.text)")
    let cut = try server(turnWork: 5000, requestWork: 30_000, properties: 60).connect().request(
      "POST", "/expressions/explain", body: body)
    #expect(cut.status == 200 && cut.text.hasSuffix(#""failed":0,"all":false}}"#), "\(cut.text)")
  }

  @Test func `many who wait are answered over several turns`() throws {
    let server = try server(turnWork: 1, properties: 0)
    try server.store.set("a", "1")
    let query = "until=\(Self.expensive)%26%26value>1".replacing("==", with: "%3D%3D").replacing(">", with: "%3E")
    let clients = try (0..<20).map { _ in
      try server.connect(sending: "GET /properties/a?\(query)&wait=1m HTTP/1.1\r\nHost: x\r\n\r\n")
    }
    let now = try server.connect().request("GET", "/properties/a?\(query)")
    #expect(now.status == 304)
    // Behind the others, so they have been received.
    try server.store.set("a", "2")
    for client in clients {
      let answer = try client.receive()
      #expect(answer.status == 200 && answer.text == "2")
    }
  }

  @Test func `a filter that costs too much fails`() throws {
    let server = try server(turnWork: 100_000, properties: 3)
    let query = "size(lists.range(20000).filter(x,x==-1))==0".replacing("==", with: "%3D%3D")
    let list = try LiveMessage(try server.connect().request("GET", "/properties?where=\(query)").text)
    #expect(list.objects("properties").isEmpty)
    // A formula may cost more.
    let client = try server.connect()
    let body = "size(lists.range(20000).filter(x, x == properties['p/1000']))"
    #expect(
      try client.request("PUT", "/properties/f", fields: [("Content-Type", "application/cel")], body: body).status
        == 201)
    #expect(try client.request("GET", "/properties/f").text == "1")
  }
}
