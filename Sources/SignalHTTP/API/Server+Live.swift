// SPDX-License-Identifier: MIT
public import SignalStore

extension Server {
  /// A server of a store's properties: REST, the live protocol over WebSocket, and server-sent events
  /// (`docs/protocol.md`).
  ///
  /// ```swift
  /// let store = PropertyStore()
  /// let server = Server(store: store)
  /// try store.set("greeting", JSONText("hello"))
  /// try await server.run()          // http://127.0.0.1:8080/properties/greeting
  /// ```
  public convenience init(
    _ configuration: ServerConfiguration = ServerConfiguration(), store: PropertyStore,
    live: LiveConfiguration = LiveConfiguration()
  ) {
    let watchers = Watchers()
    self.init(configuration) { listening, loop in
      LiveAPI(
        LiveService(
          store: store, configuration: live, limits: configuration.limits, watchers: watchers,
          observer: configuration.observer, on: loop),
        ServedHosts(live.hosts, listeningOn: listening))
    }
  }
}
