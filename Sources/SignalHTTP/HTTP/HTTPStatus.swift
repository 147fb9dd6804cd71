// SPDX-License-Identifier: MIT

/// The outcome of a request (RFC 9110 §15): a number of three digits.
public struct HTTPStatus: Hashable, Sendable, CustomStringConvertible {
  /// The number, between 100 and 599.
  public let code: UInt16

  /// A status of any number between 100 and 599; nil for others, which no client understands (RFC 9110 §15).
  public init?(code: Int) {
    guard (100...599).contains(code) else { return nil }
    self.code = UInt16(code)
  }

  private init(_ code: UInt16) { self.code = code }

  /// 100 Continue.
  public static var `continue`: HTTPStatus { HTTPStatus(100) }
  /// 101 Switching Protocols.
  public static var switchingProtocols: HTTPStatus { HTTPStatus(101) }
  /// 102 Processing.
  public static var processing: HTTPStatus { HTTPStatus(102) }
  /// 103 Early Hints.
  public static var earlyHints: HTTPStatus { HTTPStatus(103) }
  /// 200 OK.
  public static var ok: HTTPStatus { HTTPStatus(200) }
  /// 201 Created.
  public static var created: HTTPStatus { HTTPStatus(201) }
  /// 202 Accepted.
  public static var accepted: HTTPStatus { HTTPStatus(202) }
  /// 203 Non-Authoritative Information.
  public static var nonAuthoritativeInformation: HTTPStatus { HTTPStatus(203) }
  /// 204 No Content.
  public static var noContent: HTTPStatus { HTTPStatus(204) }
  /// 205 Reset Content.
  public static var resetContent: HTTPStatus { HTTPStatus(205) }
  /// 206 Partial Content.
  public static var partialContent: HTTPStatus { HTTPStatus(206) }
  /// 300 Multiple Choices.
  public static var multipleChoices: HTTPStatus { HTTPStatus(300) }
  /// 301 Moved Permanently.
  public static var movedPermanently: HTTPStatus { HTTPStatus(301) }
  /// 302 Found.
  public static var found: HTTPStatus { HTTPStatus(302) }
  /// 303 See Other.
  public static var seeOther: HTTPStatus { HTTPStatus(303) }
  /// 304 Not Modified.
  public static var notModified: HTTPStatus { HTTPStatus(304) }
  /// 307 Temporary Redirect.
  public static var temporaryRedirect: HTTPStatus { HTTPStatus(307) }
  /// 308 Permanent Redirect.
  public static var permanentRedirect: HTTPStatus { HTTPStatus(308) }
  /// 400 Bad Request.
  public static var badRequest: HTTPStatus { HTTPStatus(400) }
  /// 401 Unauthorized.
  public static var unauthorized: HTTPStatus { HTTPStatus(401) }
  /// 403 Forbidden.
  public static var forbidden: HTTPStatus { HTTPStatus(403) }
  /// 404 Not Found.
  public static var notFound: HTTPStatus { HTTPStatus(404) }
  /// 405 Method Not Allowed.
  public static var methodNotAllowed: HTTPStatus { HTTPStatus(405) }
  /// 406 Not Acceptable.
  public static var notAcceptable: HTTPStatus { HTTPStatus(406) }
  /// 408 Request Timeout.
  public static var requestTimeout: HTTPStatus { HTTPStatus(408) }
  /// 409 Conflict.
  public static var conflict: HTTPStatus { HTTPStatus(409) }
  /// 410 Gone.
  public static var gone: HTTPStatus { HTTPStatus(410) }
  /// 411 Length Required.
  public static var lengthRequired: HTTPStatus { HTTPStatus(411) }
  /// 412 Precondition Failed.
  public static var preconditionFailed: HTTPStatus { HTTPStatus(412) }
  /// 413 Content Too Large.
  public static var contentTooLarge: HTTPStatus { HTTPStatus(413) }
  /// 414 URI Too Long.
  public static var uriTooLong: HTTPStatus { HTTPStatus(414) }
  /// 415 Unsupported Media Type.
  public static var unsupportedMediaType: HTTPStatus { HTTPStatus(415) }
  /// 416 Range Not Satisfiable.
  public static var rangeNotSatisfiable: HTTPStatus { HTTPStatus(416) }
  /// 417 Expectation Failed.
  public static var expectationFailed: HTTPStatus { HTTPStatus(417) }
  /// 421 Misdirected Request.
  public static var misdirectedRequest: HTTPStatus { HTTPStatus(421) }
  /// 422 Unprocessable Content.
  public static var unprocessableContent: HTTPStatus { HTTPStatus(422) }
  /// 426 Upgrade Required.
  public static var upgradeRequired: HTTPStatus { HTTPStatus(426) }
  /// 428 Precondition Required.
  public static var preconditionRequired: HTTPStatus { HTTPStatus(428) }
  /// 429 Too Many Requests.
  public static var tooManyRequests: HTTPStatus { HTTPStatus(429) }
  /// 431 Request Header Fields Too Large.
  public static var requestHeaderFieldsTooLarge: HTTPStatus { HTTPStatus(431) }
  /// 500 Internal Server Error.
  public static var internalServerError: HTTPStatus { HTTPStatus(500) }
  /// 501 Not Implemented.
  public static var notImplemented: HTTPStatus { HTTPStatus(501) }
  /// 502 Bad Gateway.
  public static var badGateway: HTTPStatus { HTTPStatus(502) }
  /// 503 Service Unavailable.
  public static var serviceUnavailable: HTTPStatus { HTTPStatus(503) }
  /// 504 Gateway Timeout.
  public static var gatewayTimeout: HTTPStatus { HTTPStatus(504) }
  /// 505 HTTP Version Not Supported.
  public static var httpVersionNotSupported: HTTPStatus { HTTPStatus(505) }
  /// 507 Insufficient Storage.
  public static var insufficientStorage: HTTPStatus { HTTPStatus(507) }

