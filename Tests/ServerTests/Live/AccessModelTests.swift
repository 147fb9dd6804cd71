// SPDX-License-Identifier: MIT
import Foundation
import JSON
import SignalAccess
import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// Access rules against an evaluator that knows no audiences, groups, partial evaluation or cursors: it is asked for each
/// client and each value.
///
/// Random writes of the server and of clients, subscriptions, lists, properties that decide, other rules, clients that
/// read nothing for a while, and resumption. Every value has a number of its own, so that each byte that a client gets
/// can be held against what it may have. `ACCESS_STEPS=1000000` in the environment makes it long, and `ACCESS_SEED=2`
/// another run.
@Suite("Access, against a naive evaluator") struct AccessModelTests {
  private static func number(_ name: String, _ standard: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? standard
  }

  @Test func `nobody gets what they may not see, nor misses what they may`() throws {
    let model = try AccessModel(seed: UInt64(Self.number("ACCESS_SEED", 1)))
    for step in 1...Self.number("ACCESS_STEPS", 4000) {
      do {
        try model.step()
      } catch {
        Issue.record("step \(step): \(error); rules \(model.rules.name)")
        return
      }
    }
    print("access model: \(model.counts)")
    // What was to be tried has happened.
    for name in ["event", "exit", "reset", "refused", "denied write", "allowed write", "resumed", "listed"] {
      #expect(model.counts[name, default: 0] > 0, "\(name)")
    }
  }
}

/// What went wrong for a client.
private struct ModelFault: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// A value of the model: its number tells it from all others.
private struct ModelProperty: Equatable {
  let number: Int
  var level = 0
  var owner = ""
  var members: [String] = []
  var isMembers = false
  var padding = 0

  var json: String {
    if isMembers { return "[" + (members.map { "\"\($0)\"" } + ["\"#\(number)#\""]).joined(separator: ",") + "]" }
    let padding = String(repeating: "x", count: padding)
    return ##"{"n":"#\##(number)#","level":\##(level),"owner":"\##(owner)","pad":"\##(padding)"}"##
  }
}

/// Who asks, as the model sees it.
private struct Person {
  let name: String
  let level: Int
  let role: String
  var claims: String { #"{"sub":"\#(name)","level":\#(level),"role":"\#(role)"}"# }

  static let everybody: [Person?] = [
    Person(name: "ann", level: 1, role: "user"), Person(name: "bob", level: 2, role: "user"),
    Person(name: "eve", level: 3, role: "auditor"), Person(name: "root", level: 0, role: "admin"), nil,
  ]
}

/// Rules in the words of the server, and the same for the model.
private struct ModelRules: Sendable {
  typealias Judge = @Sendable (Person?, [Substring], ModelProperty?, ModelState) -> Bool

  let name: String
  let rules: [AccessRule]
  var usesMembers: Bool { rules.contains { !$0.with.isEmpty } }
  let reads: Judge
  let writes: Judge

  static let all: [ModelRules] = [
    ModelRules(
      name: "by path, members, level",
      rules: [
        AccessRule(
          match: "users/{id}/**", conditions: ["read": "auth.sub == id", "write": "auth.sub == id"]),
        AccessRule(
          match: "rooms/{room}/**", with: ["members": "rooms/{room}/members"],
          conditions: ["read": "auth.sub in members", "write": "auth.sub in members"]),
        AccessRule(match: "public/**", conditions: ["read": "true"]),
        AccessRule(match: "public/secret", conditions: ["deny-read": "auth == null || auth.role != 'auditor'"]),
        AccessRule(
          match: "levels/*", conditions: ["read": "value.level <= auth.level", "write": "value.level < auth.level"]),
      ],
      reads: { person, path, value, state in
        switch path[0] {
        case "users": person?.name == String(path[1])
        case "rooms": person.map { state.members(of: path[1]).contains($0.name) } ?? false
        case "public": path[1] != "secret" || person?.role == "auditor"
        default: person.map { person in value.map { $0.level <= person.level } ?? false } ?? false
        }
      },
      writes: { person, path, value, state in
        guard let person else { return false }
        switch path[0] {
        case "users": return person.name == String(path[1])
        case "rooms": return state.members(of: path[1]).contains(person.name)
        case "levels": return value.map { $0.level < person.level } ?? false
        default: return false
        }
      }),
    ModelRules(
      name: "by owner",
      rules: [
        AccessRule(
          match: "**",
          conditions: ["read": "value.owner == auth.sub || value.level == 0", "write": "auth.role == 'user'"])
      ],
      reads: { person, path, value, _ in
        guard let value, !value.isMembers else { return false }
        // `auth.sub` of somebody unknown fails, which the other side of `||` makes up for.
        return value.level == 0 || person?.name == value.owner
      },
      writes: { person, _, _, _ in person?.role == "user" }),
    ModelRules(
      name: "everything", rules: [AccessRule(match: "**", conditions: ["read": "true", "write": "auth != null"])],
      reads: { _, _, _, _ in true }, writes: { person, _, _, _ in person != nil }),
    ModelRules(
      name: "one room", rules: [AccessRule(match: "rooms/r1/**", conditions: ["read": "auth != null"])],
      reads: { person, path, _, _ in person != nil && path[0] == "rooms" && path[1] == "r1" },
      writes: { _, _, _, _ in false }),
  ]

