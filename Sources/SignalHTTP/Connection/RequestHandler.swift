// SPDX-License-Identifier: MIT

/// Answers the requests of one loop.
///
/// One object per loop, called on it; must not block.
protocol RequestHandler: AnyObject {
  /// Holds answers back until the state that they report is durable; nil when they may be sent at once.
  var gate: AnswerGate? { get }

  /// Answers a request, whose head and body are valid during the call.
  ///
  /// What it writes to `response` counts only if it returns `.answered`.
  func handle(
    _ head: borrowing RequestHead, _ body: ByteView, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) -> Disposition

  /// Refuses a request whose client waits for 100 (Continue) before it sends the body, if the head alone decides that.
  ///
  /// Returns whether it has written the refusal; there must be no other effect.
  func refusesByHead(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) -> Bool
}

extension RequestHandler {
  /// Answers may be sent at once.
  var gate: AnswerGate? { nil }

  /// Refuses nothing before the body has arrived.
  func refusesByHead(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) -> Bool { false }
}

/// The outcome of handling a request.
enum Disposition {
  /// The response has been written.
  case answered
  /// The responder will be called; until then no other request of the connection is begun.
  case later
  /// As ``later``, for something that happens on this loop: the wait is notified when its request is abandoned, and
  /// when the time is over.
  case wait(any RequestWait, atMost: Duration)
  /// The connection becomes a WebSocket if the handshake is valid; otherwise the request is refused.
  case webSocket(any WebSocketHandler, subprotocols: [String], acceptsBinary: Bool)
  /// The response is a stream of events; its head has been written except for the framing.
  case eventStream(any EventStreamHandler)
}

/// Answers a request later; usable from any thread.
public struct HTTPResponder: Sendable {
  let loop: EventLoop
  let id: ConnectionID
  /// The request's number on its connection.
  let sequence: UInt32
  /// Whether the request is handled again, after ``retry(on:)``.
  let isRetry: Bool
  /// The sender of the request, and the listener that accepted its connection.
  public let peer: Peer

  /// Sends the response.
  ///
  /// Only the first call for a request has an effect, and none once the client is gone.
  public func respond(_ response: HTTPResponse) {
    loop.submit { [id, sequence] loop in
      guard let connection = loop.member(id) as? Connection, let session = connection.session as? HTTPSession else {
        return
      }
      session.answer(sequence, connection, on: loop) { $1.write(response) }
    }
  }

  /// Answers on the connection's loop, outside of the handling of a request: `write` receives the request's head.
  func respond(on loop: isolated EventLoop, _ write: (borrowing RequestHead, inout ResponseWriter) -> Void) {
    guard let connection = loop.member(id) as? Connection, let session = connection.session as? HTTPSession else {
      return
    }
    session.answer(sequence, connection, on: loop, write)
  }

  /// Has the request handled again, on the connection's loop: what it has waited for is there, or not in time.
  ///
  /// For requests without a body, which is not kept.
  func retry(on loop: isolated EventLoop) {
    guard let connection = loop.member(id) as? Connection, let session = connection.session as? HTTPSession else {
      return
    }
    session.retry(sequence, connection, on: loop)
  }
}

/// A response from an application.
public struct HTTPResponse: Sendable {
  /// The status.
  public var status: HTTPStatus
  /// Fields other than those about the connection and the framing, which the server writes itself.
  public var fields: HTTPFields
  /// The content.
  ///
  /// For HEAD only its length is sent.
  public var body: [UInt8]

  /// A response with these parts.
  public init(_ status: HTTPStatus, fields: HTTPFields = HTTPFields(), body: [UInt8] = []) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// A response whose content has a media type.
  ///
  /// - Precondition: `contentType` is a legal field value.
  public init(_ status: HTTPStatus, contentType: String, body: [UInt8]) {
    self.init(status, body: body)
    do {
      try fields.set("Content-Type", contentType)
    } catch {
      preconditionFailure("\"\(contentType)\" cannot be a field value.")
    }
  }
}

/// How an application answers a request.
public enum HTTPReply {
  /// At once.
  case response(HTTPResponse)
  /// Through the responder, from any thread, within `Limits.responseTimeout`.
  case later
  /// By becoming a WebSocket with the first of these subprotocols that the client offers. A request that is not a valid
  /// handshake is refused with the status of RFC 6455.
  case webSocket(any WebSocketHandler, subprotocols: [String] = [])
}

/// Adapts an application's closure.
final class ClosureHandler: RequestHandler {
  private let closure: @Sendable (HTTPRequest, HTTPResponder) -> HTTPReply

  init(_ closure: @escaping @Sendable (HTTPRequest, HTTPResponder) -> HTTPReply) { self.closure = closure }

  func handle(
    _ head: borrowing RequestHead, _ body: ByteView, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) -> Disposition {
    switch closure(HTTPRequest(copying: head, body: body.array), responder) {
    case .response(let answer):
      response.write(answer)
      return .answered
    case .later: return .later
    case .webSocket(let handler, let subprotocols):
      return .webSocket(handler, subprotocols: subprotocols, acceptsBinary: true)
    }
  }
}
