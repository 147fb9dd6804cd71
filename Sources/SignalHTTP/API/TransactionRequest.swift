// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The body of `POST /transactions` (`docs/protocol.md` §2.3), and the same in a command.
enum TransactionRequest {
  /// Parses the operations.
  ///
  /// A problem names the operation that it is about.
  static func operations(
    _ body: Span<UInt8>, _ configuration: LiveConfiguration, limit: Int
  ) throws(Problem) -> [OperationRequest] {
    // A value is nested three levels deep: the request, the list, the operation.
    let limits = configuration.texts(bytes: body.count, levels: 3)
    var members = try JSONMembers(reading: body, within: limits, of: "a transaction")
    let operations = try operations(&members, configuration, limit: limit, holder: nil)
    try members.end()
    return operations
  }

  /// Takes the operations from the members of a body or a command.
  ///
  /// - Parameter holder: As in ``OperationRequest``.
  static func operations(
    _ members: inout JSONMembers, _ configuration: LiveConfiguration, limit: Int, holder: Holder?
  ) throws(Problem) -> [OperationRequest] {
    try members.operations(limit: limit, of: "a transaction") {
      kind, members throws(Problem) -> OperationRequest in
      if let operation = try OperationRequest(kind, &members, configuration, holder: holder) { return operation }
      throw Problem(.unknownType, "There is no operation \"\(kind)\": it is set, delete or define.")
    }
  }
}

extension JSONMembers {
  /// Takes the list `operations`, each an object whose `op` names its kind.
  ///
  /// A problem names the operation that it is about.
  ///
  /// - Parameters:
  ///   - limit: The maximum number.
  ///   - whole: What they are operations of, at the beginning of a sentence.
  ///   - read: Takes the members of an operation of that kind.
  mutating func operations<Operation>(
    limit: Int, of whole: String,
    _ read: (_ kind: String, _ members: inout JSONMembers) throws(Problem) -> Operation
  ) throws(Problem) -> [Operation] {
    guard let list = take("operations") else { throw missing("operations") }
    guard tree.kind(of: list) == .array else { throw Problem(.badMessage, #""operations" is not an array."#) }
    let count = tree.count(of: list)
    guard count <= limit else { throw Problem(.tooManyOperations, "\(whole) has at most \(limit) operations.") }
    var operations: [Operation] = []
    operations.reserveCapacity(count)
    for node in tree.elements(of: list) {
      do throws(Problem) {
        guard var members = JSONMembers(tree, node, of: "an operation") else {
          throw Problem(.badMessage, "An operation is a JSON object.")
        }
        guard let kind = try members.string("op") else { throw members.missing("op") }
        let operation = try read(kind, &members)
        try members.end()
        operations.append(operation)
      } catch {
        throw error.of(operation: operations.count)
      }
    }
    return operations
  }
}
