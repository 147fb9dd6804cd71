// SPDX-License-Identifier: MIT

internal import COpenSSL
internal import JSON

/// How a client of NATS proves who it is.
package enum NATSCredentials: Sendable, Equatable {
  case none
  case user(String, password: String)
  case token(String)
  /// A seed of an Ed25519 key; with a JSON Web Token that names the key, or without.
  case seed([UInt8], jwt: String?)

  /// Reads a file: one of credentials as `nsc` makes it, a seed that begins with `SU`, `user:password`, or a token.
  ///
  /// - Returns: nil when it is none of these.
  package init?(_ text: String) {
    let lines = text.split(whereSeparator: \.isNewline).map { $0.trimming(while: \.isWhitespace) }
    func block(_ name: String) -> String? {
      guard let begin = lines.firstIndex(where: { $0.hasPrefix("-----BEGIN \(name)") }) else { return nil }
      return lines[(begin + 1)...].first { !$0.isEmpty }.map(String.init)
    }
    if let jwt = block("NATS USER JWT") {
      guard let seed = block("USER NKEY SEED").flatMap({ Self.seed($0) }) else { return nil }
      self = .seed(seed, jwt: jwt)
      return
    }
    let content = lines.filter { !$0.isEmpty }
    guard content.count == 1, let line = content.first else { return nil }
    if line.hasPrefix("SU"), line.utf8.count == 58 {
      guard let seed = Self.seed(String(line)) else { return nil }
      self = .seed(seed, jwt: nil)
    } else if let colon = line.firstIndex(of: ":") {
      self = .user(String(line[..<colon]), password: String(line[line.index(after: colon)...]))
    } else {
      self = .token(String(line))
    }
  }

  /// The 32 bytes of a seed of a user: base32 of two bytes of prefix, the seed and a CRC-16.
  static func seed(_ text: String) -> [UInt8]? {
    guard let bytes = base32(text), bytes.count == 36 else { return nil }
    // 18 << 3 for a seed, and 20 << 3 for a user, five bits each.
    guard bytes[0] & 0xF8 == 18 << 3, (bytes[0] & 7) << 5 | bytes[1] >> 3 == 20 << 3 else { return nil }
    guard crc16(bytes[..<34]) == UInt16(bytes[34]) | UInt16(bytes[35]) << 8 else { return nil }
    return Array(bytes[2..<34])
  }

  /// Appends the members of `CONNECT` that prove who it is, with a comma before each.
  ///
  /// - Parameter nonce: What the server wants signed; empty for nothing.
  /// - Returns: Whether a proof could be made.
  func append(answering nonce: [UInt8], to text: inout [UInt8]) -> Bool {
    switch self {
    case .none: break
    case .user(let user, let password):
      text.append(literal: #","user":"#)
      text.appendJSON(user)
      text.append(literal: #","pass":"#)
      text.appendJSON(password)
    case .token(let token):
      text.append(literal: #","auth_token":"#)
      text.appendJSON(token)
    case .seed(let seed, let jwt):
      guard let (key, signature) = Self.sign(nonce, seed) else { return false }
      if let jwt {
        text.append(literal: #","jwt":"#)
        text.appendJSON(jwt)
      } else {
        text.append(literal: #","nkey":"#)
        text.appendJSON(Self.publicText(key))
      }
      text.append(literal: #","sig":"#)
      text.appendJSON(Self.base64URL(signature))
    }
    return true
  }

  /// The public key of a seed, and its signature of some bytes.
  private static func sign(_ message: [UInt8], _ seed: [UInt8]) -> (key: [UInt8], signature: [UInt8])? {
    defer { ERR_clear_error() }
    let key = unsafe seed.withUnsafeBufferPointer {
      unsafe EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, $0.baseAddress, $0.count)
    }
    guard let key = unsafe key else { return nil }
    defer { unsafe EVP_PKEY_free(key) }
    guard let context = unsafe EVP_MD_CTX_new() else { return nil }
    defer { unsafe EVP_MD_CTX_free(context) }
    var (publicKey, signature) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 64))
    var (keyCount, signatureCount) = (publicKey.count, signature.count)
    // The calls write at most the given counts, and keep no pointer but the key's.
    let works = unsafe publicKey.withUnsafeMutableBufferPointer { target in
      unsafe EVP_PKEY_get_raw_public_key(key, target.baseAddress, &keyCount) == 1
    }
    guard works, unsafe EVP_DigestSignInit(context, nil, nil, nil, key) == 1 else { return nil }
    let isSigned = unsafe message.withUnsafeBufferPointer { message in
      unsafe signature.withUnsafeMutableBufferPointer { target in
        unsafe EVP_DigestSign(context, target.baseAddress, &signatureCount, message.baseAddress, message.count) == 1
      }
    }
    return isSigned ? (publicKey, signature) : nil
  }

  /// The public key of a user as text: base32 of one byte of prefix, the key and a CRC-16.
  static func publicText(_ key: [UInt8]) -> String {
    var bytes: [UInt8] = [20 << 3] + key
    let crc = crc16(bytes[...])
    bytes += [UInt8(truncatingIfNeeded: crc), UInt8(truncatingIfNeeded: crc >> 8)]
    return base32(bytes)
  }

  // MARK: Texts

  private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

  /// RFC 4648 §6, without padding.
  private static func base32(_ text: String) -> [UInt8]? {
    var (bytes, bits, count): ([UInt8], UInt32, UInt32) = ([], 0, 0)
    for character in text.utf8 {
      guard let digit = letters.firstIndex(of: character) else { return nil }
      bits = bits << 5 | UInt32(digit)
      count += 5
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
      }
    }
    return bytes
  }

  private static func base32(_ bytes: [UInt8]) -> String {
    var (text, bits, count): ([UInt8], UInt32, UInt32) = ([], 0, 0)
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 5 {
        count -= 5
        text.append(letters[Int(bits >> count & 31)])
      }
    }
    if count > 0 { text.append(letters[Int(bits << (5 - count) & 31)]) }
    return String(decoding: text, as: UTF8.self)
  }

  /// RFC 4648 §5, without padding.
  private static func base64URL(_ bytes: [UInt8]) -> String {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var (text, bits, count): ([UInt8], UInt32, UInt32) = ([], 0, 0)
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 6 {
        count -= 6
        text.append(letters[Int(bits >> count & 63)])
      }
    }
    if count > 0 { text.append(letters[Int(bits << (6 - count) & 63)]) }
    return String(decoding: text, as: UTF8.self)
  }

  /// CRC-16/XMODEM.
  private static func crc16(_ bytes: ArraySlice<UInt8>) -> UInt16 {
    var crc: UInt16 = 0
    for byte in bytes {
      crc ^= UInt16(byte) << 8
      for _ in 0..<8 { crc = crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
    }
    return crc
  }
}

extension Substring {
  fileprivate func trimming(while isIn: (Character) -> Bool) -> Substring {
    var text = drop(while: isIn)
    while let last = text.last, isIn(last) { text.removeLast() }
    return text
  }
}
