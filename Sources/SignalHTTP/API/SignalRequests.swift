// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore

/// What a subscription to signals is asked to be, in a `subscribe` command or in the query of `/events`.
struct SignalSubscribeRequest {
  var patterns: [PathPattern]
  var filter: String?
  /// Whether the messages that are kept come first.
  var initial: Bool

  /// Takes the members, of which `signals` is there.
  init(_ members: inout JSONMembers, _ configuration: LiveConfiguration) throws(Problem) {
    patterns = try members.patterns("signals", limits: configuration.limits, paths: configuration.paths)
    filter = try members.string("where")
    initial = try members.bool("initial") ?? true
  }

  /// The subscription to signals that the query describes; nil when it names none.
  init?(_ query: Query, _ configuration: LiveConfiguration) throws(APIError) {
    guard query.has("signals") else { return nil }
    patterns = try query.patterns("signals", configuration)
    filter = try query.one("where")
    initial = try query.bool("initial") ?? true
    try query.refuse(allBut: ["signals", "where", "initial", "batch"], "a subscription to signals")
  }
}

/// A message to be sent, as a client asks for it.
struct SendRequest: Equatable {
  let path: PropertyPath
  let message: JSONText
  let remember: Bool

  init(path: PropertyPath, message: JSONText, remember: Bool) {
    self.path = path
    self.message = message
    self.remember = remember
  }

  /// Takes the members of a `send`, all but what names it.
  init(_ members: inout JSONMembers, _ configuration: LiveConfiguration) throws(Problem) {
    path = try members.path("path", limits: configuration.paths)
    message = try members.value("message", within: configuration.values) ?? .null
    remember = try members.bool("remember") ?? false
  }
}

extension LiveService {
  /// Checks what a subscription to signals asks for and compiles its filter.
  func options(for request: SignalSubscribeRequest) throws(Problem) -> SignalOptions {
    var filter: SignalFilter?
    if let source = request.filter {
      do {
        filter = try SignalFilter(source, limits: commands.filterLimits)
      } catch {
        throw Problem(.badFilter, error.message, position: error.position)
      }
    }
    return SignalOptions(patterns: request.patterns, filter: filter)
  }
}

/// The subscriptions to signals of one connection, whatever its wire.
final class SignalSubscriptions {
  private let hub: SignalHub
  private let commands: Commands
  private let pieceBytes: Int
  // Each with the memory that it is counted with, which is given back with it.
  private var members: [(id: Int, membership: SignalMembership, claim: MemoryClaim?)] = []

  init(_ service: LiveService) {
    hub = service.signalHub
    commands = service.commands
    pieceBytes = service.configuration.limits.snapshotBytes
  }

  var count: Int { members.count }

  func contains(_ id: Int) -> Bool { members.contains { $0.id == id } }

  /// Registers a subscription; nothing of it is sent before `proceed`.
  func add(
    _ options: SignalOptions, _ request: SignalSubscribeRequest, _ claim: MemoryClaim?, id: Int, wire: Wire,
    subscriber: any Subscriber
  ) {
    let membership = hub.subscribe(
      options, id: id, wire: wire, remembered: request.initial, subscriber: subscriber)
    members.append((id, membership, claim))
  }

  /// Ends one; false when there is none with that id.
  func remove(_ id: Int) -> Bool {
    guard let index = members.firstIndex(where: { $0.id == id }) else { return false }
    hub.cancel(members.remove(at: index).membership)
    return true
  }

  func removeAll() {
    for member in members { hub.cancel(member.membership) }
    members = []
  }

  /// Sends the next piece of the first beginning that is not complete; true when something may be left to send.
  func proceed(on loop: isolated EventLoop) -> Bool {
    guard let next = members.first(where: { $0.membership.isBeginning }) else { return false }
    next.membership.proceed(commands.revision, bytes: pieceBytes, on: loop)
    return true
  }
}
