// SPDX-License-Identifier: MIT
import CTLS
import Glibc

/// Keys that encrypt the tickets with which clients resume sessions (RFC 8446 §2.2); a server has one set for all
/// listeners, which it keeps when its certificates change.
@safe final class TLSTickets: Sendable {
  /// How long a key encrypts; it is accepted for decryption for as long again.
  private static let lifetime: UInt64 = 12 * 3600

  // Unchecked: a pointer to C, where a mutex guards the keys (`find_key`).
  fileprivate nonisolated(unsafe) let pointer: OpaquePointer

  init() {
    guard let pointer = unsafe ctls_tickets_new(Self.lifetime) else {
      preconditionFailure("the system has no randomness")
    }
    unsafe self.pointer = pointer
  }

  deinit { unsafe ctls_tickets_free(pointer) }
}

/// The settings shared by all channels of a listener, or of a client: certificates and authorities.
///
/// Immutable: a change of certificates creates a new context.
@safe package final class TLSContext: Sendable {
  /// What is logged about a certificate.
  package struct CertificateInfo: Equatable, Sendable {
    package let file: String
    /// When it expires, in seconds since 1970.
    package let end: Int64
    /// Whether its key is an RSA key, with which a handshake costs twice as much.
    package let isRSA: Bool
  }

  // Unchecked: a pointer to C; nothing it points to changes any more, and OpenSSL counts references atomically.
  private nonisolated(unsafe) let pointer: OpaquePointer
  private let tickets: TLSTickets?
  let certificates: [CertificateInfo]
  /// The DNS names of the certificates, which may begin with `*.`.
  let names: [String]

  /// Creates the context of a server's listener.
  ///
  /// - Throws: `TLSError` when a file cannot be read or is malformed, a key does not belong to its certificate or can
  ///   be read by others.
  init(_ configuration: TLSConfiguration, tickets: TLSTickets) throws(TLSError) {
    guard !configuration.certificates.isEmpty else { throw TLSError(file: nil, reason: "TLS needs a certificate") }
    guard let pointer = unsafe ctls_server_new(configuration.profile == .modern ? 1 : 0, tickets.pointer) else {
      throw TLSError(file: nil, reason: "OpenSSL does not know the ciphers of TLS")
    }
    // Owned from here on, even when what follows throws.
    let owner = unsafe TLSContextOwner(pointer)
    for certificate in configuration.certificates {
      try Self.check(certificate.chain)
      try Self.check(certificate.key, isSecret: true)
      try unsafe Self.attempt(
        certificate.chain == certificate.key ? certificate.chain : "\(certificate.chain) with \(certificate.key)"
      ) {
        unsafe ctls_add_certificate(pointer, certificate.chain, certificate.key, $0, $1)
      }
    }
    if configuration.clientCertificates != .none {
      guard let authorities = configuration.clientAuthorities else {
        throw TLSError(file: nil, reason: "certificates of clients need a file of authorities")
      }
      try Self.check(authorities)
      try unsafe Self.attempt(authorities) {
        unsafe ctls_ask_clients(pointer, authorities, configuration.clientCertificates == .required ? 1 : 0, $0, $1)
      }
    }
    certificates = configuration.certificates.enumerated().map { index, certificate in
      let info = unsafe ctls_certificate_at(pointer, index)
      return CertificateInfo(file: certificate.chain, end: info.not_after, isRSA: info.is_rsa != 0)
    }
    names = unsafe Self.names(pointer)
    self.tickets = tickets
    unsafe self.pointer = owner.release()
  }

  /// Creates the context of a client: servers have to present a certificate of a trusted authority.
  ///
  /// - Parameter authorities: A PEM file of authorities that are trusted instead of the system's.
  package init(trusting authorities: String?, certificate: TLSConfiguration.Certificate? = nil) throws(TLSError) {
    guard let pointer = unsafe ctls_client_new() else {
      throw TLSError(file: nil, reason: "OpenSSL does not know the ciphers of TLS")
    }
    let owner = unsafe TLSContextOwner(pointer)
    if let authorities {
      try Self.check(authorities)
      try unsafe Self.attempt(authorities) { unsafe ctls_trust(pointer, authorities, $0, $1) }
    }
    if let certificate {
      try Self.check(certificate.chain)
      try Self.check(certificate.key)
      try unsafe Self.attempt(certificate.chain) {
        unsafe ctls_add_certificate(pointer, certificate.chain, certificate.key, $0, $1)
      }
    }
    tickets = nil
    certificates = []
    names = []
    unsafe self.pointer = owner.release()
  }

  deinit { unsafe ctls_context_free(pointer) }

  /// Creates a channel.
  ///
  /// - Parameter host: The server's name or address, on a client; nil on a server.
  func channel(host: String? = nil) -> OpaquePointer? {
    unsafe ctls_channel_new(pointer, host)
  }

  private static func names(_ pointer: OpaquePointer) -> [String] {
    var names: [String] = []
    var name = [CChar](repeating: 0, count: 256)
    while unsafe ctls_name(pointer, names.count, &name, name.count) != 0 {
      names.append(String(zeroTerminated: name))
    }
    return names.filter { !$0.isEmpty }
  }

  /// Makes a call that may fail with a reason.
  private static func attempt(
    _ file: String, _ call: (UnsafeMutablePointer<CChar>, Int) -> Int32
  ) throws(TLSError) {
    var reason = [CChar](repeating: 0, count: 160)
    let isDone = unsafe reason.withUnsafeMutableBufferPointer { buffer in
      unsafe buffer.baseAddress.map { unsafe call($0, buffer.count) } ?? 0
    }
    guard isDone == 0 else { return }
    throw TLSError(file: file, reason: "cannot be used: \(String(zeroTerminated: reason))")
  }

  /// Checks a file for faults that OpenSSL reports less clearly, and that no one else can read a secret.
  private static func check(_ path: String, isSecret: Bool = false) throws(TLSError) {
    var status = stat()
    guard unsafe stat(path, &status) == 0, unsafe access(path, R_OK) == 0 else {
      throw TLSError(file: path, reason: "cannot be read: \(SystemError.reason())")
    }
    guard isSecret, status.st_mode & 0o007 != 0 else { return }
    throw TLSError(file: path, reason: "holds a key that everybody can read or write: chmod o= \(path)")
  }
}

/// Frees a context unless ownership is passed on.
@safe private struct TLSContextOwner: ~Copyable {
  private let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) { unsafe self.pointer = pointer }

  deinit { unsafe ctls_context_free(pointer) }

  consuming func release() -> OpaquePointer {
    let pointer = unsafe pointer
    discard self
    return unsafe pointer
  }
}
