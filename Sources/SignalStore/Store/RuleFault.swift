// SPDX-License-Identifier: MIT

/// The reason a line is not a rule, as a clause.
package struct RuleFault: Error, Equatable, Sendable {
  package let reason: String

  package init(reason: String) { self.reason = reason }
}

extension PathPattern {
  /// The pattern at the beginning of a rule.
  package init(ofRule text: some StringProtocol, limits: PathLimits) throws(RuleFault) {
    do throws(PathError) {
      self = try PathPattern(String(text), limits: limits)
    } catch {
      throw RuleFault(reason: "the pattern '\(text)': \(error)")
    }
  }
}