  /// The registered words for the number; empty for a number that has none here.
  ///
  /// They are for people who read the traffic; clients use only the number.
  public var reason: String {
    let line = statusLine
    // Between `HTTP/1.1 404 ` and the line's end.
    return line.utf8CodeUnitCount == 0 ? "" : ByteView(line)[13..<line.utf8CodeUnitCount - 2].string
  }

  /// The number and its words, as in the status line.
  public var description: String { reason.isEmpty ? "\(code)" : "\(code) \(reason)" }

  /// Whether a response never has a body (RFC 9112 §6.3): 1xx, 204 and 304.
  public var isBodiless: Bool { isInformational || code == 204 || code == 304 }

  /// Whether the response is one of those that come before the final one (1xx).
  package var isInformational: Bool { code < 200 }

  /// The whole status line with its end, ready to be sent; empty for a number without registered words.
  package var statusLine: StaticString {
    switch code {
    case 100: "HTTP/1.1 100 Continue\r\n"
    case 101: "HTTP/1.1 101 Switching Protocols\r\n"
    case 102: "HTTP/1.1 102 Processing\r\n"
    case 103: "HTTP/1.1 103 Early Hints\r\n"
    case 200: "HTTP/1.1 200 OK\r\n"
    case 201: "HTTP/1.1 201 Created\r\n"
    case 202: "HTTP/1.1 202 Accepted\r\n"
    case 203: "HTTP/1.1 203 Non-Authoritative Information\r\n"
    case 204: "HTTP/1.1 204 No Content\r\n"
    case 205: "HTTP/1.1 205 Reset Content\r\n"
    case 206: "HTTP/1.1 206 Partial Content\r\n"
    case 300: "HTTP/1.1 300 Multiple Choices\r\n"
    case 301: "HTTP/1.1 301 Moved Permanently\r\n"
    case 302: "HTTP/1.1 302 Found\r\n"
    case 303: "HTTP/1.1 303 See Other\r\n"
    case 304: "HTTP/1.1 304 Not Modified\r\n"
    case 307: "HTTP/1.1 307 Temporary Redirect\r\n"
    case 308: "HTTP/1.1 308 Permanent Redirect\r\n"
    case 400: "HTTP/1.1 400 Bad Request\r\n"
    case 401: "HTTP/1.1 401 Unauthorized\r\n"
    case 403: "HTTP/1.1 403 Forbidden\r\n"
    case 404: "HTTP/1.1 404 Not Found\r\n"
    case 405: "HTTP/1.1 405 Method Not Allowed\r\n"
    case 406: "HTTP/1.1 406 Not Acceptable\r\n"
    case 408: "HTTP/1.1 408 Request Timeout\r\n"
    case 409: "HTTP/1.1 409 Conflict\r\n"
    case 410: "HTTP/1.1 410 Gone\r\n"
    case 411: "HTTP/1.1 411 Length Required\r\n"
    case 412: "HTTP/1.1 412 Precondition Failed\r\n"
    case 413: "HTTP/1.1 413 Content Too Large\r\n"
    case 414: "HTTP/1.1 414 URI Too Long\r\n"
    case 415: "HTTP/1.1 415 Unsupported Media Type\r\n"
    case 416: "HTTP/1.1 416 Range Not Satisfiable\r\n"
    case 417: "HTTP/1.1 417 Expectation Failed\r\n"
    case 421: "HTTP/1.1 421 Misdirected Request\r\n"
    case 422: "HTTP/1.1 422 Unprocessable Content\r\n"
    case 426: "HTTP/1.1 426 Upgrade Required\r\n"
    case 428: "HTTP/1.1 428 Precondition Required\r\n"
    case 429: "HTTP/1.1 429 Too Many Requests\r\n"
    case 431: "HTTP/1.1 431 Request Header Fields Too Large\r\n"
    case 500: "HTTP/1.1 500 Internal Server Error\r\n"
    case 501: "HTTP/1.1 501 Not Implemented\r\n"
    case 502: "HTTP/1.1 502 Bad Gateway\r\n"
    case 503: "HTTP/1.1 503 Service Unavailable\r\n"
    case 504: "HTTP/1.1 504 Gateway Timeout\r\n"
    case 505: "HTTP/1.1 505 HTTP Version Not Supported\r\n"
    case 507: "HTTP/1.1 507 Insufficient Storage\r\n"
    default: ""
    }
  }
}
