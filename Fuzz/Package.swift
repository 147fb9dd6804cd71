// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT
import PackageDescription

// The libraries are symbolic links to the folders of the main package, compiled here with libFuzzer's coverage and the
// address sanitizer. A dependency on the package would do neither: its parsers are of `package` access, and a manifest
// cannot instrument what it depends on. What only the executable needs, argument-parser and the like, stays away.
let fuzzed: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  // `-enable-testing`: a target may reach what is internal, too.
  .unsafeFlags(["-sanitize=fuzzer,address", "-enable-testing"]),
]

let package = Package(
  name: "fuzz",
  targets: [
    .target(name: "JSON", swiftSettings: fuzzed),
    .target(name: "CEL", dependencies: ["JSON"], exclude: ["README.md"], swiftSettings: fuzzed),
    .target(name: "Signals", path: "Sources/SignalStore/Signals", swiftSettings: fuzzed),
    .systemLibrary(name: "CPrefetch"),
    .target(
      name: "SignalStore", dependencies: ["CPrefetch", "JSON", "Signals"], exclude: ["README.md", "Signals"],
      swiftSettings: fuzzed),
    .target(name: "CReadiness"),
    .target(name: "CFiles", exclude: ["console"]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .target(name: "CTLS", dependencies: ["COpenSSL"]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .target(
      name: "SignalAccess", dependencies: ["CEL", "COpenSSL", "JSON", "SignalStore", "Signals"], swiftSettings: fuzzed),
    .target(
      name: "SignalHTTP",
      dependencies: [
        "CEL", "CFiles", "COpenSSL", "CReadiness", "CTLS", "CZlib", "JSON", "SignalAccess", "SignalStore", "Signals",
      ],
      exclude: [
        "API/asyncapi.yaml", "API/messages.schema.json", "API/openapi.yaml", "Client/README.md", "HTTP/README.md",
        "WebSocket/README.md",
      ],
      swiftSettings: fuzzed),
    .target(
      name: "SignalCluster", dependencies: ["COpenSSL", "JSON", "SignalHTTP", "SignalStore", "Signals"],
      swiftSettings: fuzzed),
    .target(name: "CLibFuzzer"),
    .executableTarget(
      name: "Fuzz",
      dependencies: ["CEL", "CLibFuzzer", "JSON", "SignalAccess", "SignalCluster", "SignalHTTP", "SignalStore"],
      swiftSettings: fuzzed,
      // lld: gold, the default, ends with an internal error on the debug information of instrumented code.
      linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])]),
  ]
)
