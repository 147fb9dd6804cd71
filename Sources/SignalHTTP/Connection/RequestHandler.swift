// SPDX-License-Identifier: MIT

/// Answers the requests of one loop.
///
/// One object per loop, called on it; must not block.
protocol RequestHandler: AnyObject {
  /// What holds answers back until what they tell is durable; nil when they may be sent at once.
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
  /// Returns whether it has written the refusal; nothing else may have happened.
  func refusesByHead(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) -> Bool
}

extension RequestHandler {
  /// Answers may be sent at once.
  var gate: AnswerGate? { nil }

  /// Refuses nothing before its body has come.
  func refusesByHead(
    _ head: borrowing RequestHead, _ response: inout ResponseWriter, _ responder: HTTPResponder,
    on loop: isolated EventLoop
  ) -> Bool { false }
}

/// What becomes of a request.
enum Disposition {
  /// The response has been written.
  case answered
  /// The responder will be called; until then no other request of the connection is begun.
  case later
  /// As ``later``, for something that happens on this loop: the wait is told when nobody waits any more, and when so
  /// much time has passed.
  case wait(any RequestWait, atMost: Duration)
  /// The connection becomes a WebSocket, if the handshake is right; otherwise that is answered.
  case webSocket(any WebSocketHandler, subprotocols: [String], acceptsBinary: Bool)
  /// The response is a stream of events; its head has been written except for the framing.
  case eventStream(any EventStreamHandler)
}

/// Answers a request that was promised an answer for later; usable from any thread.
public struct HTTPResponder: Sendable {
  let loop: EventLoop
  let id: ConnectionID
  /// Which request of the connection.
  let sequence: UInt32
  /// Who has sent the request, and to which listener.
  public let peer: Peer

  /// Sends the response.
  ///
  /// Only the first call for a request does anything, and none does once the client is gone.
  public func respond(_ response: HTTPResponse) {
    loop.submit { [id, sequence] loop in
      guard let connection = loop.member(id) as? Connection, let session = connection.session as? HTTPSession else {
        return
      }
      session.answer(sequence, connection, on: loop) { $1.write(response) }
    }
  }

  /// Answers on the connection's loop, outside of the handling of a request: `write` is given the request's head.
  func respond(on loop: isolated EventLoop, _ write: (borrowing RequestHead, inout ResponseWriter) -> Void) {
    guard let connection = loop.member(id) as? Connection, let session = connection.session as? HTTPSession else {
      return
    }
    session.answer(sequence, connection, on: loop, write)
  }
}

/// A response of an application.
public struct HTTPResponse: Sendable {
  /// The outcome.
  public var status: HTTPStatus
  /// Fields besides those about the connection and the framing, which the server writes itself.
  public var fields: HTTPFields
  /// The content.
  ///
  /// For HEAD its length is told and nothing is sent.
  public var body: [UInt8]

  /// A response of its parts.
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
  /// Now.
  case response(HTTPResponse)
  /// Through the responder, from anywhere, before `Limits.responseTimeout` is over.
  case later
  /// By becoming a WebSocket with the first of these subprotocols that the client offers. A request that is no valid
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
