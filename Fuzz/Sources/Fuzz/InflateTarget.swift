// SPDX-License-Identifier: MIT

import SignalHTTP

extension FuzzTarget {
  /// A compressed message of a client: its content within the limit or a refusal, the same each time, and the next message is
  /// read as if it had not been; and what is compressed here is what it was.
  static let inflate = FuzzTarget(name: "Inflate") { input in
    let limit = 1000
    let inflater = Inflater()
    func outcome() -> Result<[UInt8], InflateError> {
      var content: [UInt8] = []
      do throws(InflateError) {
        try inflater.inflate(input, limit: limit, to: &content)
      } catch {
        require(content.count <= limit + 16 << 10, "more was decompressed than a piece over the limit")
        return .failure(error)
      }
      require(content.count <= limit, "content over the limit")
      return .success(content)
    }
    let first = outcome()
    require(outcome() == first, "another outcome the second time")

    for window in [Deflater.Window.small, .large] {
      let deflater = Deflater(.raw, window: window)
      // The second refers to nothing of the first.
      for _ in 0..<2 {
        var packed: [UInt8] = []
        deflater.reset()
        deflater.append(input, to: &packed)
        deflater.flush(to: &packed)
        packed.removeLast(4)
        var content: [UInt8] = []
        do throws(InflateError) {
          try inflater.inflate(packed.span, limit: input.count, to: &content)
        } catch {
          fatalError("what was compressed cannot be decompressed: \(error)")
        }
        require(
          content.indices.allSatisfy { content[$0] == input[$0] } && content.count == input.count, "another content")
      }
    }
  }
}
