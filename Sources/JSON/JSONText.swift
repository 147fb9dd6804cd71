// SPDX-License-Identifier: MIT

/// A valid JSON text (RFC 8259) with insignificant white space removed.
///
/// Immutable, one heap block of exactly the size needed, compared and hashed by its bytes. Nothing else is changed:
/// numbers keep their digits (`1e400`, `21.50`, 2^53+1), strings their escapes (a lone `\ud800` too), objects the
/// order and the duplicates of their members.
public struct JSONText: Sendable {
  /// The compact UTF-8 text; never empty, but for the place of a tree that is to come.
  public let bytes: [UInt8]

  /// No text, where one is to come; nothing is allocated.
  init() { bytes = [] }

  /// Makes a text from bytes that are known to be a valid, compact text.
  ///
  /// A debug build checks it.
  package init(alreadyCompact bytes: [UInt8]) {
    assert((try? JSONText(validating: bytes.span, limits: .unlimited).bytes) == bytes)
    self.bytes = bytes
  }

  /// Validates and compacts a source.
  ///
  /// One pass and one copy. White space inside the text costs a buffer of the source's size while it is removed; a
  /// compact source that is refused costs no allocation, up to 64 levels of nesting.
  public init(validating source: Span<UInt8>, limits: JSONLimits = JSONLimits()) throws(JSONError) {
    var compactor = Compactor()
    let end = try Self.validate(source, limits, &compactor)
    bytes = compactor.finish(source, valueEnd: end)
  }

  /// Validates and compacts an array.
  ///
  /// Its storage is kept, not copied, when it is already compact and fits closely.
  public init(validating source: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) {
    var compactor = Compactor()
    let end = try Self.validate(source.span, limits, &compactor)
    if compactor.isCompact, end == source.count, source.capacity <= source.count + 32 {
      bytes = source
    } else {
      bytes = compactor.finish(source.span, valueEnd: end)
    }
  }

  /// Validates and compacts the UTF-8 bytes of a string.
  public init(validating source: String, limits: JSONLimits = JSONLimits()) throws(JSONError) {
    try self.init(validating: source.utf8.span, limits: limits)
  }

  /// The value that begins at an offset of a longer source, and the offset after it; nil when it is not valid, or
  /// beyond the limits.
  static func prefix(of source: Span<UInt8>, from start: Int, _ limits: JSONLimits) -> (JSONText, end: Int)? {
    guard start < source.count else { return nil }
    var compactor = Compactor(from: start)
    guard
      let end = try? Validator.validateValue(
        source, from: start, depthLimit: limits.depth, digitLimit: limits.digits, &compactor),
      end - start <= min(limits.bytes, JSONLimits.bytesCeiling)
    else { return nil }
    return (JSONText(compacted: compactor.finish(source, valueEnd: end)), end)
  }

  private init(compacted bytes: [UInt8]) { self.bytes = bytes }

  private static func validate(
    _ source: Span<UInt8>, _ limits: JSONLimits, _ compactor: inout Compactor
  ) throws(JSONError) -> Int {
    let limit = max(0, min(limits.bytes, JSONLimits.bytesCeiling))
    guard source.count <= limit else { throw JSONError(.tooLarge, at: limit) }
    return try Validator.validate(source, depthLimit: limits.depth, digitLimit: limits.digits, &compactor)
  }
}

// MARK: - Values

extension JSONText {
  /// The text `null`.
  public static let null = JSONText(alreadyCompact: Array("null".utf8))
  /// The text `true`.
  public static let `true` = JSONText(alreadyCompact: Array("true".utf8))
  /// The text `false`.
  public static let `false` = JSONText(alreadyCompact: Array("false".utf8))

  /// `true` or `false`; nothing is allocated.
  public init(_ value: Bool) {
    self = value ? .true : .false
  }

  /// An integer in decimal.
  public init(_ value: Int) {
    var bytes: [UInt8] = []
    bytes.appendJSON(value)
    self.init(alreadyCompact: bytes)
  }

  /// The shortest number that reads back as the same `Double`; nil when it is infinite or not a number, which JSON
  /// cannot say (RFC 8259 §6).
  ///
  /// A whole number keeps `.0`, so that it stays a floating-point number for expressions.
  public init?(_ value: Double) {
    guard value.isFinite else { return nil }
    var bytes: [UInt8] = []
    bytes.appendJSON(value)
    self.init(alreadyCompact: bytes)
  }

  /// A string, with the escapes that RFC 8259 §7 requires and no others.
  public init(_ value: String) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(value.utf8.count + 2)
    bytes.appendJSON(value)
    self.init(alreadyCompact: bytes)
  }
}

extension JSONText: Hashable {
  /// Whether the compact bytes are the same: `1` and `1.0` differ, as do `"a"` and `"\u0061"`.
  public static func == (left: JSONText, right: JSONText) -> Bool {
    left.bytes.span.equals(right.bytes.span)
  }

  /// Feeds the bytes to a hasher.
  public func hash(into hasher: inout Hasher) {
    // The pointer does not leave the closure.
    unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
  }
}

extension JSONText: CustomStringConvertible {
  /// The text itself.
  public var description: String { String(decoding: bytes, as: UTF8.self) }
}
