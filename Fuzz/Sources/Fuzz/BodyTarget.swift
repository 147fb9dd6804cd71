// SPDX-License-Identifier: MIT

import SignalHTTP

extension FuzzTarget {
  /// A chunked body in pieces: the same outcome however it is cut, never more than the limit, and what is accepted is
  /// what a plain reading of RFC 9112 §7.1 finds.
  static let body = FuzzTarget(name: "Body") { input in
    guard let input = CutInput(input) else { return }
    let outcome = input.sameOutcome(bodyOutcome)
    guard case .complete(let consumed, let data) = outcome else { return }
    require(consumed <= input.bytes.count, "more bytes were consumed than there are")
    guard let plain = plainBody(input.bytes[..<consumed]) else { fatalError("a plain reading finds no body") }
    require(plain == data, "a plain reading finds other data")
  }

  /// Low, so that inputs reach them.
  private static let bodyLimits: HTTPLimits = {
    var limits = HTTPLimits()
    limits.bodyBytes = 200
    limits.chunkExtensionBytes = 50
    limits.trailerBytes = 60
    limits.fields = 4
    return limits
  }()

  private enum BodyOutcome: Equatable {
    case needsMore([UInt8])
    case refused(HTTPParseError)
    case complete(Int, [UInt8])
  }

  private static func bodyOutcome(of bytes: [UInt8], cutAt cuts: [Int]) -> BodyOutcome {
    var parser = ChunkedBodyParser()
    var data: [UInt8] = []
    var start = 0
    for cut in cuts {
      do throws(HTTPParseError) {
        // A copy, so that the sanitizer sees a read behind the end of a piece.
        let piece = Array(bytes[start..<cut])
        let (count, isComplete) = try piece.withView { (view) throws(HTTPParseError) in
          try parser.parse(view, into: &data, limits: bodyLimits)
        }
        require(data.count <= bodyLimits.bodyBytes, "a body over the limit")
        if isComplete { return .complete(start + count, data) }
        require(count == piece.count, "bytes are left and the body goes on")
        start = cut
      } catch {
        return .refused(error)
      }
    }
    return .needsMore(data)
  }

  /// The data of a body that ends with the last byte; nil when the bytes are not one.
  ///
  /// It looks at nothing but sizes and line ends, which is right for a body that was accepted.
  private static func plainBody(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
    var rest = bytes
    var data: [UInt8] = []
    func line() -> ArraySlice<UInt8>? {
      guard let end = rest.firstIndex(of: 0x0D), rest[end...].starts(with: [0x0D, 0x0A]) else { return nil }
      defer { rest = rest[(end + 2)...] }
      return rest[..<end]
    }
    while true {
      guard let line = line() else { return nil }
      let digits = line.prefix { Character(Unicode.Scalar($0)).isHexDigit }
      guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size <= rest.count else { return nil }
      if size == 0 { break }
      data += rest.prefix(size)
      rest = rest.dropFirst(size)
      guard rest.starts(with: [0x0D, 0x0A]) else { return nil }
      rest = rest.dropFirst(2)
    }
    while let trailer = line() {
      if trailer.isEmpty { return rest.isEmpty ? data : nil }
    }
    return nil
  }
}
