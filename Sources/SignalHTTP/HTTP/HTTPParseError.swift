// SPDX-License-Identifier: MIT

/// What is malformed in a request: the client's fault, answered with a status; then the connection is closed.
///
/// Cases are in the order of the specification.
public enum HTTPParseError: String, Error, Equatable, Sendable, CaseIterable {
  // RFC 9112 §2: the message.

  /// A carriage return that no line feed follows.
  case bareCarriageReturn = "bare_carriage_return"
  /// A line feed without its carriage return.
  case bareLineFeed = "bare_line_feed"
  /// NUL or another control character where only text is allowed.
  case controlCharacter = "control_character"
  /// More empty lines before the request line than `HTTPLimits.emptyLines`.
  case tooManyEmptyLines = "too_many_empty_lines"
  /// The peer ended the connection in the middle of a request.
  case incompleteMessage = "incomplete_message"
  /// The version is not `HTTP/` digit `.` digit.
  case malformedVersion = "malformed_version"
  /// A well-formed version whose major number is not 1.
  case unsupportedVersion = "unsupported_version"

  // RFC 9112 §3: the request line.

  /// The line is not three parts with one space between them.
  case malformedRequestLine = "malformed_request_line"
  /// The method is not a token.
  case malformedMethod = "malformed_method"
  /// The method is longer than `HTTPLimits.methodBytes`.
  case methodTooLong = "method_too_long"
  /// The target has none of the four forms, or a form that does not belong to the method, or a forbidden character.
  case malformedTarget = "malformed_target"
  /// An absolute target with the scheme `https` on a connection without TLS.
  case securedTarget = "secured_target"
  /// The target is longer than `HTTPLimits.targetBytes`.
  case targetTooLong = "target_too_long"
  /// A request of HTTP/1.1 without `Host`.
  case missingHost = "missing_host"
  /// More than one `Host`.
  case repeatedHost = "repeated_host"
  /// `Host` is not a host with an optional port.
  case malformedHost = "malformed_host"

  // RFC 9112 §5: fields.

  /// A line that begins with white space: an obsolete folded line, or a disguised field.
  case foldedLine = "folded_line"
  /// A field line without a colon.
  case missingColon = "missing_colon"
  /// A colon with no name before it.
  case emptyFieldName = "empty_field_name"
  /// White space between a name and its colon.
  case spaceBeforeColon = "space_before_colon"
  /// A field name that is not a token.
  case malformedFieldName = "malformed_field_name"
  /// `Content_Length` or `Transfer_Encoding`, which some parsers treat as the fields with a hyphen.
  case ambiguousFieldName = "ambiguous_field_name"
  /// A field that may occur only once occurs twice.
  case repeatedField = "repeated_field"
  /// A field's value does not follow its grammar.
  case malformedFieldValue = "malformed_field_value"
  /// The head is longer than `HTTPLimits.headBytes`.
  case headTooLarge = "head_too_large"
  /// More field lines than `HTTPLimits.fields`.
  case tooManyFields = "too_many_fields"

  // RFC 9112 §6: where the body ends.

  /// `Content-Length` is not one decimal number of at most 19 digits.
  case malformedContentLength = "malformed_content_length"
  /// More than one `Content-Length`, whether or not they are equal.
  case repeatedContentLength = "repeated_content_length"
  /// Both kinds of framing in one request.
  case conflictingFraming = "conflicting_framing"
  /// `Transfer-Encoding` in a request of HTTP/1.0.
  case transferEncodingInOldVersion = "transfer_encoding_in_old_version"
  /// `Transfer-Encoding` is not a list of codings, or `chunked` is not the last and only once.
  case malformedTransferEncoding = "malformed_transfer_encoding"
  /// A transfer coding other than `chunked`.
  case unsupportedTransferCoding = "unsupported_transfer_coding"
  /// A body larger than `HTTPLimits.bodyBytes`.
  case bodyTooLarge = "body_too_large"

  // RFC 9112 §7: chunks.

