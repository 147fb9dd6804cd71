// SPDX-License-Identifier: MIT

import CEL
import JSON
import SignalStore

/// What is visible of a whole pattern, whatever properties there are.
extension Audience {
  /// How much of a pattern the audience may see.
  ///
  /// - Parameters:
  ///   - patterns: What is left of the pattern for it, as ``Rights/scope(_:of:)`` has found.
  ///   - read: Reads properties that decide about others; nil when they are not known.
  func visibility(
    of pattern: PathPattern, within patterns: [PathPattern], read: ((PropertyPath) -> JSONText?)?
  ) -> AccessExplanation.Visibility {
    var mayBeAllowed = false
    var isAllowed = false
    for term in allow where term.pattern.overlaps(pattern) {
      let outcome = term.outcome(throughout: pattern, read: read)
      if outcome == .holds, term.pattern.covers(pattern) { isAllowed = true }
      if outcome == .holds || outcome == .depends { mayBeAllowed = true }
    }
    guard mayBeAllowed else { return .nothing }
    var mayBeDenied = false
    for term in deny where term.pattern.overlaps(pattern) {
      let outcome = term.outcome(throughout: pattern, read: read)
      // What fails denies.
      if outcome == .holds || outcome == .fails, term.pattern.covers(pattern) { return .nothing }
      if outcome != .doesNotHold { mayBeDenied = true }
    }
    return isAllowed && !mayBeDenied ? .whole : .part(patterns)
  }
}

extension RuleTerm {
  /// What comes of the condition for all paths of a pattern, whatever values there are.
  enum Outcome {
    case holds, doesNotHold, fails
    /// It is not the same for all of them, or that cannot be known.
    case depends
  }

  /// Evaluates the condition with what is the same for all paths of a pattern.
  ///
  /// - Parameter read: Reads properties of `with`; nil when they are not known.
  func outcome(throughout pattern: PathPattern, read: ((PropertyPath) -> JSONText?)?) -> Outcome {
    guard let program else { return .holds }
    var activation = Activation()
    var isComplete = program.variables.isDisjoint(with: ["path", "value", "now", "exists", "segments"])
    for capture in captures {
      if let text = CapturePattern.text(at: capture.place, ofAll: pattern) {
        activation.bind(capture.slot, to: .string(text))
      } else {
        isComplete = false
      }
    }
    for dependency in dependencies {
      let path = dependency.template.path(identity) { capture in
        // What is no path has none.
        CapturePattern.text(at: capturePlaces[capture], ofAll: pattern) ?? "*"
      }
      guard let path, let read else {
        isComplete = false
        continue
      }
      if let text = read(path) {
        activation.bind(dependency.slot, to: JSONTree(text))
      } else {
        activation.bind(dependency.slot, to: .null)
      }
    }
    switch program.match(activation) {
    case .yes: return .holds
    case .no: return .doesNotHold
    case .failed: return isComplete ? .fails : .depends
    }
  }
}

extension CapturePattern {
  /// The text of a capture in all paths of a pattern; nil when it is not the same in all of them.
  static func text(at place: Place, ofAll pattern: PathPattern) -> String? {
    let segments = pattern.segments.map { String(decoding: $0, as: UTF8.self) }
    let index: Int
    switch place {
    case .fromStart(let start):
      index = start
      guard !segments.prefix(index + 1).contains("**") else { return nil }
    case .fromEnd(let end):
      index = segments.count - 1 - end
      guard !segments.suffix(end + 1).contains("**") else { return nil }
    case .between: return nil
    }
    guard segments.indices.contains(index), segments[index] != "*" else { return nil }
    return segments[index]
  }
}
