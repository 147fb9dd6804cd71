// SPDX-License-Identifier: MIT

/// `Member` and `Primary`: literals, names, brackets, and what follows them.
extension Parser {
  mutating func member() throws(CELError) -> Syntax.ID {
    var operand = try primary()
    while true {
      let position = token.start
      if try accept(.dot) {
        operand = try selection(of: operand, at: position)
      } else if try accept(.leftBracket) {
        let isOptional = try accept(.question)
        let index = try nested()
        try expect(.rightBracket)
        operand = try add(.index(operand, index, isOptional: isOptional), at: position)
      } else if isAt(.leftBrace) {
        throw error(.unsupported, "protocol buffer messages are not supported", at: position)
      } else {
        return operand
      }
    }
  }

  /// What follows the dot: a field, or a method with its arguments.
  private mutating func selection(of operand: Syntax.ID, at position: Int) throws(CELError) -> Syntax.ID {
    let isOptional = try accept(.question)
    let nameToken = token
    let name = try fieldName()
    guard !isOptional, nameToken.kind == .name, try accept(.leftParenthesis) else {
      return try add(.select(operand, field: Array(name.utf8), isOptional: isOptional), at: position)
    }
    if let macro = try macro(name, of: operand, at: nameToken.start) { return macro }
    if !Functions.isMember(name) {
      report(.unknownFunction, at: nameToken.start) {
        "unknown function '\(name)'\(Names.suggestion(for: name, among: Functions.memberNames))"
      }
    }
    let arguments = try arguments()
    return try add(.call(name: name, receiver: operand, arguments: arguments), at: nameToken.start)
  }

  private mutating func fieldName() throws(CELError) -> String {
    var name = text(token)
    switch token.kind {
    case .name where !Names.isKeyword(name): break
    case .quotedName: name = String(name.dropFirst().dropLast())
    default: throw unexpected("the name of a field")
    }
    try advance()
    return name
  }

  /// `[ExprList] ")"`, after the opening parenthesis.
  mutating func arguments() throws(CELError) -> [Syntax.ID] {
    var arguments: [Syntax.ID] = []
    if try accept(.rightParenthesis) { return arguments }
    repeat { arguments.append(try nested()) } while try accept(.comma)
    try expect(.rightParenthesis)
    return arguments
  }

  // MARK: - Primary

  private mutating func primary() throws(CELError) -> Syntax.ID {
    if let literal = try literal() { return literal }
    let position = token.start
    switch token.kind {
    case .symbol(.leftParenthesis):
      try advance()
      let inner = try nested()
      try expect(.rightParenthesis)
      return inner
    case .symbol(.leftBracket):
      try advance()
      return try list(at: position)
    case .symbol(.leftBrace):
      try advance()
      return try map(at: position)
    case .symbol(.dot):
      try advance()
      guard token.kind == .name else { throw unexpected("a name") }
      return try name(isAbsolute: true)
    case .name:
      return try name(isAbsolute: false)
    default:
      throw unexpected("a value")
    }
  }

  private mutating func list(at position: Int) throws(CELError) -> Syntax.ID {
    var elements: [Syntax.Element] = []
    while !isAt(.rightBracket) {
      let isOptional = try accept(.question)
      elements.append(Syntax.Element(value: try nested(), isOptional: isOptional))
      guard try accept(.comma) else { break }
    }
    try expect(.rightBracket)
    return try add(.list(elements), at: position)
  }

  private mutating func map(at position: Int) throws(CELError) -> Syntax.ID {
    var entries: [Syntax.Entry] = []
    while !isAt(.rightBrace) {
      let isOptional = try accept(.question)
      let key = try nested()
      try expect(.colon)
      entries.append(Syntax.Entry(key: key, value: try nested(), isOptional: isOptional))
      guard try accept(.comma) else { break }
    }
    try expect(.rightBrace)
    return try add(.map(entries), at: position)
  }

  // MARK: - Names

  /// A variable, a type, a literal word or a call of a function.
  ///
  /// Of a dotted name the longest prefix that means something is used (langdef "Name Resolution").
  private mutating func name(isAbsolute: Bool) throws(CELError) -> Syntax.ID {
    let start = token.start
    let first = text(token)
    if let constant = try literalWord(first) { return constant }
    if !isAbsolute, let local = names.last(where: { $0.name == first }), !isCall() {
      try advance()
      return try add(.local(local.local), at: start)
    }
    let resolution = resolve(isAbsolute: isAbsolute)
    lexer = resolution.lexer
    token = resolution.token
    switch resolution.meaning {
    case .variable(let slot): return try add(.variable(slot), at: start)
    case .type(let kind): return try add(.type(kind), at: start)
    case .function(let name):
      try expect(.leftParenthesis)
      if let macro = try globalMacro(name, at: start) { return macro }
      return try add(.call(name: name, receiver: nil, arguments: arguments()), at: start)
    case .none:
      return try unknown(first, at: start)
    }
  }

