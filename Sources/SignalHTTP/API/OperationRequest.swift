// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// One requested write: of a request, a command, or a transaction.
struct OperationRequest: Equatable {
  /// The effect on the property.
  enum Effect: Equatable {
    case apply(PropertyStore.Operation.Action)
    /// Makes it a computed one, by the source of its formula.
    case define(String)
  }

  var path: PropertyPath
  var effect: Effect
  /// The condition that the store checks.
  var condition: Condition
  /// The source of `if`: an expression over `path` and `value` that must hold as well.
  var filter: String?

  init(_ action: PropertyStore.Operation.Action, _ path: PropertyPath, if condition: Condition, filter: String?) {
    self.path = path
    effect = .apply(action)
    self.condition = condition
    self.filter = filter
  }

  /// Takes the members of a `set`, a `delete` or a `define`, except those that identify it.
  ///
  /// - Parameters:
  ///   - kind: nil when it is none of them; then nothing is taken.
  ///   - holder: The holder for `"hold":true`; nil where no connection could hold, so that the member is unknown.
  init?(
    _ kind: String, _ members: inout JSONMembers, _ configuration: LiveConfiguration, holder: Holder?
  ) throws(Problem) {
    switch kind {
    case "set":
      guard let value = try members.value("value", within: configuration.values) else {
        throw members.missing("value")
      }
      let always = try members.bool("always") ?? false
      let ttl = try members.duration("ttl")
      effect = .apply(.set(value, always: always, ttl: ttl, holder: try members.holder(holder)))
    case "delete": effect = .apply(.delete)
    case "define":
      guard let source = try members.string("formula") else { throw members.missing("formula") }
      effect = .define(source)
    default: return nil
    }
    path = try members.path("path", limits: configuration.paths)
    condition = try members.condition()
    filter = try members.string("if")
  }
}

extension OperationRequest {
  /// The command that it is.
  var name: String {
    switch effect {
    case .apply(.set): "set"
    case .apply(.delete): "delete"
    case .apply(.define), .define: "define"
    }
  }
}

extension JSONMembers {
  /// The holder, if `"hold":true` asks for it; where nothing can be held, the member is not taken, and refused as
  /// unknown.
  mutating func holder(_ holder: Holder?) throws(Problem) -> Holder? {
    guard let holder else { return nil }
    return try bool("hold") == true ? holder : nil
  }
}
