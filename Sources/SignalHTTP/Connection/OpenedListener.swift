// SPDX-License-Identifier: MIT

/// The settings of a listener that each of its connections needs, with its files loaded.
struct OpenedListener: Sendable {
  /// Where it listens.
  let endpoint: Endpoint
  /// nil where there is no TLS.
  let tls: TLSContext?
  /// Where requests are redirected to; nil where they are served.
  let redirect: String?
  /// Whether connections begin with a header of the PROXY protocol.
  let awaitsProxyHeader: Bool
  /// Whether clients are asked for certificates.
  let asksForCertificates: Bool
  let servesConsole: Bool

  /// - Parameter endpoint: Where it listens, with the port that the system picked if 0 was given; as it is configured
  ///   before it is bound.
  init(_ listener: OpenedListener, at endpoint: Endpoint) {
    self.endpoint = endpoint
    tls = listener.tls
    redirect = listener.redirect
    awaitsProxyHeader = listener.awaitsProxyHeader
    asksForCertificates = listener.asksForCertificates
    servesConsole = listener.servesConsole
  }

  /// - Throws: `TLSError` when a certificate or a key cannot be used.
  init(_ listener: ListenerConfiguration, tickets: TLSTickets) throws(TLSError) {
    endpoint = listener.endpoint
    redirect = listener.redirect
    awaitsProxyHeader = listener.proxyProtocol
    servesConsole = listener.console
    asksForCertificates = listener.endpoint.isSecured && listener.tls.map { $0.clientCertificates != .none } ?? false
    guard listener.endpoint.isSecured else {
      tls = nil
      return
    }
    guard let configuration = listener.tls else {
      throw TLSError(file: nil, reason: "\(listener.endpoint) needs a certificate")
    }
    tls = try TLSContext(configuration, tickets: tickets)
  }
}
