// SPDX-License-Identifier: MIT

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Numbers as text, and back.
enum Numbers {
  /// The double of a decimal number or of a name of infinity or not-a-number; nil when it is neither, or beyond range.
  static func double(_ text: String) -> Double? {
    var unsigned = text[...]
    let isNegative = text.hasPrefix("-")
    if isNegative || text.hasPrefix("+") { unsigned = unsigned.dropFirst() }
    switch unsigned.lowercased() {
    case "inf", "infinity": return isNegative ? -.infinity : .infinity
    case "nan": return .nan
    default: break
    }
    // Only what decimal numbers are made of: the standard library reads hexadecimal and names as well.
    guard unsigned.utf8.allSatisfy({ Lexer.isDigit($0) || "eE.+-".utf8.contains($0) }),
      let value = Double(unsigned.hasPrefix(".") ? "0\(unsigned)" : String(unsigned)), value.isFinite
    else { return nil }
    return isNegative ? -value : value
  }

  /// The shortest text that reads back as the same double: `1`, `0.0045`, `1e+21`, `1.5e-07`.
  static func text(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
    if value == 0 { return value.sign == .minus ? "-0" : "0" }
    let (digits, exponent) = shortest(value)
    let sign = value < 0 ? "-" : ""
    if exponent < -4 || exponent >= 21 {
      let fraction = digits.count > 1 ? "." + digits.dropFirst() : ""
      let magnitude = abs(exponent)
      return "\(sign)\(digits.prefix(1))\(fraction)e\(exponent < 0 ? "-" : "+")\(magnitude < 10 ? "0" : "")\(magnitude)"
    }
    if exponent < 0 { return "\(sign)0.\(String(repeating: "0", count: -exponent - 1))\(digits)" }
    let whole = digits.prefix(exponent + 1)
    let zeros = String(repeating: "0", count: exponent + 1 - whole.count)
    let fraction = digits.dropFirst(exponent + 1)
    return "\(sign)\(whole)\(zeros)\(fraction.isEmpty ? "" : ".\(fraction)")"
  }

  /// The significant digits of a finite number that is not zero, and the power of ten of the first.
  private static func shortest(_ value: Double) -> (digits: String, exponent: Int) {
    let text = value.magnitude.description
    let parts = text.split(separator: "e")
    let number = parts[0].split(separator: ".", omittingEmptySubsequences: false)
    let whole = String(number[0])
    var digits = whole + (number.count > 1 ? String(number[1]) : "")
    var exponent = whole.count - 1 + (parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
    while digits.hasPrefix("0"), digits.count > 1 {
      digits.removeFirst()
      exponent -= 1
    }
    while digits.hasSuffix("0"), digits.count > 1 { digits.removeLast() }
    return (digits, exponent)
  }

  /// A double with a number of digits after the decimal point, from the exact value, as `%.3f` or `%.3e` of C writes
  /// it.
  static func fixed(_ value: Double, digits: Int, isScientific: Bool) -> [UInt8] {
    // The largest double has 309 digits before the point.
    var buffer = [CChar](repeating: 0, count: 330 + digits)
    // The C function is given the size of the buffer, which lives through the call.
    let count = unsafe withVaList([Int32(digits), value]) { arguments in
      unsafe vsnprintf(&buffer, buffer.count, isScientific ? "%.*e" : "%.*f", arguments)
    }
    return buffer.prefix(max(0, Int(count))).map { UInt8(bitPattern: $0) }
  }
}
