// swift-tools-version: 6.2
// SPDX-License-Identifier: MIT
import PackageDescription

// A package of its own, as that of somebody who wants signals and nothing else of the server: `scripts/signals-alone.sh`
// builds it and looks at what was checked out for it.
let package = Package(
  name: "thermostat",
  dependencies: [.package(name: "signal-server", path: "../..", traits: [])],
  targets: [
    .executableTarget(
      name: "thermostat", dependencies: [.product(name: "Signals", package: "signal-server")],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
