// SPDX-License-Identifier: MIT
import CTLS
import Glibc

/// A generated certificate with its key.
package struct MadeCertificate: Sendable {
  /// Both in PEM, the certificate first.
  package let pem: [UInt8]

  /// What a certificate is for.
  package enum Purpose: Sendable {
    /// A server with these names: DNS names and IP addresses.
    case server([String])
    /// A client with these names, each with its kind: `URI:spiffe://example.org/a`, `email:a@example.org`, `DNS:a.example`.
    case client([String])
    /// A certificate authority.
    case authority
  }

  /// Generates a key and a certificate for it; nil when a name cannot be in a certificate.
  ///
  /// - Parameters:
  ///   - subject: The common name, at most 64 characters.
  ///   - days: How long it is valid, together with `seconds`.
  ///   - isRSA: Generates a 2048-bit RSA key instead of one on the curve P-256.
  ///   - issuer: The authority that signs it; self-signed by default.
  package init?(
    subject: String, for purpose: Purpose, days: Int, seconds: Int = 0, isRSA: Bool = false,
    signedBy issuer: MadeCertificate? = nil
  ) {
    var names: String?
    var isClient = false
    var signedSeconds = days * 86_400 + seconds
    switch purpose {
    case .server(let all):
      // A comma would separate names.
      guard !all.isEmpty, !all.contains(where: { $0.contains(",") }) else { return nil }
      names = all.map { Self.isAddress($0) ? "IP:\($0)" : "DNS:\($0)" }.joined(separator: ",")
    case .client(let all):
      guard !all.contains(where: { $0.contains(",") }) else { return nil }
      names = all.isEmpty ? nil : all.joined(separator: ",")
      isClient = true
    case .authority: signedSeconds = -signedSeconds
    }
    let issuerText = issuer.map { String(decoding: $0.pem, as: UTF8.self) }
    // Larger than an RSA key and a certificate with a hundred names.
    let pem = unsafe [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
      unsafe buffer.withMemoryRebound(to: CChar.self) { text in
        count = unsafe ctls_make_certificate(
          subject, names, isClient ? 1 : 0, signedSeconds, isRSA ? 1 : 0, issuerText, text.baseAddress, text.count)
      }
    }
    guard !pem.isEmpty else { return nil }
    self.pem = pem
  }

  /// Whether a text is an IPv4 or IPv6 address, without brackets.
  private static func isAddress(_ text: String) -> Bool {
    var address = in6_addr()
    // Sized for the larger of the two.
    return unsafe inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1
  }
}
