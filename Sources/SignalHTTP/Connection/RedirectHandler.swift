// SPDX-License-Identifier: MIT

/// Sends whoever comes without TLS to where there is some.
final class RedirectHandler: RequestHandler {
  private let origin: [UInt8]

  /// - Parameter origin: Such as `https://live.example`.
  init(to origin: String) { self.origin = Array(origin.utf8) }

  func handle(
    _ head: borrowing RequestHead, _ body: ByteView, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) -> Disposition {
    // Others have sent in the clear what should not be read; that must not go on working unnoticed.
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
