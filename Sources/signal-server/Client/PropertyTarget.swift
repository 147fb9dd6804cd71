// SPDX-License-Identifier: MIT

/// The path and query of a request to the server, percent-encoded (RFC 3986 §2.1).
enum PropertyTarget {
  /// `/properties/{path}`, or another resource with paths, with a query.
  ///
  /// Everything but the slash is encoded: what the user wrote is the property's path, byte by byte.
  static func make(
    _ path: String, _ query: [(name: String, value: String)] = [], in collection: String = "/properties/"
  ) -> String {
    let parameters = query.map { "\($0.name)=\(encoded($0.value))" }
    return collection + encoded(path, keeping: "/") + (parameters.isEmpty ? "" : "?")
      + parameters.joined(separator: "&")
  }

  private static func encoded(_ text: String, keeping other: StaticString = "") -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = text.utf8.reduce(into: [UInt8]()) { bytes, byte in
      let isUnreserved =
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "-._~".utf8.contains(byte) || other.description.utf8.contains(byte)
        }
      if isUnreserved {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
