// SPDX-License-Identifier: MIT

/// Finds the end of a request's head (RFC 9112 §2.1) in bytes that arrive in pieces, and fails at the first byte that
/// no head can contain.
///
///     leading ──▶ method ──▶ target ──▶ version ──▶ lineStart ──▶ end
///                                                   ▲      │
///                                        line end ──┘      ▼
///                                                        line
///
/// It examines every byte once: the next call begins where the last one stopped, so feeding byte by byte costs no more
/// than feeding at once. What it accepts is a request line of three parts and lines of text that end in CRLF;
/// `RequestHeadParser` then interprets them. It is a small value: all that a connection keeps of an incomplete head
/// besides the bytes.
package struct HeadScanner: Sendable {
  private enum Phase: UInt8 {
    case leading, leadingLineFeed, method, target, version, lineStart, line, lineFeed, endLineFeed
  }

  private var phase = Phase.leading
  /// Where the next call begins.
  private var offset: UInt32 = 0
  /// Where the current part begins: the method, the target, the version.
  private var partStart: UInt32 = 0
  private var emptyLines: UInt32 = 0
  private var fields: UInt32 = 0

  package init() {}

  /// Whether only empty lines have been seen: the connection is idle, not in the middle of a request.
  package var isIdle: Bool { phase == .leading || phase == .leadingLineFeed }

  /// Scans the new part of `bytes`, which begin with the request and grow from call to call.
  ///
  /// Returns the length of the head, with the empty lines before it and the one that ends it, or nil when more bytes
  /// are needed. After a length or an error the scanner must not be used again; the next request takes a new one.
  package mutating func scan(_ bytes: ByteView, limits: HTTPLimits) throws(HTTPParseError) -> Int? {
    // Bytes beyond the limit are not examined: the result is the same however the bytes are split.
    let limit = min(max(limits.headBytes, 0), Int(UInt32.max))
    let window = bytes.count > limit ? bytes[0..<limit] : bytes
    var index = Int(offset)
    if phase.rawValue < Phase.lineStart.rawValue {
      try scanRequestLine(window, &index, limits)
    }
    if phase.rawValue >= Phase.lineStart.rawValue, try scanFieldLines(window, &index, limits) { return index }
    if index >= limit { throw .headTooLarge }
    offset = UInt32(truncatingIfNeeded: index)
    return nil
  }

  private mutating func scanRequestLine(
    _ bytes: ByteView, _ index: inout Int, _ limits: HTTPLimits
  ) throws(HTTPParseError) {
    while phase == .leading || phase == .leadingLineFeed {
      guard index < bytes.count else { return }
      let byte = bytes.byte(at: index)
      if phase == .leadingLineFeed {
        guard byte == ASCII.lf else { throw .bareCarriageReturn }
        index += 1
        phase = .leading
      } else if byte == ASCII.cr {
        emptyLines += 1
        guard emptyLines <= limits.emptyLines else { throw .tooManyEmptyLines }
        index += 1
        phase = .leadingLineFeed
      } else {
        partStart = UInt32(truncatingIfNeeded: index)
        phase = .method
      }
    }

    if phase == .method {
      let start = Int(partStart)
      index = bytes.tokenEnd(from: index)
      guard index - start <= limits.methodBytes else { throw .methodTooLong }
      guard index < bytes.count else { return }
      let byte = bytes.byte(at: index)
      guard byte == ASCII.space, index > start else {
        throw byte == ASCII.cr ? .malformedRequestLine : Self.fault(byte, .malformedMethod)
      }
      index += 1
      partStart = UInt32(truncatingIfNeeded: index)
      phase = .target
    }

    if phase == .target {
      let start = Int(partStart)
      index = bytes.firstInvisible(from: index)
      guard index - start <= limits.targetBytes else { throw .targetTooLong }
      guard index < bytes.count else { return }
      let byte = bytes.byte(at: index)
      guard byte == ASCII.space, index > start else {
        let isMisplaced = byte == ASCII.cr || byte == ASCII.space
        throw isMisplaced ? .malformedRequestLine : Self.fault(byte, .malformedTarget)
      }
      index += 1
      partStart = UInt32(truncatingIfNeeded: index)
      phase = .version
    }

    if phase == .version {
      let start = Int(partStart)
      if index == start, HTTPVersion.isCurrent(bytes, at: start) {
        index += HTTPVersion.lineBytes
        phase = .lineStart
        return
      }
      while index < bytes.count {
        try HTTPVersion.check(bytes, start: start, at: index)
        index += 1
        if index - start == HTTPVersion.lineBytes {
          phase = .lineStart
          return
        }
      }
    }
  }

  /// Returns whether the head is complete; `index` is then after it.
  private mutating func scanFieldLines(
    _ bytes: ByteView, _ index: inout Int, _ limits: HTTPLimits
  ) throws(HTTPParseError) -> Bool {
    while true {
      if phase == .line {
        stepOverLines(bytes, &index, limits)
        guard index < bytes.count else { return false }
        guard bytes.byte(at: index) == ASCII.cr else { throw Self.fault(bytes.byte(at: index), .controlCharacter) }
        index += 1
        phase = .lineFeed
      }
      guard index < bytes.count else { return false }
      let byte = bytes.byte(at: index)
      switch phase {
      case .lineFeed:
        guard byte == ASCII.lf else { throw .bareCarriageReturn }
        index += 1
        phase = .lineStart
      case .endLineFeed:
        guard byte == ASCII.lf else { throw .bareCarriageReturn }
        index += 1
        return true
      default:
        if byte == ASCII.cr {
          index += 1
          phase = .endLineFeed
        } else {
          // A blank here would fold the previous line, or hide the following field (RFC 9112 §2.2, §5.2).
          guard !ASCII.isBlank(byte) else { throw .foldedLine }
          guard fields < limits.fields else { throw .tooManyFields }
          fields += 1
          phase = .line
        }
      }
    }
  }

  /// Skips as many complete lines as are followed by another; stops within a line, where the bytewise steps continue.
  @inline(__always)
  private mutating func stepOverLines(_ bytes: ByteView, _ index: inout Int, _ limits: HTTPLimits) {
    var end = index
    var lines = fields
    while true {
      end = bytes.firstControl(from: end)
      guard end + 2 < bytes.count, bytes.byte(at: end) == ASCII.cr, bytes.byte(at: end + 1) == ASCII.lf,
        bytes.byte(at: end + 2) > ASCII.space, lines < limits.fields
      else { break }
      lines += 1
      end += 2
    }
    fields = lines
    index = end
  }

  /// The error for an unexpected byte: a control character is reported as such.
  fileprivate static func fault(_ byte: UInt8, _ other: HTTPParseError) -> HTTPParseError {
    switch byte {
    case ASCII.lf: .bareLineFeed
    case ASCII.cr, ASCII.tab: other
    case 0..<0x20, 0x7F: .controlCharacter
    default: other
    }
  }
}

