// SPDX-License-Identifier: MIT

/// What callers may do, before it is compiled: the setting `access`.
package struct AccessRules: Equatable, Sendable {
  /// Rules of a server at most.
  package static let mostRules = 1000

  /// The condition under which a caller may do everything; nil: nobody may by this.
  package var admin: String?
  /// The condition under which a caller may see what the server counts, as administrators may anyway; nil: nobody else.
  package var metrics: String?
  /// What is not allowed by one of these is denied; their order means nothing.
  package var rules: [AccessRule]

  package init(admin: String? = nil, metrics: String? = nil, rules: [AccessRule] = []) {
    self.admin = admin
    self.metrics = metrics
    self.rules = rules
  }
}

/// One entry of the rules: the paths that it is about, and conditions in CEL.
package struct AccessRule: Equatable, Sendable {
  /// A pattern, in which `{name}` stands for one segment and `{name=**}` for any number, as variables of the
  /// conditions.
  package var match: String
  /// Properties that conditions may use, by name: paths in which `{name}` is a capture, and `{auth.sub}` a claim.
  package var with: [String: String]
  /// Conditions by what they allow or, with `deny-` before it, deny: names of operations, `read`, `write`.
  package var conditions: [String: String]
  /// What a value that is written must satisfy.
  package var validate: String?

  package init(
    match: String, with: [String: String] = [:], conditions: [String: String] = [:], validate: String? = nil
  ) {
    self.match = match
    self.with = with
    self.conditions = conditions
    self.validate = validate
  }
}

/// What a caller may be allowed to do.
package enum AccessOperation: String, CaseIterable, Sendable {
  /// Reading one property.
  case get
  /// Seeing properties in a list.
  case list
  /// Subscribing to properties.
  case watch
  /// Setting a property, or patching it.
  case set
  case delete
  /// Making a property a computed one.
  case define
  /// Sending a message to a signal.
  case send
  /// Subscribing to the messages of signals.
  case listen
  /// Setting, reading and removing timers.
  case timer
  /// Learning who watches: subscriptions to demand, and numbers of watchers.
  case demand

  /// From 0, in the order of ``allCases``.
  var number: Int {
    switch self {
    case .get: 0
    case .list: 1
    case .watch: 2
    case .set: 3
    case .delete: 4
    case .define: 5
    case .send: 6
    case .listen: 7
    case .timer: 8
    case .demand: 9
    }
  }

  /// The operations that a name in a rule stands for; nil when it is none.
  package static func named(_ name: some StringProtocol) -> [AccessOperation]? {
    switch name {
    case "read": [.get, .list, .watch]
    case "write": [.set, .delete]
    default: AccessOperation(rawValue: String(name)).map { [$0] }
    }
  }

  /// Whether it reads what is there, so that a condition on the value is a filter.
  package var isReading: Bool {
    switch self {
    case .get, .list, .watch, .listen: true
    case .set, .delete, .define, .send, .timer, .demand: false
    }
  }
}

/// Why rules cannot be used.
package struct AccessFault: Error, Equatable, Sendable, CustomStringConvertible {
  /// One line for the operator, which names the rule.
  package let description: String
}
