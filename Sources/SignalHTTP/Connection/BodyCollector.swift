// SPDX-License-Identifier: MIT

/// Collects a body that arrives in pieces.
struct BodyCollector {
  private(set) var bytes: [UInt8] = []
  private var missing: Int
  private var chunks: ChunkedBodyParser?

  /// Capacity reserved at first, however large the announced length is.
  private static let firstRoom = 64 << 10

  init(sized length: Int) {
    missing = length
    bytes.reserveCapacity(min(length, Self.firstRoom))
  }

  init() {
    missing = 0
    chunks = ChunkedBodyParser()
  }

  /// Takes the available bytes, and returns whether the body is complete.
  mutating func take(
    _ view: ByteView, _ position: inout Int, _ limits: HTTPLimits
  ) throws(HTTPParseError) -> Bool {
    let rest = view[position..<view.count]
    if chunks != nil {
      let (consumed, isComplete) = try chunks?.parse(rest, into: &bytes, limits: limits) ?? (0, true)
      position += consumed
      return isComplete
    }
    let count = min(missing, rest.count)
    bytes.append(rest[0..<count])
    position += count
    missing -= count
    return missing == 0
  }
}
