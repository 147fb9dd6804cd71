// SPDX-License-Identifier: MIT
// The part of YAML 1.2 that a file of settings needs, read strictly. A YAML library would read the rest of the language
// too, and costs whole Foundation: 44 MB of a 14 MB binary. What is accepted here means the same to every YAML reader;
// everything else is refused with its line.

/// A settings file as flat entries: nested groups are joined with dots, every entry knows its line.
///
/// Accepted: comments, nested mappings by indentation, plain, single- and double-quoted scalars on one line, and lists
/// of scalars, in brackets on one line or as indented `- item` lines.
struct SettingsFile: Equatable, Sendable {
  /// What stands after a key.
  enum Value: Equatable, Sendable {
    case scalar(String)
    case list([String])
    /// Nothing, `null` or `~`.
    case nothing
  }

  /// One key and its value.
  struct Entry: Equatable, Sendable {
    let name: String
    let value: Value
    let line: Int
  }

  let path: String
  private(set) var entries: [Entry] = []

  /// Reads the whole bytes of a file.
  ///
  /// - Parameter path: the file's name, for what is said about it.
  init(path: String, bytes: [UInt8]) throws(ConfigurationError) {
    self.path = path
    var number = 0
    var seenContent = false
    for var line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      if number == 1, line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
      if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
      let content = line.drop { $0 == UInt8(ascii: " ") }
      let visible = content.drop { $0.isBlank }
      if visible.isEmpty || visible.first == UInt8(ascii: "#") { continue }
      if !seenContent, line.elementsEqual("---".utf8) {
        seenContent = true
        continue
      }
      seenContent = true
      try add(SettingsLine(content, at: source(number)), indent: content.startIndex - line.startIndex, number: number)
    }
    close()
    open = []
  }

  /// The place of a line, as errors name it.
  func source(_ line: Int) -> SettingSource { .file(path, line: line) }

  /// The mappings that enclose the current line: their indentation and the start of their keys' full names.
  private var open: [(indent: Int, prefix: String)] = []
  /// The last key that had nothing after it; the lines that follow say whether it is a group, a list or empty.
  private var pending: (name: String, indent: Int, line: Int)?
  /// The items of the list under `pending`.
  private var items: (indent: Int, texts: [String])?

  private mutating func add(_ line: SettingsLine, indent: Int, number: Int) throws(ConfigurationError) {
    var line = line
    if let current = pending {
      let isItem = line.skipItemMark()
      if isItem, indent == items?.indent ?? max(indent, current.indent) {
        items = (indent, (items?.texts ?? []) + [try line.item()])
        return
      }
      if isItem || (items != nil && indent > current.indent) {
        throw .syntax("a list item or key is indented differently from the one above", line.source)
      }
      if indent > current.indent {
        open.append((indent, current.name + "."))
        pending = nil
      } else {
        close()
      }
    } else if line.skipItemMark() {
      throw .syntax("a list item belongs to no key", line.source)
    }
    if open.isEmpty { open.append((indent, "")) }
    while open.count > 1, indent < open[open.count - 1].indent { open.removeLast() }
    guard let mapping = open.last, indent == mapping.indent else {
      throw .syntax("the indentation fits no group above", line.source)
    }
    let name = mapping.prefix + (try line.key())
    if line.isBare() {
      pending = (name, indent, number)
    } else {
      entries.append(Entry(name: name, value: try line.value(), line: number))
    }
  }

  /// Ends the key that was waiting for what follows it.
  private mutating func close() {
    guard let current = pending else { return }
    let value = items.map { Value.list($0.texts) } ?? .nothing
    entries.append(Entry(name: current.name, value: value, line: current.line))
    pending = nil
    items = nil
  }

  static func == (a: SettingsFile, b: SettingsFile) -> Bool { a.path == b.path && a.entries == b.entries }
}
