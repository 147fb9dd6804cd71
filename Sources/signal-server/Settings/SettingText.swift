// SPDX-License-Identifier: MIT
import SignalStore

/// How values of settings are written, in a file, in the environment and in a flag alike.
///
/// Each pair of functions reads and writes the same form, so that the output of `--print-config` is a valid file.
enum SettingText {
  /// The units of a size, largest first; a plain number is a count of bytes.
  private static let sizeUnits: [(name: String, bytes: Int)] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]

  /// Reads decimal digits; no sign, no separators, nothing around them.
  static func integer(_ text: some StringProtocol) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return nil
    }
    return Int(text)
  }

  /// Reads `64KiB`, `1MiB`, `2GiB` or a plain count of bytes.
  static func bytes(_ text: String) -> Int? {
    guard let unit = sizeUnits.first(where: { text.hasSuffix($0.name) }) else { return integer(text) }
    return scaled(text.dropLast(unit.name.count), by: unit.bytes)
  }

  /// Writes a count of bytes in the largest unit that divides it.
  static func text(bytes: Int) -> String {
    guard bytes > 0, let unit = sizeUnits.first(where: { bytes % $0.bytes == 0 }) else { return String(bytes) }
    return "\(bytes / unit.bytes)\(unit.name)"
  }

  /// Reads `250ms`, `30s`, `5m` or `2h`; there is no unit by default, as `30` could be either.
  static func duration(_ text: String) -> Duration? { Duration(text: text[...], digits: .max) }

  /// Writes a length of time in the largest unit that divides it.
  static func text(duration: Duration) -> String { duration.text }

  private static func scaled(_ digits: some StringProtocol, by factor: Int) -> Int? {
    guard let count = integer(digits) else { return nil }
    let (product, overflow) = count.multipliedReportingOverflow(by: factor)
    return overflow ? nil : product
  }
}
