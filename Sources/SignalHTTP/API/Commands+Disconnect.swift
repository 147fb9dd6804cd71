// SPDX-License-Identifier: MIT
import SignalStore

/// What is done when a connection ends.
extension Commands {
  /// Refuses operations that would certainly be refused when the connection ends, while there is somebody to be told.
  func check(onDisconnect operations: [DisconnectOperation], as caller: Caller) throws(Problem) {
    for (index, operation) in operations.enumerated() {
      guard case .write(let request) = operation else { continue }
      do throws(Problem) {
        let operation = try self.operation(of: request)
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

  /// Executes each operation by itself: one whose condition does not hold, or for which there is no room, is left out,
  /// as there is nobody left to be answered.
  func execute(onDisconnect operations: [DisconnectOperation], as caller: Caller) {
    for operation in operations {
      switch operation {
      case .write(let request): _ = try? execute(request, as: caller)
      case .send(let request): try? send(request, as: caller)
      }
    }
  }
}