  func reads(_ person: Person?, _ path: String, _ value: ModelProperty?, _ state: ModelState) -> Bool {
    person?.role == "admin" || reads(person, path.split(separator: "/"), value, state)
  }

  func writes(_ person: Person?, _ path: String, _ value: ModelProperty?, _ state: ModelState) -> Bool {
    person?.role == "admin" || writes(person, path.split(separator: "/"), value, state)
  }
}

/// What is in the store.
private struct ModelState {
  var properties: [String: ModelProperty] = [:]

  func members(of room: Substring) -> [String] { properties["rooms/\(room)/members"]?.members ?? [] }
}

/// A client with one subscription.
private final class ModelWatcher {
  let person: Person?
  let token: String?
  let pattern: String
  /// nil while it is away.
  var client: LiveClient?
  /// What it has been told, by path: the numbers of the values.
  var fold: [String: Int] = [:]
  /// Where it can resume from: nothing, while a snapshot is under way.
  var cursor: (since: String, audience: String)?
  var isComplete = false
  var audience = ""
  var isRefused = false
  /// What has happened to it lately, for who looks at a fault.
  var trace: [String] = []
  /// The numbers that it may have been told since rights changed.
  var allowed: Set<Int> = []

  init(_ person: Person?, _ token: String?, _ pattern: String) {
    self.person = person
    self.token = token
    self.pattern = pattern
  }

  func covers(_ path: String) -> Bool {
    if pattern == "**" || pattern == path { return true }
    return pattern.hasSuffix("/**") && path.hasPrefix(pattern.dropLast(2))
  }
}

private final class AccessModel {
  private static let paths = [
    "users/ann/a", "users/ann/b", "users/bob/a", "rooms/r1/topic", "rooms/r1/state", "rooms/r2/topic", "public/x",
    "public/secret", "levels/l1", "levels/l2",
  ]
  private static let patterns = ["**", "**", "users/**", "rooms/**", "rooms/r1/**", "levels/**", "public/secret"]

  private(set) var rules = ModelRules.all[0]
  private(set) var counts: [String: Int] = [:]
  private let server: TokenServer
  private var random: SplitMix
  private var state = ModelState()
  private var watchers: [ModelWatcher] = []
  /// All changes in order, and how many of them are older than the last change of members.
  private var history: [(path: String, new: ModelProperty?, old: ModelProperty?)] = []
  private var undecided = 0
  private var lastNumber = 0
  private let tokens: [String: String]

  init(seed: UInt64) throws {
    random = SplitMix(state: seed)
    var limits = Limits()
    // Clients that do not read fall behind after a few values.
    limits.highWaterMark = 4096
    server = try TokenServer(
      store: .forTests(limits: StoreLimits(historyChanges: 40)), live: try Self.live(rules),
      limits: limits)
    var tokens: [String: String] = [:]
    for case let person? in Person.everybody {
      tokens[person.name] = try server.make(person.name, claims: person.claims)
    }
    self.tokens = tokens
  }

  private static func live(_ rules: ModelRules) throws -> LiveConfiguration {
    var live = LiveConfiguration(hosts: ["*"])
    live.policy = try AccessPolicy(AccessRules(admin: "auth.role == 'admin'", rules: rules.rules))
    return live
  }

  private func count(_ name: String) { counts[name, default: 0] += 1 }

  private func pick<T>(_ list: [T]) -> T { list[Int.random(in: 0..<list.count, using: &random)] }

