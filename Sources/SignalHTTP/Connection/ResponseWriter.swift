// SPDX-License-Identifier: MIT

/// How the content of a response may be encoded for its client (RFC 9110 §8.4).
struct ContentCoding {
  let compressors: Compressors
  private let policy: CompressionPolicy
  /// Whether the request prefers gzip, and its client may have it.
  private(set) var takesGzip: Bool

  /// nil when nothing is compressed for this client.
  init?(for head: borrowing RequestHead, of client: Peer, _ policy: CompressionPolicy, on loop: isolated EventLoop) {
    guard policy.permits(client) else { return nil }
    compressors = loop.compressors
    self.policy = policy
    takesGzip = AcceptEncoding.prefersGzip(head)
  }

  mutating func clientIsIdentified() { takesGzip = takesGzip && policy.permits(identified: true) }
}

extension CompressionPolicy {
  /// Whether a client gets compressed output.
  func permits(_ client: Peer) -> Bool {
    // A certificate, or the user of a process on this machine.
    permits(identified: client.certificate != nil || client.credentials != nil)
  }
}

/// The content of a response as it is sent.
struct EncodedContent {
  let bytes: [UInt8]
  let isGzip: Bool
}

/// Writes one response into the output of its connection, as its request allows: no content for HEAD, `Connection`
/// depending on the version and on whether the connection persists.
struct ResponseWriter {
  /// The bytes to send; pipelined responses follow each other in it.
  private(set) var output: [UInt8]
  /// Whether the connection can take another request after this response.
  private(set) var keepsAlive: Bool
  /// The status written, for reporting refusals.
  private(set) var status = 0
  /// The code of the problem that has been written, if any.
  private(set) var problemCode = ""
  /// The route of the application that answers, below ``RequestKind/routes``; 0 for none.
  var route: UInt8 = 0
  private let isHead: Bool
  private let minorVersion: UInt8
  private let clock: ResponseClock
  private let isSecured: Bool
  private var head: ResponseHeadWriter?
  /// How content may be encoded; nil when it is always sent as it is.
  private(set) var coding: ContentCoding?
  /// Field lines that go into every response to this request.
  private(set) var commonFields: [UInt8] = []

  /// - Parameter isSecured: Whether the client speaks `https`.
  init(
    appendingTo output: consuming [UInt8], for head: borrowing RequestHead, mayKeepAlive: Bool, isSecured: Bool,
    _ clock: ResponseClock, commonFields: [UInt8] = [], coding: ContentCoding? = nil
  ) {
    self.output = output
    self.coding = coding
    self.clock = clock
    self.isSecured = isSecured
    keepsAlive = head.keepsAlive && mayKeepAlive
    isHead = head.knownMethod == .head
    minorVersion = head.minorVersion
    self.commonFields = commonFields
  }

  /// Begins the response to bytes that could not be parsed as a request: the connection ends with it.
  init(appendingTo output: consuming [UInt8], isSecured: Bool, _ clock: ResponseClock) {
    self.output = output
    self.clock = clock
    self.isSecured = isSecured
    keepsAlive = false
    isHead = false
    minorVersion = 1
  }

  /// Whether chunks can be sent.
  var canChunk: Bool { minorVersion >= 1 }

  /// Adds a field to the response, whichever it will be.
  mutating func addCommonField(_ name: StaticString, _ value: ByteView) {
    addCommonField(name) { $0.append(value) }
  }

  mutating func addCommonField(_ name: StaticString, appending value: (inout [UInt8]) -> Void) {
    commonFields.append(name)
    commonFields.append(": ")
    value(&commonFields)
    commonFields.append("\r\n")
  }

  mutating func addCommonField(_ name: StaticString, _ value: StaticString) { addCommonField(name, ByteView(value)) }

  /// Forgets what was written of the response, which began there in the output: it is answered otherwise.
  mutating func takeBack(to begin: Int) {
    output.removeSubrange(begin...)
    (status, problemCode, head) = (0, "", nil)
  }

  /// Ends the connection after this response.
  mutating func close() { keepsAlive = false }

  // MARK: Step by step

  /// - Parameter isPage: Whether the response is a page of the server's own, for a browser to show.
  mutating func begin(_ status: HTTPStatus, isPage: Bool = false) {
    head = clock.begin(status, isSecured: isSecured, isPage: isPage, to: &output)
    self.status = Int(status.code)
    if !commonFields.isEmpty { output.append(contentsOf: commonFields) }
  }

  /// Begins a response whose content is a problem with this code.
  mutating func begin(_ status: HTTPStatus, problem code: String) {
    begin(status)
    problemCode = code
    field("Content-Type", "application/problem+json")
  }

  mutating func field(_ name: StaticString, _ value: StaticString) { head?.field(name, value, to: &output) }

  /// A field whose value is a date.
  mutating func field(_ name: StaticString, _ value: HTTPDate) { field(name) { value.append(to: &$0) } }

  mutating func field(_ name: StaticString, _ value: [UInt8]) { head?.field(name, value, to: &output) }

  /// A field whose value is appended in place; it must be visible ASCII.
  mutating func field(_ name: StaticString, appending value: (inout [UInt8]) -> Void) {
    output.append(name)
    output.append(": ")
    value(&output)
    output.append("\r\n")
  }

  /// Ends the head and appends the content, encoded if possible, unless the request was HEAD.
  mutating func end(_ body: [UInt8]) { end(status == 200 ? encode(body) : EncodedContent(bytes: body, isGzip: false)) }

  /// The client has said who it is, and may see what others may not.
  mutating func clientIsIdentified() { coding?.clientIsIdentified() }

