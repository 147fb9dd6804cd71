// SPDX-License-Identifier: MIT
import CYAML

/// Why a text cannot be read, and where.
struct YAMLError: Error, Equatable, Sendable {
  let message: String
  /// Counted from one.
  let line: Int
}

/// What libyaml finds next in a text.
struct YAMLEvent {
  enum Kind {
    case documentStart, documentEnd, streamEnd
    case mappingStart, mappingEnd, sequenceStart, sequenceEnd
    case scalar(String, isPlain: Bool)
  }

  let kind: Kind
  /// Counted from one, like `column`.
  let line: Int
  let column: Int
}

/// The events of one text of YAML, with everything refused that settings have no use for: anchors, aliases, tags,
/// directives, and values over several lines.
@safe struct YAMLReader: ~Copyable {
  // At a fixed address, as libyaml keeps pointers into it; freed with the reader.
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let bytes: UnsafeBufferPointer<UInt8>

  /// - Parameter bytes: UTF-8; valid for as long as the reader.
  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    unsafe self.bytes = bytes
    unsafe parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
    guard unsafe yaml_parser_initialize(parser) == 1 else { preconditionFailure("There is no memory for a parser.") }
    unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
    unsafe yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
  }

  deinit {
    unsafe yaml_parser_delete(parser)
    unsafe parser.deallocate()
  }

  /// The next event.
  mutating func next() throws(YAMLError) -> YAMLEvent {
    while true {
      var event = unsafe yaml_event_t()
      guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw problem() }
      defer { unsafe yaml_event_delete(&event) }
      let line = unsafe Int(event.start_mark.line) + 1
      func refuse(_ message: String) -> YAMLError { YAMLError(message: message, line: line) }
      let kind: YAMLEvent.Kind
      // Of the union `data`, the member that belongs to the event's type is read; its texts live until the event is
      // deleted.
      switch unsafe event.type {
      case YAML_STREAM_START_EVENT: continue
      case YAML_STREAM_END_EVENT: kind = .streamEnd
      case YAML_DOCUMENT_START_EVENT:
        let start = unsafe event.data.document_start
        guard unsafe start.version_directive == nil && start.tag_directives.start == start.tag_directives.end else {
          throw refuse("directives such as %YAML are not supported")
        }
        kind = .documentStart
      case YAML_DOCUMENT_END_EVENT: kind = .documentEnd
      case YAML_ALIAS_EVENT: throw refuse(Self.needsQuotes("*"))
      case YAML_SCALAR_EVENT:
        let scalar = unsafe event.data.scalar
        try unsafe refuseProperties(anchor: scalar.anchor, tag: scalar.tag, line: line)
        let isBlock = unsafe scalar.style == YAML_LITERAL_SCALAR_STYLE || scalar.style == YAML_FOLDED_SCALAR_STYLE
        guard unsafe !isBlock && event.start_mark.line == event.end_mark.line else {
          throw refuse("a value ends on the line that it begins on; is the next line indented too far?")
        }
        let text = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
        kind = unsafe .scalar(
          String(decoding: text, as: UTF8.self), isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE)
      case YAML_SEQUENCE_START_EVENT:
        let start = unsafe event.data.sequence_start
        try unsafe refuseProperties(anchor: start.anchor, tag: start.tag, line: line)
        kind = .sequenceStart
      case YAML_MAPPING_START_EVENT:
        let start = unsafe event.data.mapping_start
        try unsafe refuseProperties(anchor: start.anchor, tag: start.tag, line: line)
        kind = .mappingStart
      case YAML_SEQUENCE_END_EVENT: kind = .sequenceEnd
      case YAML_MAPPING_END_EVENT: kind = .mappingEnd
      default: preconditionFailure("libyaml has no other events.")
      }
      return unsafe YAMLEvent(kind: kind, line: line, column: Int(event.start_mark.column) + 1)
    }
  }

  private func refuseProperties(
    anchor: UnsafeMutablePointer<yaml_char_t>?, tag: UnsafeMutablePointer<yaml_char_t>?, line: Int
  ) throws(YAMLError) {
    if unsafe anchor != nil { throw YAMLError(message: Self.needsQuotes("&"), line: line) }
    if unsafe tag != nil { throw YAMLError(message: Self.needsQuotes("!"), line: line) }
  }

  private static func needsQuotes(_ character: String) -> String {
    "a value or key that begins with '\(character)' needs quotes"
  }

  // MARK: Problems

  /// What libyaml complains about, in words that help with a settings file where its own do not.
  private func problem() -> YAMLError {
    let message = unsafe parser.pointee.problem.map { unsafe String(cString: $0) } ?? "this cannot be read"
    if unsafe parser.pointee.error == YAML_READER_ERROR {
      let offset = unsafe min(Int(clamping: parser.pointee.problem_offset), bytes.count)
      let line = unsafe bytes[..<offset].count(where: { $0 == UInt8(ascii: "\n") }) + 1
      return YAMLError(message: message.hasPrefix("control") ? message : "not UTF-8", line: line)
    }
    // What is never closed is best found where it was opened.
    let context = unsafe parser.pointee.context.map { unsafe String(cString: $0) } ?? ""
    let mark = unsafe parser.pointee.problem_mark
    let (before, character) = place(mark)
    if character == nil, let closing = Self.closings[context] {
      return unsafe YAMLError(message: closing, line: Int(parser.pointee.context_mark.line) + 1)
    }
    return YAMLError(
      message: Self.words(for: message, context, before: before, at: character), line: min(Int(mark.line) + 1, lastLine)
    )
  }

  /// The number of the last line that is not empty: libyaml counts one more where a text ends.
  private var lastLine: Int {
    let end = unsafe bytes.last == UInt8(ascii: "\n") ? bytes.count - 1 : bytes.count
    return unsafe bytes[..<end].count(where: { $0 == UInt8(ascii: "\n") }) + 1
  }

  /// What stands on the line before a mark, and the character there; nil at the end of the text.
  ///
  /// libyaml counts characters, and has found the text to be UTF-8 so far.
  private func place(_ mark: yaml_mark_t) -> (before: String, character: Unicode.Scalar?) {
    let text = unsafe String(decoding: bytes, as: UTF8.self).unicodeScalars
    let head = text.prefix(Int(clamping: mark.index))
    let line = head.suffix(Int(clamping: mark.column))
    return (String(line), text.dropFirst(head.count).first)
  }

  /// What is said when the text ends inside something, by libyaml's name for that.
  private static let closings = [
    "while parsing a flow sequence": "a list in brackets ends with ']'",
    "while parsing a flow mapping": "a group in braces ends with '}'",
    "while scanning a quoted scalar": "a quoted value ends with the quote that it begins with",
  ]

  private static func words(
    for problem: String, _ context: String, before: String, at character: Unicode.Scalar?
  ) -> String {
    let isFirst = before.allSatisfy { $0 == " " }
    switch (problem, context) {
    case (_, "while scanning an alias"): return needsQuotes("*")
    case (_, "while scanning an anchor"): return needsQuotes("&")
    case ("found character that cannot start any token", _) where character == "\t",
      ("found a tab character that violates indentation", _):
      return "indentation is spaces, not tabs"
    case ("found character that cannot start any token", _),
      ("block sequence entries are not allowed in this context", _):
      return needsQuotes(character.map { String($0).printable } ?? "")
    case ("did not find expected node content", _):
      return character == "," ? "a value is missing" : needsQuotes(character.map { String($0).printable } ?? "")
    case ("mapping values are not allowed in this context", _):
      return before.contains(": ") ? "a value with ': ' in it needs quotes" : "the indentation fits no group above"
    case ("found unexpected ':'", _): return "a value with ': ' in it needs quotes"
    case ("did not find expected ',' or ']'", _), ("did not find expected ',' or '}'", _):
      return "a value that contains brackets, or goes on behind its quotes, needs quotes around all of it"
    case ("could not find expected ':'", _): return "expected 'key: value'"
    case ("did not find expected <document start>", _):
      return isFirst && character != nil ? "the indentation fits no group above" : "expected 'key: value'"
    case ("did not find expected key", _):
      if !isFirst { return "nothing may follow the value" }
      switch character {
      case "-": return "a list item belongs to no key, or is indented differently from the one above"
      case ":": return "expected 'key: value'"
      default: return "the indentation fits no group above"
      }
    case ("did not find expected '-' indicator", _):
      return "a list item or key is indented differently from the one above"
    case ("found unknown escape character", _): return "this escape is not supported"
    default: return problem
    }
  }
}
