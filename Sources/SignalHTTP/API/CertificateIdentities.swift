// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore

/// Who the clients of one loop are that have shown verified certificates.
///
/// The same certificate is the same identity on every connection, so that what the rules leave for it is calculated
/// once.
final class CertificateIdentities {
  /// The maximum number of certificates that are remembered.
  static let mostRemembered = 8192
  /// The longest common name or name that is an `id`, in bytes, as that of a JSON Web Token is bounded.
  static let mostIDBytes = TokenVerifier.mostSubjectBytes

  /// By fingerprint.
  private var remembered = RecentlyUsed<[UInt8], Identity>(capacity: mostRemembered / 2)

  /// How many are remembered.
  var count: Int { remembered.count }

  /// Who a certificate says its holder is.
  func identity(of certificate: ClientCertificate) -> Identity {
    if let known = remembered.find(certificate.fingerprint) { return known }
    let identity = Identity(certificate)
    remembered.insert(identity, for: certificate.fingerprint)
    return identity
  }
}

extension Identity {
  /// The identity of a certificate: its `id` is the common name of the subject, else the first other name, else the
  /// fingerprint.
  convenience init(_ certificate: ClientCertificate) {
    // Case makes no difference in them, and comparisons know nothing of that.
    let names = certificate.dnsNames.map { $0.lowercased() } + certificate.uris + certificate.mails
    let fingerprint = certificate.fingerprint.map { byte in
      let digits = String(byte, radix: 16)
      return byte < 16 ? "0\(digits)" : digits
    }.joined()
    var claims: [UInt8] = [UInt8(ascii: "{")]
    if let commonName = certificate.commonName {
      claims.append(literal: #""commonName":"#)
      claims.appendJSON(commonName)
      claims.append(UInt8(ascii: ","))
    }
    claims.append(literal: #""names":["#)
    for (index, name) in names.enumerated() {
      if index > 0 { claims.append(UInt8(ascii: ",")) }
      claims.appendJSON(name)
    }
    claims.append(literal: #"],"fingerprint":"#)
    claims.appendJSON(fingerprint)
    claims.append(UInt8(ascii: "}"))
    let name = certificate.commonName ?? names.first
    let id = name.flatMap { $0.utf8.count <= CertificateIdentities.mostIDBytes ? $0 : nil } ?? fingerprint
    self.init(
      .certificate, id: id, claims: JSONTree(JSONText(alreadyCompact: claims)),
      expires: Timestamp(milliseconds: certificate.end * 1000))
  }
}
