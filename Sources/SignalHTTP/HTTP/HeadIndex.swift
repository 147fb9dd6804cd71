// SPDX-License-Identifier: MIT

/// Where a body ends (RFC 9112 §6.3).
package enum BodyFraming: Equatable, Sendable {
  /// There is no body.
  case none
  /// That many bytes follow the head; may be 0.
  case sized(Int)
  /// Chunks follow the head.
  case chunked
}

/// Which of the four forms a target has (RFC 9112 §3.2).
package enum TargetForm: UInt8, Sendable {
  /// `/path?query`: the usual one.
  case origin
  /// `http://host/path?query`: the host takes precedence over `Host`.
  case absolute
  /// `host:port`: only with CONNECT.
  case authority
  /// `*`: only with OPTIONS, the server as a whole.
  case asterisk
}

/// What `Connection` asks for (RFC 9110 §7.6.1), as far as this server knows it.
package struct ConnectionOptions: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The connection ends after the response.
  package static let close = ConnectionOptions(rawValue: 1)
  /// The connection stays open; what HTTP/1.0 has to ask for.
  package static let keepAlive = ConnectionOptions(rawValue: 2)
  /// `Upgrade` applies to this connection.
  package static let upgrade = ConnectionOptions(rawValue: 4)
}

/// A piece of a head, by its offsets.
package struct HeadRange: Equatable, Sendable {
  let lower: UInt32
  let upper: UInt32

  /// The caller has checked the offsets against a head, whose size the scanner bounds.
  @inline(__always)
  init(_ lower: Int, _ upper: Int) {
    self.lower = UInt32(truncatingIfNeeded: lower)
    self.upper = UInt32(truncatingIfNeeded: upper)
  }

  static var empty: HeadRange { HeadRange(0, 0) }

  var range: Range<Int> { Int(lower)..<Int(upper) }
}

/// One field line: where its name and its value are, without the white space around it.
package struct FieldLine: Sendable {
  let name: HeadRange
  let value: HeadRange
  let known: KnownField?
}

/// The contents of a head, as offsets and small values: it is used together with the head's bytes.
package struct HeadIndex: Sendable {
  var method: HTTPMethod.Known?
  var methodName = HeadRange.empty
  var target = HeadRange.empty
  var form = TargetForm.origin
  var path = HeadRange.empty
  var query: HeadRange?
  var host = HeadRange.empty
  var port: UInt16?
  var minorVersion: UInt8 = 1
  var framing = BodyFraming.none
  var options: ConnectionOptions = []
  var expectsContinue = false
  var isSecured = false
  /// Bits of the known fields that occur, and of those that occur more than once.
  var present: UInt64 = 0
  var repeated: UInt64 = 0
  var fieldCount = 0
}
