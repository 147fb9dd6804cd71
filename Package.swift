// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT
import PackageDescription

/// Every target of ours is built with the strictest checks the compiler has; a warning stops the build.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "signal-server",
  products: [
    .library(name: "JSON", targets: ["JSON"]),
    .library(name: "CEL", targets: ["CEL"]),
    .library(name: "Signals", targets: ["Signals"]),
    .library(name: "SignalStore", targets: ["SignalStore"]),
    .library(name: "SignalHTTP", targets: ["SignalHTTP"]),
    .library(name: "SignalClient", targets: ["SignalClient"]),
    .executable(name: "signal-server", targets: ["signal-server"]),
  ],
  // Who depends on a library only says `traits: []`, and what the server alone needs is not checked out.
  traits: [
    .default(enabledTraits: ["Server"]),
    .trait(name: "Server", description: "The executable signal-server, with the packages that it needs."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
  ],
  targets: [
    .target(name: "JSON", swiftSettings: strict),
    .target(name: "CEL", dependencies: ["JSON"], exclude: ["README.md"], swiftSettings: strict),
    // Part of SignalStore for its users, and by itself for those who want signals and nothing else.
    .target(name: "Signals", path: "Sources/SignalStore/Signals", swiftSettings: strict),
    // A header alone.
    .systemLibrary(name: "CPrefetch"),
    .target(
      name: "SignalStore", dependencies: ["CPrefetch", "JSON", "Signals"], exclude: ["README.md", "Signals"],
      swiftSettings: strict),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .target(
      name: "SignalJournal", dependencies: ["CSQLite", "JSON", "SignalStore", "Signals"], exclude: ["README.md"],
      swiftSettings: strict),
    .target(name: "CReadiness"),
    // The files that are served, inside the binary: see docs/decisions/0018-embedded-files.md.
    .target(name: "CFiles", exclude: ["console"]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .target(name: "CTLS", dependencies: ["COpenSSL"]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .target(
      name: "SignalAccess", dependencies: ["CEL", "COpenSSL", "JSON", "SignalStore", "Signals"], swiftSettings: strict),
    .target(
      name: "SignalHTTP",
      // Signals too, though SignalStore exports it: what is inlined from it here has to be compiled anew when it changes.
      dependencies: [
        "CEL", "CFiles", "COpenSSL", "CReadiness", "CTLS", "CZlib", "JSON", "SignalAccess", "SignalStore", "Signals",
      ],
      exclude: [
        "API/asyncapi.yaml", "API/messages.schema.json", "API/openapi.yaml", "Client/README.md", "HTTP/README.md",
        "WebSocket/README.md",
      ],
      swiftSettings: strict),
    .target(
      name: "SignalClient", dependencies: ["JSON", "SignalHTTP", "SignalStore", "Signals"], exclude: ["README.md"],
      swiftSettings: strict),
    .target(
      name: "SignalCluster", dependencies: ["COpenSSL", "JSON", "SignalHTTP", "SignalStore", "Signals"],
      swiftSettings: strict),
    .executableTarget(
      name: "signal-server",
      dependencies: [
        "CEL", "CYAML", "JSON", "SignalAccess", "SignalCluster", "SignalHTTP", "SignalJournal", "SignalStore",
        "Signals",
        .product(name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Server"])),
        .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Server"])),
      ],
      swiftSettings: strict),

    .target(name: "CProcesses", path: "Tests/CProcesses"),
    .target(name: "Processes", dependencies: ["CProcesses"], path: "Tests/Processes", swiftSettings: strict),
    .target(
      name: "TestSupport", dependencies: ["CZlib", "JSON", "Processes", "SignalAccess", "SignalHTTP"],
      path: "Tests/Support", swiftSettings: strict),
    .testTarget(name: "JSONTests", dependencies: ["JSON"], swiftSettings: strict),
    .executableTarget(
      name: "cel-eval", dependencies: ["CEL", "JSON"], path: "Tests/cel-eval", swiftSettings: strict),
    .testTarget(
      name: "CELTests", dependencies: ["CAllocations", "CEL", "JSON", "Processes", "cel-eval"],
      swiftSettings: strict),
    .target(name: "CAllocations", path: "Tests/CAllocations"),
    .testTarget(
      name: "SignalStoreTests", dependencies: ["CAllocations", "JSON", "Processes", "Signals", "SignalStore"],
      swiftSettings: strict),
    .target(name: "CStorageFaults", dependencies: ["CSQLite"], path: "Tests/CStorageFaults"),
    .executableTarget(
      name: "journal-writer", dependencies: ["JSON", "SignalJournal", "SignalStore", "Signals"],
      path: "Tests/journal-writer", swiftSettings: strict),
    .testTarget(
      name: "SignalJournalTests",
      dependencies: [
        "CSQLite", "CStorageFaults", "JSON", "Processes", "SignalJournal", "SignalStore", "Signals", "journal-writer",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "SignalAccessTests", dependencies: ["CEL", "JSON", "SignalAccess", "SignalStore"], swiftSettings: strict),
    .testTarget(
      name: "SignalHTTPTests",
      dependencies: ["CEL", "JSON", "SignalAccess", "SignalHTTP", "SignalStore", "TestSupport"], swiftSettings: strict),
    .executableTarget(
      name: "client-adapter", dependencies: ["JSON", "SignalClient", "SignalStore", "Signals"],
      path: "Tests/client-adapter", swiftSettings: strict),
    .testTarget(
      name: "SignalClientTests",
      dependencies: ["JSON", "SignalClient", "SignalHTTP", "SignalStore", "Signals", "TestSupport", "client-adapter"],
      swiftSettings: strict),
    .testTarget(
      name: "ServerTests",
      dependencies: ["CEL", "JSON", "Processes", "SignalAccess", "SignalHTTP", "SignalStore", "TestSupport"],
      exclude: ["Transcripts"],
      swiftSettings: strict),
    .testTarget(
      name: "ClusterTests",
      dependencies: ["JSON", "SignalAccess", "SignalCluster", "SignalHTTP", "SignalStore", "Signals", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "SignalServerTests",
      dependencies: [
        "CEL", "JSON", "Processes", "SignalAccess", "SignalCluster", "SignalHTTP", "SignalJournal", "SignalStore",
        "signal-server",
        .product(name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Server"])),
        .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Server"])),
      ],
      exclude: ["Tour/Tour.txt", "Tour/Guide"], swiftSettings: strict),
    .testTarget(name: "ArchitectureTests", swiftSettings: strict),
  ]
)
