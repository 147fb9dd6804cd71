// SPDX-License-Identifier: MIT

import JSON

/// Reads the syntax of RE2.
struct PatternParser {
  private struct Flags {
    var ignoresCase = false
    var isMultiline = false
    var dotMatchesNewline = false
  }

  /// How deep groups may be nested.
  private static let depthLimit = 64
  /// The largest count of a repetition, as in RE2.
  private static let countLimit = 1000

  private let source: [UInt8]
  private var position = 0
  private var depth = 0
  private var flags = Flags()

  init(_ source: [UInt8]) { self.source = source }

  mutating func parse() throws(Pattern.Failure) -> PatternTree {
    let tree = try alternatives()
    if position < source.count { throw failure("unexpected ')'") }
    return tree
  }

  // MARK: - Characters

  private func failure(_ message: String, at place: Int? = nil) -> Pattern.Failure {
    Pattern.Failure(message: message, position: place ?? position)
  }

  private var next: UInt8? { position < source.count ? source[position] : nil }

  private mutating func accept(_ text: StaticString) -> Bool {
    guard source[position...].starts(with: "\(text)".utf8) else { return false }
    position += text.utf8CodeUnitCount
    return true
  }

  private mutating func scalar() throws(Pattern.Failure) -> UInt32 {
    let (scalar, length) = Pattern.scalar(in: source.span, at: position)
    guard let scalar else { throw failure("the pattern ends too early") }
    position += length
    return scalar
  }

  // MARK: - Structure

  private mutating func alternatives() throws(Pattern.Failure) -> PatternTree {
    // Flags that are set inside a group end with it.
    let outer = flags
    defer { flags = outer }
    var branches = [try sequence()]
    while accept("|") { branches.append(try sequence()) }
    return branches.count == 1 ? branches[0] : .alternatives(branches)
  }

  private mutating func sequence() throws(Pattern.Failure) -> PatternTree {
    var parts: [PatternTree] = []
    while let byte = next, byte != UInt8(ascii: "|"), byte != UInt8(ascii: ")") {
      if accept("\\Q") {
        while next != nil, !accept("\\E") { parts.append(.scalar(try scalar(), ignoresCase: flags.ignoresCase)) }
        // A repetition after a quoted text applies to its last character.
        if let last = parts.popLast() { parts.append(try repetitions(of: last)) }
        continue
      }
      guard let atom = try atom() else { continue }
      parts.append(try repetitions(of: atom))
    }
    return parts.count == 1 ? parts[0] : parts.isEmpty ? .empty : .sequence(parts)
  }

  private mutating func repetitions(of atom: PatternTree) throws(Pattern.Failure) -> PatternTree {
    let start = position
    guard let (least, most) = try repetition() else { return atom }
    _ = accept("?")
    let again = position
    if try repetition() != nil { throw failure("a repetition of a repetition", at: again) }
    guard least <= Self.countLimit, most ?? 0 <= Self.countLimit, most.map({ $0 >= least }) ?? true else {
      throw failure("a repetition counts from 0 to 1000, upwards", at: start)
    }
    return .repetition(atom, least: least, most: most)
  }

  private mutating func repetition() throws(Pattern.Failure) -> (least: Int, most: Int?)? {
    if accept("*") { return (0, nil) }
    if accept("+") { return (1, nil) }
    if accept("?") { return (0, 1) }
    let start = position
    guard accept("{") else { return nil }
    // A brace that begins no count stands for itself.
    guard let least = number() else {
      position = start
      return nil
    }
    if accept("}") { return (least, least) }
    guard accept(",") else {
      position = start
      return nil
    }
    if accept("}") { return (least, nil) }
    guard let most = number(), accept("}") else {
      position = start
      return nil
    }
    return (least, most)
  }

  private mutating func number() -> Int? {
    let start = position
    var value = 0
    while let byte = next, Lexer.isDigit(byte) {
      value = min(value * 10 + Int(byte - UInt8(ascii: "0")), 100_000)
      position += 1
    }
    return position > start ? value : nil
  }

