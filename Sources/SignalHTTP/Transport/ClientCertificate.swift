// SPDX-License-Identifier: MIT
import CTLS

/// What the certificate of a client says, after an authority that the listener trusts has been found to have signed it.
public struct ClientCertificate: Sendable, Hashable {
  /// The DNS names of the subject, as they are written: case makes no difference, and the first label may be `*`.
  public var dnsNames: [String] = []
  /// The URIs of the subject, such as `spiffe://example.org/sensor`.
  public var uris: [String] = []
  /// The mail addresses of the subject.
  public var mails: [String] = []
  /// The common name of the subject; nil when it has none, or several.
  public var commonName: String?
  /// The SHA-256 of the whole certificate, which no other one has: 32 bytes.
  public var fingerprint: [UInt8]
  /// When it ends, in seconds since 1970.
  public var end: Int64

  /// Room for the names of a certificate; those that do not fit are left out.
  private static let mostNameBytes = 8 << 10
  /// The size of what is before each name: its kind, and its length in two bytes.
  private static let entryBytes = 3

  /// A certificate without names.
  init(fingerprint: [UInt8], end: Int64) {
    self.fingerprint = fingerprint
    self.end = end
  }

  /// The certificate that was shown on a channel of a server; nil when none was.
  init?(of channel: OpaquePointer) {
    // SHA-256 has 32 bytes.
    var hash = [UInt8](repeating: 0, count: 32)
    var names = [UInt8](repeating: 0, count: Self.mostNameBytes)
    var notAfter: Int64 = 0
    let count = unsafe ctls_client_certificate(channel, &hash, &notAfter, &names, names.count)
    guard count >= 0 else { return nil }
    self.init(fingerprint: hash, end: notAfter)
    var rest = names[..<count]
    while rest.count >= Self.entryBytes {
      let start = rest.startIndex
      let length = Int(rest[start + 1]) << 8 | Int(rest[start + 2])
      let name = String(decoding: rest[(start + Self.entryBytes)...].prefix(length), as: UTF8.self)
      switch Int(rest[start]) {
      case ctls_dns_name: dnsNames.append(name)
      case ctls_uri: uris.append(name)
      case ctls_mail: mails.append(name)
      default: commonName = name
      }
      rest = rest.dropFirst(Self.entryBytes + length)
    }
  }
}
