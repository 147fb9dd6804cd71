// SPDX-License-Identifier: MIT
import ArgumentParser

/// Which state a verb that reads wants to see, where several servers show one store (`docs/protocol.md` §2.13).
struct StateOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Wait for the state at this cursor, which another server of a cluster has told, or a later one.",
      valueName: "cursor"))
  var at: String?

  @Flag(help: "Wait for everything that was written before, at whatever server of a cluster.")
  var fresh = false

  /// The parameters of a request.
  var query: [(name: String, value: String)] {
    (at.map { [(name: "at", value: $0)] } ?? []) + (fresh ? [(name: "fresh", value: "true")] : [])
  }
}
