// SPDX-License-Identifier: MIT

import JSON
import SignalHTTP
import SignalStore

/// How a client says who it is.
public enum RemoteToken: Sendable {
  /// Always the same one.
  case fixed(String)
  /// One for each connection, and another one before it ends.
  case provider(@Sendable () async throws -> String)
}

extension RemoteSession {
  /// What a close code asks for.
  private enum Advice { case now, later, withToken, never }

  private static func advice(_ code: CloseCode?) -> Advice {
    guard let code else { return .later }
    if code == .tooSlow { return .now }
    if code == .unauthenticated { return .withToken }
    return code.advice == .reconnectLater ? .later : .never
  }

  /// Whether an upgrade that was refused so may succeed later: also where a proxy says that its server is not there.
  private static func isTemporary(_ status: Int) -> Bool { status >= 500 || status == 429 || status < 400 }

  private var hasProvider: Bool { if case .provider = token { true } else { false } }

  // MARK: Connecting

  /// Makes the next connection.
  func connect(on loop: isolated EventLoop) {
    guard !isClosed else { return }
    switch token {
    case nil: open(nil, on: loop)
    case .fixed(let token): open(token, on: loop)
    case .provider(let next):
      let number = number
      Task { [weak self] in
        let result: Result<String, any Error>
        do { result = .success(try await next()) } catch { result = .failure(error) }
        self?.put(
          .call { session, loop in
            guard session.number == number, !session.isClosed else { return }
            switch result {
            case .success(let token): session.open(token, on: loop)
            case .failure(let error):
              session.report(Self.failure(of: error))
              session.finish(.later, nil, on: loop)
            }
          })
      }
    }
  }

  private static func failure(of error: any Error) -> RemoteError {
    error as? RemoteError ?? RemoteError("no_token", "\(error)")
  }

  private func open(_ token: String?, on loop: isolated EventLoop) {
    isProven = token == nil
    isOpen = false
    openingToken = token
    link = WebSocketLink.connect(
      to: endpoint, target: "/events?batch=true", subprotocol: "signal.v1.json", tls: tls,
      messageBytes: configuration.messageBytes, timeout: configuration.timeout, owner: self, on: loop)
    isAsked = false
    listenForSilence(on: loop)
  }

  /// After the end of a connection: connects again when it is time, or ends.
  ///
  /// - Parameter named: The delay that the server has named.
  private func finish(
    _ advice: Advice, _ reason: RemoteError?, named: Duration = .zero, on loop: isolated EventLoop
  ) {
    guard !isClosed else { return }
    let wasReady = isReady
    disconnect(on: loop)
    let advice = advice == .withToken && !hasProvider ? .never : advice
    if advice == .never {
      return end(reason ?? RemoteError("closed", "the server has closed the connection"), on: loop)
    }
    if wasReady, now - openedAt > Self.longEnough { attempts = 0 }
    var delay = configuration.minDelay
    for _ in 0..<attempts where delay < configuration.maxDelay { delay *= 2 }
    delay = max(min(delay, configuration.maxDelay) * Double.random(in: 0.5...1), named)
    // Once: a server that ends each connection so would be asked as fast as it answers.
    let isAtOnce = attempts == 0 && named == .zero && (advice == .now || advice == .withToken && wasReady)
    attempts = min(attempts + 1, Self.mostAttempts)
    turn(on: loop)
    if isAtOnce { return connect(on: loop) }
    let number = number
    after(delay) { session, loop in
      if session.number == number { session.connect(on: loop) }
    }
  }

  /// A connection that lasted for so long has shown that the server takes it.
  private static let longEnough = Duration.seconds(5)
  /// More are counted no more: by then the delay is the longest.
  private static let mostAttempts = 60

  /// Leaves the connection, as if it had ended so.
  private func abandon(_ advice: Advice, _ reason: RemoteError? = nil, on loop: isolated EventLoop) {
    link?.leave(on: loop)
    finish(advice, reason, on: loop)
  }

  // MARK: Tokens

  private func prove(_ token: String, on loop: isolated EventLoop) {
    var command = CommandText("auth")
    command.add("token", token)
    let number = number
    let pending = PendingCommand(command.members) { [weak self] result, loop in
      guard let self, self.number == number else { return }
      switch result {
      case .success: isProven = true
      case .failure(let error): refused(error, on: loop)
      }
    }
    transmit(pending, on: loop)
  }