  /// A chunk's size is not a hexadecimal number that fits.
  case malformedChunkSize = "malformed_chunk_size"
  /// A chunk extension does not follow its grammar.
  case malformedChunkExtension = "malformed_chunk_extension"
  /// More bytes of chunk extensions than `HTTPLimits.chunkExtensionBytes`.
  case chunkExtensionsTooLarge = "chunk_extensions_too_large"
  /// A chunk's data continues beyond its size.
  case malformedChunkEnd = "malformed_chunk_end"
  /// The trailer section is longer than `HTTPLimits.trailerBytes`.
  case trailersTooLarge = "trailers_too_large"
  /// A trailer field about framing, routing, authentication or content, which could have an effect only in the head.
  case forbiddenTrailer = "forbidden_trailer"

  // RFC 9110: methods and fields with a meaning of their own.

  /// `CONNECT`: after a successful answer the connection would not be HTTP.
  case unsupportedTunnel = "unsupported_tunnel"
  /// `Expect` asks for something other than `100-continue`.
  case unsupportedExpectation = "unsupported_expectation"
  /// `Content-Type` is not a media type.
  case malformedMediaType = "malformed_media_type"
  /// `If-Match` or `If-None-Match` is neither `*` nor a list of quoted tags.
  case malformedEntityTag = "malformed_entity_tag"
  /// `Origin` is neither `null` nor scheme, host and port.
  case malformedOrigin = "malformed_origin"
  /// What counts of a trusted proxy's `Forwarded`, `X-Forwarded-For` or `X-Forwarded-Proto` is malformed.
  case malformedForwarding = "malformed_forwarding"
  /// `Forwarded` and the older fields of a trusted proxy name different clients.
  case contradictoryForwarding = "contradictory_forwarding"

  // RFC 3986, and the form encoding of queries.

  /// A percent sign that two hexadecimal digits do not follow.
  case malformedPercentEncoding = "malformed_percent_encoding"
  /// Percent-decoded text that is not UTF-8.
  case malformedUTF8 = "malformed_utf8"

  /// The name of the fault, for logs: `repeated_host`.
  public var code: String { rawValue }

  /// The `code` of the problem document sent to the client: stable, and the same for all faults that a client handles
  /// alike.
  package var problemCode: String {
    switch self {
    case .targetTooLong: "target_too_long"
    case .headTooLarge, .tooManyFields, .trailersTooLarge: "head_too_large"
    case .bodyTooLarge: "body_too_large"
    case .securedTarget: "misdirected"
    case .unsupportedTransferCoding, .unsupportedTunnel: "not_implemented"
    case .unsupportedVersion: "version_not_supported"
    case .unsupportedExpectation: "expectation_failed"
    default: "bad_request"
    }
  }

  /// The status of the answer.
  public var status: HTTPStatus {
    switch self {
    case .targetTooLong: .uriTooLong
    case .headTooLarge, .tooManyFields, .trailersTooLarge: .requestHeaderFieldsTooLarge
    case .bodyTooLarge: .contentTooLarge
    case .securedTarget: .misdirectedRequest
    case .unsupportedTransferCoding, .unsupportedTunnel: .notImplemented
    case .unsupportedVersion: .httpVersionNotSupported
    case .unsupportedExpectation: .expectationFailed
    default: .badRequest
    }
  }
}

extension HTTPParseError: CustomStringConvertible {
  /// One sentence for the client, with the section of the specification that was broken.
  public var description: String { sentence.description }

