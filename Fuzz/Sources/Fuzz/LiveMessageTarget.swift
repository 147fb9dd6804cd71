// SPDX-License-Identifier: MIT

import JSON
@testable import SignalHTTP
import SignalStore

extension FuzzTarget {
  /// A message of a client, and the body of a transaction: what is accepted is inside of the limits, and the same
  /// after compaction.
  static let liveMessage = FuzzTarget(name: "LiveMessage") { input in
    let message = messageOutcome(of: input)
    let transaction = transactionOutcome(of: input)
    guard let text = try? JSONText(validating: input) else {
      // Deeper or longer than a text may be, or no text.
      if case .accepted = message { fatalError("a message that is no JSON text") }
      if case .accepted = transaction { fatalError("a transaction that is no JSON text") }
      return
    }
    require(messageOutcome(of: text.bytes.span) == message, "white space makes it another message")
    require(transactionOutcome(of: text.bytes.span) == transaction, "white space makes it another transaction")
  }

  /// Low, so that inputs reach them.
  private static let configuration: LiveConfiguration = {
    var limits = LiveLimits()
    limits.patternsPerSubscription = 3
    return LiveConfiguration(
      limits: limits, values: JSONLimits(bytes: 64, depth: 4), paths: PathLimits(depth: 4, segmentBytes: 16, bytes: 40))
  }()

  private static let operationLimit = 3
  private static let holder = PropertyStore().makeHolder()

  /// Accepted as something, or refused with a code; the position of a syntax error may change with white space.
  private enum Outcome<Accepted: Equatable>: Equatable {
    case accepted(Accepted)
    case refused(id: Int?, Problem.Code, operation: Int?)
  }

  private static func messageOutcome(of text: Span<UInt8>) -> Outcome<CommandFacts> {
    do throws(ClientMessage.Refusal) {
      let message = try ClientMessage(
        text, configuration: configuration, operationLimit: operationLimit, holder: holder)
      require((0..<1 << 53).contains(message.id), "an id outside of its range")
      return .accepted(CommandFacts(message))
    } catch {
      check(error.problem, in: text)
      return .refused(id: error.id, error.problem.code, operation: nil)
    }
  }

  private static func transactionOutcome(of text: Span<UInt8>) -> Outcome<[OperationRequest]> {
    do throws(Problem) {
      let operations = try TransactionRequest.operations(text, configuration, limit: operationLimit)
      require(operations.count <= operationLimit, "more operations than the limit")
      for operation in operations { check(operation) }
      return .accepted(operations)
    } catch {
      check(error, in: text)
      if let operation = error.operation {
        require((0..<operationLimit).contains(operation), "there is no operation \(operation)")
      }
      return .refused(id: nil, error.code, operation: error.operation)
    }
  }

  fileprivate static func check(operationCount count: Int) {
    require(count <= operationLimit, "more operations than the limit")
  }

  fileprivate static func check(_ request: SendRequest) {
    check(request.path)
    check(request.message)
  }

  fileprivate static func check(_ request: OperationRequest) {
    check(request.path)
    if case .apply(.set(let value, _, _, _)) = request.effect { check(value) }
  }

  private static func check(_ problem: Problem, in text: Span<UInt8>) {
    require(!problem.detail.isEmpty, "a refusal without a word")
    if let position = problem.position {
      require((0...text.count).contains(position), "the error is outside the text")
    }
  }

  fileprivate static func check(_ path: PropertyPath) {
    guard (try? PropertyPath(path.description, limits: configuration.paths)) == path else {
      fatalError("a path that was accepted is refused: \(path)")
    }
  }

  fileprivate static func check(_ pattern: PathPattern) {
    guard (try? PathPattern(pattern.description, limits: configuration.paths)) == pattern else {
      fatalError("a pattern that was accepted is refused: \(pattern)")
    }
  }

  fileprivate static func check(_ value: JSONText) {
    guard (try? JSONText(validating: value.bytes.span, limits: configuration.values)) == value else {
      fatalError("a value that was accepted is refused")
    }
  }

  fileprivate static func check(patternCount count: Int) {
    require((1...configuration.limits.patternsPerSubscription).contains(count), "\(count) patterns")
  }
}

/// What a message says, checked and comparable.
private struct CommandFacts: Equatable {
  let id: Int
  let name: String
  var paths: [[UInt8]] = []
  var texts: [String] = []
  var operations: [OperationRequest] = []
  var sends: [SendRequest] = []
  var condition = Condition.any
  var cursor: Cursor?
  var flags: [Bool?] = []

  init(_ message: ClientMessage) {
    id = message.id
    switch message.command {
    case .subscribe(let request):
      name = "subscribe to \(request.topic)"
      FuzzTarget.check(patternCount: request.patterns.count)
      for pattern in request.patterns { FuzzTarget.check(pattern) }
      paths = request.patterns.map(\.bytes)
      texts = [request.filter].compactMap { $0 }
      cursor = request.since
      flags = [request.initial, request.exit, request.oldValue]
      let delivery = request.delivery
      if let rate = delivery.maxRate { require(rate > 0 && rate.isFinite, "maxRate \(rate)") }
      if let take = delivery.take { require(take > 0, "take \(take)") }
      require(delivery.mode != .all || delivery.maxRate == nil, "a maxRate for all")
      texts.append(
        "\(delivery.mode?.rawValue ?? "") \(delivery.maxRate ?? 0) \(String(describing: delivery.deadband))"
          + " \(delivery.take ?? 0) \(delivery.fields?.rawValue ?? 0) \(delivery.pointer?.description ?? "")"
          + " \(delivery.bookmark ?? 0)")
    case .subscribeToDemand(let patterns):
      name = "demand"
      FuzzTarget.check(patternCount: patterns.count)
      for pattern in patterns { FuzzTarget.check(pattern) }
      paths = patterns.map(\.bytes)
    case .unsubscribe(let subscription):
      name = "unsubscribe \(subscription)"
    case .write(let request):
      name = "write"
      FuzzTarget.check(request)
      operations = [request]
    case .transact(let requests):
      name = "transaction"
      FuzzTarget.check(operationCount: requests.count)
      for request in requests { FuzzTarget.check(request) }
      operations = requests
    case .patch(let request):
      name = "patch"
      FuzzTarget.check(request.path)
      paths = [request.path.bytes]
      condition = request.condition
      texts = [request.filter].compactMap { $0 }
      flags = [request.always]
    case .send(let request):
      name = "send"
      FuzzTarget.check(request)
      sends = [request]
    case .onDisconnect(let requests, _):
      name = "onDisconnect"
      for request in requests {
        switch request {
        case .write(let write):
          FuzzTarget.check(write)
          operations.append(write)
        case .send(let send):
          FuzzTarget.check(send)
          sends.append(send)
        }
      }
    case .get(let path, let watchers):
      name = "get"
      flags = [watchers]
      FuzzTarget.check(path)
      paths = [path.bytes]
    case .hello(let batch):
      name = "hello"
      flags = [batch]
    case .authenticate(let token):
      name = "auth"
      texts = [token]
    case .ping:
      name = "ping"
    }
  }
}
