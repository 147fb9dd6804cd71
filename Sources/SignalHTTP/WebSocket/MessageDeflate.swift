// SPDX-License-Identifier: MIT

/// permessage-deflate as it was negotiated (RFC 7692 §7.1), from the server's side.
///
/// The client is always told `client_no_context_takeover`, so that one ``Inflater`` is enough for all connections of a
/// loop.
package struct MessageDeflate: Equatable, Sendable {
  /// Each message has to be compressed by itself, as the client does not keep what came before.
  package var isWithoutContext = false
  /// How far back a message may refer at most, as a power of two; nil when the client has not asked for less than 15.
  package var windowBits: UInt8?

  /// An agreement without restrictions.
  package init(isWithoutContext: Bool = false, windowBits: UInt8? = nil) {
    self.isWithoutContext = isWithoutContext
    self.windowBits = windowBits
  }

  /// The size up to which a message that refers to nothing before it, compressed by ``Deflater/Window/small``, stays
  /// within the window.
  package var largestAlone: Int {
    guard let windowBits, windowBits < 12 else { return CompressionLimits.largestMessage }
    return 1 << Int(windowBits)
  }

  /// Whether messages may refer to earlier ones as far back as ``Deflater/Window/small`` does.
  package var allowsWindow: Bool { !isWithoutContext && windowBits ?? 15 >= 12 }

  private static let name = Array("permessage-deflate".utf8)
  private static let serverWithoutContext = Array("server_no_context_takeover".utf8)
  private static let clientWithoutContext = Array("client_no_context_takeover".utf8)
  private static let serverWindow = Array("server_max_window_bits".utf8)
  private static let clientWindow = Array("client_max_window_bits".utf8)

  /// The first acceptable offer; nil when there is none.
  package static func choose(from offers: [ExtensionOffer]) -> MessageDeflate? {
    offers.lazy.compactMap { MessageDeflate($0) }.first
  }

  /// What an offer asks for; nil when it is of another extension, or has to be declined (§7.1): because of a parameter
  /// that is not known, stands twice, or has a value that it cannot have.
  private init?(_ offer: ExtensionOffer) {
    guard offer.name == Self.name else { return nil }
    var names: Set<[UInt8]> = []
    for (name, value) in offer.parameters {
      guard names.insert(name).inserted else { return nil }
      switch name {
      case Self.serverWithoutContext:
        guard value == nil else { return nil }
        isWithoutContext = true
      case Self.clientWithoutContext: guard value == nil else { return nil }
      case Self.serverWindow:
        guard let value, let bits = Self.windowBits(value) else { return nil }
        windowBits = bits
      case Self.clientWindow:
        // A hint alone: any window of the client's is read.
        guard let value else { continue }
        guard Self.windowBits(value) != nil else { return nil }
      default: return nil
      }
    }
  }

  /// 8 to 15, in decimal digits without a zero before them.
  private static func windowBits(_ value: [UInt8]) -> UInt8? {
    switch (value.count, value.first, value.last) {
    case (1, UInt8(ascii: "8")?, _), (1, UInt8(ascii: "9")?, _): value[0] - UInt8(ascii: "0")
    case (2, UInt8(ascii: "1")?, let digit?) where (UInt8(ascii: "0")...UInt8(ascii: "5")).contains(digit):
      10 + digit - UInt8(ascii: "0")
    default: nil
    }
  }

  /// The value of `Sec-WebSocket-Extensions` in the response.
  package var response: String {
    var text = "permessage-deflate; client_no_context_takeover"
    if isWithoutContext { text += "; server_no_context_takeover" }
    if let windowBits { text += "; server_max_window_bits=\(windowBits)" }
    return text
  }
}
