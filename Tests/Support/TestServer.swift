// SPDX-License-Identifier: MIT
import JSON
package import SignalAccess
package import SignalHTTP
package import SignalStore

/// A server on a port that the system picked, for as long as the test holds it.
package final class TestServer: Sendable {
  package let store: PropertyStore
  package let server: Server
  package let port: UInt16

  /// Once, before the first.
  private static let isDescriptorLimitRaised: Bool = {
    raiseDescriptorLimit()
    return true
  }()

  /// Starts a server of a store; two loops unless told otherwise, so that hand-over between loops is tested always.
  ///
  /// - Parameter hosts: the names it answers to, where `live` has none: any, so that a test can call it as it likes.
  package init(
    store: PropertyStore = .forTests(), live: LiveConfiguration = LiveConfiguration(), limits: Limits = Limits(),
    loops: Int = 2, hosts: [String] = ["*"], series: (any SeriesSource)? = nil,
    authenticator: Authenticator? = nil, facts: ServerFacts = ServerFacts(), cluster: (any ClusterNode)? = nil,
    observer: (@Sendable (ServerEvent) -> Void)? = nil
  ) throws {
    precondition(Self.isDescriptorLimitRaised)
    self.store = store
    var live = live
    if live.hosts.isEmpty { live.hosts = hosts }
    server = Server(
      ServerConfiguration(
        listeners: [TestTransport.listener], loops: loops, limits: limits, observer: observer), store: store,
      live: live,
      series: series, authenticator: authenticator, facts: facts, cluster: cluster)
    try server.start()
    port = server.address?.port ?? 0
  }

  deinit { server.shutdown() }

  /// A new connection.
  package func connect() throws -> RawClient { try RawClient(self) }

  /// A new connection over which these bytes have been sent.
  package func connect(sending text: String) throws -> RawClient {
    let client = try RawClient(self)
    try client.send(text)
    return client
  }

  /// A new connection on which the server has received the beginning of a request, and waits for its rest.
  package func connect(beginning text: String) throws -> RawClient {
    // In one piece with a request before it, whose response shows that it has arrived.
    let client = try connect(sending: "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n" + text)
    _ = try client.receive()
    return client
  }
}

extension PropertyStore {
  /// A store whose history is named `e` and in which it is always 2026-01-02T03:04:05.678Z.
  package static func forTests(
    limits: StoreLimits = StoreLimits(), timers: any TimerClock = DispatchClock()
  ) -> PropertyStore {
    guard let epoch = Epoch("e") else { preconditionFailure("a letter is an epoch") }
    return PropertyStore(epoch: epoch, limits: limits, timers: timers) { Timestamp(milliseconds: 1_767_323_045_678) }
  }

  /// Gives a property a value, in the words of a test.
  @discardableResult
  package func set(_ path: String, _ value: String, always: Bool = false) throws -> OperationResult {
    try set(PropertyPath(path), JSONText(validating: value), always: always)
  }

  /// Removes a property.
  @discardableResult
  package func delete(_ path: String) throws -> OperationResult { try delete(PropertyPath(path)) }

  /// Gives properties values, and removes those whose value is nil, all at once.
  @discardableResult
  package func transact(_ changes: KeyValuePairs<String, String?>) throws -> TransactionResult {
    try transact(
      changes.map { path, value in
        guard let value else { return .delete(try PropertyPath(path)) }
        return .set(try PropertyPath(path), try JSONText(validating: value))
      })
  }

  /// The value at a path as text.
  package func text(_ path: String) throws -> String? { get(try PropertyPath(path))?.value.description }

  /// All properties, as texts by path.
  package var contents: [String: String] {
    var contents: [String: String] = [:]
    for stored in snapshot().scan() { contents[stored.path.description] = stored.value.description }
    return contents
  }
}

extension ServerError {
  /// The system's number of what went wrong; nil when it was not the system.
  package var code: Int32? { if case .system(let error) = self { error.code } else { nil } }
}
