// SPDX-License-Identifier: MIT

internal import JSON
package import SignalHTTP

/// Where servers of NATS are, and how a client proves who it is.
package struct NATSConfiguration: Sendable {
  /// The servers, tried one after the other.
  package var servers: [Endpoint]
  package var credentials: NATSCredentials
  /// The authorities that sign the servers' certificates; nil for the system's.
  package var authorities: TLSContext?
  /// What the servers call this client.
  package var name: String
  /// For a connection, TLS and the server's first answer.
  package var timeout = Duration.seconds(3)
  /// For the first word of a server with TLS; then it counts as one that waits for TLS to begin.
  package var greeting = Duration.seconds(1)
  /// Silence after which a server counts as gone, in milliseconds; it is asked for a sign of life at half of it.
  package var silence: UInt64 = 4000
  /// From one attempt to connect to the next at another server, and from a lost connection to one at the same, in
  /// milliseconds.
  package var pause: UInt64 = 250

  package init(
    servers: [Endpoint], credentials: NATSCredentials = .none, authorities: TLSContext? = nil, name: String
  ) {
    self.servers = servers
    self.credentials = credentials
    self.authorities = authorities
    self.name = name
  }
}

/// The owner of a ``NATSClient``; called on its loop.
protocol NATSClientOwner: AnyObject {
  /// There is a connection; subscriptions have been made again.
  func connected(maxPayload: Int, on loop: isolated EventLoop)
  /// There is none any more, and what was sent may not have arrived.
  func disconnected(_ reason: String, on loop: isolated EventLoop)
  func received(_ message: NATSMessage, on loop: isolated EventLoop)
  /// The server does not allow what it was asked for, which has no effect; the connection goes on.
  func denied(_ reason: String, on loop: isolated EventLoop)
}

/// A connection to one of several servers of NATS, made anew whenever it breaks.
///
// Unchecked: only its loop touches it, which the compiler checks by the parameter `loop`.
final class NATSClient: StreamLinkOwner, @unchecked Sendable {
  private let configuration: NATSConfiguration
  private weak var owner: (any NATSClientOwner)?
  private var link: StreamLink?
  private var parser = NATSParser()
  private var next = 0
  /// Whether the servers say nothing before TLS is agreed on (`handshake_first`), as the last one did that was reached.
  ///
  /// Most say at once what they are; where they do not, only the first connection waits for it.
  private var expectsSilence = false
  private var wasOpened = false
  /// Bytes of what a server says about itself, at most.
  private static let infoBytes = 64 << 10
  private(set) var isConnected = false
  /// By number: subject, and whether it is subscribed to.
  private var subscriptions: [UInt64: String] = [:]
  private var lastSubscription: UInt64 = 0
  private var maxPayload = 0
  private var lastHeard: UInt64 = 0
  private var lastAttempt: UInt64 = 0
  private var isPinged = false
  private var retry: UInt64 = 0
  private var isEnded = false
  private var output: [UInt8] = []

  init(_ configuration: NATSConfiguration, owner: any NATSClientOwner) {
    self.configuration = configuration
    self.owner = owner
  }

  // MARK: Time

  /// Connects, and finds out whether the server is still there; to be called in each turn.
  ///
  /// - Returns: When it has to be called again.
  func proceed(at now: UInt64, on loop: isolated EventLoop) -> UInt64 {
    flush(on: loop)
    if isEnded { return .max }
    guard let link else {
      guard now >= retry else { return retry }
      connect(at: now, on: loop)
      return now + configuration.silence
    }
    guard now < lastHeard + configuration.silence else {
      link.drop(on: loop)
      lost("no sign of life", at: now, on: loop)
      return retry
    }
    if isConnected, !isPinged, now >= lastHeard + configuration.silence / 2 {
      isPinged = true
      output.append(literal: "PING\r\n")
      flush(on: loop)
    }
    return lastHeard + (isPinged || !isConnected ? configuration.silence : configuration.silence / 2)
  }

  private func connect(at now: UInt64, on loop: isolated EventLoop) {
    parser = NATSParser()
    (lastHeard, lastAttempt) = (now, now)
    isPinged = false
    let server = configuration.servers[next % configuration.servers.count]
    next += 1
    wasOpened = false
    link = StreamLink.connect(
      to: server, tls: configuration.authorities,
      greeting: expectsSilence
        ? nil : PlainGreeting(start: "INFO ", limit: Self.infoBytes, patience: configuration.greeting),
      timeout: configuration.timeout, owner: self, on: loop)
  }

  private func lost(_ reason: String, at now: UInt64, on loop: isolated EventLoop) {
    link = nil
    output = []
    // Others may be there still; where there is only one, it is probably not back yet.
    let hasOthers = isConnected && configuration.servers.count > 1
    retry = (hasOthers ? lastAttempt : now) + configuration.pause
    isConnected = false
    owner?.disconnected(reason, on: loop)
  }

  /// Breaks the connection and makes no other one, or ends that.
  func cutOff(_ isCutOff: Bool, on loop: isolated EventLoop) {
    guard isCutOff else {
      if retry == .max { retry = 0 }
      return loop.needTurnSoon()
    }
    link?.drop(on: loop)
    lost("cut off", at: loop.milliseconds, on: loop)
    retry = .max
  }

