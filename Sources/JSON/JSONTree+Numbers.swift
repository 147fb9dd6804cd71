// SPDX-License-Identifier: MIT

/// Numbers.
///
/// The digits stay in the text; these convert them when asked. All answer nil for any other kind of node.
extension JSONTree {
  /// Whether the node is a number without fraction and exponent: `1` and `-0`, not `1.0` and `1e2`.
  @inlinable
  public func isInteger(_ node: Node) -> Bool {
    let record = record(node)
    return record.kind == .number && record.flag
  }

  /// The value of an integer (``isInteger(_:)``); nil when it does not fit exactly.
  public func int64(_ node: Node) -> Int64? {
    guard let (isNegative, magnitude) = integer(node) else { return nil }
    if isNegative { return magnitude <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil }
    return Int64(exactly: magnitude)
  }

  /// The value of an integer (``isInteger(_:)``); nil when it does not fit exactly or is below zero.
  public func uint64(_ node: Node) -> UInt64? {
    guard let (isNegative, magnitude) = integer(node), !isNegative || magnitude == 0 else { return nil }
    return magnitude
  }

  /// The nearest `Double`, ties to even, of any number: beyond the largest it is infinite (`1e400`), below the
  /// smallest zero, with its sign.
  public func double(_ node: Node) -> Double? {
    let record = record(node)
    guard record.kind == .number else { return nil }
    let digits = text.bytes.span.extracting(Int(record.start)..<Int(record.end))
    return DecimalNumber.short(digits) ?? DecimalNumber(digits).double(of: digits)
  }

  private func integer(_ node: Node) -> (isNegative: Bool, magnitude: UInt64)? {
    guard isInteger(node) else { return nil }
    let source = text.bytes.span
    var range = range(of: node)
    let isNegative = source[range.lowerBound] == UInt8(ascii: "-")
    if isNegative { range = range.lowerBound + 1..<range.upperBound }
    // 2^64 - 1 has 20 digits, and there are no leading zeros.
    guard range.count <= 20 else { return nil }
    var magnitude: UInt64 = 0
    for index in range {
      let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(UInt64(source.byte(at: index) &- UInt8(ascii: "0")))
      if overflow || carry { return nil }
      magnitude = sum
    }
    return (isNegative, magnitude)
  }
}

extension Double {
  /// The nearest value to a JSON text that is known to be valid and compact; nil when it is not a number.
  package init?(jsonNumber text: Span<UInt8>) {
    guard let first = text.count > 0 ? text[0] : nil,
      first == UInt8(ascii: "-") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= first
    else { return nil }
    self = DecimalNumber.short(text) ?? DecimalNumber(text).double(of: text)
  }
}