  func step() throws {
    switch Int.random(in: 0..<24, using: &random) {
    case 0...9: try writeAsServer()
    case 10...13: try writeAsClient()
    case 14, 15: if watchers.count < 12 { try add() } else { try settle(watchers) }
    case 16: try changeMembers()
    case 17: if Int.random(in: 0..<3, using: &random) == 0 { try changeRules() }
    case 18: if let watcher = watchers.randomElement(using: &random) { try leaveOrReturn(watcher) }
    case 19: try list()
    case 20: if let index = watchers.indices.randomElement(using: &random) { watchers.remove(at: index) }
    default: if let watcher = watchers.randomElement(using: &random) { try settle([watcher]) }
    }
  }

  // MARK: Writing

  private func makeValue() -> ModelProperty {
    lastNumber += 1
    return ModelProperty(
      number: lastNumber, level: Int.random(in: 0...3, using: &random), owner: pick(["ann", "bob", "eve"]),
      padding: pick([0, 0, 900]))
  }

  private func writeAsServer() throws {
    let path = pick(Self.paths)
    if state.properties[path] != nil, Int.random(in: 0..<4, using: &random) == 0 {
      try server.server.store.delete(path)
      wrote(path, nil)
    } else {
      try set(path, makeValue())
    }
    note()
  }

  private func set(_ path: String, _ value: ModelProperty) throws {
    try server.server.store.set(path, value.json)
    wrote(path, value)
  }

  private func wrote(_ path: String, _ value: ModelProperty?) {
    history.append((path, value, state.properties[path]))
    state.properties[path] = value
    if value?.isMembers == true { undecided = history.count }
  }

  private func writeAsClient() throws {
    let person = pick(Person.everybody)
    let path = pick(Self.paths)
    let value = makeValue()
    let response = try server.request(
      "PUT", "/properties/\(path)", person.flatMap { tokens[$0.name] }, body: value.json)
    if rules.writes(person, path, value, state) {
      guard (200...204).contains(response.status) else {
        throw ModelFault("\(person?.name ?? "somebody") may write \(path), and got \(response.status)")
      }
      count("allowed write")
      wrote(path, value)
      note()
    } else {
      guard response.status == (person == nil ? 401 : 403), !response.text.contains("#") else {
        throw ModelFault("\(person?.name ?? "somebody") may not write \(path), and got \(response.status)")
      }
      count("denied write")
    }
  }

  /// Changes who may see a room.
  private func changeMembers() throws {
    lastNumber += 1
    let members = ["ann", "bob", "eve"].filter { _ in Bool.random(using: &random) }
    note()
    try set(
      pick(["rooms/r1/members", "rooms/r2/members"]),
      ModelProperty(
        number: lastNumber, members: members, isMembers: true))
    note()
    try settle(watchers)
    beginAnew()
  }

  private func changeRules() throws {
    rules = pick(ModelRules.all)
    for watcher in watchers { watcher.trace.append("rules: \(rules.name)") }
    note()
    try server.server.server.reload(server.server.server.configuration, live: try Self.live(rules))
    try settle(watchers)
    beginAnew()
  }

  // MARK: What may be seen

  private func visible(to watcher: ModelWatcher) -> [String: Int] {
    state.properties.filter { path, value in
      watcher.covers(path) && rules.reads(watcher.person, path, value, state)
    }.mapValues(\.number)
  }

  /// Adds what is visible now to what each may be told.
  private func note() { for watcher in watchers { watcher.allowed.formUnion(visible(to: watcher).values) } }

  /// From here on nobody may be told what they have lost the right to.
  private func beginAnew() { for watcher in watchers { watcher.allowed = Set(visible(to: watcher).values) } }

  private func list() throws {
    let person = pick(Person.everybody)
    let watcher = ModelWatcher(person, person.flatMap { tokens[$0.name] }, "**")
    let response = try server.request("GET", "/properties?match=**", watcher.token)
    let expected = visible(to: watcher)
    guard response.status == 200 else {
      guard expected.isEmpty, [401, 403].contains(response.status), !response.text.contains("#") else {
        throw ModelFault("the list of \(person?.name ?? "somebody") is \(response.status)")
      }
      return
    }
    guard Self.numbers(in: response.text) == Set(expected.values) else {
      throw ModelFault("the list of \(person?.name ?? "somebody") is \(response.text), not \(expected)")
    }
    count("listed")
  }

  /// The numbers of all values in a text.
  private static func numbers(in text: String) -> Set<Int> {
    Set(
      text.split(separator: "#", omittingEmptySubsequences: false).enumerated().compactMap { index, part in
        index % 2 == 1 ? Int(part) : nil
      })
  }

  // MARK: Watching