  /// Ends the connection for good.
  func end(on loop: isolated EventLoop) {
    flush(on: loop)
    isEnded = true
    isConnected = false
    link?.leave(on: loop)
    link = nil
  }

  // MARK: Link

  func opened(_ link: StreamLink, on loop: isolated EventLoop) {
    wasOpened = true
    expectsSilence = !link.wasGreeted
  }

  func received(_ bytes: [UInt8], over link: StreamLink, on loop: isolated EventLoop) {
    lastHeard = loop.milliseconds
    isPinged = false
    parser.append(bytes)
    do throws(NATSSyntaxError) {
      while self.link === link, let event = try parser.next() { handle(event, on: loop) }
    } catch {
      link.drop(on: loop)
      lost("what the server sent is not the protocol of NATS", at: loop.milliseconds, on: loop)
    }
    flush(on: loop)
  }

  func ended(_ link: StreamLink, _ error: ClientError, on loop: isolated EventLoop) {
    guard self.link === link else { return }
    if !wasOpened {
      switch error {
      // It speaks first after all, or trusts nobody.
      case .untrusted: expectsSilence = false
      // It does not wait as long as we do.
      case .closed: expectsSilence = true
      default: break
      }
    }
    lost("\(error)", at: loop.milliseconds, on: loop)
  }

  private func handle(_ event: NATSEvent, on loop: isolated EventLoop) {
    switch event {
    case .message(let message): owner?.received(message, on: loop)
    case .ping: output.append(literal: "PONG\r\n")
    case .info(let text): if !isConnected { greet(text, on: loop) }
    case .pong:
      guard !isConnected else { return }
      isConnected = true
      for (number, subject) in subscriptions { appendSubscription(number, subject) }
      owner?.connected(maxPayload: maxPayload, on: loop)
    case .ok: break
    case .error(let text):
      if isConnected, text.lowercased().hasPrefix("permissions violation") {
        owner?.denied(text, on: loop)
        return
      }
      link?.drop(on: loop)
      lost(text, at: loop.milliseconds, on: loop)
    }
  }

  /// Answers what the server says about itself, and asks for its first sign of life.
  private func greet(_ info: [UInt8], on loop: isolated EventLoop) {
    var nonce: [UInt8] = []
    if let tree = LogRecord.tree(of: info[...]) {
      if let node = tree.member("max_payload", of: tree.root) { maxPayload = Int(clamping: tree.uint64(node) ?? 0) }
      if let node = tree.member("nonce", of: tree.root) { nonce = Array((tree.string(node) ?? "").utf8) }
    }
    output.append(
      literal:
        #"CONNECT {"verbose":false,"pedantic":false,"lang":"swift","protocol":1,"headers":true,"no_responders":true"#
    )
    output.append(literal: #","tls_required":false,"version":"1","name":"#)
    output.appendJSON(configuration.name)
    guard configuration.credentials.append(answering: nonce, to: &output) else {
      link?.drop(on: loop)
      return lost("the credentials hold no usable key", at: loop.milliseconds, on: loop)
    }
    output.append(literal: "}\r\nPING\r\n")
  }

  // MARK: Sending

  /// Subscribes to a subject, also on all later connections.
  ///
  /// - Returns: The number by which its messages name it.
  func subscribe(_ subject: String) -> UInt64 {
    lastSubscription += 1
    subscriptions[lastSubscription] = subject
    if isConnected { appendSubscription(lastSubscription, subject) }
    return lastSubscription
  }

  private func appendSubscription(_ number: UInt64, _ subject: String) {
    output.append(contentsOf: "SUB \(subject) \(number)\r\n".utf8)
  }

  /// Sends a message, for ``proceed(at:on:)`` to send; nothing happens without a connection.
  ///
  /// - Parameters:
  ///   - reply: Where an answer is expected; empty for nowhere.
  ///   - header: Field lines, each with CR LF at its end; empty for none.
  func publish(_ subject: String, reply: String = "", header: [UInt8] = [], _ payload: [UInt8]) {
    guard isConnected else { return }
    output.append(literal: header.isEmpty ? "PUB " : "HPUB ")
    output.append(contentsOf: subject.utf8)
    output.append(UInt8(ascii: " "))
    if !reply.isEmpty {
      output.append(contentsOf: reply.utf8)
      output.append(UInt8(ascii: " "))
    }
    if !header.isEmpty {
      let size = Self.headerStart.count + header.count + 2
      output.append(contentsOf: "\(size) \(size + payload.count)\r\n".utf8)
      output.append(contentsOf: Self.headerStart)
      output.append(contentsOf: header)
      output.append(literal: "\r\n")
    } else {
      output.append(contentsOf: "\(payload.count)\r\n".utf8)
    }
    output.append(contentsOf: payload)
    output.append(literal: "\r\n")
  }

  private static let headerStart = Array("NATS/1.0\r\n".utf8)

  private func flush(on loop: isolated EventLoop) {
    guard !output.isEmpty, let link else { return }
    var block: [UInt8] = []
    swap(&block, &output)
    link.send(block, on: loop)
  }
}
