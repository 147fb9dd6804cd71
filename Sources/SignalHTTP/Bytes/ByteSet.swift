// SPDX-License-Identifier: MIT

/// A set of ASCII bytes as 128 bits: membership is a shift, and the sets below are constants in the instructions.
///
/// The bits are written out as numbers so that they are never computed at run time; the tests derive each set again
/// from its grammar and compare. No set contains a byte above 0x7F.
package struct ByteSet: Sendable {
  private let low: UInt64
  private let high: UInt64

  @inline(__always)
  private init(_ low: UInt64, _ high: UInt64) {
    self.low = low
    self.high = high
  }

  @inline(__always)
  package func contains(_ byte: UInt8) -> Bool {
    // A masking shift uses the byte's low six bits; bytes above 0x7F are not members.
    let bits = byte & 0x40 == 0 ? low : high
    return (bits &>> UInt64(byte)) & 1 & UInt64(~byte &>> 7) != 0
  }

  /// `tchar`: method, field name, coding, option (RFC 9110 §5.6.2).
  @inline(__always)
  package static var token: ByteSet { ByteSet(0x03FF_6CFA_0000_0000, 0x57FF_FFFF_C7FF_FFFE) }

  /// The characters of a path: `pchar` without `%` and with `/` (RFC 3986 §3.3), and `[ ] ^ |`, which browsers send as
  /// they are (WHATWG URL, path percent-encode set).
  @inline(__always)
  package static var path: ByteSet { ByteSet(0x2FFF_FFD2_0000_0000, 0x57FF_FFFE_EFFF_FFFF) }

  /// The characters of a query: visible ASCII without `"`, `#` and `%`.
  ///
  /// Wider than RFC 3986 §3.4 by ``< > [ \ ] ^ ` { | }``: browsers send most of these as they are, and people type
  /// them (`?where=value>20`). None of them can end a query, a line or a log entry.
  @inline(__always)
  package static var query: ByteSet { ByteSet(0xFFFF_FFD2_0000_0000, 0x7FFF_FFFF_FFFF_FFFF) }

  /// A registered name: `unreserved` of RFC 3986 §2.3, without percent-encoding and `sub-delims`.
  ///
  /// Narrower than the grammar of a host (RFC 3986 §3.2.2): no name in use has the others, and parsers disagree about
  /// `a,b` or `a;b` in `Host`.
  @inline(__always)
  package static var registeredName: ByteSet { ByteSet(0x03FF_6000_0000_0000, 0x47FF_FFFE_87FF_FFFE) }
}
