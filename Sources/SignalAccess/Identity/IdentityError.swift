// SPDX-License-Identifier: MIT

/// Why a file of tokens or keys cannot be used: one line for the operator, without anything secret.
package struct IdentityError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The file, or what else it is about.
  package let subject: String
  /// A clause that follows the subject: "can be read by others (mode 0644)".
  package let reason: String

  package init(_ subject: String, _ reason: String) {
    self.subject = subject
    self.reason = reason
  }

  package var description: String { "\(subject): \(reason)" }
}
