// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// What the server does for a client when its connection ends, for whatever reason (`docs/protocol.md` §3.6).
enum DisconnectOperation {
  case write(OperationRequest)
  case send(SendRequest)

  /// Takes the operations out of the members of an `onDisconnect` command.
  static func operations(
    _ members: inout JSONMembers, _ tree: JSONTree, _ configuration: LiveConfiguration
  ) throws(Problem) -> [DisconnectOperation] {
    let limit = configuration.limits.disconnectOperations
    return try members.operations(tree, limit: limit, of: "A connection's end") {
      kind, members throws(Problem) -> DisconnectOperation in
      if kind == "send" { return .send(try SendRequest(&members, configuration)) }
      if let write = try OperationRequest(kind, &members, configuration, holder: nil) { return .write(write) }
      throw Problem(.unknownType, "There is no operation \"\(kind)\": it is set, delete, define or send.")
    }
  }
}

extension LiveService {
  /// Refuses operations that would certainly be refused when the connection ends, while there is somebody to be told.
  func check(_ operations: [DisconnectOperation]) throws(Problem) {
    for (index, operation) in operations.enumerated() {
      guard case .write(let request) = operation else { continue }
      do throws(Problem) {
        let operation = try self.operation(of: request)
        if let source = request.filter { _ = try conditionFilter(source) }
        if let ttl = operation.ttl, ttl <= .zero || ttl > store.limits.timeToLive {
          let error = StoreError.badTimeToLive(operation: index, limit: store.limits.timeToLive)
          throw problem(error, inTransaction: true)
        }
      } catch {
        throw error.of(operation: index)
      }
    }
  }

  /// Carries out each operation by itself: one whose condition does not hold, or for which there is no room, is left
  /// out, as there is nobody left to be told.
  func carryOut(atEnd operations: [DisconnectOperation]) {
    for operation in operations {
      switch operation {
      case .write(let request): _ = try? carryOut(request)
      case .send(let request): try? send(request)
      }
    }
  }
}
