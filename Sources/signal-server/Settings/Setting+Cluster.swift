// SPDX-License-Identifier: MIT
import SignalHTTP

extension Settings {
  /// Several servers that show one store.
  struct Cluster: Equatable, Sendable {
    /// Its name; empty for a server that is alone.
    var name = ""
    /// The name of this server in it; empty for that of the machine.
    var node = ""
    var role = Role.member
    /// The servers of NATS that keep the log.
    var engine: [Endpoint] = []
    /// A file of what proves to them who this is; empty for nothing.
    var credentials = ""
    /// A file of the secret by which nodes recognize each other's records.
    var secretFile = ""
    /// A file of the authorities that sign the engine's certificates; empty for the system's.
    var ca = ""
    var replicas = 3
    var engineSync = EngineSync.always
    var takeover = Duration.seconds(1)
    var nodeTimeout = Duration.seconds(5)
    var writeTimeout = Duration.seconds(10)
    var logBytes = 4 << 30
    var snapshotEvery = 256 << 20

    /// Bytes of one request, and of what is computed because of it, so that both fit into one message of the engine.
    static let requestBytes = 1536 << 10

    /// Whether a node may lead.
    enum Role: String, CaseIterable, Sendable { case member, edge }
    /// When the engine has written to its disks what it acknowledges.
    enum EngineSync: String, CaseIterable, Sendable { case always, delayed }
  }
}

extension Setting {
  /// Servers of NATS.
  static func engine(_ name: String, _ field: Field<[Endpoint]>, _ summary: String) -> Setting {
    Setting(
      name: name, expected: "a list of URLs such as nats://n1:4222 or tls://n1:4222", summary: summary, isList: true,
      assign: { texts, settings in
        let endpoints = texts.compactMap { Endpoint(engine: $0) }
        guard endpoints.count == texts.count, endpoints.count <= 64 else { return false }
        settings[keyPath: field] = endpoints
        return true
      },
      texts: { $0[keyPath: field].map(\.engineText) }, copy: { $1[keyPath: field] = $0[keyPath: field] })
  }

  /// The name of a cluster or a node, which stands in subjects of NATS and names of streams; nothing for none.
  static func clusterName(_ name: String, _ field: Field<String>, _ summary: String) -> Setting {
    Setting(
      name, field, "up to 32 letters, digits, - and _", summary,
      read: { text in
        let isName = text.utf8.allSatisfy { byte in
          let letter = byte | 0x20
          return (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "_")
        }
        return isName && text.utf8.count <= 32 ? text : nil
      },
      write: { $0 })
  }
}

extension Endpoint {
  /// Reads `nats://host:port` or `tls://host:port`; the port may be left out.
  fileprivate init?(engine text: String) {
    let schemes = ["nats://": "http://", "tls://": "https://"]
    guard let (scheme, other) = schemes.first(where: { text.hasPrefix($0.key) }) else { return nil }
    let authority = text.dropFirst(scheme.count)
    let hasPort = authority.last != "]" && authority.contains(":") && !authority.hasSuffix(":")
    guard let endpoint = try? Endpoint(other + authority + (hasPort ? "" : ":4222"), lowestPort: 1) else { return nil }
    self = endpoint
  }

  /// As it is read.
  fileprivate var engineText: String { (isSecured ? "tls://" : "nats://") + authority }
}
