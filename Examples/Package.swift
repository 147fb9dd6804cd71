// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT
import PackageDescription

let package = Package(
  name: "examples",
  dependencies: [
    .package(name: "signal-server", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
  ],
  targets: [
    .executableTarget(
      name: "echo",
      dependencies: [
        .product(name: "SignalHTTP", package: "signal-server"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .executableTarget(
      name: "actors", dependencies: [.product(name: "SignalStore", package: "signal-server")],
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "display",
      dependencies: [
        .product(name: "SignalClient", package: "signal-server"),
        .product(name: "SignalStore", package: "signal-server"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "thermometer",
      dependencies: [
        .product(name: "JSON", package: "signal-server"),
        .product(name: "SignalStore", package: "signal-server"),
      ]),
  ]
)