  private mutating func literalWord(_ word: String) throws(CELError) -> Syntax.ID? {
    guard Names.isKeyword(word) else { return nil }
    let kind: Syntax.Kind
    switch word {
    case "true": kind = .bool(true)
    case "false": kind = .bool(false)
    case "null": kind = .null
    default: throw unexpected("a value")
    }
    let position = token.start
    try advance()
    return try add(kind, at: position)
  }

  private func isCall() -> Bool {
    var ahead = lexer
    return (try? ahead.next())?.kind == .symbol(.leftParenthesis)
  }

  private enum Meaning {
    case variable(Int)
    case type(Value.Kind)
    case function(String)
    case none
  }

  private struct Resolution {
    var meaning: Meaning
    /// The state after the name.
    var lexer: Lexer
    var token: Token
  }

  /// Looks ahead over `a.b.c` for the longest prefix that has a meaning.
  ///
  /// Nothing here throws: what cannot be read ends the name, and is reported when it is its turn.
  private func resolve(isAbsolute: Bool) -> Resolution {
    var lexer = lexer
    var next = token
    var name = ""
    var best: Resolution?
    var parts = 0
    // No name that means something has more parts than this.
    while next.kind == .name, parts < 16 {
      let part = text(next)
      guard parts == 0 || !Names.isKeyword(part) else { break }
      name = parts == 0 ? part : "\(name).\(part)"
      parts += 1
      guard let behind = try? lexer.next() else { break }
      next = behind
      let meaning = meaning(of: name, isAbsolute: isAbsolute, isCall: next.kind == .symbol(.leftParenthesis))
      if case .none = meaning {
      } else {
        best = Resolution(meaning: meaning, lexer: lexer, token: next)
      }
      guard next.kind == .symbol(.dot), parts > 1 || mayGoOn(behind: name), let behind = try? lexer.next() else {
        break
      }
      next = behind
    }
    return best ?? Resolution(meaning: .none, lexer: self.lexer, token: token)
  }

  /// Whether some name that means something begins with this word and a dot: of nearly all that are looked at none
  /// does.
  private func mayGoOn(behind word: String) -> Bool {
    if !environment.container.isEmpty || Functions.namespaces.contains(word) { return true }
    return environment.variables.contains { $0.name.utf8.count > word.utf8.count + 1 && $0.name.hasPrefix("\(word).") }
  }

  private func meaning(of name: String, isAbsolute: Bool, isCall: Bool) -> Meaning {
    var scope = isAbsolute ? "" : environment.container
    while true {
      let qualified = scope.isEmpty ? name : "\(scope).\(name)"
      if isCall {
        if Functions.isGlobal(qualified) { return .function(qualified) }
      } else if let slot = environment.slot(of: qualified) {
        return .variable(slot)
      } else if let kind = Value.Kind(typeName: qualified) {
        return .type(kind)
      }
      guard !scope.isEmpty else { return .none }
      scope = scope.lastIndex(of: ".").map { String(scope[..<$0]) } ?? ""
    }
  }

  /// Reports a name without a meaning, and continues as if it were a variable or a call.
  private mutating func unknown(_ name: String, at start: Int) throws(CELError) -> Syntax.ID {
    if Names.reserved.contains(name) {
      throw error(.reservedWord, "'\(name)' is a reserved word", at: start)
    }
    try advance()
    if try accept(.leftParenthesis) {
      report(.unknownFunction, at: start) {
        let hint =
          Functions.isMember(name)
          ? "; it is a method: write x.\(name)(…)" : Names.suggestion(for: name, among: Functions.globalNames)
        return "unknown function '\(name)'\(hint)"
      }
      return try add(.call(name: name, receiver: nil, arguments: arguments()), at: start)
    }
    let candidates = environment.variables.map(\.name) + names.map(\.name)
    report(.unknownVariable, at: start) {
      "unknown variable '\(name)'\(Names.suggestion(for: name, among: candidates))"
    }
    return try add(.unknown, at: start)
  }
}