  /// Encodes the content of a response, before fields that depend on it are written.
  func encode(_ body: [UInt8]) -> EncodedContent {
    guard let coding, coding.takesGzip, let bytes = coding.compressors.gzip(body.span) else {
      return EncodedContent(bytes: body, isGzip: false)
    }
    return EncodedContent(bytes: bytes, isGzip: true)
  }

  /// Ends the head and appends content that has been encoded, unless the request was HEAD.
  mutating func end(_ content: EncodedContent) {
    vary()
    if content.isGzip { field("Content-Encoding", "gzip") }
    endAsItIs(content.bytes)
  }

  private mutating func endAsItIs(_ bytes: [UInt8]) {
    head?.end(.sized(bytes.count), persistence, to: &output)
    if !isHead { output.append(contentsOf: bytes) }
  }

  mutating func endWithoutBody() {
    if status == 304 { vary() }
    head?.end(.sized(0), persistence, to: &output)
  }

  /// Tells caches that another client may get other content (RFC 9110 §12.5.5).
  private mutating func vary() { if coding != nil { field("Vary", "Accept-Encoding") } }

  /// Ends the head of a response whose length is not known.
  mutating func endAsStream() {
    if !canChunk { keepsAlive = false }
    head?.end(canChunk ? .chunked : .untilClose, persistence, to: &output)
  }

  private var persistence: Persistence {
    if !keepsAlive { return .closes }
    return minorVersion == 0 ? .announced : .implied
  }

  // MARK: Whole

  mutating func write(_ response: HTTPResponse) {
    begin(response.status)
    head?.fields(response.fields, to: &output)
    // An application chooses the encoding of its content, and the tags that go with it.
    endAsItIs(response.body)
  }

  /// Writes a response that another server has made.
  ///
  /// - Parameter fields: Its field lines, without those that this server writes itself.
  mutating func relay(_ status: HTTPStatus, problem code: String, fields: [UInt8], body: [UInt8]) {
    begin(status)
    problemCode = code
    output.append(contentsOf: fields)
    endAsItIs(body)
  }

  /// Writes a refusal by the server itself: of a protocol violation, or of a request at a bad time.
  ///
  /// The strings are constants and need no escaping in JSON.
  mutating func refuse(_ status: HTTPStatus, code: String, detail: String, isTemporary: Bool = false) {
    begin(status, problem: code)
    if isTemporary { field("Retry-After", Array("1".utf8)) }
    end(
      Array(
        """
        {"type":"about:blank","status":\(status.code),"code":"\(code)","title":"\(status.reason)",\
        "detail":"\(detail)","temporary":\(isTemporary)}
        """.utf8))
  }

  mutating func refuse(_ error: HTTPParseError) {
    refuse(error.status, code: error.problemCode, detail: error.description)
  }

  /// Writes the refusal of a WebSocket handshake (RFC 6455 §4.2.2); the connection can continue with HTTP.
  mutating func refuse(_ refusal: UpgradeRefusal) {
    guard let status = HTTPStatus(code: refusal.status) else { preconditionFailure("A refusal has a status.") }
    for (name, value) in refusal.fields {
      commonFields.append(contentsOf: "\(name): \(value)\r\n".utf8)
    }
    refuse(status, code: status == .upgradeRequired ? "upgrade_required" : "bad_handshake", detail: refusal.description)
  }

  /// Appends the 101 of a WebSocket handshake; what follows is not HTTP.
  mutating func switchToWebSocket(acceptKey: [UInt8], subprotocol: String?, deflate: MessageDeflate?) {
    status = 101
    WebSocketHandshake.appendResponse(
      acceptKey: acceptKey, subprotocol: subprotocol, deflate: deflate, to: &output)
  }
}

/// Fields common to all responses of a listener's connections on a loop: `Date`, and security fields for browsers.
final class ResponseClock {
  private var date = DateField(followedBy: guards)
  private var pageDate = DateField(followedBy: pageGuards)
  /// The line that RFC 6797 §6.1 defines; empty when browsers are told nothing.
  private let hsts: [UInt8]

  /// Responses are data: browsers must not interpret them as a page, run scripts in them, put them in a frame, or
  /// reveal their address to others (Fetch Standard, "X-Content-Type-Options"; CSP Level 3; Referrer Policy).
  ///
  /// The browser's console on a page at the server's own address may connect, to try things out.
  private static let guards: StaticString = """
    X-Content-Type-Options: nosniff\r
    Content-Security-Policy: default-src 'none'; connect-src 'self'; frame-ancestors 'none'\r
    Referrer-Policy: no-referrer\r

    """

  /// The same for a page of the server's own, the console: its scripts and styles are files of this server, nothing is
  /// inline, and no text becomes markup.
  private static let pageGuards: StaticString = """
    X-Content-Type-Options: nosniff\r
    Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'\r
    Cross-Origin-Opener-Policy: same-origin\r
    Referrer-Policy: no-referrer\r

    """

  /// - Parameter hsts: How long browsers shall use nothing but TLS; nil tells them nothing.
  init(hsts: Duration?) {
    self.hsts =
      hsts.map { Array("Strict-Transport-Security: max-age=\($0.components.seconds)\r\n".utf8) } ?? []
  }

  /// - Parameter isSecured: Whether the client speaks `https`: in the clear the field means nothing (RFC 6797 §8.1).
  func begin(_ status: HTTPStatus, isSecured: Bool, isPage: Bool, to output: inout [UInt8]) -> ResponseHeadWriter {
    let head =
      isPage
      ? ResponseHeadWriter(status, date: &pageDate, second: wallClockSeconds(), to: &output)
      : ResponseHeadWriter(status, date: &date, second: wallClockSeconds(), to: &output)
    // Browsers heed it only when they trust the certificate.
    if isSecured { output.append(contentsOf: hsts) }
    return head
  }
}
