// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// What the server executes for a client when its connection ends, for whatever reason (`docs/protocol.md` §3.6).
enum DisconnectOperation {
  case write(OperationRequest)
  case send(SendRequest)

  /// Takes the operations from the members of an `onDisconnect` command.
  static func operations(
    _ members: inout JSONMembers, _ configuration: LiveConfiguration
  ) throws(Problem) -> [DisconnectOperation] {
    let limit = configuration.limits.disconnectOperations
    return try members.operations(limit: limit, of: "A connection's end") {
      kind, members throws(Problem) -> DisconnectOperation in
      if kind == "send" { return .send(try SendRequest(&members, configuration)) }
      if let write = try OperationRequest(kind, &members, configuration, holder: nil) { return .write(write) }
      throw Problem(.unknownType, "There is no operation \"\(kind)\": it is set, delete, define or send.")
    }
  }
}
