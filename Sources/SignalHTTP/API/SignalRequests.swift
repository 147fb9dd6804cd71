// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore

/// A client's request to send a message.
struct SendRequest: Equatable {
  let path: PropertyPath
  let message: JSONText
  let remember: Bool

  init(path: PropertyPath, message: JSONText, remember: Bool) {
    self.path = path
    self.message = message
    self.remember = remember
  }

  /// Takes the members of a `send`, except those that identify it.
  init(_ members: inout JSONMembers, _ configuration: LiveConfiguration) throws(Problem) {
    path = try members.path("path", limits: configuration.paths)
    message = try members.value("message", within: configuration.values) ?? .null
    remember = try members.bool("remember") ?? false
  }
}
