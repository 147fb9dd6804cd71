// SPDX-License-Identifier: MIT

/// Parses a source into ``Syntax`` (langdef "Syntax").
///
/// It recurses only where brackets nest, and `CELLimits.depth` bounds that. A name that is not in scope is reported
/// when the rest has been read, so that a mistake of grammar, which may be the cause, comes first.
struct Parser {
  let environment: CELEnvironment
  let limits: CELLimits
  var lexer: Lexer
  /// The token that is next to be used.
  var token: Token
  var syntax = Syntax()
  /// The names of macros around this place, the innermost last.
  var names: [(name: String, local: Syntax.Local)] = []
  private var depth = 0
  private var firstNameError: CELError?

  static func parse(
    _ source: [UInt8], environment: CELEnvironment, limits: CELLimits
  ) throws(CELError) -> Syntax {
    guard source.count <= limits.bytes else {
      throw CELError(
        .sourceTooLarge, "the expression is longer than \(limits.bytes) bytes", at: limits.bytes,
        in: source)
    }
    var parser = try Parser(source, environment, limits)
    _ = try parser.expression()
    guard parser.token.kind == .end else { throw parser.unexpected("the end or an operator") }
    if let error = parser.firstNameError { throw error }
    return parser.syntax
  }

  private init(_ source: [UInt8], _ environment: CELEnvironment, _ limits: CELLimits) throws(CELError) {
    self.environment = environment
    self.limits = limits
    lexer = Lexer(source)
    token = try lexer.next()
    // Enough for most filters without growing.
    syntax.nodes.reserveCapacity(16)
  }

  // MARK: - Tokens and nodes

  mutating func advance() throws(CELError) { token = try lexer.next() }

  func isAt(_ symbol: Token.Symbol) -> Bool { token.kind == .symbol(symbol) }

  mutating func accept(_ symbol: Token.Symbol) throws(CELError) -> Bool {
    guard isAt(symbol) else { return false }
    try advance()
    return true
  }

  mutating func expect(_ symbol: Token.Symbol) throws(CELError) {
    guard try accept(symbol) else { throw unexpected("'\(symbol.rawValue)'") }
  }

  func text(_ token: Token) -> String {
    String(decoding: lexer.source[token.start..<token.end], as: UTF8.self)
  }

  func error(_ reason: CELError.Reason, _ message: String, at position: Int) -> CELError {
    lexer.error(reason, message, at: position)
  }

  func unexpected(_ expected: String) -> CELError {
    if token.kind == .end {
      return error(.unexpectedEnd, "the expression ends where \(expected) is expected", at: token.start)
    }
    return error(.unexpectedToken, "unexpected '\(text(token))' where \(expected) is expected", at: token.start)
  }

  /// Keeps the first mistake in a name, unless the environment leaves such mistakes to the evaluation.
  mutating func report(_ reason: CELError.Reason, at position: Int, _ message: () -> String) {
    if environment.typeChecking, firstNameError == nil { firstNameError = error(reason, message(), at: position) }
  }

  mutating func add(_ kind: Syntax.Kind, at position: Int) throws(CELError) -> Syntax.ID {
    guard syntax.nodes.count < limits.nodes else {
      throw error(.tooManyNodes, "the expression has more than \(limits.nodes) parts", at: position)
    }
    syntax.nodes.append(Syntax.Node(kind: kind, position: position))
    return syntax.nodes.count - 1
  }

  // MARK: - Operators

  /// `Expr`, one level of nesting deeper.
  mutating func nested() throws(CELError) -> Syntax.ID {
    guard depth < limits.depth else {
      throw error(.tooDeep, "the expression is nested more than \(limits.depth) levels deep", at: token.start)
    }
    depth += 1
    defer { depth -= 1 }
    return try expression()
  }

  /// `Expr`: a chain of `?:` is read in a loop, and made from its last branch to its first.
  private mutating func expression() throws(CELError) -> Syntax.ID {
    var last = try binary(.or)
    var branches: [(condition: Syntax.ID, then: Syntax.ID, position: Int)] = []
    while isAt(.question) {
      let position = token.start
      try advance()
      let then = try binary(.or)
      try expect(.colon)
      branches.append((last, then, position))
      last = try binary(.or)
    }
    for branch in branches.reversed() {
      last = try add(.conditional(branch.condition, branch.then, last), at: branch.position)
    }
    return last
  }

