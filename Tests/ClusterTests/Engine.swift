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

/// A server of NATS with JetStream, for as long as the test holds it.
final class Engine: Sendable {
  /// The program; nil where there is none.
  static let program: String? = {
    if let named = unsafe getenv("NATS_SERVER").map({ unsafe String(cString: $0) }) { return named }
    let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? ""
    let found = path.split(separator: ":").map { "\($0)/nats-server" }.first { (name: String) in
      unsafe access(name, X_OK) == 0
    }
    if found == nil { print("there is no nats-server, in PATH or named by NATS_SERVER: its tests are skipped") }
    return found
  }()

  let port: UInt16
  private let process: pid_t
  private let folder: String

  init() throws {
    var template = Array("/tmp/signal-engine-XXXXXX".utf8CString)
    // The call changes the last letters of the array in place.
    guard unsafe template.withUnsafeMutableBufferPointer({ unsafe mkdtemp($0.baseAddress!) != nil }) else {
      throw ClusterTestError("no folder")
    }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let configuration = """
      listen: "127.0.0.1:-1"
      max_payload: 8MB
      ports_file_dir: "\(folder)"
      jetstream { store_dir: "\(folder)/js" }
      """
    try Self.write(configuration, to: "\(folder)/conf")
    process = try Self.spawn(Engine.program ?? "nats-server", ["-c", "\(folder)/conf", "-l", "\(folder)/log"])
    let name = (Engine.program ?? "").split(separator: "/").last.map(String.init) ?? "nats-server"
    port = try Self.awaitPort("\(folder)/\(name)_\(process).ports")
  }

  deinit {
    kill(process, SIGKILL)
    var status: Int32 = 0
    // The process is ours, and the pointer is used during the call.
    _ = unsafe waitpid(process, &status, 0)
  }

  /// The process stops, or goes on.
  func stop(_ isStopped: Bool) { kill(process, isStopped ? SIGSTOP : SIGCONT) }

  private static func write(_ text: String, to path: String) throws {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw ClusterTestError("\(path) cannot be written") }
    defer { close(file) }
    let bytes = Array(text.utf8)
    // The call reads as many bytes as there are.
    _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
  }

  private static func spawn(_ program: String, _ arguments: [String]) throws -> pid_t {
    var pointers: [UnsafeMutablePointer<CChar>?] = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
    defer { unsafe pointers.forEach { unsafe free($0) } }
    var process = pid_t()
    // The strings are copied by the new process before the call returns.
    guard unsafe posix_spawn(&process, program, nil, nil, &pointers, environ) == 0 else {
      throw ClusterTestError("\(program) cannot be started")
    }
    return process
  }

  /// The port from the file in which the server writes where it listens.
  private static func awaitPort(_ path: String) throws -> UInt16 {
    for _ in 0..<600 {
      let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
      if file >= 0 {
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        // The call writes at most as many bytes as the array has.
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, $0.count) }
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        if let match = text.firstMatch(of: /nats:\/\/127\.0\.0\.1:([0-9]+)/), let port = UInt16(match.1) { return port }
      }
      usleep(50_000)
    }
    throw ClusterTestError("the engine does not say where it listens")
  }
}

struct ClusterTestError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

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

  init(_ name: String, _ engine: Engine, cluster: String = "test", replicas: Int = 1) throws {
    var configuration = ClusterConfiguration(
      name: cluster, node: name,
      nats: NATSConfiguration(servers: [.tcp(host: "127.0.0.1", port: engine.port)], name: name),
      secret: Array("secret".utf8)
    ) { source throws(FormulaError) in try LiveConfiguration().keptFormula(source) }
    configuration.replicas = replicas
    configuration.logBytes = 64 << 20
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
      throw ClusterTestError("\(name) is not ready: \(events.all)")
    }
    self.events = events
    self.member = member
    self.store = store
    server = try TestServer(store: store, cluster: member)
  }

  /// Leaves the cluster, as at SIGTERM.
  func leave() {
    let left = DispatchSemaphore(value: 0)
    member.end { left.signal() }
    _ = left.wait(timeout: .now() + 10)
  }
}

/// Waits until something is so.
func eventually(_ what: String, within seconds: Int = 60, _ isSo: () throws -> Bool) throws {
  for _ in 0..<seconds * 50 {
    if try isSo() { return }
    usleep(20_000)
  }
  throw ClusterTestError("not within \(seconds) s: \(what)")
}
