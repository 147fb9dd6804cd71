// SPDX-License-Identifier: MIT

/// One thing to fuzz: a name for the command line, and what to do with an input.
///
/// `run` says nothing by returning. A broken invariant ends the process through ``require(_:_:)``, and libFuzzer keeps
/// the input.
struct FuzzTarget: Sendable {
  let name: String
  let run: @Sendable (Span<UInt8>) -> Void

  /// All of them: a new target is a file like `JSONTarget.swift` and a name here.
  static let all: [FuzzTarget] = [
    .json, .head, .body, .frames, .offers, .inflate, .liveMessage, .expression, .proxyHeader, .forwarded, .webToken,
    .keySet, .nats, .cluster,
  ]
}

/// States an invariant.
///
/// Unlike `precondition`, it prints its sentence in optimized builds, and those are the ones that fuzz.
@inline(__always)
func require(_ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String) {
  if !condition() { fatalError(message()) }
}
