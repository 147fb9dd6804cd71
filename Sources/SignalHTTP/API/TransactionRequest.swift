// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The body of `POST /transactions` (`docs/protocol.md` §2.3), and the same in a command.
enum TransactionRequest {
  /// Parses the operations.
  ///
  /// A problem names the operation it is about.
  static func operations(
    _ body: Span<UInt8>, _ configuration: LiveConfiguration, limit: Int
  ) throws(Problem) -> [OperationRequest] {
    let tree: JSONTree
    do throws(JSONError) {
      // Three levels stand around a value: the request, the list, the operation.
      let limits = JSONLimits(bytes: body.count, depth: configuration.values.depth + 3)
      tree = JSONTree(try JSONText(validating: body, limits: limits))
    } catch {
      throw Problem(.badJSON, "\(error)", position: error.offset)
    }
    guard var members = JSONMembers(tree, tree.root, of: "A transaction") else {
      throw Problem(.badMessage, "A transaction is a JSON object.")
    }
    let operations = try operations(&members, tree, configuration, limit: limit)
    try members.end()
    return operations
  }

  /// Takes the operations out of the members of a body or a command.
  static func operations(
    _ members: inout JSONMembers, _ tree: JSONTree, _ configuration: LiveConfiguration, limit: Int
  ) throws(Problem) -> [OperationRequest] {
    guard let list = members.take("operations") else { throw members.missing("operations") }
    guard tree.kind(of: list) == .array else { throw Problem(.badMessage, #""operations" is not an array."#) }
    guard tree.count(of: list) <= limit else {
      throw Problem(.tooManyOperations, "A transaction has at most \(limit) operations.")
    }
    var operations: [OperationRequest] = []
    operations.reserveCapacity(tree.count(of: list))
    for node in tree.elements(of: list) {
      do throws(Problem) {
        operations.append(try operation(tree, node, configuration))
      } catch {
        throw error.of(operation: operations.count)
      }
    }
    return operations
  }

  private static func operation(
    _ tree: JSONTree, _ node: JSONTree.Node, _ configuration: LiveConfiguration
  ) throws(Problem) -> OperationRequest {
    guard var members = JSONMembers(tree, node, of: "An operation") else {
      throw Problem(.badMessage, "An operation is a JSON object.")
    }
    guard let kind = try members.string("op") else { throw members.missing("op") }
    guard let operation = try OperationRequest(kind, &members, configuration) else {
      throw Problem(.unknownType, "There is no operation \"\(kind)\": it is set, delete or define.")
    }
    try members.end()
    return operation
  }
}
