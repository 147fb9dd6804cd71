// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT
import PackageDescription

/// The checks of the main package.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
]

// Products only, so that what is measured is what a user of the libraries gets: another module's public API.
let package = Package(
  name: "benchmarks",
  dependencies: [
    .package(name: "signal-server", path: ".."),
    // A competitor, here alone.
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
  ],
  targets: [
    .target(name: "CHeap"),
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "CHeap",
        .product(name: "CEL", package: "signal-server"),
        .product(name: "JSON", package: "signal-server"),
        .product(name: "SignalStore", package: "signal-server"),
        .product(name: "OpenCombine", package: "OpenCombine"),
      ],
      swiftSettings: strict),
    // Against a running server: swift run -c release --package-path Benchmarks Remote http://127.0.0.1:8080
    .executableTarget(
      name: "Remote",
      dependencies: [
        .product(name: "JSON", package: "signal-server"),
        .product(name: "SignalClient", package: "signal-server"),
        .product(name: "SignalStore", package: "signal-server"),
      ],
      swiftSettings: strict),
  ]
)
