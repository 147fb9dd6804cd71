// SPDX-License-Identifier: MIT
package import SignalAccess
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

  /// The same, which also answers requests for past values, and asks callers who they are.
  package convenience init(
    _ configuration: ServerConfiguration, store: PropertyStore, live: LiveConfiguration, series: (any SeriesSource)?,
    authenticator: Authenticator? = nil, facts: ServerFacts = ServerFacts(), cluster: (any ClusterNode)? = nil
  ) {
    let watchers = Watchers()
    let rates = RateTable()
    let counters = ServerCounters()
    self.init(configuration, rates: rates, counters: counters) { listening, loop in
      // The last loop to begin does it for all.
      cluster?.serve(by: ForwardedCommands(on: loop), watchers: watchers)
      return LiveAPI(
        LiveService(
          store: store, configuration: live, limits: configuration.limits, watchers: watchers, rates: rates,
          series: series, authenticator: authenticator, counters: counters,
          droppedLogLines: configuration.droppedLogLines, facts: facts, observer: configuration.observer,
          audit: configuration.audit, cluster: cluster, on: loop),
        ServedHosts(live.hosts, listeningOn: listening))
    }
  }

  /// Applies other limits and other trusted proxies to connections accepted from now on, and other `hosts` and `origins`
  /// to all requests that follow; established connections keep theirs.
  ///
  /// Certificate and key files are read again; established connections keep what they have negotiated. Where a server
  /// listens, and on how many loops, is fixed when it starts, and so are the store's limits, `acceptQueue`,
  /// `unsentBytes`, and the settings of a loop's hub: `bookmarkInterval`, `snapshotBytes`, `turnProperties`,
  /// `deadbandPaths` and `conflatedBytes`, which must be unchanged.
  ///
  /// Does nothing before the start and once shutdown has begun. May be called from anywhere.
  ///
  /// - Throws: `TLSError` when one of these files cannot be used; nothing is changed then.
  public func reload(_ configuration: ServerConfiguration, live: LiveConfiguration) throws(TLSError) {
    let (limits, observer) = (configuration.limits, configuration.observer)
    try reload(configuration) { handler, listening, loop in
      guard let api = handler as? LiveAPI else { return handler }
      return api.successor(live, limits, observer, ServedHosts(live.hosts, listeningOn: listening), on: loop)
    }
  }
}
