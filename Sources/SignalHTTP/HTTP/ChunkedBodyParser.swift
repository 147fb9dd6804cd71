// SPDX-License-Identifier: MIT

/// Removes the chunked framing of a body (RFC 9112 §7.1), piece by piece as it arrives.
///
///     size ──▶ (extensions) ──▶ sizeEnd ──▶ data ──▶ dataEnd ──▶ size …
///                                  │ size 0
///                                  ▼
///                              trailerStart ──▶ name ──▶ value ──▶ trailerStart … ──▶ end ──▶ complete
///
/// It consumes every byte it is given up to the end of the body and keeps the state needed to continue, so that the
/// input may be split anywhere. It never holds data: it returns where in the given bytes data is. The body's limit is
/// checked when a chunk's size is known, before its data is consumed. After an error it must not be used again.
///
/// Extensions are checked by their grammar and thrown away. So are trailers; one that the server would act on in a head
/// (`KnownField`) is refused, because an intermediary may have let it through for that (RFC 9110 §6.5.1).
package struct ChunkedBodyParser: Sendable {
  /// What was found next.
  package enum Event: Equatable {
    /// Data of the body, as offsets into the given bytes.
    case data(Range<Int>)
    /// All bytes are consumed and the body continues.
    case needsMore
    /// The body is complete; bytes from the offset on belong to the next request.
    case complete
  }

  private enum State: UInt8 {
    case size, extensionBlank, extensionNameStart, extensionName, extensionNameBlank, extensionValueStart
    case extensionToken, extensionQuoted, extensionEscape, extensionEnd, sizeEnd
    case data, dataEnd, dataLineFeed
    case trailerStart, trailerName, trailerValue, trailerLineFeed, end, complete
  }

  private var state = State.size
  /// Number of digits of the size that is being parsed.
  private var digits: UInt8 = 0
  /// The size of the chunk that is being parsed, then what remains of it.
  private var remaining = 0
  /// The sizes of all chunks so far, this one included.
  private var total = 0
  private var extensionBytes = 0
  private var trailerBytes = 0
  private var trailerLines = 0
  /// The beginning of the trailer's name that is being parsed, up to one byte more than a known name can have.
  private var trailerName: [UInt8] = []

  private static let sizeDigits = 16
  private static let keptNameBytes = 32

  package init() {}

  /// Consumes bytes from `index` on, up to the next event, and advances `index` past them.
  ///
  /// - Throws: what is wrong with the body; `HTTPParseError.bodyTooLarge` before the data that exceeds the limit.
  package mutating func next(
    in bytes: ByteView, at index: inout Int, limits: HTTPLimits
  ) throws(HTTPParseError) -> Event {
    while state != .complete {
      guard index < bytes.count else { return .needsMore }
      if state == .data {
        let end = index + min(remaining, bytes.count - index)
        let range = index..<end
        remaining -= range.count
        index = end
        if remaining == 0 { state = .dataEnd }
        return .data(range)
      }
      let byte = bytes.byte(at: index)
      index += 1
      if state.rawValue >= State.trailerStart.rawValue {
        try takeTrailer(byte, limits)
      } else if state == .size || state.rawValue >= State.sizeEnd.rawValue {
        try takeFraming(byte, limits)
      } else {
        try takeExtension(byte, limits)
      }
    }
    return .complete
  }

  /// Appends the data in `bytes` to `body` and returns how many bytes belong to it, and whether it is complete.
  package mutating func parse(
    _ bytes: ByteView, into body: inout [UInt8], limits: HTTPLimits
  ) throws(HTTPParseError) -> (consumed: Int, isComplete: Bool) {
    var index = 0
    while true {
      switch try next(in: bytes, at: &index, limits: limits) {
      case .data(let range): body.append(bytes[range])
      case .needsMore: return (index, false)
      case .complete: return (index, true)
      }
    }
  }

  // MARK: Sizes and ends of chunks

  private mutating func takeFraming(_ byte: UInt8, _ limits: HTTPLimits) throws(HTTPParseError) {
    switch state {
    case .size:
      if let value = ASCII.hexValue(byte) {
        digits += 1
        guard digits <= Self.sizeDigits, remaining <= Int.max >> 4 else { throw .malformedChunkSize }
        remaining = remaining << 4 | Int(value)
      } else {
        guard digits > 0 else { throw Self.fault(byte, .malformedChunkSize) }
        switch byte {
        case ASCII.cr: state = .sizeEnd
        case ASCII.semicolon: state = .extensionNameStart
        case ASCII.space, ASCII.tab: state = .extensionBlank
        default: throw Self.fault(byte, .malformedChunkSize)
        }
        guard remaining <= limits.bodyBytes - total else { throw .bodyTooLarge }
        total += remaining
      }
    case .sizeEnd:
      guard byte == ASCII.lf else { throw .bareCarriageReturn }
      state = remaining == 0 ? .trailerStart : .data
    case .dataEnd:
      guard byte == ASCII.cr else { throw .malformedChunkEnd }
      state = .dataLineFeed
    default:
      guard byte == ASCII.lf else { throw .bareCarriageReturn }
      state = .size
      digits = 0
    }
  }

  // MARK: Extensions

  /// Parses one byte of `*( BWS ";" BWS name [ BWS "=" BWS value ] )`.
  private mutating func takeExtension(_ byte: UInt8, _ limits: HTTPLimits) throws(HTTPParseError) {
    extensionBytes += 1
    guard extensionBytes <= limits.chunkExtensionBytes else { throw .chunkExtensionsTooLarge }
    let isTokenByte = ByteSet.token.contains(byte)
    switch (state, byte) {
    case (.extensionBlank, ASCII.space), (.extensionBlank, ASCII.tab),
      (.extensionNameStart, ASCII.space), (.extensionNameStart, ASCII.tab),
      (.extensionNameBlank, ASCII.space), (.extensionNameBlank, ASCII.tab),
      (.extensionValueStart, ASCII.space), (.extensionValueStart, ASCII.tab):
      break
    case (.extensionNameStart, _) where isTokenByte, (.extensionName, _) where isTokenByte:
      state = .extensionName
    case (.extensionName, ASCII.equals), (.extensionNameBlank, ASCII.equals):
      state = .extensionValueStart
    case (.extensionName, ASCII.space), (.extensionName, ASCII.tab):
      state = .extensionNameBlank
    case (.extensionValueStart, ASCII.quote):
      state = .extensionQuoted
    case (.extensionValueStart, _) where isTokenByte, (.extensionToken, _) where isTokenByte:
      state = .extensionToken
    case (.extensionQuoted, ASCII.quote):
      state = .extensionEnd
    case (.extensionQuoted, ASCII.backslash):
      state = .extensionEscape
    case (.extensionQuoted, _) where QuotedString.isText(byte), (.extensionEscape, _) where QuotedString.isText(byte):
      state = .extensionQuoted
    case (.extensionBlank, ASCII.semicolon), (.extensionName, ASCII.semicolon), (.extensionNameBlank, ASCII.semicolon),
      (.extensionToken, ASCII.semicolon), (.extensionEnd, ASCII.semicolon):
      state = .extensionNameStart
    case (.extensionToken, ASCII.space), (.extensionToken, ASCII.tab),
      (.extensionEnd, ASCII.space), (.extensionEnd, ASCII.tab):
      state = .extensionBlank
    case (.extensionName, ASCII.cr), (.extensionToken, ASCII.cr), (.extensionEnd, ASCII.cr):
      state = .sizeEnd
    default:
      throw Self.fault(byte, .malformedChunkExtension)
    }
  }

  // MARK: Trailers

  private mutating func takeTrailer(_ byte: UInt8, _ limits: HTTPLimits) throws(HTTPParseError) {
    if state == .end {
      guard byte == ASCII.lf else { throw .bareCarriageReturn }
      state = .complete
      return
    }
    if state == .trailerStart, byte == ASCII.cr {
      state = .end
      return
    }
    trailerBytes += 1
    guard trailerBytes <= limits.trailerBytes else { throw .trailersTooLarge }
    switch state {
    case .trailerStart:
      guard !ASCII.isBlank(byte) else { throw .foldedLine }
      guard byte != ASCII.colon else { throw .emptyFieldName }
      guard ByteSet.token.contains(byte) else { throw Self.fault(byte, .malformedFieldName) }
      trailerLines += 1
      guard trailerLines <= limits.fields else { throw .tooManyFields }
      trailerName = [byte]
      state = .trailerName
    case .trailerName:
      if ByteSet.token.contains(byte) {
        if trailerName.count < Self.keptNameBytes { trailerName.append(byte) }
      } else {
        try endTrailerName(byte)
      }
    case .trailerValue:
      if byte == ASCII.cr {
        state = .trailerLineFeed
      } else if byte != ASCII.tab, byte < 0x20 || byte == 0x7F {
        throw Self.fault(byte, .controlCharacter)
      }
    default:
      guard byte == ASCII.lf else { throw .bareCarriageReturn }
      state = .trailerStart
    }
  }

  private mutating func endTrailerName(_ byte: UInt8) throws(HTTPParseError) {
    switch byte {
    case ASCII.colon: break
    case ASCII.space, ASCII.tab: throw .spaceBeforeColon
    case ASCII.cr: throw .missingColon
    default: throw Self.fault(byte, .malformedFieldName)
    }
    let (isKnown, isDisguised) = trailerName.withView { (KnownField(token: $0) != nil, FramingFields.isDisguised($0)) }
    guard !isKnown else { throw .forbiddenTrailer }
    guard !isDisguised else { throw .ambiguousFieldName }
    trailerName = []
    state = .trailerValue
  }

  /// The error for an unexpected byte: a control character is reported as such.
  private static func fault(_ byte: UInt8, _ other: HTTPParseError) -> HTTPParseError {
    switch byte {
    case ASCII.lf: .bareLineFeed
    case ASCII.cr, ASCII.tab: other
    case 0..<0x20, 0x7F: .controlCharacter
    default: other
    }
  }
}
