// SPDX-License-Identifier: MIT

/// Redirects clients that connect without TLS to the listener with TLS.
///
/// Those that speak `https` to a trusted proxy, as that proxy says, have arrived already, and are served.
final class RedirectHandler: RequestHandler {
  private let origin: [UInt8]
  private let next: any RequestHandler

  /// - Parameters:
  ///   - origin: The origin to redirect to, such as `https://live.example`.
  ///   - next: Answers those that need no redirection.
  init(to origin: String, orServeBy next: any RequestHandler) {
    self.origin = Array(origin.utf8)
    self.next = next
  }

  func refusesByHead(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) -> Bool {
    responder.peer.isSecured && next.refusesByHead(head, &response, responder, on: loop)
  }

  func handle(
    _ head: borrowing RequestHead, _ body: ByteView, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) -> Disposition {
    if responder.peer.isSecured { return next.handle(head, body, &response, responder, on: loop) }
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
