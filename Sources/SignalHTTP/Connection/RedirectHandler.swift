// SPDX-License-Identifier: MIT

/// Redirects clients that connect without TLS to the listener with TLS.
final class RedirectHandler: RequestHandler {
  private let origin: [UInt8]

  /// - Parameter origin: The origin to redirect to, such as `https://live.example`.
  init(to origin: String) { self.origin = Array(origin.utf8) }

  func handle(
    _ head: borrowing RequestHead, _ body: ByteView, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) -> Disposition {
    // Other requests have already sent their content unencrypted; that must not keep working unnoticed.
    guard head.knownMethod == .get || head.knownMethod == .head, !head.wantsUpgrade else {
      response.refuse(.forbidden, code: "tls_required", detail: "This port only sends on to one with TLS.")
      return .answered
    }
    response.begin(.permanentRedirect)
    response.field("Location") { location in
      location.append(contentsOf: origin)
      location.append(head.path)
      guard let query = head.query else { return }
      location.append("?")
      location.append(query)
    }
    response.endWithoutBody()
    return .answered
  }
}