  private func add() throws {
    let person = pick(Person.everybody)
    let watcher = ModelWatcher(person, person.flatMap { tokens[$0.name] }, pick(Self.patterns))
    watchers.append(watcher)
    watcher.allowed = Set(visible(to: watcher).values)
    try connect(watcher)
  }

  private func connect(_ watcher: ModelWatcher) throws {
    let client = try LiveClient(
      server.server, fields: watcher.token.map(TokenServer.fields) ?? [], receiveBuffer: 4096)
    watcher.client = client
    watcher.trace.append("connects")
    var members = #""match":"\#(watcher.pattern)""#
    if let cursor = watcher.cursor {
      // What was missed is judged by the rules of now.
      let isDecided =
        rules.usesMembers && watcher.person.map { $0.role != "admin" } == true && watcher.covers("rooms/r1/topic")
      for (path, new, old) in history[(isDecided ? undecided : 0)...].suffix(100) where watcher.covers(path) {
        for value in [new, old].compactMap(\.self) where rules.reads(watcher.person, path, value, state) {
          watcher.allowed.insert(value.number)
        }
      }
      members += #","since":"\#(cursor.since)","audience":"\#(cursor.audience)""#
    } else {
      watcher.fold = [:]
    }
    try client.send(#"{"id":1,"type":"subscribe",\#(members)}"#)
    for message in try client.next(upTo: { $0.int("id") == 1 }) { try take(message, for: watcher) }
  }

  private func leaveOrReturn(_ watcher: ModelWatcher) throws {
    if watcher.client == nil {
      try connect(watcher)
    } else {
      watcher.client = nil
    }
  }

  /// Takes what has come for clients, and compares what they have been told with what they may see.
  private func settle(_ watchers: [ModelWatcher]) throws {
    for watcher in watchers {
      guard let client = watcher.client else { continue }
      let expected = visible(to: watcher)
      let clock = ContinuousClock()
      let deadline = clock.now + LiveClient.patience
      repeat {
        for message in try client.settle() { try take(message, for: watcher) }
        // A server that does not read may still be about to send more, and other rules come to each loop in its turn.
      } while watcher.fold != expected && !watcher.isRefused && clock.now < deadline
      if watcher.isRefused {
        watcher.client = nil
        watcher.cursor = nil
        watcher.isRefused = false
        watcher.fold = [:]
      } else if watcher.fold != expected {
        throw ModelFault(
          "\(watcher.person?.name ?? "somebody") sees \(watcher.fold) of \(watcher.pattern), not \(expected), after "
            + watcher.trace.joined(separator: "\n"))
      }
    }
  }

  private func take(_ message: LiveMessage, for watcher: ModelWatcher) throws {
    watcher.trace = watcher.trace.suffix(40) + [message.description]
    let numbers = Self.numbers(in: message.text)
    guard numbers.isSubset(of: watcher.allowed) else {
      throw ModelFault("\(watcher.person?.name ?? "somebody") was told \(message.text)")
    }
    func value() throws -> Int {
      guard let number = message.raw("value").flatMap({ Self.numbers(in: $0).first }) else {
        throw ModelFault("no value in \(message.text)")
      }
      return number
    }
    switch message.type {
    case "ok":
      if message.bool("recovered") == true { count("resumed") }
      guard let audience = message.string("audience") else { throw ModelFault("no audience in \(message.text)") }
      watcher.audience = audience
      watcher.isComplete = false
      if message.bool("recovered") != true { watcher.cursor = nil }
    case "didSet":
      watcher.fold[message.path] = try value()
      count("event")
    case "didExit":
      watcher.fold[message.path] = nil
      count("exit")
    case "didDelete": watcher.fold[message.path] = nil
    case "gap": break
    case "reset":
      watcher.fold = [:]
      watcher.cursor = nil
      watcher.isComplete = false
      if let audience = message.string("audience") { watcher.audience = audience }
      if message.string("reason") == "access" { count("reset") }
    case "live": watcher.isComplete = true
    case "bookmark": break
    case "error":
      // Refused because nothing can be visible.
      guard [401, 403].contains(message.object("error")?.int("status") ?? 0), visible(to: watcher).isEmpty else {
        throw ModelFault("\(watcher.person?.name ?? "somebody") got \(message.text)")
      }
      count("refused")
      watcher.isRefused = true
    default: throw ModelFault("unknown message \(message.text)")
    }
    if watcher.isComplete, message.revision >= 0, let epoch = watcher.client?.hello.string("epoch") {
      watcher.cursor = ("\(epoch).\(message.revision)", watcher.audience)
    }
  }
}
