// SPDX-License-Identifier: MIT

/// Which pages may use the server (`docs/protocol.md` §2.7): those of its own origin, and those that are listed.
///
/// The threat is a page of any site that opens `http://localhost:8080` in the browser of someone who runs the server
/// there, or that lets a browser send a cookie with a token.
struct OriginPolicy {
  private let allowsAny: Bool
  private let listed: [[UInt8]]

  /// The response fields that a page may read: all that the API writes and a browser hides otherwise (Fetch Standard,
  /// "CORS-safelisted response-header name").
  ///
  /// A test compares them with the fields that the sources name.
  static let exposedFields: StaticString = """
    Accept-Encoding, Accept-Patch, Allow, ETag, Location, RateLimit, RateLimit-Policy, Retry-After, Signal-Expires, \
    Signal-Next, Signal-Revision, Signal-Watchers, WWW-Authenticate
    """

  init(_ origins: [String]) {
    allowsAny = origins.contains("*")
    listed = origins.map { Array($0.utf8) }
  }

  /// Refuses a request of a foreign page that could change something or read events; adds the CORS fields (Fetch
  /// Standard, "HTTP-network-or-cache fetch") when the page is listed.
  ///
  /// - Parameters:
  ///   - isSecured: Whether the client speaks `https`.
  ///   - acceptsCredentials: Whether what a browser sends of itself, a cookie or a certificate, can say who asks. Pages
  ///     that are listed by name may then send it; those that only the asterisk lets in never may.
  func admit(
    _ head: borrowing RequestHead, isSecured: Bool, acceptsCredentials: @autoclosure () -> Bool,
    _ response: inout ResponseWriter
  ) throws(APIError) {
    if !listed.isEmpty { response.addCommonField("Vary", "Origin") }
    guard head.has(.origin) else { return }
    let origin = try origin(of: head)
    if isListed(origin) {
      response.addCommonField("Access-Control-Allow-Origin", origin.bytes)
      if isListedByName(origin), acceptsCredentials() {
        response.addCommonField("Access-Control-Allow-Credentials", "true")
      }
      response.addCommonField("Access-Control-Expose-Headers", Self.exposedFields)
      return
    }
    if isOwn(origin, head, isSecured) { return }
    let isSafe = head.knownMethod == .get || head.knownMethod == .head || head.knownMethod == .options
    if isSafe && !head.wantsUpgrade { return }
    throw .problem(
      Problem(
        .originRefused,
        "The origin \"\(origin.bytes.string)\" is neither that of \"Host\" (\(ownOrigin(head, isSecured))) nor listed in "
          + "the setting \"origins\"; a proxy on the way has to pass \"Host\" on as it came."))
  }

  /// Whether a cookie of the request may count: the page is the server's own or a listed one.
  ///
  /// A browser sends cookies for any page.
  func mayUseCookies(_ head: borrowing RequestHead, isSecured: Bool) -> Bool {
    guard head.has(.origin) else { return head[.secFetchSite]?.equals("same-origin") == true }
    guard let origin = try? origin(of: head) else { return false }
    // Not those that only the asterisk lets in.
    return isListedByName(origin) || isOwn(origin, head, isSecured)
  }

  /// Whether the certificate of the connection may count: no page asks, or one that ``mayUseCookies(_:isSecured:)``.
  ///
  /// A browser uses a connection for any page; programs say neither `Origin` nor `Sec-Fetch-Site`.
  func mayUseCertificate(_ head: borrowing RequestHead, isSecured: Bool) -> Bool {
    if head.has(.origin) { return mayUseCookies(head, isSecured: isSecured) }
    // Fetch Metadata has `none` for what somebody has typed or chosen (§2.3).
    return head[.secFetchSite].map { $0.equals("same-origin") || $0.equals("none") } ?? true
  }

  /// The origin of the page, if it is another than the server's own.
  func foreignOrigin(of head: borrowing RequestHead, isSecured: Bool) -> [UInt8]? {
    guard head.has(.origin), let origin = try? origin(of: head), !isOwn(origin, head, isSecured) else { return nil }
    return origin.bytes.array
  }

  private func isOwn(_ origin: Origin, _ head: borrowing RequestHead, _ isSecured: Bool) -> Bool {
    origin.matches(host: head.host, port: head.port, isSecured: isSecured)
  }

  private func ownOrigin(_ head: borrowing RequestHead, _ isSecured: Bool) -> String {
    (isSecured ? "https://" : "http://") + head.host.string + (head.port.map { ":\($0)" } ?? "")
  }

  /// Whether the request comes from a listed page of another origin, so that a preflight has to be answered.
  func isCrossOrigin(_ head: borrowing RequestHead) -> Bool {
    guard head.has(.origin), let origin = try? origin(of: head) else { return false }
    return isListed(origin)
  }

  private func origin(of head: borrowing RequestHead) throws(APIError) -> Origin {
    do throws(HTTPParseError) {
      guard let value = try head.single(.origin) else { throw HTTPParseError.malformedOrigin }
      return try Origin(value)
    } catch {
      throw .request(error)
    }
  }

  private func isListed(_ origin: Origin) -> Bool { allowsAny || isListedByName(origin) }

  private func isListedByName(_ origin: Origin) -> Bool {
    listed.contains { $0.withView { $0.equalsIgnoringCase(origin.bytes) } }
  }
}
