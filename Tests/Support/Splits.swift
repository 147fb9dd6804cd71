// SPDX-License-Identifier: MIT

/// Feeds one input to a parser in every way it can be cut, and insists that the outcome is always the same.
///
///     let outcome = try Splits.all(of: bytes) { pieces in
///       var parser = Parser()
///       return parser.outcome(of: pieces)
///     }
///
/// The closure is given the pieces in order; it must treat them as bytes that arrive one after the other.
public enum Splits {
  /// The outcome of one way of cutting differed from that of the uncut input.
  public struct Mismatch: Error, CustomStringConvertible {
    /// Where the input was cut, as offsets; the seed is in the description for random cuts.
    public let cuts: [Int]
    /// Both outcomes and the input.
    public let description: String
  }

  /// Runs `outcome` on the input cut in every way, and returns the one outcome.
  ///
  /// The ways are: whole, byte by byte, cut once at every place, and cut at random. An empty piece is put before the
  /// input, too: a reception may bring nothing.
  ///
  /// - Parameters:
  ///   - randomRuns: How many random ways of cutting are tried.
  ///   - seed: What the random cuts depend on; equal seeds cut equally.
  /// - Throws: `Mismatch` for the first way of cutting that changes the outcome, and what `outcome` throws.
  public static func all<Outcome: Equatable>(
    of input: [UInt8], randomRuns: Int = 16, seed: UInt64 = 1, outcome: ([[UInt8]]) throws -> Outcome
  ) throws -> Outcome {
    let expected = try outcome([input])
    func check(_ cuts: [Int], _ way: String) throws {
      let actual = try outcome(pieces(of: input, cuts: cuts))
      guard actual == expected else {
        throw Mismatch(
          cuts: cuts,
          description: "cut \(way) at \(cuts): \(actual); whole: \(expected); input: "
            + String(reflecting: String(decoding: input, as: UTF8.self)))
      }
    }
    try check([0], "before the first byte")
    if input.count > 1 { try check(Array(1..<input.count), "byte by byte") }
    for cut in 0..<input.count { try check([cut], "once") }
    var generator = SplitMix(state: seed)
    for _ in 0..<randomRuns where input.count > 2 {
      let density = Double.random(in: 0.01...0.5, using: &generator)
      let cuts = (1..<input.count).filter { _ in Double.random(in: 0..<1, using: &generator) < density }
      try check(cuts, "with seed \(seed)")
    }
    return expected
  }

  /// The input cut at rising offsets.
  public static func pieces(of input: [UInt8], cuts: [Int]) -> [[UInt8]] {
    let bounds = [0] + cuts + [input.count]
    return zip(bounds, bounds.dropFirst()).map { Array(input[$0..<$1]) }
  }
}

/// A small generator with a known sequence for each seed (SplitMix64), so that a failure can be repeated.
public struct SplitMix: RandomNumberGenerator {
  private var state: UInt64

  /// The generator of a seed.
  public init(state: UInt64) { self.state = state }

  /// The next 64 bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
