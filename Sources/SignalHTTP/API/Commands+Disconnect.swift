// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
package import SignalStore

/// Operations and releases at the end of a connection.
extension Commands {
  /// Refuses operations that would certainly be refused when the connection ends, while the client can still be
  /// notified.
  private func check(onDisconnect operations: [DisconnectOperation], as caller: Caller) throws(Problem) {
    for (index, operation) in operations.enumerated() {
      do throws(Problem) {
        let request: OperationRequest
        switch operation {
        case .write(let write): request = write
        case .send(let message):
          try check(.send, message.path, message.message, as: caller)
          continue
        }
        let operation = try self.operation(of: request)
        let isConditional = request.condition != .any || request.filter != nil
        _ = try judge(
          operation.action, request.path, replacing: readForRules(request.path), isConditional: isConditional,
          as: caller)
        if let source = request.filter { _ = try conditionFilter(source) }
        if let ttl = operation.ttl, ttl <= .zero || ttl > store.limits.ttlLimit {
          let error = StoreError.badTimeToLive(operation: index, limit: store.limits.ttlLimit)
          throw problem(error, inTransaction: true)
        }
      } catch {
        throw error.of(operation: index)
      }
    }
  }

  /// Registers operations to be executed when the caller's connection ends, replacing those registered before, unless
  /// they would certainly be refused then.
  ///
  /// - Parameter command: The whole command, which the store keeps as it is.
  func keep(
    onDisconnect operations: [DisconnectOperation], as caller: Caller, in command: JSONText
  ) throws(Problem) {
    try check(onDisconnect: operations, as: caller)
    if !operations.isEmpty { try checkStorage() }
    guard let holder = caller.holder else { preconditionFailure("Only who can hold has a connection that ends.") }
    store.keep(lastOperations: operations.isEmpty ? nil : command, of: holder)
  }

  /// Executes what a connection has registered for its end, and then releases what it holds.
  ///
  /// In this order, so that an operation can decide what becomes of a held value, and nothing is forgotten before it is
  /// done. Each operation is executed by itself: one whose condition does not hold, or for which there is no room, is
  /// skipped, as there is no client to answer.
  func end(_ caller: Caller) {
    guard let holder = caller.holder else { return }
    for operation in store.lastOperations(of: holder).map(disconnectOperations) ?? [] {
      do throws(Problem) {
        switch operation {
        case .write(let request): _ = try execute(request, as: caller)
        case .send(let request): try send(request, as: caller)
        }
      } catch {
        note(error, of: caller.identity, caller.peer, request: "onDisconnect")
      }
    }
    store.release(holder)
  }

  /// The operations of an `onDisconnect` command that was accepted.
  private func disconnectOperations(of command: JSONText) -> [DisconnectOperation] {
    let tree = JSONTree(command)
    guard var members = JSONMembers(tree, tree.root, of: "a command") else { return [] }
    return (try? DisconnectOperation.operations(&members, configuration)) ?? []
  }
}

extension PropertyStore {
  /// Executes what connections of an earlier process have registered for their end, and releases what they held.
  ///
  /// Called once, before a server of this store starts.
  package func endEarlierConnections(_ configuration: LiveConfiguration) {
    let commands = Commands(self, configuration)
    for holder in holders { commands.end(Caller(peer: nil, holder: holder)) }
  }
}
