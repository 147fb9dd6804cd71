// SPDX-License-Identifier: MIT

/// The TLS settings of a listener.
///
/// Versions 1.2 and 1.3, only with forward secrecy and authenticated encryption, as in Mozilla's intermediate profile.
/// There is no renegotiation, no compression and no early data.
public struct TLSConfiguration: Sendable, Equatable {
  /// A certificate chain with its key.
  public struct Certificate: Sendable, Equatable {
    /// A PEM file with the certificate of the server and the intermediate certificates up to its authority.
    public var chain: String
    /// A PEM file with the key, without a passphrase; readable by its owner and group only.
    public var key: String

    /// A certificate, with the key in the same file unless another is named.
    public init(chain: String, key: String? = nil) {
      self.chain = chain
      self.key = key ?? chain
    }
  }

  /// Whether clients present certificates.
  public enum ClientCertificates: String, Sendable, CaseIterable {
    /// No certificate is requested.
    case none
    /// A certificate is requested but not required; an invalid one fails the handshake.
    case optional
    /// A valid certificate is required.
    case required
  }

  /// Which versions are supported.
  public enum Profile: String, Sendable, CaseIterable {
    /// 1.2 and 1.3.
    case intermediate
    /// 1.3 only.
    case modern
  }

  /// The certificates, chosen by the server name that the client requests; the first is used for any other name and for
  /// none.
  public var certificates: [Certificate]
  /// A PEM file with the authorities that sign client certificates; needed when these are requested.
  public var clientAuthorities: String?
  /// Whether client certificates are requested; by default they are not.
  public var clientCertificates: ClientCertificates
  /// Default: intermediate.
  public var profile: Profile

  /// A configuration in which everything has its default unless given.
  public init(
    certificates: [Certificate], clientAuthorities: String? = nil, clientCertificates: ClientCertificates = .none,
    profile: Profile = .intermediate
  ) {
    self.certificates = certificates
    self.clientAuthorities = clientAuthorities
    self.clientCertificates = clientCertificates
    self.profile = profile
  }
}

/// Why certificates or keys cannot be used.
public struct TLSError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The file concerned; nil when there is none.
  public let file: String?
  /// What is wrong, as a clause: "is readable by others".
  public let reason: String

  /// One line for the operator.
  public var description: String { file.map { "\($0) \(reason)" } ?? reason }
}