  private enum Level: Int {
    case or
    case and
    case relation
    case addition
    case multiplication
  }

  /// Operators of one level and all that bind tighter, from left to right.
  private mutating func binary(_ level: Level) throws(CELError) -> Syntax.ID {
    guard level != .multiplication else { return try operators(of: level, left: unary()) }
    // Levels are five, so this recursion is bounded.
    let tighter = Level(rawValue: level.rawValue + 1) ?? .multiplication
    return try operators(of: level, left: binary(tighter))
  }

  private mutating func operators(of level: Level, left first: Syntax.ID) throws(CELError) -> Syntax.ID {
    var left = first
    while true {
      let position = token.start
      switch level {
      case .or:
        guard try accept(.or) else { return left }
        left = try add(.or(left, binary(.and)), at: position)
      case .and:
        guard try accept(.and) else { return left }
        left = try add(.and(left, binary(.relation)), at: position)
      case .relation:
        guard let relation = relation() else { return left }
        try advance()
        left = try add(.binary(relation, left, binary(.addition)), at: position)
      case .addition:
        guard isAt(.plus) || isAt(.minus) else { return left }
        let operation: BinaryOperator = isAt(.plus) ? .add : .subtract
        try advance()
        left = try add(.binary(operation, left, binary(.multiplication)), at: position)
      case .multiplication:
        guard isAt(.star) || isAt(.slash) || isAt(.percent) else { return left }
        let operation: BinaryOperator = isAt(.star) ? .multiply : isAt(.slash) ? .divide : .remainder
        try advance()
        left = try add(.binary(operation, left, unary()), at: position)
      }
    }
  }

  private func relation() -> BinaryOperator? {
    switch token.kind {
    case .symbol(.equal): .equal
    case .symbol(.notEqual): .notEqual
    case .symbol(.less): .less
    case .symbol(.lessEqual): .lessEqual
    case .symbol(.greater): .greater
    case .symbol(.greaterEqual): .greaterEqual
    case .name where token.end - token.start == 2 && text(token) == "in": .in
    default: nil
    }
  }

  /// `Unary`: a run of `!` or of `-` is read in a loop.
  ///
  /// The last `-` before a number belongs to it.
  private mutating func unary() throws(CELError) -> Syntax.ID {
    let symbol: Token.Symbol = isAt(.not) ? .not : .minus
    var positions: [Int] = []
    while isAt(symbol), !isAtNegativeNumber() {
      guard positions.count < limits.nodes else {
        throw error(.tooManyNodes, "the expression has more than \(limits.nodes) parts", at: token.start)
      }
      positions.append(token.start)
      try advance()
    }
    var operand = try member()
    for position in positions.reversed() {
      operand = try add(symbol == .not ? .not(operand) : .negate(operand), at: position)
    }
    return operand
  }

  private func isAtNegativeNumber() -> Bool {
    guard isAt(.minus) else { return false }
    var ahead = lexer
    guard let next = try? ahead.next() else { return false }
    switch next.kind {
    case .int, .double: return true
    default: return false
    }
  }

  /// A number, string or bytes literal; nil when there is none here.
  mutating func literal() throws(CELError) -> Syntax.ID? {
    let start = token.start
    let isNegative = isAtNegativeNumber()
    if isNegative { try advance() }
    let kind: Syntax.Kind
    switch token.kind {
    case .int(let magnitude):
      let limit: UInt64 = isNegative ? 1 << 63 : (1 << 63) - 1
      guard magnitude <= limit else {
        let hint = isNegative ? "" : "; a uint ends with 'u'"
        throw error(.numberOutOfRange, "the number is beyond the range of int\(hint)", at: start)
      }
      kind = .int(Int64(truncatingIfNeeded: isNegative ? 0 &- magnitude : magnitude))
    case .uint(let value): kind = .uint(value)
    case .double(let value): kind = .double(isNegative ? -value : value)
    case .string(let content): kind = .string(content)
    case .bytes(let content): kind = .bytes(content)
    default: return nil
    }
    try advance()
    return try add(kind, at: start)
  }
}
