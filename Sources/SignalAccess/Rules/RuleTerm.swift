// SPDX-License-Identifier: MIT

import CEL
package import JSON
package import SignalStore

/// What conditions can speak of; the first of them are in the slots of a change, so that an activation of one serves.
enum RuleVariables {
  static let path = 0
  static let value = 1
  static let now = 2
  static let oldValue = 3
  static let exists = 4
  static let operation = 5
  static let auth = 6
  static let request = 7
  static let segments = 8
  /// The slot of the first capture; behind the captures are the names of `with`.
  static let captures = 9
  /// Captures and names of `with` that one rule can have.
  static let mostNames = CELEnvironment.variableLimit - captures

  static let common = [
    CELVariable("path", .string), CELVariable("value"), CELVariable("now", .timestamp), CELVariable("oldValue"),
    CELVariable("exists", .bool), CELVariable("operation", .string), CELVariable("auth"), CELVariable("request"),
    CELVariable("segments", .list(.string)),
  ]
}

/// What a rule judges: a property as it is, or as a write would make it.
package struct AccessSubject {
  let path: PropertyPath
  let value: JSONTree?
  let oldValue: JSONTree?
  let exists: Bool
  let milliseconds: Int64

  /// A property that is read; nil as its value when there is none.
  package init(reading path: PropertyPath, _ value: JSONTree?, at time: Timestamp) {
    self.init(path, value: value, oldValue: nil, exists: value != nil, at: time)
  }

  /// A write, message or timer.
  ///
  /// - Parameters:
  ///   - value: The value that results; nil when there is none after it.
  ///   - oldValue: The value before; nil when there was none.
  package init(writing path: PropertyPath, _ value: JSONTree?, replacing oldValue: JSONTree?, at time: Timestamp) {
    self.init(path, value: value, oldValue: oldValue, exists: oldValue != nil, at: time)
  }

  private init(_ path: PropertyPath, value: JSONTree?, oldValue: JSONTree?, exists: Bool, at time: Timestamp) {
    self.path = path
    self.value = value
    self.oldValue = oldValue
    self.exists = exists
    milliseconds = time.milliseconds
  }
}

/// One condition of a rule for one caller and one operation: where it applies, and what is left of it.
///
/// A class, as every judgement walks the terms of a caller, and a copy of each would cost more than to match its pattern.
final class RuleTerm: Sendable {
  /// A property of `with` that the condition uses.
  struct Dependency: Sendable {
    let slot: Int
    let template: PathTemplate
    /// The paths that it may be at, for this caller.
    let pattern: PathPattern
  }

  let pattern: PathPattern
  /// nil when the condition is true, whatever the property is.
  let program: Program?
  /// Equal terms have equal keys: pattern and condition.
  let key: [UInt8]
  /// The captures that the condition uses.
  let captures: [(slot: Int, place: CapturePattern.Place)]
  let dependencies: [Dependency]
  let usesSegments: Bool
  /// Whether the condition depends on what was there before.
  let usesOld: Bool
  /// Whether the condition depends on the property itself: its value, or what was there before.
  let usesProperty: Bool
  /// Whether what comes of the condition for a property stays the same as long as that does.
  let isLasting: Bool
  let capturePlaces: [CapturePattern.Place]
  let identity: Identity?

  init(
    _ rule: CompiledRule, pattern: PathPattern, _ program: Program?, key: [UInt8], identity: Identity?
  ) {
    self.pattern = pattern
    self.program = program
    var text = pattern.bytes
    text.append(0)
    text.append(contentsOf: key)
    let used = program?.variables ?? []
    captures = rule.match.captures.enumerated().compactMap { index, capture in
      used.contains(capture.name) ? (RuleVariables.captures + index, capture.place) : nil
    }
    var dependencies: [Dependency] = []
    for (index, name) in rule.with.enumerated() where used.contains(name.name) {
      let pattern = name.template.pattern(identity)
      // Without a path there is no such property, now or later.
      guard let pattern else { continue }
      dependencies.append(
        Dependency(
          slot: RuleVariables.captures + rule.match.captures.count + index, template: name.template, pattern: pattern))
      text.append(0)
      text.append(contentsOf: pattern.bytes)
    }
    self.dependencies = dependencies
    // The places of captures, which give the same name another meaning.
    if !captures.isEmpty || !dependencies.isEmpty { text.append(contentsOf: rule.placesKey) }
    self.key = text
    usesSegments = used.contains("segments")
    usesOld = used.contains("oldValue") || used.contains("exists")
    usesProperty = usesOld || used.contains("value")
    isLasting = dependencies.isEmpty && !used.contains("now")
    capturePlaces = rule.match.captures.map(\.place)
    self.identity = identity
  }

  /// Evaluates the condition for a property whose path matches; nil when it fails.
  ///
  /// - Parameters:
  ///   - budget: The cost is subtracted from it.
  ///   - read: Reads a property with the server's eyes.
  func holds(
    for subject: AccessSubject, _ budget: inout Int, _ read: (PropertyPath) -> JSONText?
  ) -> Bool? {
    guard let program else { return true }
    var activation = Activation(
      path: subject.path.bytes, value: subject.value, oldValue: subject.oldValue, milliseconds: subject.milliseconds)
    activation.bind(RuleVariables.exists, to: .bool(subject.exists))
    for capture in captures {
      activation.bind(capture.slot, to: .string(CapturePattern.text(at: capture.place, of: subject.path)))
    }
    if usesSegments {
      let segments = subject.path.segments.map { CELValue.string(String(decoding: $0, as: UTF8.self)) }
      activation.bind(RuleVariables.segments, to: .list(segments))
    }
    for dependency in dependencies {
      let path = dependency.template.path(identity) { CapturePattern.text(at: capturePlaces[$0], of: subject.path) }
      if let text = path.flatMap(read) {
        activation.bind(dependency.slot, to: JSONTree(text))
      } else {
        activation.bind(dependency.slot, to: .null)
      }
    }
    switch program.match(activation, budget: &budget) {
    case .yes: return true
    case .no: return false
    case .failed: return nil
    }
  }
}
