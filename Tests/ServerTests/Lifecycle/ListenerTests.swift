// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import SignalStore
import Synchronization
import TestSupport
import Testing

@Suite("Listeners")
struct ListenerTests {
  /// A folder for sockets; it goes with the object.
  private final class Folder {
    let url = FileManager.default.temporaryDirectory.appending(path: "signal-\(UUID().uuidString.prefix(8))")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String = "socket") -> String { url.appending(path: name).path }
    func exists(_ name: String = "socket") -> Bool { FileManager.default.fileExists(atPath: path(name)) }
  }

  private static let tcp = ListenerConfiguration(.tcp(host: "127.0.0.1", port: 0))

  private static func unix(_ path: String, mode: UInt16 = ListenerConfiguration.defaultMode) -> ListenerConfiguration {
    ListenerConfiguration(.unix(path: path), mode: mode)
  }

  /// A server that answers with its peer's description and the number of the listener.
  private static func server(_ listeners: ListenerConfiguration...) -> Server {
    Server(ServerConfiguration(listeners: listeners, loops: 2)) { _, responder in
      let text =
        "\(responder.peer.address == nil ? "local" : "remote") \(responder.peer) \(responder.peer.listener.index)"
      return .response(HTTPResponse(.ok, body: Array(text.utf8)))
    }
  }

  private static func permissions(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  // MARK: Serving

  @Test func `each listener serves, and a request knows its peer and its listener`() throws {
    let folder = try Folder()
    let server = Self.server(Self.tcp, Self.unix(folder.path()), Self.tcp)
    #expect(server.endpoints.isEmpty && server.address == nil)
    try server.start()
    defer { server.shutdown() }
    #expect(server.endpoints.count == 3 && server.endpoints[1] == .unix(path: folder.path()))
    #expect(server.endpoints[0] == .tcp(host: "127.0.0.1", port: server.address?.port ?? 0))
    for (number, endpoint) in server.endpoints.enumerated() {
      let text = try HTTPClient(endpoint).request("GET", "/").text
      if number == 1 {
        #expect(text == "local unix 1")
      } else {
        #expect(text.contains(try Regex("^remote 127\\.0\\.0\\.1:[0-9]+ \(number)$")), "\(text)")
      }
    }
  }

  @Test func `a peer of IPv6 is told with its address`() throws {
    let server = Self.server(ListenerConfiguration(.tcp(host: "::1", port: 0)))
    // A machine without IPv6.
    guard (try? server.start()) != nil else { return }
    defer { server.shutdown() }
    #expect(try HTTPClient(server.endpoints[0]).request("GET", "/").text.contains(/^remote \[::1\]:[0-9]+ 0$/))
  }

  @Test func `properties are served over a unix socket, under the name localhost`() async throws {
    let folder = try Folder()
    let store = PropertyStore.forTests()
    let events = Mutex<[ServerEvent]>([])
    var configuration = ServerConfiguration(listeners: [Self.tcp, Self.unix(folder.path())], loops: 1)
    configuration.observer = { event in events.withLock { $0.append(event) } }
    let server = Server(configuration, store: store)
    try server.start()
    let client = try HTTPClient(.unix(path: folder.path()))
    #expect(client.authority == "localhost")
    #expect(try client.request("PUT", "/properties/a", body: Array("1".utf8)).status == 201)
    #expect(try client.request("GET", "/properties/a", fields: [("Host", "evil.example")]).status == 421)
    #expect(try client.request("GET", "/properties/a").text == "1")
    let socket = try WebSocketClient(
      .unix(path: folder.path()), target: "/events?match=a", subprotocols: ["signal.v1.json"])
    #expect(try socket.receive() != nil)
    server.shutdown()
    try await server.run()
    let peers = events.withLock { $0.map { $0.peer?.listener.index } }
    #expect(!peers.isEmpty && peers.allSatisfy { $0 == 1 })
    #expect(events.withLock { $0.allSatisfy { $0.peer?.description == "unix" } })
  }

  // MARK: All or none

  @Test func `when one cannot be bound, none is`() throws {
    let folder = try Folder()
    let taken = try TestServer()
    let other = Self.server(
      Self.unix(folder.path()), ListenerConfiguration(.tcp(host: "127.0.0.1", port: taken.port)))
    let error = try #require(throws: ServerError.self) { try other.start() }
    #expect(error.isAddressInUse && "\(error)".contains("127.0.0.1:\(taken.port)"))
    #expect(other.endpoints.isEmpty && !folder.exists())
    #expect(try taken.connect().isAlive())
  }

  // MARK: The file of a unix socket

  @Test(arguments: [0o660, 0o600, 0o666, 0o777] as [UInt16])
  func `the file has the mode that was asked for, and is gone after the shutdown`(mode: UInt16) async throws {
    let folder = try Folder()
    let server = Self.server(Self.unix(folder.path(), mode: mode))
    try server.start()
    #expect(try Self.permissions(folder.path()) == Int(mode))
    server.shutdown()
    try await server.run()
    #expect(!folder.exists())
  }

  @Test func `a socket on which nobody listens is replaced, one on which somebody does is not`() async throws {
    let folder = try Folder()
    // Bound, and closed without being removed, as by a server that was killed.
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(folder.path().utf8)) }
    let bound = unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    #expect(bound == 0)
    close(descriptor)
    #expect(folder.exists())

    let first = Self.server(Self.unix(folder.path()))
    try first.start()
    let second = Self.server(Self.tcp, Self.unix(folder.path()))
    let error = try #require(throws: ServerError.self) { try second.start() }
    #expect(error.isAddressInUse && "\(error)" == "bind unix:\(folder.path()): Address already in use")
    #expect(try HTTPClient(.unix(path: folder.path())).request("GET", "/").text == "local unix 0")
    first.shutdown()
    try await first.run()
  }

  @Test func `what is not a socket stays where it is`() throws {
    let folder = try Folder()
    try "mine".write(toFile: folder.path("file"), atomically: true, encoding: .utf8)
    try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: folder.path("file"))
    for name in ["file", "link", ""] {
      let error = try #require(throws: ServerError.self) { try Self.server(Self.unix(folder.path(name))).start() }
      #expect("\(error)" == "replace \(folder.path(name)), which is not a socket: File exists")
    }
    #expect(try String(contentsOfFile: folder.path("file"), encoding: .utf8) == "mine")
  }

  @Test func `a path that cannot be is an error`() throws {
    let folder = try Folder()
    let long = folder.path(String(repeating: "a", count: 108))
    #expect(throws: ServerError.self) { try Self.server(Self.unix(long)).start() }
    let error = try #require(throws: ServerError.self) {
      try Self.server(Self.unix(folder.path("none/socket"))).start()
    }
    #expect("\(error)".hasSuffix("No such file or directory"))
    #expect(throws: ClientError.badPath(long)) { try HTTPClient(.unix(path: long)) }
    let none = Endpoint.unix(path: folder.path("none"))
    #expect(throws: ClientError.unreachable(none, code: ENOENT)) { try HTTPClient(none) }
  }

  @Test func `a file that has taken the place of ours is not removed`() async throws {
    let folder = try Folder()
    let server = Self.server(Self.unix(folder.path()))
    try server.start()
    try FileManager.default.removeItem(atPath: folder.path())
    try "theirs".write(toFile: folder.path(), atomically: true, encoding: .utf8)
    server.shutdown()
    try await server.run()
    #expect(folder.exists())
  }
}
