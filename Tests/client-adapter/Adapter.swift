// SPDX-License-Identifier: MIT

import Glibc
import JSON
import SignalClient
import SignalStore
import Signals
import Synchronization

/// Drives the client for Clients/conformance: a line of JSON on the standard input for each command.
///
/// Used by one thread; what is told comes from the loop of the client, and is written down under a lock.
final class Adapter {
  /// What is told, by anything, as JSON.
  final class Told: Sendable {
    private let texts = Mutex<[String]>([])

    func add(_ text: String) { texts.withLock { $0.append(text) } }
    var array: String { "[" + texts.withLock { $0 }.joined(separator: ",") + "]" }
  }

  /// What has become of commands, as JSON.
  final class Outcomes: Sendable {
    private let texts = Mutex<[String: String]>([:])

    func set(_ name: String, _ text: String) { texts.withLock { $0[name] = text } }
    var members: String {
      texts.withLock { $0 }.map { "\(quoted($0.key)):\($0.value)" }.joined(separator: ",")
    }
  }

  /// A watch, a property or signals under a name.
  private struct View {
    let told = Told()
    /// The members that it shows beside what it has told.
    var show: () -> String
    var cancel: () -> Void
    var property: RemoteProperty<JSONText>?
  }

  private var store: RemoteStore?
  private var views: [String: View] = [:]
  private let outcomes = Outcomes()
  private let errors = Told()
  private let bag = SubscriptionBag()

  func run(_ command: Members) throws {
    let name = command.string("as") ?? ""
    let path = try command.string("path").map { try PropertyPath($0) }
    let options = command.members("options")
    switch command.string("do") {
    case "connect": try connect(command)
    case "watch": watch(name, command, options)
    case "property": if let path { property(name, path) }
    case "listen": listen(name, command)
    case "cancel": views[command.string("view") ?? ""]?.cancel()
    case "close": store?.close()
    case "show": show()
    case let other?: if let store { start(other, name, path, command, options, store) }
    case nil: break
    }
  }

  private func connect(_ command: Members) throws {
    var configuration = RemoteStore.Configuration()
    func set(_ member: String, _ path: WritableKeyPath<RemoteStore.Configuration, Duration>) {
      if let number = command.number(member) { configuration[keyPath: path] = .milliseconds(Int64(number)) }
    }
    set("timeout", \.timeout)
    set("minDelay", \.minDelay)
    set("maxDelay", \.maxDelay)
    set("silence", \.silence)
    var token = command.string("token").map { RemoteToken.fixed($0) }
    let tokens = command.elements("tokens").compactMap { try? $0.decode(as: String.self) }
    if !tokens.isEmpty { token = .provider(Tokens(tokens).next) }
    let store = try RemoteStore(command.string("url") ?? "", token: token, configuration: configuration)
    bag.insert(store.errors.subscribe { [errors] in errors.add(quoted($0.code)) })
    self.store = store
  }

  /// Gives one after the other, and the last again and again.
  private final class Tokens: Sendable {
    private let left: Mutex<[String]>

    init(_ tokens: [String]) { left = Mutex(tokens) }

