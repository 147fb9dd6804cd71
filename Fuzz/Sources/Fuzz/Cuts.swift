// SPDX-License-Identifier: MIT

/// An input of the parsers that take bytes as they come: two bytes that say where to cut, and what is cut.
struct CutInput {
  let bytes: [UInt8]
  /// Rising offsets, the last of them the end; pieces of 1 to 23 bytes.
  let cuts: [Int]

  /// Nil for an input too short to say anything.
  init?(_ input: Span<UInt8>) {
    guard input.count > 2 else { return nil }
    bytes = (2..<input.count).map { input[$0] }
    var seed = UInt32(input[0]) << 8 | UInt32(input[1])
    var cuts: [Int] = []
    var offset = 0
    while offset < bytes.count {
      seed = seed &* 1_664_525 &+ 1_013_904_223
      offset = min(offset + Int(seed >> 24) % 23 + 1, bytes.count)
      cuts.append(offset)
    }
    self.cuts = cuts
  }

  /// Whole, as the input says, and byte by byte if that is not long: the outcome must be the same.
  func sameOutcome<Outcome: Equatable>(_ outcome: ([UInt8], [Int]) -> Outcome) -> Outcome {
    let whole = outcome(bytes, [bytes.count])
    let cut = outcome(bytes, cuts)
    require(cut == whole, "cut at \(cuts): \(cut); whole: \(whole)")
    if bytes.count < 80 {
      let single = outcome(bytes, Array(1...bytes.count))
      require(single == whole, "byte by byte: \(single); whole: \(whole)")
    }
    return whole
  }
}
