// SPDX-License-Identifier: MIT

/// Macros (langdef "Macros"): calls that bring variables into scope for some of their arguments.
extension Parser {
  /// `has`, whose argument is read as an expression that must end in a selection.
  mutating func globalMacro(_ name: String, at position: Int) throws(CELError) -> Syntax.ID? {
    guard environment.macros else { return nil }
    switch name {
    case "has": return try has(at: position)
    case "cel.bind": return try bind(at: position)
    default: return nil
    }
  }

  private mutating func has(at position: Int) throws(CELError) -> Syntax.ID {
    let argument = try nested()
    // The selection is the last node, because all nodes come after their parts; parentheses leave no node.
    guard argument == syntax.root, case .select(let operand, let field, false) = syntax.nodes[argument].kind else {
      throw error(.badMacro, "the argument of has() is a selection such as value.field", at: position)
    }
    try expect(.rightParenthesis)
    syntax.nodes[argument] = Syntax.Node(kind: .has(operand, field: field), position: position)
    return argument
  }

  private mutating func bind(at position: Int) throws(CELError) -> Syntax.ID {
    let name = try localName(of: "cel.bind")
    let value = try nested()
    try expect(.comma)
    let (scope, body) = try body(Syntax.Scope(source: .value(value), names: [name]))
    try expect(.rightParenthesis)
    return try add(.bind(scope: scope, value: value, body: body), at: position)
  }

  /// A macro in the form of a method, after its opening parenthesis; nil when the name is none.
  mutating func macro(_ name: String, of operand: Syntax.ID, at position: Int) throws(CELError) -> Syntax.ID? {
    guard environment.macros else { return nil }
    switch name {
    case "all": return try comprehension(.all, of: operand, names: 1...2, filter: .never, at: position)
    case "exists": return try comprehension(.exists, of: operand, names: 1...2, filter: .never, at: position)
    case "exists_one", "existsOne":
      return try comprehension(.existsOne, of: operand, names: 1...2, filter: .never, at: position)
    case "filter": return try comprehension(.filter, of: operand, names: 1...1, filter: .never, at: position)
    case "map": return try comprehension(.map, of: operand, names: 1...1, filter: .optional, at: position)
    case "sortBy": return try comprehension(.sortBy, of: operand, names: 1...1, filter: .never, at: position)
    case "transformList":
      return try comprehension(.transformList, of: operand, names: 2...2, filter: .optional, at: position)
    case "transformMap":
      return try comprehension(.transformMap, of: operand, names: 2...2, filter: .optional, at: position)
    case "transformMapEntry":
      return try comprehension(.transformMapEntry, of: operand, names: 2...2, filter: .optional, at: position)
    case "optMap": return try optionalMap(operand, isFlat: false, at: position)
    case "optFlatMap": return try optionalMap(operand, isFlat: true, at: position)
    default: return nil
    }
  }

  private enum FilterArgument {
    case never
    case optional
  }

  private mutating func comprehension(
    _ macro: Syntax.Macro, of range: Syntax.ID, names count: ClosedRange<Int>, filter: FilterArgument, at position: Int
  ) throws(CELError) -> Syntax.ID {
    let macroName = macro.rawValue
    var variables = [try localName(of: macroName)]
    if count.upperBound == 2, count.lowerBound == 2 || isName(followedBy: .comma) {
      let position = token.start
      let second = try localName(of: macroName)
      guard second != variables[0] else {
        throw error(.badMacro, "the two variables of \(macroName)() have the same name", at: position)
      }
      variables.append(second)
    }
    let scope = Syntax.Scope(source: .iteration(range), names: variables)
    let scopeID = enter(scope)
    var body = try nested()
    var condition: Syntax.ID?
    if filter == .optional, try accept(.comma) {
      condition = body
      body = try nested()
    }
    leave(scope)
    guard isAt(.rightParenthesis) else {
      throw error(.badMacro, "\(macroName)() has too many arguments, or misses its ')'", at: token.start)
    }
    try advance()
    let comprehension = Syntax.Comprehension(
      macro: macro, scope: scopeID, range: range, filter: condition, body: body)
    return try add(.comprehension(comprehension), at: position)
  }

  private mutating func optionalMap(
    _ value: Syntax.ID, isFlat: Bool, at position: Int
  ) throws(CELError) -> Syntax.ID {
    let name = try localName(of: isFlat ? "optFlatMap" : "optMap")
    let (scope, body) = try body(Syntax.Scope(source: .optional(value), names: [name]))
    try expect(.rightParenthesis)
    return try add(.optionalMap(scope: scope, value: value, body: body, isFlat: isFlat), at: position)
  }

  // MARK: - Scopes

  private mutating func body(_ scope: Syntax.Scope) throws(CELError) -> (scope: Int, body: Syntax.ID) {
    let id = enter(scope)
    defer { leave(scope) }
    return (id, try nested())
  }

  private mutating func enter(_ scope: Syntax.Scope) -> Int {
    let id = syntax.scopes.count
    syntax.scopes.append(scope)
    for (place, name) in scope.names.enumerated() {
      names.append((name, Syntax.Local(scope: id, isSecond: place == 1)))
    }
    return id
  }

  private mutating func leave(_ scope: Syntax.Scope) {
    names.removeLast(scope.names.count)
  }

  /// A simple name and the comma after it.
  private mutating func localName(of macro: String) throws(CELError) -> String {
    let name = text(token)
    guard isName(followedBy: .comma) else {
      throw error(.badMacro, "the first argument of \(macro)() is a simple name, for the body to use", at: token.start)
    }
    guard !Names.reserved.contains(name) else {
      throw error(.reservedWord, "'\(name)' is a reserved word", at: token.start)
    }
    try advance()
    try expect(.comma)
    return name
  }

  private func isName(followedBy symbol: Token.Symbol) -> Bool {
    guard token.kind == .name, !Names.isKeyword(text(token)) else { return false }
    var ahead = lexer
    return (try? ahead.next())?.kind == .symbol(symbol)
  }
}
