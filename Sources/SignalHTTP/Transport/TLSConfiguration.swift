// SPDX-License-Identifier: MIT

/// How a listener speaks TLS.
///
/// Versions 1.2 and 1.3 with forward secrecy and authenticated encryption alone, as Mozilla's intermediate profile has it.
/// There is no renegotiation, no compression and no early data.
public struct TLSConfiguration: Sendable, Equatable {
  /// A chain of certificates with its key.
  public struct Certificate: Sendable, Equatable {
    /// A file with the certificate of the server and those that lead to its authority, in PEM.
    public var chain: String
    /// A file with the key, in PEM, without a passphrase; others than its owner and group must not be able to read it.
    public var key: String

    /// A certificate whose key is in the same file unless another is named.
    public init(chain: String, key: String? = nil) {
      self.chain = chain
      self.key = key ?? chain
    }
  }

  /// Whether clients show certificates of their own.
  public enum ClientCertificates: String, Sendable, CaseIterable {
    /// They are not asked for any.
    case none
    /// They are asked, and may have none; one that is not good ends the handshake.
    case optional
    /// Without a good one there is no connection.
    case required
  }

  /// Which versions are spoken.
  public enum Profile: String, Sendable, CaseIterable {
    /// 1.2 and 1.3.
    case intermediate
    /// 1.3 alone.
    case modern
  }

  /// Which of them a client is shown depends on the name that it asks for; the first is for those who ask for another or
  /// for none.
  public var certificates: [Certificate]
  /// A file with the authorities that sign certificates of clients, in PEM; needed when clients are asked for some.
  public var clientAuthorities: String?
  /// Whether clients are asked for certificates; by default they are not.
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
  /// The file that it is about; nil when it is about none.
  public let file: String?
  /// What is wrong, as a clause: "is readable by others".
  public let reason: String

  /// One line for the operator.
  public var description: String { file.map { "\($0) \(reason)" } ?? reason }
}
