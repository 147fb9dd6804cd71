// SPDX-License-Identifier: MIT
import SignalHTTP
import Testing

/// The bit patterns of the sets, derived once more from the grammars.
@Suite struct `Byte sets` {
  private static let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
  private static let digits = "0123456789"

  private func expect(_ set: ByteSet, is members: String) {
    let members = Set(members.utf8)
    for byte in UInt8.min...UInt8.max {
      #expect(set.contains(byte) == members.contains(byte), "byte \(byte)")
    }
  }

  @Test func `a token is made of tchar (RFC 9110 §5.6.2)`() {
    expect(.token, is: Self.letters + Self.digits + "!#$%&'*+-.^_`|~")
  }

  @Test func `a path is made of pchar, slashes, and what browsers leave unencoded (RFC 3986 §3.3)`() {
    expect(.path, is: Self.letters + Self.digits + "-._~" + "!$&'()*+,;=" + ":@" + "/" + "[]^|")
  }

  @Test func `a query is made of visible ASCII but for quote, hash and percent`() {
    let visible = String(decoding: UInt8(0x21)...0x7E, as: UTF8.self)
    expect(.query, is: visible.filter { !"\"#%".contains($0) })
  }

  @Test func `a registered name is made of unreserved characters (RFC 3986 §2.3)`() {
    expect(.registeredName, is: Self.letters + Self.digits + "-._~")
  }
}
