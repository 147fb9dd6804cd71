// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite struct GoneClientTests {
  /// The answer to the upgrade finds out that nobody is there: the subscription of the URL must not begin, or the next
  /// change is delivered to a connection that is no more.
  @Test func `a client that resets right after it asked for events leaves nothing behind`() throws {
    let server = try TestServer()
    for target in ["/events?match=**", "/properties/a"] {
      for accept in ["", "Upgrade: websocket\r\nConnection: Upgrade\r\n"] {
        for _ in 0..<100 {
          let socket = try BlockingSocket(
            TestTransport.endpoint(port: server.port), tls: TestTransport.trust, timeout: LiveClient.patience)
          let request =
            "GET \(target) HTTP/1.1\r\nHost: localhost\r\n\(accept)Sec-WebSocket-Version: 13\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
          try socket.send(Array(request.utf8), by: Deadline(after: LiveClient.patience))
          socket.resetAtEnd()
        }
      }
    }
    let watcher = try LiveClient(server, query: "match=**")
    for value in 1...20 {
      try server.store.set("a", JSONText(value))
      _ = try watcher.next { $0.int("value") == value }
    }
  }
}