  private func refused(_ error: RemoteError, on loop: isolated EventLoop) {
    guard error.outcome == .refused else { return }
    report(error)
    // Who somebody is, is said once for a connection. A refused token may be followed by a better one.
    if error.code == "identity_mismatch" {
      abandon(.now, on: loop)
    } else if !isReady {
      abandon(hasProvider || error.isTemporary ? .later : .never, error, on: loop)
    }
  }

  /// At half of what is left: a short token is not asked for again and again, and a failure has another chance.
  func renew(in time: Duration, on loop: isolated EventLoop) {
    guard case .provider(let next) = token else { return }
    let number = number
    after(time / 2) { session, _ in
      guard session.number == number else { return }
      Task { [weak session] in
        let result: Result<String, any Error>
        do { result = .success(try await next()) } catch { result = .failure(error) }
        session?.put(
          .call { session, loop in
            guard session.number == number else { return }
            switch result {
            case .success(let token): session.prove(token, on: loop)
            case .failure(let error):
              session.report(Self.failure(of: error))
              if time / 2 >= .milliseconds(500) { session.renew(in: time / 2, on: loop) }
            }
          })
      }
    }
  }

  // MARK: Silence

  /// A broken line is silent: after some silence the server is asked, and has some time to answer.
  private func listenForSilence(on loop: isolated EventLoop) {
    let number = number
    let isLast = isAsked || !isReady
    let since = now
    after(isLast ? configuration.timeout : configuration.silence) { session, loop in
      guard session.number == number, session.link != nil else { return }
      if session.heardAt >= since {
        session.isAsked = false
      } else if isLast {
        return session.abandon(.later, on: loop)
      } else {
        session.tell(CommandText("ping").members, on: loop)
        session.isAsked = true
      }
      session.listenForSilence(on: loop)
    }
  }
}

extension RemoteSession: WebSocketLinkOwner {
  func opened(_ link: WebSocketLink, on loop: isolated EventLoop) {
    guard link === self.link else { return }
    heardAt = now
    isOpen = true
    if let token = openingToken { prove(token, on: loop) }
    openingToken = nil
  }

  func received(_ message: [UInt8], over link: WebSocketLink, on loop: isolated EventLoop) {
    heardAt = now
    // With `batch` a message is several lines.
    var start = 0
    while start <= message.count {
      guard link === self.link else { return }
      let end = message[start...].firstIndex(of: UInt8(ascii: "\n")) ?? message.count
      let line = message.span.extracting(start..<end)
      guard let text = try? JSONText(validating: line, limits: Members.limits) else {
        return fail("a message that is no JSON", on: loop)
      }
      guard receive(text, on: loop) else { return fail("a message without what it needs", on: loop) }
      start = end + 1
    }
  }

  func ended(_ link: WebSocketLink, _ end: WebSocketLinkEnd, on loop: isolated EventLoop) {
    guard link === self.link else { return }
    switch end {
    case .broken(let error):
      // One that breaks later is told as the state.
      if !isOpen { report(RemoteError(connecting: error)) }
      finish(.later, nil, on: loop)
    case .closed(let frame):
      let code = frame.code
      let reason = RemoteError(
        "closed", "the server has closed with \(code?.rawValue ?? 1005)", closeCode: code?.rawValue)
      finish(Self.advice(code), reason, named: NamedDelay.inReason(frame.reason), on: loop)
    case .failed(let error):
      finish(.never, RemoteError("protocol_error", "the server broke the protocol: \(error)"), on: loop)
    case .refused(let response):
      let body = try? JSONText(validating: response.body, limits: Members.limits)
      let problem = body.map { Members($0) }
      let reason =
        problem.flatMap { $0.has("code") ? RemoteError($0, .refused) : nil }
        ?? RemoteError("upgrade_refused", "the upgrade was answered with \(response.status)", .refused)
      guard Self.isTemporary(response.status) || reason.isTemporary else { return finish(.never, reason, on: loop) }
      report(reason)
      finish(.later, reason, named: NamedDelay.inField(response.value("Retry-After")), on: loop)
    }
  }
}
