// SPDX-License-Identifier: MIT

/// The request fields that the server itself acts on, recognised while a head is parsed.
///
/// None of these fields may be in a trailer section: there it would come too late to have its meaning.
package enum KnownField: UInt8, CaseIterable, Sendable {
  case accept
  case acceptEncoding
  case accessControlRequestHeaders
  case accessControlRequestMethod
  case authorization
  case cacheControl
  case connection
  case contentEncoding
  case contentLength
  case contentRange
  case contentType
  case cookie
  case expect
  case forwarded
  case host
  case ifMatch
  case ifModifiedSince
  case ifNoneMatch
  case ifRange
  case ifUnmodifiedSince
  case keepAlive
  case lastEventID
  case origin
  case range
  case secFetchSite
  case secWebSocketExtensions
  case secWebSocketKey
  case secWebSocketProtocol
  case secWebSocketVersion
  case te
  case traceparent
  case trailer
  case transferEncoding
  case upgrade
  case xForwardedFor
  case xForwardedProto

  /// The name in lower case.
  package var name: StaticString {
    switch self {
    case .accept: "accept"
    case .acceptEncoding: "accept-encoding"
    case .accessControlRequestHeaders: "access-control-request-headers"
    case .accessControlRequestMethod: "access-control-request-method"
    case .authorization: "authorization"
    case .cacheControl: "cache-control"
    case .connection: "connection"
    case .contentEncoding: "content-encoding"
    case .contentLength: "content-length"
    case .contentRange: "content-range"
    case .contentType: "content-type"
    case .cookie: "cookie"
    case .expect: "expect"
    case .forwarded: "forwarded"
    case .host: "host"
    case .ifMatch: "if-match"
    case .ifModifiedSince: "if-modified-since"
    case .ifNoneMatch: "if-none-match"
    case .ifRange: "if-range"
    case .ifUnmodifiedSince: "if-unmodified-since"
    case .keepAlive: "keep-alive"
    case .lastEventID: "last-event-id"
    case .origin: "origin"
    case .range: "range"
    case .secFetchSite: "sec-fetch-site"
    case .secWebSocketExtensions: "sec-websocket-extensions"
    case .secWebSocketKey: "sec-websocket-key"
    case .secWebSocketProtocol: "sec-websocket-protocol"
    case .secWebSocketVersion: "sec-websocket-version"
    case .te: "te"
    case .traceparent: "traceparent"
    case .trailer: "trailer"
    case .transferEncoding: "transfer-encoding"
    case .upgrade: "upgrade"
    case .xForwardedFor: "x-forwarded-for"
    case .xForwardedProto: "x-forwarded-proto"
    }
  }

  /// Recognises a name, ignoring case; nil for any other.
  ///
  /// `name` is known to be a token.
  package init?(token name: ByteView) {
    let count = name.count
    guard count >= 2 else { return nil }
    let first = name.byte(at: 0) | 0x20
    // Length and one or two letters leave one name to compare.
    switch (count, first) {
    case (2, UInt8(ascii: "t")): self.init(.te, if: name.equalsIgnoringCase("te"))
    case (4, UInt8(ascii: "h")): self.init(.host, if: name.equalsIgnoringCase("host"))
    case (5, UInt8(ascii: "r")): self.init(.range, if: name.equalsIgnoringCase("range"))
    case (6, UInt8(ascii: "a")): self.init(.accept, if: name.equalsIgnoringCase("accept"))
    case (6, UInt8(ascii: "c")): self.init(.cookie, if: name.equalsIgnoringCase("cookie"))
    case (6, UInt8(ascii: "e")): self.init(.expect, if: name.equalsIgnoringCase("expect"))
    case (6, UInt8(ascii: "o")): self.init(.origin, if: name.equalsIgnoringCase("origin"))
    case (7, UInt8(ascii: "t")): self.init(.trailer, if: name.equalsIgnoringCase("trailer"))
    case (7, UInt8(ascii: "u")): self.init(.upgrade, if: name.equalsIgnoringCase("upgrade"))
    case (8, UInt8(ascii: "i")) where name.byte(at: 3) | 0x20 == UInt8(ascii: "m"):
      self.init(.ifMatch, if: name.equalsIgnoringCase("if-match"))
    case (8, UInt8(ascii: "i")):
      self.init(.ifRange, if: name.equalsIgnoringCase("if-range"))
    case (9, UInt8(ascii: "f")): self.init(.forwarded, if: name.equalsIgnoringCase("forwarded"))
    case (10, UInt8(ascii: "c")): self.init(.connection, if: name.equalsIgnoringCase("connection"))
    case (10, UInt8(ascii: "k")): self.init(.keepAlive, if: name.equalsIgnoringCase("keep-alive"))
    case (11, UInt8(ascii: "t")): self.init(.traceparent, if: name.equalsIgnoringCase("traceparent"))
    case (12, UInt8(ascii: "c")): self.init(.contentType, if: name.equalsIgnoringCase("content-type"))
    case (13, UInt8(ascii: "a")): self.init(.authorization, if: name.equalsIgnoringCase("authorization"))
    case (13, UInt8(ascii: "c")) where name.byte(at: 1) | 0x20 == UInt8(ascii: "a"):
      self.init(.cacheControl, if: name.equalsIgnoringCase("cache-control"))
    case (13, UInt8(ascii: "c")):
      self.init(.contentRange, if: name.equalsIgnoringCase("content-range"))
    case (13, UInt8(ascii: "i")): self.init(.ifNoneMatch, if: name.equalsIgnoringCase("if-none-match"))
    case (13, UInt8(ascii: "l")): self.init(.lastEventID, if: name.equalsIgnoringCase("last-event-id"))
    case (14, UInt8(ascii: "c")): self.init(.contentLength, if: name.equalsIgnoringCase("content-length"))
    case (14, UInt8(ascii: "s")): self.init(.secFetchSite, if: name.equalsIgnoringCase("sec-fetch-site"))
    case (15, UInt8(ascii: "a")): self.init(.acceptEncoding, if: name.equalsIgnoringCase("accept-encoding"))
    case (15, UInt8(ascii: "x")): self.init(.xForwardedFor, if: name.equalsIgnoringCase("x-forwarded-for"))
    case (16, UInt8(ascii: "c")): self.init(.contentEncoding, if: name.equalsIgnoringCase("content-encoding"))
    case (17, UInt8(ascii: "i")): self.init(.ifModifiedSince, if: name.equalsIgnoringCase("if-modified-since"))
    case (17, UInt8(ascii: "s")): self.init(.secWebSocketKey, if: name.equalsIgnoringCase("sec-websocket-key"))
    case (17, UInt8(ascii: "t")): self.init(.transferEncoding, if: name.equalsIgnoringCase("transfer-encoding"))
    case (17, UInt8(ascii: "x")): self.init(.xForwardedProto, if: name.equalsIgnoringCase("x-forwarded-proto"))
    case (19, UInt8(ascii: "i")): self.init(.ifUnmodifiedSince, if: name.equalsIgnoringCase("if-unmodified-since"))
    case (21, UInt8(ascii: "s")): self.init(.secWebSocketVersion, if: name.equalsIgnoringCase("sec-websocket-version"))
    case (22, UInt8(ascii: "s")):
      self.init(.secWebSocketProtocol, if: name.equalsIgnoringCase("sec-websocket-protocol"))
    case (24, UInt8(ascii: "s")):
      self.init(.secWebSocketExtensions, if: name.equalsIgnoringCase("sec-websocket-extensions"))
    case (29, UInt8(ascii: "a")):
      self.init(.accessControlRequestMethod, if: name.equalsIgnoringCase("access-control-request-method"))
    case (30, UInt8(ascii: "a")):
      self.init(.accessControlRequestHeaders, if: name.equalsIgnoringCase("access-control-request-headers"))
    default: return nil
    }
  }

  @inline(__always)
  private init?(_ field: KnownField, if isSame: Bool) {
    guard isSame else { return nil }
    self = field
  }

  /// The field's bit in a set of 64.
  var bit: UInt64 { 1 << UInt64(rawValue) }
}
