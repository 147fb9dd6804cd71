// SPDX-License-Identifier: MIT
import Dispatch
import JSON
import SignalCluster
import SignalHTTP
import SignalStore
import Synchronization
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

/// A node in the process of the test: its member, and a server.
final class TestNode: Sendable {
  let member: ClusterMember
  let store: PropertyStore
  let server: TestServer
  let events: EventLog

  /// What nodes have told.
  final class EventLog: Sendable {
    private let events = Mutex<[ClusterEvent]>([])
    var all: [ClusterEvent] { events.withLock { $0 } }
    func add(_ event: ClusterEvent) { events.withLock { $0.append(event) } }
  }

  init(
    _ name: String, _ engine: Engine, _ limits: Limits = Limits(),
    configure: (inout ClusterConfiguration) -> Void = { _ in }
  ) throws {
    var configuration = Self.configuration(name, engine)
    configure(&configuration)
    let events = EventLog()
    let member = try ClusterMember(
      configuration, session: Epoch.random().description, seed: .random(in: 0 ... .max)
    ) { events.add($0) }
    let made = Mutex<PropertyStore?>(nil)
    let ready = DispatchSemaphore(value: 0)
    member.start { store in
      made.withLock { $0 = store }
      ready.signal()
    }
    guard ready.wait(timeout: .now() + 60) == .success, let store = made.withLock({ $0 }) else {
      throw EngineError("\(name) is not ready: \(events.all)")
    }
    self.events = events
    self.member = member
    self.store = store
    server = try TestServer(store: store, limits: limits, cluster: member)
  }

  /// What a node needs to know.
  static func configuration(_ name: String, _ engine: Engine) -> ClusterConfiguration {
    var configuration = ClusterConfiguration(
      name: "test", node: name,
      nats: NATSConfiguration(servers: [.tcp(host: "127.0.0.1", port: engine.port)], name: name),
      secret: Array("secret".utf8)
    ) { source throws(FormulaError) in try LiveConfiguration().keptFormula(source) }
    configuration.replicas = 1
    configuration.logBytes = 64 << 20
    return configuration
  }

  /// Leaves the cluster, as at SIGTERM.
  func leave() {
    let left = DispatchSemaphore(value: 0)
    member.end { left.signal() }
    _ = left.wait(timeout: .now() + 10)
  }
}
