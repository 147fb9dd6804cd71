// SPDX-License-Identifier: MIT
package import SignalHTTP
package import SignalStore

/// A server on a port that the system picked, for as long as the test holds it.
package final class TestServer: Sendable {
  package let store: PropertyStore
  package let server: Server
  package let port: UInt16

  /// Starts a server of a store; two loops unless told otherwise, so that hand-over between loops is tested always.
  package init(
    store: PropertyStore = PropertyStore(), live: LiveConfiguration = LiveConfiguration(), limits: Limits = Limits(),
    loops: Int = 2
  ) throws {
    self.store = store
    server = Server(ServerConfiguration(port: 0, loops: loops, limits: limits), store: store, live: live)
    try server.start()
    port = server.address?.port ?? 0
  }

  deinit { server.shutdown() }
}
