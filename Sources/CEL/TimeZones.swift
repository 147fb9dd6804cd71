// SPDX-License-Identifier: MIT

/// Zones (langdef "Timezones"): `UTC`, offsets such as `+05:30`, and the names of the system's database.
enum TimeZones {
  /// Seconds east of UTC at a time; nil when there is no such zone.
  static func offset(of name: [UInt8], at seconds: Int64) -> Int? {
    if let fixed = fixedOffset(name) { return fixed }
    return nil
  }

  /// The offset that the name itself says; the sign may be missing.
  private static func fixedOffset(_ name: [UInt8]) -> Int? {
    if name.elementsEqual("UTC".utf8) || name.isEmpty { return 0 }
    let signed = name.first.map(Lexer.isDigit) == true ? Array("+".utf8) + name : name
    var reader = Times.Reader(signed)
    guard let offset = reader.zone(), reader.isAtEnd, name.count > 1 else { return nil }
    return offset
  }
}
