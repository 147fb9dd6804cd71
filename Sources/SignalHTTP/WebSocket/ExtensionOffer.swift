// SPDX-License-Identifier: MIT

/// One element of `Sec-WebSocket-Extensions` (RFC 6455 §9.1): a name and its parameters, in order.
package struct ExtensionOffer: Equatable, Sendable {
  /// The name of the extension, as sent.
  package var name: [UInt8]
  /// The parameters, without the quotes of their values; nil is one without a value.
  package var parameters: [(name: [UInt8], value: [UInt8]?)]

  /// The elements of all fields; nil when one violates the syntax, upon which the handshake has to fail.
  package static func parse(_ fields: [[UInt8]]) -> [ExtensionOffer]? {
    var offers: [ExtensionOffer] = []
    for field in fields {
      var reader = ExtensionReader(field)
      repeat {
        reader.skipBlanks()
        // Empty elements are to be tolerated in a list (RFC 9110 §5.6.1.2).
        if reader.isAtEnd || reader.isAt(UInt8(ascii: ",")) { continue }
        guard let offer = reader.offer() else { return nil }
        offers.append(offer)
      } while reader.take(UInt8(ascii: ","))
      guard reader.isAtEnd else { return nil }
    }
    return offers
  }

  package static func == (left: ExtensionOffer, right: ExtensionOffer) -> Bool {
    left.name == right.name && left.parameters.elementsEqual(right.parameters) { $0 == $1 }
  }
}

/// Reads a value of the field.
private struct ExtensionReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  func isAt(_ byte: UInt8) -> Bool { position < bytes.count && bytes[position] == byte }

  mutating func take(_ byte: UInt8) -> Bool {
    guard isAt(byte) else { return false }
    position += 1
    return true
  }

  mutating func skipBlanks() { while position < bytes.count, ASCII.isBlank(bytes[position]) { position += 1 } }

  mutating func offer() -> ExtensionOffer? {
    guard let name = token() else { return nil }
    var offer = ExtensionOffer(name: name, parameters: [])
    skipBlanks()
    while take(UInt8(ascii: ";")) {
      skipBlanks()
      guard let name = token() else { return nil }
      skipBlanks()
      var value: [UInt8]?
      if take(UInt8(ascii: "=")) {
        skipBlanks()
        value = isAt(ASCII.quote) ? quoted() : token()
        guard value != nil else { return nil }
        skipBlanks()
      }
      offer.parameters.append((name, value))
    }
    return offer
  }

  private mutating func token() -> [UInt8]? {
    let start = position
    while position < bytes.count, ByteSet.token.contains(bytes[position]) { position += 1 }
    return position > start ? Array(bytes[start..<position]) : nil
  }

  /// A quoted string, whose content has to be a token.
  private mutating func quoted() -> [UInt8]? {
    position += 1
    var content: [UInt8] = []
    while position < bytes.count {
      var byte = bytes[position]
      position += 1
      if byte == ASCII.quote { return content.isEmpty ? nil : content }
      if byte == ASCII.backslash {
        guard position < bytes.count else { return nil }
        byte = bytes[position]
        position += 1
      }
      guard ByteSet.token.contains(byte) else { return nil }
      content.append(byte)
    }
    return nil
  }
}
