// SPDX-License-Identifier: MIT
import COpenSSL

/// The SHA-256 of some bytes (FIPS 180-4).
package struct Digest: Hashable, Sendable {
  private let first: UInt64
  private let second: UInt64
  private let third: UInt64
  private let fourth: UInt64

  /// Calculates it.
  package init(of bytes: Span<UInt8>) {
    var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    // The call reads the given number of bytes, writes 32, and keeps neither pointer.
    unsafe bytes.withUnsafeBufferPointer { source in
      unsafe withUnsafeMutableBytes(of: &words) { target in
        _ = unsafe SHA256(source.baseAddress, source.count, target.bindMemory(to: UInt8.self).baseAddress)
      }
    }
    (first, second, third, fourth) = words
  }

  /// Reads 64 hexadecimal digits, as ``hexadecimal`` writes them; nil for any other text.
  package init?(hexadecimal text: String) {
    guard text.utf8.count == 64 else { return nil }
    var words: [UInt64] = []
    var rest = text[...]
    while !rest.isEmpty {
      let digits = rest.prefix(16)
      guard digits.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) }), let word = UInt64(digits, radix: 16)
      else {
        return nil
      }
      words.append(word.bigEndian)
      rest = rest.dropFirst(16)
    }
    (first, second, third, fourth) = (words[0], words[1], words[2], words[3])
  }

  /// The digest as `sha256sum` prints it.
  package var hexadecimal: String {
    [first, second, third, fourth].map { word in
      let digits = String(word.bigEndian, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// Whether both are the same, in a time that does not depend on where they differ.
  package func isSame(as other: Digest) -> Bool {
    unsafe withUnsafeBytes(of: self) { own in
      unsafe withUnsafeBytes(of: other) { given in
        unsafe CRYPTO_memcmp(own.baseAddress, given.baseAddress, own.count) == 0
      }
    }
  }
}

/// Random bytes of the system, for secrets.
package enum SecretBytes {
  /// - Returns: nil when the system has none to give.
  package static func random(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    // The call writes `count` bytes and keeps no pointer.
    let works = unsafe bytes.withUnsafeMutableBufferPointer {
      unsafe RAND_priv_bytes($0.baseAddress, Int32($0.count)) == 1
    }
    return works ? bytes : nil
  }
}
