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
    self.init(configuration, store: store, live: live, series: nil)
  }

  /// The same, of which also what properties were can be asked.
  package convenience init(
    _ configuration: ServerConfiguration, store: PropertyStore, live: LiveConfiguration, series: (any SeriesSource)?
  ) {
    let watchers = Watchers()
    self.init(configuration) { listening, loop in
      LiveAPI(
        LiveService(
          store: store, configuration: live, limits: configuration.limits, watchers: watchers, series: series,
          observer: configuration.observer, on: loop),
        ServedHosts(live.hosts, listeningOn: listening))
    }
  }

  /// Holds connections that are accepted from now on to other limits, and all requests that follow to other `hosts` and
  /// `origins`; what is established keeps what it has.
  ///
  /// Files of certificates and keys are read again; connections that are there keep what they have agreed upon. Of the configuration its limits and its observer count: where a server listens, and on how many loops, is settled
  /// when it starts, and so are the store's limits, `acceptQueue`, and what a loop's hub is made with: `bookmarkInterval`,
  /// `snapshotBytes`, `turnProperties`, `deadbandPaths` and `conflatedBytes`, which have to be as they were.
  ///
  /// Does nothing before the start and once shutdown has begun. May be called from anywhere.
  ///
  /// - Throws: `TLSError` when one of these files cannot be used; everything stays as it was then.
  public func reload(_ configuration: ServerConfiguration, live: LiveConfiguration) throws(TLSError) {
    let (limits, observer) = (configuration.limits, configuration.observer)
    try reload(limits: limits, observer: observer) { handler, listening, _ in
      guard let api = handler as? LiveAPI else { return handler }
      return api.successor(live, limits, observer, ServedHosts(live.hosts, listeningOn: listening))
    }
  }
}
