// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// What a subscription is asked to be, in a `subscribe` command or in the query of `/events`.
struct SubscribeRequest {
  var patterns: [PathPattern] = []
  var filter: String?
  var initial = true
  var since: Cursor?
  /// nil when nothing is said: true where there can be exits.
  var exit: Bool?
  var oldValue = true
  var delivery = DeliveryRequest()
}

/// A command of the live protocol (`docs/protocol.md` §3).
enum ClientCommand {
  case subscribe(SubscribeRequest)
  case unsubscribe(Int)
  case set(PropertyPath, JSONText, Condition, always: Bool)
  case delete(PropertyPath, Condition)
  case get(PropertyPath)
  case ping
  /// Whether events are to come several in a message.
  case hello(batch: Bool?)
}

/// One message of a client, from its text.
struct ClientMessage {
  let id: Int
  let command: ClientCommand

  /// A refusal, with the `id` if one could be read.
  struct Refusal: Error {
    let id: Int?
    let problem: Problem
  }

  /// Parses a message.
  ///
  /// Values in it are held to the limits of values.
  init(_ text: Span<UInt8>, configuration: LiveConfiguration) throws(Refusal) {
    let tree: JSONTree
    do {
      // The message may be longer than a value, by the rest of the command around it.
      let limits = JSONLimits(bytes: text.count, depth: configuration.values.depth + 1)
      tree = JSONTree(try JSONText(validating: text, limits: limits))
    } catch {
      throw Refusal(id: nil, problem: Problem(.badJSON, "\(error)", position: error.offset))
    }
    guard var members = JSONMembers(tree, tree.root, of: "A command") else {
      throw Refusal(id: nil, problem: Problem(.badMessage, "A message is a JSON object."))
    }
    var id: Int?
    do throws(Problem) {
      id = try members.integer("id")
      guard let type = try members.string("type") else { throw members.missing("type") }
      command = try Self.command(type, &members, configuration)
      guard let id else { throw members.missing("id") }
      self.id = id
      try members.end()
    } catch {
      throw Refusal(id: id, problem: error)
    }
  }

  private static func command(
    _ type: String, _ members: inout JSONMembers, _ configuration: LiveConfiguration
  ) throws(Problem) -> ClientCommand {
    let paths = configuration.paths
    switch type {
    case "subscribe":
      var request = SubscribeRequest()
      request.patterns = try members.patterns("match", limits: configuration.limits, paths: paths)
      request.filter = try members.string("where")
      request.initial = try members.bool("initial") ?? true
      request.since = try members.cursor("since")
      request.exit = try members.bool("exit")
      request.oldValue = try members.bool("oldValue") ?? true
      request.delivery = try DeliveryRequest(&members)
      return .subscribe(request)
    case "unsubscribe":
      guard let subscription = try members.integer("subscription") else { throw members.missing("subscription") }
      return .unsubscribe(subscription)
    case "set":
      let path = try members.path("path", limits: paths)
      guard let value = members.value("value") else { throw members.missing("value") }
      guard value.bytes.count <= configuration.values.bytes else {
        throw Problem(.bodyTooLarge, "A value has at most \(configuration.values.bytes) bytes.")
      }
      return .set(path, value, try members.condition(), always: try members.bool("always") ?? false)
    case "delete":
      return .delete(try members.path("path", limits: paths), try members.condition())
    case "get":
      return .get(try members.path("path", limits: paths))
    case "ping":
      return .ping
    case "hello":
      return .hello(batch: try members.bool("batch"))
    default:
      throw Problem(.unknownType, "There is no command \"\(type)\".")
    }
  }
}
