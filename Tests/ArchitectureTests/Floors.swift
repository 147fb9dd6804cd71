// SPDX-License-Identifier: MIT

/// What may be imported where: the table that the tests enforce.
///
/// A file may use its own floor and those below, never
/// one above, and a module outside ours only where it is contained.
enum Floors {
  /// The modules of ours, and what each may import of ours and of the system.
  static let modules: [String: Set<String>] = [
    "JSON": [],
    "CEL": ["JSON", "Synchronization"],
    "Signals": ["Synchronization", "Dispatch", "Glibc"],
    "SignalStore": ["JSON", "Signals", "Synchronization", "Dispatch", "Glibc", "CPrefetch"],
    "SignalJournal": ["JSON", "Signals", "SignalStore", "Synchronization", "Dispatch", "Glibc", "CSQLite"],
    "SignalAccess": ["JSON", "CEL", "SignalStore", "Synchronization", "Glibc", "COpenSSL"],
    "SignalHTTP": [
      "JSON", "CEL", "SignalStore", "SignalAccess", "Synchronization", "Dispatch", "Glibc", "CReadiness", "COpenSSL",
      "CTLS", "CZlib", "CFiles",
    ],
    "SignalClient": ["JSON", "Signals", "SignalStore", "SignalHTTP", "Synchronization"],
    "SignalCluster": [
      "JSON", "Signals", "SignalStore", "SignalHTTP", "Synchronization", "Glibc", "COpenSSL",
    ],
    "signal-server": [
      "JSON", "CEL", "SignalStore", "SignalAccess", "SignalHTTP", "SignalJournal", "SignalCluster", "ArgumentParser",
      "Logging",
      "FoundationEssentials",
      "Synchronization",
      "Dispatch", "Glibc",
    ],
  ]

  /// One folder inside SignalHTTP.
  struct Folder {
    /// The modules that its files may import.
    var imports: Set<String>
    /// The other folders whose types its files may name; an empty name is SignalHTTP itself.
    var uses: Set<String>
  }

  /// The folders of SignalHTTP, from the ground up.
  static let folders: [String: Folder] = [
    "System": Folder(imports: ["Glibc", "CReadiness"], uses: []),
    "Bytes": Folder(imports: [], uses: []),
    "HTTP": Folder(imports: [], uses: ["Bytes"]),
    "Compression": Folder(imports: ["CZlib"], uses: []),
    "WebSocket": Folder(imports: [], uses: ["Compression", "Bytes", "System"]),
    "Memory": Folder(imports: ["Synchronization"], uses: ["System"]),
    "Transport": Folder(imports: ["Glibc", "CTLS"], uses: ["System", "Bytes"]),
    "Loop": Folder(
      imports: ["Dispatch", "Synchronization", "Glibc", "CReadiness"],
      uses: ["Memory", "Metrics", "Transport", "System", "Compression", "Bytes"]),
    "Metrics": Folder(imports: ["SignalStore", "Synchronization"], uses: ["System", "Bytes"]),
    "Rates": Folder(imports: ["Synchronization"], uses: [""]),
    "Connection": Folder(
      imports: ["Synchronization"],
      uses: [
        "Loop", "Rates", "Memory", "Metrics", "Transport", "WebSocket", "HTTP", "Compression", "Bytes", "System", "",
      ]),
    // The hub writes frames, once for all who get them, and its methods run on a loop; it knows no connection.
    "Hub": Folder(
      imports: ["SignalStore", "SignalAccess", "CEL", "JSON", "Synchronization"],
      uses: ["Loop", "Metrics", "WebSocket", "Compression", "Bytes"]),
    "API": Folder(
      imports: ["SignalStore", "SignalAccess", "CEL", "JSON", "Synchronization", "CFiles"],
      uses: [
        "Hub", "Connection", "Loop", "Rates", "Memory", "Metrics", "Transport", "WebSocket", "HTTP", "Compression",
        "Bytes", "",
      ]),
    "Client": Folder(
      imports: ["Glibc", "CReadiness", "Synchronization"], uses: ["Transport", "System", "WebSocket", "HTTP", "Bytes"]),
    // Clients that live on a loop.
    "Link": Folder(
      imports: ["Dispatch"],
      uses: ["Client", "Connection", "Loop", "Transport", "WebSocket", "Bytes", "System", ""]),
    "Load": Folder(
      imports: [], uses: ["Client", "Connection", "Loop", "Transport", "WebSocket", "Bytes", "System", ""]),
    "": Folder(
      imports: ["SignalStore", "SignalAccess", "CEL", "JSON", "Synchronization"],
      uses: [
        "API", "Hub", "Connection", "Loop", "Rates", "Memory", "Metrics", "Transport", "WebSocket", "HTTP",
        "Compression", "Bytes", "System",
      ]),
  ]

  /// What a single file may import beyond its module or folder, and why.
  static let exceptions: [String: Set<String>] = [
    // `vsnprintf`, the digits of a number in a given precision.
    "Sources/CEL/Numbers.swift": ["Glibc"],
    "Sources/CEL/ZoneFile.swift": ["Glibc"],
    "Sources/SignalStore/Signals/ObservedProperty.swift": ["Observation"],
    // The events of the settings file.
    "Sources/signal-server/Settings/YAMLReader.swift": ["CYAML"],
    // SHA-1 of the opening handshake.
    "Sources/SignalHTTP/WebSocket/WebSocketHandshake.swift": ["COpenSSL"],
    // The id in a token, for whoever has to be told that it was sent without TLS.
    "Sources/SignalHTTP/Connection/RedirectHandler.swift": ["SignalAccess"],
    // The calendar.
    "Sources/SignalHTTP/HTTP/HTTPDate.swift": ["JSON"],
    "Sources/SignalHTTP/HTTP/HTTPDate+Parsing.swift": ["JSON"],
    // The type `iovec`, which it hands to SocketHandle; no call.
    "Sources/SignalHTTP/Connection/Connection.swift": ["Glibc"],
  ]

  /// What a single file may name beyond its folder, and why.
  static let useExceptions: [String: Set<String>] = [:]
}