/// The end of a request line: `HTTP/`, digit, `.`, digit and the line's end (RFC 9112 §2.3).
enum HTTPVersion {
  /// Bytes of a version and the line's end.
  static let lineBytes = 10

  /// Whether `HTTP/1.1` and the line's end are at an offset.
  @inline(__always)
  static func isCurrent(_ bytes: ByteView, at offset: Int) -> Bool {
    offset + lineBytes <= bytes.count && bytes.word(at: offset) == 0x312E_312F_5054_5448
      && bytes.byte(at: offset + 8) == ASCII.cr && bytes.byte(at: offset + 9) == ASCII.lf
  }

  /// Checks one byte of a version that begins at `start`.
  static func check(_ bytes: ByteView, start: Int, at index: Int) throws(HTTPParseError) {
    let byte = bytes.byte(at: index)
    let offset = index - start
    switch offset {
    case 5, 7:
      guard ASCII.isDigit(byte) else { throw HeadScanner.fault(byte, .malformedVersion) }
    case 8:
      guard byte == ASCII.cr else { throw HeadScanner.fault(byte, .malformedVersion) }
      // Any minor version of 1 is served as 1.1 (RFC 9110 §2.5).
      guard bytes.byte(at: start + 5) == UInt8(ascii: "1") else { throw .unsupportedVersion }
    case 9:
      guard byte == ASCII.lf else { throw .bareCarriageReturn }
    default:
      guard byte == ByteView("HTTP/1.1").byte(at: offset) else { throw HeadScanner.fault(byte, .malformedVersion) }
    }
  }
}