  private var sentence: StaticString {
    switch self {
    case .bareCarriageReturn: "A carriage return is not followed by a line feed (RFC 9112 §2.2)."
    case .bareLineFeed: "A line feed has no carriage return before it (RFC 9112 §2.2)."
    case .controlCharacter: "A control character stands in the request (RFC 9110 §5.5)."
    case .tooManyEmptyLines: "Too many empty lines come before the request line (RFC 9112 §2.2)."
    case .incompleteMessage: "The connection ended in the middle of a request (RFC 9112 §8)."
    case .malformedVersion: "The version is not of the form HTTP/1.1 (RFC 9112 §2.3)."
    case .unsupportedVersion: "Only HTTP/1.1 and HTTP/1.0 are served here (RFC 9110 §15.6.6)."
    case .malformedRequestLine:
      "The request line is not method, target and version with one space between them (RFC 9112 §3)."
    case .malformedMethod: "The method is not a token (RFC 9110 §9.1)."
    case .methodTooLong: "The method is longer than any that is served here (RFC 9112 §3)."
    case .malformedTarget: "The target is malformed, or not of a form that the method takes (RFC 9112 §3.2)."
    case .securedTarget: "An https target asks for a secured connection, and this one is not (RFC 9110 §7.4)."
    case .targetTooLong: "The target is too long (RFC 9112 §3)."
    case .missingHost: "A request of HTTP/1.1 needs a Host (RFC 9112 §3.2)."
    case .repeatedHost: "Host stands more than once (RFC 9112 §3.2)."
    case .malformedHost: "Host is not a host with an optional port (RFC 9110 §7.2)."
    case .foldedLine: "A line begins with white space (RFC 9112 §5.2)."
    case .missingColon: "A field line has no colon (RFC 9112 §5)."
    case .emptyFieldName: "A field has no name (RFC 9112 §5)."
    case .spaceBeforeColon: "White space stands between a field's name and its colon (RFC 9112 §5.1)."
    case .malformedFieldName: "A field name is not a token (RFC 9110 §5.1)."
    case .ambiguousFieldName: "A field that frames the message is spelled with an underscore (RFC 9112 §11.2)."
    case .repeatedField: "A field that may stand once stands more often (RFC 9110 §5.3)."
    case .malformedFieldValue: "A field's value does not follow its grammar (RFC 9110 §5.5)."
    case .headTooLarge: "The head of the request is too large (RFC 6585 §5)."
    case .tooManyFields: "The request has too many fields (RFC 6585 §5)."
    case .malformedContentLength: "Content-Length is not one decimal number of at most 19 digits (RFC 9110 §8.6)."
    case .repeatedContentLength: "Content-Length stands more than once (RFC 9110 §8.6)."
    case .conflictingFraming: "Content-Length and Transfer-Encoding exclude each other (RFC 9112 §6.1)."
    case .transferEncodingInOldVersion: "HTTP/1.0 has no Transfer-Encoding (RFC 9112 §6.1)."
    case .malformedTransferEncoding: "Transfer-Encoding does not end in one chunked (RFC 9112 §6.3)."
    case .unsupportedTransferCoding: "The only transfer coding served here is chunked (RFC 9112 §6.1)."
    case .bodyTooLarge: "The body is too large (RFC 9110 §15.5.14)."
    case .malformedChunkSize: "A chunk's size is not a hexadecimal number that fits (RFC 9112 §7.1)."
    case .malformedChunkExtension: "A chunk extension is malformed (RFC 9112 §7.1.1)."
    case .chunkExtensionsTooLarge: "The chunk extensions are too large (RFC 9112 §7.1.1)."
    case .malformedChunkEnd: "A chunk does not end where its size says (RFC 9112 §7.1)."
    case .trailersTooLarge: "The trailer section is too large (RFC 6585 §5)."
    case .forbiddenTrailer: "A field stands in the trailer section that may only stand in the head (RFC 9110 §6.5.1)."
    case .unsupportedExpectation: "The only expectation served here is 100-continue (RFC 9110 §10.1.1)."
    case .unsupportedTunnel: "There are no tunnels here (RFC 9110 §9.3.6)."
    case .malformedMediaType: "Content-Type is not a media type (RFC 9110 §8.3.1)."
    case .malformedEntityTag: "An entity tag is not a quoted string, with W/ before it or without (RFC 9110 §8.8.3)."
    case .malformedOrigin: "Origin is neither null nor scheme, host and port (RFC 6454 §7.1)."
    case .malformedForwarding: "What the proxy says of the client does not follow its grammar (RFC 7239 §4)."
    case .contradictoryForwarding:
      "Forwarded and X-Forwarded-For name different clients: a proxy has to set both or remove one (RFC 7239 §7.4)."
    case .malformedPercentEncoding: "A percent sign is not followed by two hexadecimal digits (RFC 3986 §2.1)."
    case .malformedUTF8: "Percent-decoded text is not UTF-8 (RFC 3629 §3)."
    }
  }
}
