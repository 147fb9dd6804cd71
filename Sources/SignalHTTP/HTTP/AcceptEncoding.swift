// SPDX-License-Identifier: MIT

/// Content negotiation by `Accept-Encoding` (RFC 9110 §12.5.3).
package enum AcceptEncoding {
  /// Whether the client would rather have content as gzip than as it is.
  ///
  /// Not without the field, though it then accepts anything: it may not know how to decode. A malformed element is
  /// skipped.
  package static func prefersGzip(_ head: borrowing RequestHead) -> Bool {
    var (gzip, identity, others): (Int?, Int?, Int?)
    head.forEachElement(of: .acceptEncoding) { element in
      let end = element.firstIndex(of: UInt8(ascii: ";")) ?? element.count
      guard let weight = weight(element[end..<element.count]) else { return }
      let coding = element[0..<end].trimmed
      if coding.equalsIgnoringCase("gzip") || coding.equalsIgnoringCase("x-gzip") {
        gzip = weight
      } else if coding.equalsIgnoringCase("identity") {
        identity = weight
      } else if coding.equals("*") {
        others = weight
      }
    }
    let wanted = gzip ?? others ?? 0
    return wanted > 0 && wanted >= identity ?? 0
  }

  /// The weight in what follows a coding; nil when that is malformed.
  private static func weight(_ parameter: ByteView) -> Int? {
    guard parameter.count > 0 else { return 1000 }
    let text = parameter[1..<parameter.count].trimmed
    guard text.count > 2, ASCII.lowercased(text.byte(at: 0)) == UInt8(ascii: "q"),
      text.byte(at: 1) == UInt8(ascii: "=")
    else { return nil }
    return Weight.thousandths(text[2..<text.count])
  }
}
