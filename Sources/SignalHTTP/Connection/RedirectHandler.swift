// SPDX-License-Identifier: MIT
import SignalAccess

/// Redirects clients that connect without TLS to the listener with TLS.
///
/// Those that speak `https` to a trusted proxy, as that proxy says, have arrived already, and are served.
final class RedirectHandler: RequestHandler {
  private let origin: [UInt8]
  private let next: any RequestHandler
  private let tokenExposed: (@Sendable (String?, Peer) -> Void)?

  /// - Parameters:
  ///   - origin: The origin to redirect to, such as `https://live.example`.
  ///   - next: Answers those that need no redirection.
  ///   - tokenExposed: Called when a token has been sent without TLS, with its id.
  init(
    to origin: String, orServeBy next: any RequestHandler, _ tokenExposed: (@Sendable (String?, Peer) -> Void)? = nil
  ) {
    self.tokenExposed = tokenExposed
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
    if let value = head[.authorization] {
      // Whoever can read along has it now; it must not keep working unnoticed either.
      tokenExposed?(Self.id(in: value), responder.peer)
      response.refuse(
        .forbidden, code: "tls_required",
        detail: "A token was sent without TLS, and others may have read it: replace it.")
      return .answered
    }
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

  /// The id in a token of the server's own, whatever stands before it.
  private static func id(in value: ByteView) -> String? {
    var start = 0
    for position in 0..<value.count where value[position] == ASCII.space { start = position + 1 }
    return value[start..<value.count].withSpan { Token.loggableID(in: $0) }
  }
}
