// SPDX-License-Identifier: MIT

/// A JSON Patch (RFC 6902): operations that make one value of another.
///
/// Parse it once and apply it to any number of values. What it does not touch keeps its bytes: digits, escapes, the
/// order of members.
public struct JSONPatch: Sendable {
  /// One operation (RFC 6902 §4).
  struct Operation: Sendable {
    enum Kind: Sendable {
      /// With the value, a node of the patch.
      case add(JSONTree.Node)
      case remove
      case replace(JSONTree.Node)
      case move(from: JSONPointer)
      case copy(from: JSONPointer)
      case test(JSONTree.Node)
    }

    let kind: Kind
    let path: JSONPointer
  }

  /// What a patch may cost.
  public struct Limits: Sendable, Equatable {
    /// Maximum number of operations; 1000 by default.
    public var operations: Int
    /// Elements and members that all operations together may pass; 600 000 by default, a few milliseconds.
    ///
    /// Those that a `test` has to compare one by one count several times.
    public var work: Int
    /// Bounds of the result.
    public var result: JSONLimits

    /// Limits that differ from the defaults in what is named.
    public init(operations: Int = 1000, work: Int = 600_000, result: JSONLimits = JSONLimits()) {
      self.operations = operations
      self.work = work
      self.result = result
    }
  }

  let tree: JSONTree
  let operations: [Operation]
  let limits: Limits

  /// Parses a patch document: an array of operations.
  ///
  /// Members that an operation does not define are ignored (RFC 6902 §4).
  ///
  /// - Throws: `JSONPatchError` with a reason that is ``JSONPatchError/Reason/isMalformed``.
  public init(_ document: JSONText, limits: Limits = Limits()) throws(JSONPatchError) {
    tree = JSONTree(document)
    self.limits = limits
    guard tree.kind(of: tree.root) == .array else { throw JSONPatchError(.noArray) }
    guard tree.count(of: tree.root) <= limits.operations else {
      throw JSONPatchError(.tooManyOperations(limit: limits.operations))
    }
    var operations: [Operation] = []
    operations.reserveCapacity(tree.count(of: tree.root))
    for node in tree.elements(of: tree.root) {
      do throws(JSONPatchError) {
        operations.append(try Self.operation(tree, node))
      } catch {
        throw JSONPatchError(error.reason, operation: operations.count)
      }
    }
    self.operations = operations
  }

  /// The value that the operations make of `value`, one after the other, all or none.
  ///
  /// - Throws: `JSONPatchError` that names the operation that could not be carried out, or says that the result would
  ///   exceed a limit.
  public func apply(to value: JSONText) throws(JSONPatchError) -> JSONText {
    var patcher = Patcher(JSONTree(value), tree, limits)
    for (index, operation) in operations.enumerated() {
      do throws(JSONPatchError) {
        try patcher.apply(operation)
      } catch {
        throw JSONPatchError(error.reason, operation: index)
      }
    }
    let bytes = patcher.result()
    guard bytes.count <= limits.result.bytes else { throw JSONPatchError(.tooLarge(limit: limits.result.bytes)) }
    return JSONText(alreadyCompact: bytes)
  }

  private static func operation(_ tree: JSONTree, _ node: JSONTree.Node) throws(JSONPatchError) -> Operation {
    guard tree.kind(of: node) == .object else { throw JSONPatchError(.noObject) }
    guard let op = tree.member("op", of: node).flatMap({ tree.string($0) }) else { throw JSONPatchError(.noOp) }
    let path = try pointer("path", tree, node)
    func value() throws(JSONPatchError) -> JSONTree.Node {
      guard let value = tree.member("value", of: node) else { throw JSONPatchError(.missing("value")) }
      return value
    }
    switch op {
    case "add": return Operation(kind: .add(try value()), path: path)
    case "remove": return Operation(kind: .remove, path: path)
    case "replace": return Operation(kind: .replace(try value()), path: path)
    case "move": return Operation(kind: .move(from: try pointer("from", tree, node)), path: path)
    case "copy": return Operation(kind: .copy(from: try pointer("from", tree, node)), path: path)
    case "test": return Operation(kind: .test(try value()), path: path)
    default: throw JSONPatchError(.noOp)
    }
  }