    @Sendable func next() async -> String { left.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] } }
  }

  // MARK: Views

  private func watch(_ name: String, _ command: Members, _ options: Members?) {
    guard let store else { return }
    var chosen = WatchOptions()
    chosen.filter = options?.string("where")
    chosen.exit = options?.bool("exit")
    chosen.take = options?.number("take").map { Int($0) }
    chosen.fields = options.flatMap { $0.has("fields") ? $0.elements("fields").map { unquoted($0) } : nil }
    chosen.pointer = options?.string("pointer")
    chosen.bookmark = options?.double("bookmark")
    chosen.mode = options?.string("mode")
    chosen.maxRate = options?.double("maxRate")
    chosen.deadband = options?.string("deadband")
    var view = View(show: { "" }, cancel: {})
    let told = view.told
    let watch = store.watch(command.elements("match").map { unquoted($0) }, chosen) { changes in
      for change in changes { told.add(text(change)) }
    }
    view.show = {
      let values = watch.entries.map { "\(quoted($0.key.description)):\($0.value.value)" }.joined(separator: ",")
      return ofView(watch.state.value, watch.error) + ",\"values\":{\(values)},\"leftOut\":\(watch.leftOut)"
    }
    view.cancel = watch.cancel
    views[name] = view
  }

  private func property(_ name: String, _ path: PropertyPath) {
    guard let store else { return }
    let property = store.property(path, as: JSONText.self)
    var view = View(show: { "" }, cancel: {})
    let told = view.told
    let subscription = property.subscribe { value in told.add(value.map { "{\"value\":\($0)}" } ?? "{}") }
    view.show = {
      ofView(property.state.value, property.error) + (property.value.map { ",\"value\":\($0)" } ?? "")
    }
    view.cancel = { subscription.cancel() }
    view.property = property
    views[name] = view
  }

  private func listen(_ name: String, _ command: Members) {
    guard let store else { return }
    var view = View(show: { "" }, cancel: {})
    let told = view.told
    let listener = store.listen(command.elements("match").map { unquoted($0) }) { message in
      let remembered = message.isRemembered ? ",\"remembered\":true" : ""
      told.add("{\"path\":\(quoted(message.path.description)),\"message\":\(message.message)\(remembered)}")
    }
    view.show = { ofView(listener.state.value, listener.error) }
    view.cancel = listener.cancel
    views[name] = view
  }

  // MARK: Commands

  private func start(
    _ kind: String, _ name: String, _ path: PropertyPath?, _ command: Members, _ options: Members?,
    _ store: RemoteStore
  ) {
    let chosen = writeOptions(options)
    let property = command.string("view").flatMap { views[$0]?.property }
    let value = command.text("value") ?? .null
    let added = command.number("add").map { Int($0) } ?? 0
    let operations = command.elements("operations").compactMap { operation($0) }
    let message = command.text("message") ?? .null
    let path = path ?? "none"
    // Begins at once, in the order of the commands.
    Task.immediate { [outcomes] in
      let outcome: String
      do throws(RemoteError) {
        switch kind {
        case "set":
          outcome = text(try await property.set(value, chosen, orIn: store, at: path))
        case "update":
          outcome = text(
            try await property?.update { old in JSONText((old.flatMap { try? $0.decode(as: Int.self) } ?? 0) + added) })
        case "delete": outcome = text(try await store.delete(path, chosen))
        case "get": outcome = try await store.entry(path)?.value.description ?? "null"
        case "send":
          try await store.send(path, message)
          outcome = "null"
        default:
          try await store.onDisconnect(operations)
          outcome = "null"
        }
      } catch {
        let became = error.outcome.map { quoted($0.rawValue) } ?? "null"
        return outcomes.set(name, "{\"error\":\(quoted(error.code)),\"outcome\":\(became)}")
      }
      outcomes.set(name, "{\"ok\":\(outcome)}")
    }
  }

  private func writeOptions(_ options: Members?) -> WriteOptions {
    var chosen = WriteOptions()
    guard let options else { return chosen }
    chosen.ifMatch = options.string("ifMatch")
    chosen.ifAbsent = options.has("ifNoneMatch")
    chosen.condition = options.string("if")
    chosen.hold = options.bool("hold") ?? false
    chosen.timeout = options.number("timeout").map { .milliseconds(Int64($0)) }
    return chosen
  }

  private func operation(_ text: JSONText) -> RemoteOperation? {
    let members = Members(text)
    guard let path = members.string("path").flatMap({ try? PropertyPath($0) }) else { return nil }
    return members.text("value").map { .set(path, $0) } ?? .delete(path)
  }

  // MARK: Showing

  private func show() {
    let shown = views.map { "\(quoted($0.key)):{\($0.value.show()),\"told\":\($0.value.told.array)}" }
    let state = store.map { members($0.state.value, $0.error) } ?? "\"state\":null"
    let code = store?.error?.closeCode.map { ",\"closeCode\":\($0)" } ?? ""
    print(
      "{\(state)\(code),\"errors\":\(errors.array),\"views\":{\(shown.joined(separator: ","))},"
        + "\"outcomes\":{\(outcomes.members)}}")
    fflush(nil)
  }
}

extension RemoteProperty<JSONText>? {
  /// Sets the property, or, if there is none, the path.
  fileprivate func set(
    _ value: JSONText, _ options: WriteOptions, orIn store: RemoteStore, at path: PropertyPath
  ) async throws(RemoteError) -> WriteResult {
    if let self { return try await self.set(value, options) }
    return try await store.set(path, value, options)
  }
}

/// A string as JSON.
private func quoted(_ string: String) -> String { JSONText(string).description }

/// A string out of JSON.
private func unquoted(_ text: JSONText) -> String { (try? text.decode(as: String.self)) ?? "" }

private func text(_ result: WriteResult?) -> String {
  guard let result else { return "null" }
  return "{\"cursor\":\(quoted(result.cursor)),\"changed\":\(result.changed > 0)}"
}

/// A view that nothing more comes to has ended.
private func ofView(_ state: RemoteState, _ error: RemoteError?) -> String {
  members(state, error).replacing("\"closed\",\"error\"", with: "\"ended\",\"error\"")
}

private func members(_ state: RemoteState, _ error: RemoteError?) -> String {
  "\"state\":\(quoted(state.rawValue)),\"error\":\(error.map { quoted($0.code) } ?? "null")"
}

private func text(_ change: RemoteChange) -> String {
  var text = "{\"type\":\(quoted(change.kind.rawValue))"
  text += ",\"path\":\(quoted(change.path.description))"
  if let value = change.value { text += ",\"value\":\(value)" }
  if let old = change.oldValue { text += ",\"oldValue\":\(old)" }
  if change.hasEntered { text += ",\"entered\":true" }
  if let operation = change.operation { text += ",\"op\":\(quoted(operation))" }
  if let reason = change.reason { text += ",\"reason\":\(quoted(reason))" }
  return text + "}"
}

@main struct SignalClientAdapter {
  static func main() throws {
    let adapter = Adapter()
    while let line = readLine() { try adapter.run(Members(try JSONText(validating: line))) }
  }
}
