// SPDX-License-Identifier: MIT

import CEL
import JSON

/// What is wrong with a request, as a sentence.
struct RequestError: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) { self.description = description }
}

/// One line of input: an expression, and what it is compiled and evaluated with.
struct Request {
  private let source: String
  private let environment: CELEnvironment
  private let bindings: [(name: String, value: CELValue)]
  private let isCheckOnly: Bool

  init(_ tree: JSONTree, _ options: CELEval.Options) throws {
    guard tree.kind(of: .root) == .object else { throw RequestError("a request is an object") }
    guard let source = tree.member("expr", of: .root).flatMap(tree.string) else {
      throw RequestError("a request has an expression: \"expr\"")
    }
    self.source = source
    func flag(_ name: String) throws -> Bool {
      guard let node = tree.member(name, of: .root) else { return false }
      guard let flag = tree.bool(node) else { throw RequestError("'\(name)' is true or false") }
      return flag
    }
    var container = ""
    if let node = tree.member("container", of: .root) {
      guard let name = tree.string(node) else { throw RequestError("'container' is a string") }
      container = name
    }
    bindings = try Self.members("bindings", of: tree) { try TypedValue.value($0, in: tree) }
    let declared = try Self.members("declarations", of: tree) { node in
      guard let text = tree.string(node), let type = DeclaredType.parse(text) else {
        throw RequestError("a declaration is the name of a type, such as 'map(string, int)'")
      }
      return type
    }
    // What is bound and not declared may be anything.
    let bound = bindings.map(\.name).filter { name in !declared.contains { $0.name == name } }
    let variables = declared.map { CELVariable($0.name, $0.value) } + bound.map { CELVariable($0) }
    guard variables.count <= CELEnvironment.variableLimit else { throw RequestError("too many variables") }
    isCheckOnly = try flag("check_only")
    environment = CELEnvironment(
      variables: variables, container: container, mixedArithmetic: try !(options.isStrict || flag("strict")),
      typeChecking: try !(options.isUnchecked || flag("disable_check")), macros: try !flag("disable_macros"))
  }

  /// The members of a member that is an object; none when there is no such member.
  ///
  /// Of several with one name the last counts.
  private static func members<Value>(
    _ name: String, of tree: JSONTree, _ read: (JSONTree.Node) throws -> Value
  ) throws -> [(name: String, value: Value)] {
    guard let object = tree.member(name, of: .root) else { return [] }
    guard tree.kind(of: object) == .object else { throw RequestError("'\(name)' is an object") }
    var members: [(name: String, value: Value)] = []
    for key in tree.keys(of: object) {
      guard let node = tree.value(ofKey: key), let member = tree.string(key) else { continue }
      members.removeAll { $0.name == member }
      members.append((member, try read(node)))
    }
    return members
  }

  func outcome() -> CELEval.Outcome {
    do throws(CELError) {
      let program = try Program(
        compiling: source, environment: environment,
        limits: CELLimits(bytes: 1 << 20, nodes: 100_000, depth: 250))
      if isCheckOnly { return .type(program.type) }
      var activation = Activation()
      for (name, value) in bindings {
        if let slot = environment.slot(of: name) { activation.bind(slot, to: value) }
      }
      switch program.evaluate(activation) {
      case .success(let value): return .value(value)
      case .failure(let error): return .error(error.description)
      }
    } catch {
      return .error(error.description)
    }
  }
}