  private static func pointer(
    _ name: String, _ tree: JSONTree, _ node: JSONTree.Node
  ) throws(JSONPatchError) -> JSONPointer {
    guard let member = tree.member(name, of: node), let text = tree.string(member) else {
      throw JSONPatchError(.missing(name))
    }
    do {
      return try JSONPointer(text)
    } catch {
      throw JSONPatchError(.badPointer(name, error))
    }
  }
}

/// Why a patch is none, or cannot be applied to a value.
public struct JSONPatchError: Error, Equatable, Sendable {
  /// What is wrong.
  public enum Reason: Equatable, Sendable {
    /// The document is not an array.
    case noArray
    /// There are more operations than ``JSONPatch/Limits/operations``.
    case tooManyOperations(limit: Int)
    /// An operation is not an object.
    case noObject
    /// `op` is not one of add, remove, replace, move, copy and test.
    case noOp
    /// A member that the operation needs is missing, or is not a string where it has to be one.
    case missing(String)
    /// The named member is not a JSON Pointer.
    case badPointer(String, JSONPointer.ParseError)

    /// The value has nothing at `path` or `from`, or nothing that it could be added to.
    case notFound
    /// A step into an array is not an index, or one beyond the end.
    case badIndex
    /// A value is to be moved into itself.
    case movedIntoItself
    /// The whole value is to be removed.
    case removedWhole
    /// What a `test` compares is not equal.
    case testFailed

    /// The result would have more bytes than it may have.
    case tooLarge(limit: Int)
    /// The result would be nested deeper than it may be.
    case tooDeep(limit: Int)
    /// The operations together cost more than ``JSONPatch/Limits/work``.
    case tooCostly

    /// Whether the document is not a patch, regardless of its target.
    public var isMalformed: Bool {
      switch self {
      case .noArray, .tooManyOperations, .noObject, .noOp, .missing, .badPointer: true
      case .notFound, .badIndex, .movedIntoItself, .removedWhole, .testFailed, .tooLarge, .tooDeep, .tooCostly: false
      }
    }
  }

  /// What is wrong.
  public let reason: Reason
  /// The index of the operation; nil when it is about the whole.
  public let operation: Int?

  init(_ reason: Reason, operation: Int? = nil) {
    self.reason = reason
    self.operation = operation
  }
}

extension JSONPatchError: CustomStringConvertible {
  /// A sentence for a client.
  public var description: String {
    let sentence =
      switch reason {
      case .noArray: "a JSON Patch is an array of operations (RFC 6902 §3)"
      case .tooManyOperations(let limit): "a JSON Patch has at most \(limit) operations"
      case .noObject: "it is not an object"
      case .noOp: "\"op\" is not add, remove, replace, move, copy or test (RFC 6902 §4)"
      case .missing(let name): "it needs \"\(name)\" (RFC 6902 §4)"
      case .badPointer(let name, let error): "\"\(name)\": \(error)"
      case .notFound: "the value has nothing there"
      case .badIndex: "the array has no such index"
      case .movedIntoItself: "a value cannot be moved into itself (RFC 6902 §4.4)"
      case .removedWhole: "the whole value cannot be removed"
      case .testFailed: "the value tested is another one (RFC 6902 §4.6)"
      case .tooLarge(let limit): "the result has more than \(limit) bytes"
      case .tooDeep(let limit): "the result has more than \(limit) levels"
      case .tooCostly: "the operations cost more than they may together"
      }
    return operation.map { "operation \($0): \(sentence)" } ?? sentence
  }
}
