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
  dependencies: [.package(name: "signal-server", path: "..")],
  targets: [
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        .product(name: "CEL", package: "signal-server"),
        .product(name: "JSON", package: "signal-server"),
        .product(name: "SignalStore", package: "signal-server"),
      ],
      swiftSettings: strict)
  ]
)
