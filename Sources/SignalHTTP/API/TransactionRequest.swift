// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The body of `POST /transactions` (`docs/protocol.md` §2.3).
enum TransactionRequest {
  /// Parses the operations.
  ///
  /// A problem names the operation it is about.
  static func operations(_ body: Span<UInt8>, _ service: LiveService) throws(Problem) -> [PropertyStore.Operation] {
    let configuration = service.configuration
    let limit = service.store.limits.operations
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
    guard let list = members.take("operations") else { throw members.missing("operations") }
    try members.end()
    guard tree.kind(of: list) == .array else { throw Problem(.badMessage, #""operations" is not an array."#) }
    guard tree.count(of: list) <= limit else {
      throw Problem(.tooManyOperations, "A transaction has at most \(limit) operations.")
    }
    var operations: [PropertyStore.Operation] = []
    operations.reserveCapacity(tree.count(of: list))
    for node in tree.elements(of: list) {
      do throws(Problem) {
        operations.append(try operation(tree, node, service))
      } catch {
        var problem = error
        problem.operation = operations.count
        throw problem
      }
    }
    return operations
  }

  private static func operation(
    _ tree: JSONTree, _ node: JSONTree.Node, _ service: LiveService
  ) throws(Problem) -> PropertyStore.Operation {
    let configuration = service.configuration
    guard var members = JSONMembers(tree, node, of: "An operation") else {
      throw Problem(.badMessage, "An operation is a JSON object.")
    }
    guard let kind = try members.string("op") else { throw members.missing("op") }
    let path = try members.path("path", limits: configuration.paths)
    let condition = try members.condition()
    let operation: PropertyStore.Operation
    switch kind {
    case "set":
      guard let value = members.value("value") else { throw members.missing("value") }
      guard value.bytes.count <= configuration.values.bytes else {
        throw Problem(.bodyTooLarge, "A value has at most \(configuration.values.bytes) bytes.")
      }
      operation = .set(path, value, if: condition, always: try members.bool("always") ?? false)
    case "delete": operation = .delete(path, if: condition)
    case "define":
      guard let source = try members.string("formula") else { throw members.missing("formula") }
      operation = .define(path, try service.formula(source), if: condition)
    default: throw Problem(.unknownType, "There is no operation \"\(kind)\": it is set, delete or define.")
    }
    try members.end()
    return operation
  }
}
