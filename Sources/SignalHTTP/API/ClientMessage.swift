// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The subscription that a client asks for, in a `subscribe` command or in the query of `/events`.
struct SubscribeRequest {
  var topic = Topic.properties
  var patterns: [PathPattern] = []
  var filter: String?
  var initial = true
  var since: Cursor?
  /// The audience that the client was of when it was sent what it has, as an `ok` named it.
  var audience: String?
  /// nil when not given: true where there can be exits.
  var exit: Bool?
  var oldValue = true
  var delivery = DeliveryRequest()
}

extension SubscribeRequest {
  /// Takes the members of a `subscribe` command, except those that identify it.
  init(_ members: inout JSONMembers, _ configuration: LiveConfiguration) throws(Problem) {
    topic = members.has("signals") ? .signals : .properties
    patterns = try members.patterns(
      topic == .signals ? "signals" : "match", limits: configuration.limits, paths: configuration.paths)
    filter = try members.string("where")
    initial = try members.bool("initial") ?? true
    // Subscriptions to messages have no further members.
    guard topic == .properties else { return }
    since = try members.cursor("since")
    audience = try members.string("audience")
    exit = try members.bool("exit")
    oldValue = try members.bool("oldValue") ?? true
    delivery = try DeliveryRequest(&members)
  }
}

/// The patch that a request or a command asks for.
struct PatchRequest: Equatable {
  var path: PropertyPath
  var patch: ValuePatch
  var condition: Condition
  var filter: String?
  var always: Bool
  var ttl: Duration?
  var holder: Holder?

  /// The store operation that applies the patch, once the new value has been computed.
  func action(setting value: JSONText) -> PropertyStore.Operation.Action {
    .set(value, always: always, ttl: ttl, holder: holder)
  }
}

extension PatchRequest {
  /// Takes the members of a `patch` command, except those that identify it.
  init(_ members: inout JSONMembers, _ configuration: LiveConfiguration, holder: Holder?) throws(Problem) {
    self.init(
      path: try members.path("path", limits: configuration.paths), patch: try ValuePatch(&members),
      condition: try members.condition(), filter: try members.string("if"),
      always: try members.bool("always") ?? false, ttl: try members.duration("ttl"),
      holder: try members.holder(holder))
  }
}

/// A command of the live protocol (`docs/protocol.md` §3).
enum ClientCommand {
  case subscribe(SubscribeRequest)
  /// Subscribes to demand for whatever overlaps with these patterns.
  case subscribeToDemand([PathPattern])
  case unsubscribe(Int)
  case write(OperationRequest)
  case transact([OperationRequest])
  case patch(PatchRequest)
  case send(SendRequest)
  /// Replaces the operations that the connection has registered for its end, with the text of the command, which the
  /// store keeps.
  case onDisconnect([DisconnectOperation], command: JSONText)
  case get(PropertyPath, watchers: Bool)
  case ping
  /// Whether several events may be sent in one message.
  case hello(batch: Bool?)
  /// Proves who is there, by a token.
  case authenticate(token: String)
}

extension ClientCommand {
  /// Its type, as it stands in a message.
  var name: String {
    switch self {
    case .subscribe, .subscribeToDemand: "subscribe"
    case .unsubscribe: "unsubscribe"
    case .write(let request): request.name
    case .transact: "transact"
    case .patch: "patch"
    case .send: "send"
    case .onDisconnect: "onDisconnect"
    case .get: "get"
    case .ping: "ping"
    case .hello: "hello"
    case .authenticate: "auth"
    }
  }

  /// Whether it has an effect that can be durable.
  var isWrite: Bool {
    switch self {
    case .write, .transact, .patch, .send, .onDisconnect: true
    case .subscribe, .subscribeToDemand, .unsubscribe, .get, .ping, .hello, .authenticate: false
    }
  }
}

/// One message of a client, from its text.
struct ClientMessage {
  let id: Int
  let command: ClientCommand
  /// Whether the reply waits until what was written is durable.
  let isSynced: Bool

  /// A refusal, with the `id` if one could be read.
  struct Refusal: Error {
    let id: Int?
    let problem: Problem
  }

  /// Parses a message.
  ///
  /// Values in it are held to the limits of values.
  ///
  /// - Parameters:
  ///   - operationLimit: Operations of one transaction at most.
  ///   - holder: The connection, as the holder of values that it sets with `"hold":true`.
  init(
    _ text: Span<UInt8>, configuration: LiveConfiguration, operationLimit: Int, holder: Holder?
  ) throws(Refusal) {
    let tree: JSONTree
    do {
      // The message may be longer than a value, by the rest of the command around it; in a transaction a value is
      // nested three levels deep.
      let limits = configuration.texts(bytes: text.count, levels: 3)
      tree = JSONTree(try JSONText(validating: text, limits: limits))
    } catch {
      throw Refusal(id: Self.id(in: text), problem: Problem(.badJSON, "\(error)", position: error.offset))
    }
    guard var members = JSONMembers(tree, tree.root, of: "a command") else {
      throw Refusal(id: nil, problem: Problem(.badMessage, "A message is a JSON object."))
    }
    var id: Int?
    do throws(Problem) {
      id = try members.integer("id")
      guard let type = try members.string("type") else { throw members.missing("type") }
      command = try Self.command(type, &members, configuration, operationLimit, holder)
      isSynced = command.isWrite ? try members.bool("sync") ?? false : false
      guard let id else { throw members.missing("id") }
      self.id = id
      try members.end()
    } catch {
      throw Refusal(id: id, problem: error)
    }
  }

  /// The `id` of a message that cannot be read as a whole: which command is refused has to be known all the same.
  private static func id(in text: Span<UInt8>) -> Int? {
    var members = JSONMemberScanner()
    var id: Int?
    while let name = members.next(in: text) {
      guard text.extracting(name).isLiteral("id") else {
        members.skip(in: text)
        continue
      }
      // Which of two it is would be a guess.
      if id != nil { return nil }
      id = members.integer(in: text)
    }
    return id
  }

  private static func command(
    _ type: String, _ members: inout JSONMembers, _ configuration: LiveConfiguration, _ operationLimit: Int,
    _ holder: Holder?
  ) throws(Problem) -> ClientCommand {
    let paths = configuration.paths
    switch type {
    case "send": return .send(try SendRequest(&members, configuration))
    case "onDisconnect":
      let operations = try DisconnectOperation.operations(&members, configuration)
      return .onDisconnect(operations, command: members.tree.text(of: .root))
    case "subscribe":
      if members.has("demand") {
        return .subscribeToDemand(try members.patterns("demand", limits: configuration.limits, paths: paths))
      }
      return .subscribe(try SubscribeRequest(&members, configuration))
    case "unsubscribe":
      guard let subscription = try members.integer("subscription") else { throw members.missing("subscription") }
      return .unsubscribe(subscription)
    case "transaction":
      return .transact(
        try TransactionRequest.operations(&members, configuration, limit: operationLimit, holder: holder))
    case "patch": return .patch(try PatchRequest(&members, configuration, holder: holder))
    case "get":
      return .get(try members.path("path", limits: paths), watchers: try members.bool("watchers") ?? false)
    case "ping":
      return .ping
    case "hello":
      return .hello(batch: try members.bool("batch"))
    case "auth":
      guard let token = try members.string("token") else { throw members.missing("token") }
      return .authenticate(token: token)
    default:
      if let write = try OperationRequest(type, &members, configuration, holder: holder) { return .write(write) }
      throw Problem(.unknownType, "There is no command \"\(type)\".")
    }
  }
}
