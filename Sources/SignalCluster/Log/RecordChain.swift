// SPDX-License-Identifier: MIT

internal import COpenSSL

/// A link of the chain of records: the first eight bytes of an HMAC-SHA-256 over the link before and the record.
///
/// Two logs whose last records that count have equal links have equal records before them as well, unless somebody
/// who has the secret wanted it otherwise.
package struct ChainLink: Hashable, Sendable {
  let word: UInt64

  /// Before the first record.
  package static let none = ChainLink(word: 0)

  package init(word: UInt64) { self.word = word }

  /// Reads 16 hexadecimal digits, as ``text`` writes them; nil for any other text.
  init?(_ text: String) {
    guard text.utf8.count == 16, text.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) }),
      let word = UInt64(text, radix: 16)
    else { return nil }
    self.word = word
  }

  /// 16 hexadecimal digits.
  package var text: String {
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

/// The secret that members of a cluster share, by which they recognize each other's records.
package struct ChainKey: Sendable {
  private let secret: [UInt8]

  /// - Parameter secret: Any bytes; without any, the chain still finds differences, but proves nothing.
  package init(_ secret: [UInt8]) { self.secret = secret }

  /// The link behind a record.
  package func link(after previous: ChainLink, _ record: [UInt8]) -> ChainLink {
    var message = Array(previous.text.utf8)
    message.reserveCapacity(message.count + record.count)
    message.append(contentsOf: record)
    var digest = [UInt8](repeating: 0, count: 32)
    // The call reads the given numbers of bytes, writes 32, and keeps no pointer; it cannot fail for this digest.
    unsafe secret.withUnsafeBufferPointer { key in
      unsafe message.withUnsafeBufferPointer { message in
        unsafe digest.withUnsafeMutableBufferPointer { digest in
          var count: UInt32 = 0
          let result = unsafe HMAC(
            EVP_sha256(), key.baseAddress, Int32(key.count), message.baseAddress, message.count, digest.baseAddress,
            &count)
          precondition(unsafe result != nil && count == 32, "HMAC-SHA-256 has 32 bytes.")
        }
      }
    }
    return ChainLink(word: digest[..<8].reduce(0) { $0 << 8 | UInt64($1) })
  }
}
