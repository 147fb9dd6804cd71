// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore

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
