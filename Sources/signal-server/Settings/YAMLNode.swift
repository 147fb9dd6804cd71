// SPDX-License-Identifier: MIT

/// One value of a YAML text, with its place.
struct YAMLNode: Equatable, Sendable {
  /// A key of a mapping and what it stands for.
  struct Member: Equatable, Sendable {
    let key: String
    let value: YAMLNode
    /// That of the key, counted from one.
    let line: Int
  }

  enum Content: Equatable, Sendable {
    /// Nothing at all, `~` or `null`.
    case nothing
    case scalar(String)
    case sequence([YAMLNode])
    case mapping([Member])
  }

  let content: Content
  /// Whether it is a scalar without quotes, which JSON would have read as a number or a bool if it is one.
  let isPlain: Bool
  /// Counted from one, like `column`.
  let line: Int
  let column: Int

  /// How deep mappings and sequences may be nested; far more than any setting is.
  static let depthLimit = 16

  /// Reads the one document of a text; nil when there is none.
  init?(_ bytes: [UInt8]) throws(YAMLError) {
    let root = try unsafe bytes.withUnsafeBufferPointer { (bytes) throws(YAMLError) -> YAMLNode? in
      // The reader does not outlive the call.
      var reader = unsafe YAMLReader(bytes)
      let start = try reader.next()
      guard case .documentStart = start.kind else { return nil }
      let root = try YAMLNode(try reader.next(), &reader, depth: 0)
      _ = try reader.next()
      let end = try reader.next()
      guard case .streamEnd = end.kind else {
        throw YAMLError(message: "a settings file is one document", line: end.line)
      }
      return root
    }
    guard let root else { return nil }
    self = root
  }

  /// Reads what begins with an event.
  private init(_ event: YAMLEvent, _ reader: inout YAMLReader, depth: Int) throws(YAMLError) {
    line = event.line
    column = event.column
    guard depth <= Self.depthLimit else {
      throw YAMLError(message: "groups and lists are nested more than \(Self.depthLimit) deep", line: line)
    }
    if case .scalar(_, isPlain: true) = event.kind { isPlain = true } else { isPlain = false }
    switch event.kind {
    case .scalar(let text, let isPlain):
      content = isPlain && ["", "~", "null", "Null", "NULL"].contains(text) ? .nothing : .scalar(text)
    case .sequenceStart:
      var items: [YAMLNode] = []
      while true {
        let next = try reader.next()
        if case .sequenceEnd = next.kind { break }
        items.append(try YAMLNode(next, &reader, depth: depth + 1))
      }
      content = .sequence(items)
    case .mappingStart:
      var members: [Member] = []
      var lines: [String: Int] = [:]
      while true {
        let next = try reader.next()
        if case .mappingEnd = next.kind { break }
        guard case .scalar(let key, _) = next.kind, !key.isEmpty else {
          throw YAMLError(message: "expected 'key: value'", line: next.line)
        }
        if let first = lines.updateValue(next.line, forKey: key) {
          throw YAMLError(message: "\(key.printable): is already set on line \(first)", line: next.line)
        }
        let value = try YAMLNode(try reader.next(), &reader, depth: depth + 1)
        members.append(Member(key: key, value: value, line: next.line))
      }
      content = .mapping(members)
    case .documentStart, .documentEnd, .streamEnd, .mappingEnd, .sequenceEnd:
      preconditionFailure("No value begins with this event.")
    }
  }
}
