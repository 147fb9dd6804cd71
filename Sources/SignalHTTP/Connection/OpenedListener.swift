// SPDX-License-Identifier: MIT

/// The settings of a listener that each of its connections needs, with its files loaded.
struct OpenedListener: Sendable {
  /// nil where there is no TLS.
  let tls: TLSContext?
  /// Where requests are redirected to; nil where they are served.
  let redirect: String?

  /// - Throws: `TLSError` when a certificate or a key cannot be used.
  init(_ listener: ListenerConfiguration, tickets: TLSTickets) throws(TLSError) {
    redirect = listener.redirect
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
