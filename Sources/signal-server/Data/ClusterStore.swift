// SPDX-License-Identifier: MIT
import Dispatch
import Logging
import SignalAccess
import SignalCluster
import SignalHTTP
import SignalStore
import Synchronization

/// The store of a node of a cluster.
enum ClusterStore {
  /// Joins the cluster that the settings name, and waits until it is known whom to follow.
  static func join(_ settings: Settings, _ logger: Logger) throws(Failure) -> (PropertyStore, ClusterMember) {
    let configuration = try configuration(settings)
    let session = String(Epoch.random().description.prefix(6))
    let member: ClusterMember
    do throws(SystemError) {
      member = try ClusterMember(configuration, session: session, seed: .random(in: 0 ... .max)) { event in
        note(event, logger)
      }
    } catch {
      throw Failure(.system, "cannot join the cluster: \(error)")
    }
    let made = Mutex<PropertyStore?>(nil)
    let ready = DispatchSemaphore(value: 0)
    logger.info(
      "joining a cluster",
      metadata: ["cluster": "\(configuration.name)", "node": "\(configuration.node)", "session": "\(session)"])
    member.start { store in
      made.withLock { $0 = store }
      ready.signal()
    }
    ready.wait()
    guard let store = made.withLock({ $0 }) else { preconditionFailure("A node is ready with its store.") }
    return (store, member)
  }

  /// Leaves the cluster, so that another node leads at once.
  static func leave(_ member: ClusterMember) {
    let done = DispatchSemaphore(value: 0)
    member.end { done.signal() }
    _ = done.wait(timeout: .now() + 5)
  }

  private static func configuration(_ settings: Settings) throws(Failure) -> ClusterConfiguration {
    let cluster = settings.cluster
    let node = cluster.node.isEmpty ? String(machineName().prefix { $0 != "." }) : cluster.node
    guard !node.isEmpty, node.utf8.allSatisfy({ $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "*") && $0 != 0x3E })
    else { throw Failure(.configuration, "cluster.node: the machine has no name that a node can have") }
    var credentials = NATSCredentials.none
    if !cluster.credentials.isEmpty {
      let bytes = try secret(cluster.credentials, "cluster.credentials", limit: 64 << 10)
      guard let read = NATSCredentials(String(decoding: bytes, as: UTF8.self)) else {
        throw Failure(
          .configuration,
          "cluster.credentials: \(cluster.credentials.printable) holds neither credentials, nor a seed, nor one line of "
            + "user:password or a token")
      }
      credentials = read
    }
    var nats = NATSConfiguration(servers: cluster.engine, credentials: credentials, name: "signal-server \(node)")
    if !cluster.ca.isEmpty {
      do throws(TLSError) {
        nats.authorities = try TLSContext(trusting: cluster.ca)
      } catch {
        throw Failure(.configuration, "cluster.ca: \(error.description.printable)")
      }
    }
    let live = settings.live
    var configuration = ClusterConfiguration(
      name: cluster.name, node: node, nats: nats,
      secret: try secret(cluster.secretFile, "cluster.secret-file", limit: 4096)
    ) { source throws(FormulaError) in try live.keptFormula(source) }
    configuration.isMember = cluster.role == .member
    configuration.replicas = cluster.replicas
    configuration.logBytes = cluster.logBytes
    configuration.snapshotBytes = cluster.snapshotEvery
    configuration.isEngineSynced = cluster.engineSync == .always
    configuration.times.takeover = UInt64(cluster.takeover.wholeMilliseconds)
    configuration.times.node = UInt64(cluster.nodeTimeout.wholeMilliseconds)
    configuration.writeTimeout = UInt64(cluster.writeTimeout.wholeMilliseconds)
    configuration.queueBytes = settings.data.queueBytes
    configuration.store = settings.store
    configuration.store.formulaBytes = min(settings.store.formulaBytes, Settings.Cluster.requestBytes)
    configuration.quotas = settings.quotas
    return configuration
  }

  private static func secret(_ file: String, _ name: String, limit: Int) throws(Failure) -> [UInt8] {
    do throws(IdentityError) {
      var bytes = try SecretFile.read(file, atMost: limit, readers: .ownerOnly)
      while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { bytes.removeLast() }
      return bytes
    } catch {
      throw Failure(.configuration, "\(name): \(error.description.printable)")
    }
  }

  private static func note(_ event: ClusterEvent, _ logger: Logger) {
    switch event {
    case .engineConnected: logger.info("connected to the engine of the cluster")
    case .engineLost(let reason):
      logger.warning("no connection to the engine of the cluster", metadata: ["reason": "\(reason)"])
    case .engineRefused(let reason):
      logger.error("the engine of the cluster cannot be used", metadata: ["reason": "\(reason)"])
    case .leads(let term): logger.notice("this node leads the cluster", metadata: ["term": "\(term)"])
    case .follows(let node, let term):
      logger.info("this node follows", metadata: ["leader": "\(node)", "term": "\(term)"])
    case .tookBack:
      logger.warning("changes that were not confirmed have been taken back; nobody has been told of them")
    case .steppedBack:
      logger.warning("this node leads no more, as the engine has not confirmed anything for cluster.write-timeout")
    case .snapshotWritten(let sequence): logger.info("wrote a snapshot", metadata: ["record": "\(sequence)"])
    case .snapshotLoaded(let sequence): logger.info("loaded a snapshot", metadata: ["record": "\(sequence)"])
    case .restartsLog(let sequence, let revision):
      logger.error(
        "the log ends below what nodes have shown: this one restarts it with what it has, as another epoch",
        metadata: ["record": "\(sequence)", "revision": "\(revision)"])
    case .namesake(let session):
      logger.error(
        "another process has the name of this node, and has joined later: give it a name of its own in cluster.node",
        metadata: ["session": "\(session)"])
    case .misconfigured(let reason):
      logger.critical("this node cannot be in the cluster", metadata: ["reason": "\(reason)"])
      ExitStatus.configuration.end()
    case .ended(let reason):
      // A supervisor starts it again, and it begins with what the others have.
      logger.critical("this node has to begin anew", metadata: ["reason": "\(reason)"])
      ExitStatus.timedOut.end()
    }
  }
}

extension Duration {
  /// Rounded down, and at least 0.
  fileprivate var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    return max(0, seconds * 1000 + attoseconds / 1_000_000_000_000_000)
  }
}