  /// One thing that can be repeated; nil for flags, which are nothing themselves.
  private mutating func atom() throws(Pattern.Failure) -> PatternTree? {
    switch next {
    case UInt8(ascii: "("): return try group()
    case UInt8(ascii: "["):
      position += 1
      return .set(try bracket())
    case UInt8(ascii: "\\"): return try escape()
    case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "?"): throw failure("nothing to repeat")
    default: break
    }
    if accept(".") { return .any(includingNewline: flags.dotMatchesNewline) }
    if accept("^") { return .assertion(flags.isMultiline ? .lineStart : .textStart) }
    if accept("$") { return .assertion(flags.isMultiline ? .lineEnd : .textEnd) }
    let start = position
    if try repetition() != nil { throw failure("nothing to repeat", at: start) }
    return .scalar(try scalar(), ignoresCase: flags.ignoresCase)
  }

  // MARK: - Groups and flags

  private mutating func group() throws(Pattern.Failure) -> PatternTree? {
    let start = position
    position += 1
    guard depth < Self.depthLimit else { throw failure("groups are nested more than 64 deep", at: start) }
    depth += 1
    defer { depth -= 1 }
    let outer = flags
    if accept("?P<") || accept("?<") {
      let name = position
      while let byte = next, Lexer.isNamePart(byte) { position += 1 }
      guard position > name, accept(">") else { throw failure("a group's name has letters, digits and '_'", at: name) }
    } else if accept("?") {
      if try flagsOnly() { return nil }
    }
    let tree = try alternatives()
    flags = outer
    guard accept(")") else { throw failure("the group does not end", at: start) }
    return tree
  }

  /// Reads `flags)` or `flags:`; true for the first, which holds for the rest of the group around it.
  private mutating func flagsOnly() throws(Pattern.Failure) -> Bool {
    var isOn = true
    while let byte = next {
      position += 1
      switch byte {
      case UInt8(ascii: "i"): flags.ignoresCase = isOn
      case UInt8(ascii: "m"): flags.isMultiline = isOn
      case UInt8(ascii: "s"): flags.dotMatchesNewline = isOn
      case UInt8(ascii: "U"): break  // Swaps greedy and lazy, which only captures could tell.
      case UInt8(ascii: "-") where isOn: isOn = false
      case UInt8(ascii: ":"): return false
      case UInt8(ascii: ")"): return true
      default: throw failure("unknown flag or kind of group", at: position - 1)
      }
    }
    throw failure("the group does not end")
  }

  // MARK: - Escapes

  private mutating func escape() throws(Pattern.Failure) -> PatternTree {
    let start = position
    position += 1
    switch next {
    case UInt8(ascii: "A"):
      position += 1
      return .assertion(.textStart)
    case UInt8(ascii: "z"):
      position += 1
      return .assertion(.textEnd)
    case UInt8(ascii: "b"):
      position += 1
      return .assertion(.wordBoundary)
    case UInt8(ascii: "B"):
      position += 1
      return .assertion(.notWordBoundary)
    default: break
    }
    position = start
    if let set = try classEscape() { return .set(set) }
    return .scalar(try scalarEscape(), ignoresCase: flags.ignoresCase)
  }

  /// `\d`, `\pL` and their like.
  private mutating func classEscape() throws(Pattern.Failure) -> Pattern.ScalarSet? {
    guard position + 1 < source.count else { return nil }
    let letter = source[position + 1]
    var set = Pattern.ScalarSet()
    switch letter | 0x20 {
    case UInt8(ascii: "d"): set.ranges = [48...57]
    case UInt8(ascii: "s"): set.ranges = [9...10, 12...13, 32...32]
    case UInt8(ascii: "w"): set.ranges = [48...57, 65...90, 95...95, 97...122]
    case UInt8(ascii: "p"):
      position += 2
      var category = try categoryName()
      if letter == UInt8(ascii: "P") { category.isNegated.toggle() }
      return category
    default: return nil
    }
    position += 2
    set.isNegated = letter & 0x20 == 0
    return set
  }

  private mutating func categoryName() throws(Pattern.Failure) -> Pattern.ScalarSet {
    let start = position
    var name: String
    if accept("{") {
      while let byte = next, byte != UInt8(ascii: "}") { position += byte < 0x80 ? 1 : source.count - position }
      name = String(decoding: source[(start + 1)..<position], as: UTF8.self)
      guard accept("}") else { throw failure("a class of Unicode does not end", at: start) }
    } else {
      guard let byte = next else { throw failure("a class of Unicode is missing") }
      name = String(UnicodeScalar(byte))
      position += 1
    }
    let isNegated = name.hasPrefix("^")
    if isNegated { name.removeFirst() }
    guard let categories = Self.categories[name] else {
      throw failure("unknown class of Unicode '\(name.prefix(20))'; the general categories are known", at: start)
    }
    return Pattern.ScalarSet(categories: categories, isNegated: isNegated)
  }

  private static let categories: [String: [Unicode.GeneralCategory]] = [
    "L": [.uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter],
    "Lu": [.uppercaseLetter], "Ll": [.lowercaseLetter], "Lt": [.titlecaseLetter], "Lm": [.modifierLetter],
    "Lo": [.otherLetter], "M": [.nonspacingMark, .spacingMark, .enclosingMark], "Mn": [.nonspacingMark],
    "Mc": [.spacingMark], "Me": [.enclosingMark], "N": [.decimalNumber, .letterNumber, .otherNumber],
    "Nd": [.decimalNumber], "Nl": [.letterNumber], "No": [.otherNumber],
    "P": [
      .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation,
      .finalPunctuation, .otherPunctuation,
    ],
    "Pc": [.connectorPunctuation], "Pd": [.dashPunctuation], "Ps": [.openPunctuation], "Pe": [.closePunctuation],
    "Pi": [.initialPunctuation], "Pf": [.finalPunctuation], "Po": [.otherPunctuation],
    "S": [.mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol], "Sm": [.mathSymbol],
    "Sc": [.currencySymbol], "Sk": [.modifierSymbol], "So": [.otherSymbol],
    "Z": [.spaceSeparator, .lineSeparator, .paragraphSeparator], "Zs": [.spaceSeparator],
    "Zl": [.lineSeparator], "Zp": [.paragraphSeparator],
    "C": [.control, .format, .surrogate, .privateUse], "Cc": [.control], "Cf": [.format], "Cs": [.surrogate],
    "Co": [.privateUse],
  ]

  private mutating func scalarEscape() throws(Pattern.Failure) -> UInt32 {
    let start = position
    position += 1
    guard let byte = next else { throw failure("the pattern ends with a backslash", at: start) }
    position += 1
    switch byte {
    case UInt8(ascii: "a"): return 7
    case UInt8(ascii: "f"): return 12
    case UInt8(ascii: "n"): return 10
    case UInt8(ascii: "r"): return 13
    case UInt8(ascii: "t"): return 9
    case UInt8(ascii: "v"): return 11
    case UInt8(ascii: "x"): return try hexadecimal(start)
    case UInt8(ascii: "0")...UInt8(ascii: "7"):
      var value = UInt32(byte - 48)
      var digits = 1
      while digits < 3, let digit = next, digit >= 48, digit < 56 {
        value = value * 8 + UInt32(digit - 48)
        digits += 1
        position += 1
      }
      // One digit but 0 would be a reference to a group, which no linear engine has.
      guard digits > 1 || byte == 48 else { throw failure("a reference to a group", at: start) }
      return value
    case 0..<128 where !Lexer.isNamePart(byte): return UInt32(byte)
    case UInt8(ascii: "_"): return UInt32(byte)
    default: throw failure("unknown escape", at: start)
    }
  }

  private mutating func hexadecimal(_ start: Int) throws(Pattern.Failure) -> UInt32 {
    let isBraced = accept("{")
    var value: UInt32 = 0
    var digits = 0
    while digits < (isBraced ? 8 : 2), let byte = next, let digit = byte.hexDigit {
      value = value << 4 | UInt32(digit)
      digits += 1
      position += 1
    }
    guard isBraced ? digits > 0 && accept("}") : digits == 2, value <= 0x10FFFF else {
      throw failure("this escape needs two hexadecimal digits, or some in braces up to 10FFFF", at: start)
    }
    return value
  }

  // MARK: - Brackets

  /// What stands between brackets; the opening one is read.
  private mutating func bracket() throws(Pattern.Failure) -> Pattern.ScalarSet {
    let start = position - 1
    var set = Pattern.ScalarSet()
    set.isNegated = accept("^")
    set.ignoresCase = flags.ignoresCase
    var isFirst = true
    while true {
      guard next != nil else { throw failure("the set does not end", at: start) }
      if !isFirst, accept("]") { return set }
      isFirst = false
      if next == UInt8(ascii: "["), position + 1 < source.count, source[position + 1] == UInt8(ascii: ":") {
        set.parts.append(try posixClass())
        continue
      }
      if next == UInt8(ascii: "\\"), let part = try classEscape() {
        set.parts.append(part)
        continue
      }
      let place = position
      let lower = try bracketScalar()
      guard next == UInt8(ascii: "-"), position + 1 < source.count, source[position + 1] != UInt8(ascii: "]") else {
        set.ranges.append(lower...lower)
        continue
      }
      position += 1
      let upper = try bracketScalar()
      guard lower <= upper else { throw failure("a range that goes down", at: place) }
      set.ranges.append(lower...upper)
    }
  }

  private mutating func bracketScalar() throws(Pattern.Failure) -> UInt32 {
    next == UInt8(ascii: "\\") ? try scalarEscape() : try scalar()
  }

  private mutating func posixClass() throws(Pattern.Failure) -> Pattern.ScalarSet {
    let start = position
    position += 2
    let isNegated = accept("^")
    let nameStart = position
    while let byte = next, Lexer.isNamePart(byte) { position += 1 }
    let name = String(decoding: source[nameStart..<position], as: UTF8.self)
    guard accept(":]"), let ranges = Self.posixClasses[name] else { throw failure("unknown class", at: start) }
    return Pattern.ScalarSet(ranges: ranges, isNegated: isNegated)
  }

  private static let posixClasses: [String: [ClosedRange<UInt32>]] = [
    "alnum": [48...57, 65...90, 97...122], "alpha": [65...90, 97...122], "ascii": [0...127], "blank": [9...9, 32...32],
    "cntrl": [0...31, 127...127], "digit": [48...57], "graph": [33...126], "lower": [97...122], "print": [32...126],
    "punct": [33...47, 58...64, 91...96, 123...126], "space": [9...13, 32...32], "upper": [65...90],
    "word": [48...57, 65...90, 95...95, 97...122], "xdigit": [48...57, 65...70, 97...102],
  ]
}
