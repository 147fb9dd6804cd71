// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// Programs that are generated from `openapi.yaml` encode every `/` of a path.
@Suite("REST §2.1, %2F in a path")
struct EncodedSlashTests {
  private let server: TestServer
  private let client: RawClient

  init() throws {
    server = try TestServer()
    client = try server.connect()
  }

  @Test(arguments: ["kitchen%2Flight", "kitchen%2flight", "kitchen/light", "%6bitchen%2Flight"])
  func `it separates segments, in every method of a property`(path: String) throws {
    let target = "/properties/\(path)"
    let created = try client.request("PUT", target, body: #"{"on":true}"#)
    #expect(created.status == 201 && created.value("Location") == target)
    #expect(server.store.contents == ["kitchen/light": #"{"on":true}"#])
    #expect(try client.request("GET", target).text == #"{"on":true}"#)
    #expect(try client.request("HEAD", target).status == 200)
    #expect(try client.request("GET", "\(target)?pointer=/on").text == "true")
    let patch = [("Content-Type", "application/merge-patch+json")]
    #expect(try client.request("PATCH", target, fields: patch, body: #"{"on":false}"#).status == 204)
    #expect(server.store.contents == ["kitchen/light": #"{"on":false}"#])
    #expect(try client.request("GET", "\(target)?until=value.on==false&wait=5s").status == 200)
    #expect(try client.request("DELETE", target).status == 204)
    #expect(server.store.contents.isEmpty)
  }

  @Test func `it separates segments of signals and timers`() throws {
    let live = try LiveClient(server)
    _ = try live.subscribe(#""signals":"doorbell/front""#)
    #expect(try client.request("POST", "/signals/doorbell%2Ffront", body: "1").status == 204)
    #expect(try live.next().path == "doorbell/front")
    #expect(try client.request("PUT", "/timers/tea%2Fgreen", body: #"{"after":"1h"}"#).status == 201)
    #expect(try client.request("GET", "/timers/tea/green").status == 200)
    #expect(try client.request("DELETE", "/timers/tea%2fgreen").status == 204)
  }

  @Test(arguments: ["%2Fa", "a%2F", "a%2F%2Fb", "a%2F/b", "a/%2Fb", "%2F", "a%2F..%2Fb", "a%2F*"])
  func `the rules of paths hold for it as for a slash`(path: String) throws {
    for (method, family) in [("GET", "properties"), ("PUT", "properties"), ("POST", "signals"), ("PUT", "timers")] {
      let response = try client.request(method, "/\(family)/\(path)", body: method == "GET" ? nil : "1")
      #expect(response.status == 400 && response.code == "bad_path", "\(method) \(family)")
    }
    #expect(server.store.contents.isEmpty)
    #expect(client.isAlive())
  }

  @Test func `an encoded percent sign is one, and belongs to its segment`() throws {
    #expect(try client.request("PUT", "/properties/a%252Fb", body: "1").status == 201)
    #expect(server.store.contents == ["a%2Fb": "1"])
  }
}
