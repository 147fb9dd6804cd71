// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import SignalAccess

/// That the time of a comparison says nothing of a token.
@Suite("Comparison of tokens")
struct TokenComparisonTests {
  private static func source(_ name: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent()
    return try String(
      contentsOf: root.appending(path: "../../../Sources/SignalAccess/Identity/\(name)"), encoding: .utf8)
  }

  @Test func `what is compared is a digest of what was given, by a function that looks at all of it`() throws {
    // Whoever could choose how far two digests are the same would have to find such digests first; and how far they are
    // is in no time, as the function has no branch that depends on them.
    let digest = try Self.source("Digest.swift")
    let body = try #require(digest.range(of: "func isSame(as other: Digest) -> Bool {")).upperBound
    let end = try #require(digest[body...].range(of: "\n  }\n")).lowerBound
    #expect(digest[body..<end].contains("CRYPTO_memcmp(own.baseAddress, given.baseAddress, own.count) == 0"))
    #expect(!digest[body..<end].contains(/\bif\b|\bguard\b|\breturn\b|\?|&&|\|\|/))
    let authenticator = try Self.source("Authenticator.swift")
    #expect(authenticator.contains("entry.digest.isSame(as: digest)"))
    #expect(!authenticator.contains(/digest\s*==|==\s*digest/))
  }

  @Test(arguments: 0..<32)
  func `wherever two digests differ they are not the same`(_ place: Int) throws {
    let digits = String(repeating: "a7", count: 32)
    let digest = try #require(Digest(hexadecimal: digits))
    var other = Array(digits)
    other[2 * place + place % 2] = "3"
    #expect(try !digest.isSame(as: #require(Digest(hexadecimal: String(other)))))
    #expect(try digest.isSame(as: #require(Digest(hexadecimal: digits))))
  }

  private static let times = ProcessInfo.processInfo.environment["COMPARISON_TIMES"].flatMap { Int($0) }

  /// Welch's t of the times of digests that differ at the beginning and at the end, in turn: below 4.5 in amount they
  /// cannot be told from each other.
  @Test(.enabled(if: times != nil, "COMPARISON_TIMES=100000 measures"))
  func `times of comparisons, for the record`() throws {
    let digits = String(repeating: "a7", count: 32)
    let digest = try #require(Digest(hexadecimal: digits))
    let others = [
      try #require(Digest(hexadecimal: "0" + digits.dropFirst())),
      try #require(Digest(hexadecimal: digits.dropLast() + "0")),
    ]
    // A batch is long enough for the clock.
    let batch = 100
    var all: [[Double]] = [[], []]
    var same = 0
    for round in 0..<2 * (Self.times ?? 0) {
      let other = others[round & 1]
      let start = ContinuousClock.now
      for _ in 0..<batch where digest.isSame(as: other) { same += 1 }
      let (seconds, attoseconds) = start.duration(to: .now).components
      all[round & 1].append(Double(seconds) * 1e9 + Double(attoseconds) / 1e9)
    }
    #expect(same == 0)
    // Interruptions of the machine are cut off, for both alike.
    let cut = all.joined().sorted()[all[0].count * 19 / 10]
    let kept = all.map { $0.filter { $0 <= cut } }
    let means = kept.map { $0.reduce(0, +) / Double($0.count) }
    let variances = zip(kept, means).map { times, mean in
      times.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(times.count - 1)
    }
    let t =
      (means[0] - means[1]) / (variances[0] / Double(kept[0].count) + variances[1] / Double(kept[1].count)).squareRoot()
    print("comparisons: \(means.map { $0 / Double(batch) }) ns, t = \(t)")
  }
}
