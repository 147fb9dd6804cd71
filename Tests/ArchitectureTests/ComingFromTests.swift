// SPDX-License-Identifier: MIT
import Testing

/// The tables for those who come from another library name what there is.
@Suite("Tables of other libraries")
struct ComingFromTests {
  static let tables = SourceTree.files(in: ["Sources/SignalStore/SignalStore.docc"], endingWith: ".md")
    .filter { $0.parts.last?.hasPrefix("ComingFrom") == true }

  @Test func `every name in the columns of ours is one of the public interface`() {
    let known = Self.publicNames(of: SourceTree.sources.filter { $0.path.hasPrefix("Sources/SignalStore/") })
    // The scan finds what it is for.
    #expect(known.isSuperset(of: ["Signal", "subscribe", "boundTo", "removeAllObservers", "current", "remembersLast"]))
    #expect(!known.contains("ObserversDispatcher") && !known.contains("enqueueCommit"))
    #expect(Self.tables.count == 5)
    var checked = 0
    for file in Self.tables {
      for (number, line) in file.lines.enumerated() where line.hasPrefix("| ") && number > 0 {
        let columns = Self.columns(of: line)
        guard columns.count == 3, columns[1] != "Here" else { continue }
        for name in columns.dropFirst().flatMap(Self.names) {
          checked += 1
          let isKnown = known.contains(name)
          #expect(isKnown, "\(file):\(number + 1): there is no \(name)")
        }
      }
    }
    #expect(checked > 200)
  }

  @Test func `names are found in columns, and those that there are not`() {
    #expect(Self.columns(of: "| `a | b` | ``C/d(e:)`` | – |").count == 3)
    #expect(
      Self.names(in: "``Signal/send(_:to:)``, `on: .queue(queue)` and Signal") == [
        "Signal", "send", "to", "on", "queue",
      ])
    #expect(Self.names(in: "`topic.subscribe(boundTo: self) { me, message in }`") == ["subscribe", "boundTo"])
    #expect(Self.names(in: "`fire`") == ["fire"])
  }

  /// The cells of a row; a bar inside of code divides none.
  private static func columns(of line: String) -> [String] {
    var cells = [""]
    var isCode = false
    for character in line.dropFirst(2) {
      if character == "`" { isCode.toggle() }
      if character == "|", !isCode { cells.append("") } else { cells[cells.count - 1].append(character) }
    }
    return cells.dropLast().map { $0.trimmingPrefix(" ").description.trimmed }
  }

  /// What a cell says in code of the interface: types, what is called or follows a dot, labels, and words that stand alone.
  ///
  /// Examples' own variables are none.
  private static func names(in cell: String) -> [String] {
    var names: [String] = []
    // Between single or double marks.
    for span in cell.matches(of: /``?([^`]+)``?/).map({ String($0.1) }) {
      if span.wholeMatch(of: /[A-Za-z]+/) != nil {
        names.append(span)
        continue
      }
      for match in span.matches(of: /([.\/])?([A-Za-z]+)(\(|:| \{)?/) {
        let (before, name, after) = (match.1, String(match.2), match.3)
        if name.first?.isUppercase == true || before != nil || after != nil { names.append(name) }
      }
    }
    return names.filter { !ofTheLanguage.contains($0) }
  }

  /// Types, attributes and examples' types that are not ours.
  private static let ofTheLanguage: Set = [
    "Void", "Int", "String", "Float", "Double", "Bool", "Dispatch", "T", "S", "M", "method", "part", "async",
    "isolation",
    "utility", "networkWasLost", "true", "false", "receiver", "sender", "message",
  ]

  /// The names in public declarations: what is declared, and the labels of what it takes.
  private static func publicNames(of files: [SourceFile]) -> Set<String> {
    var names: Set<String> = []
    for file in files {
      // Members of protocols and cases have the access of their type.
      var inPublicType = false
      for (index, line) in file.lines.enumerated() {
        if line.hasPrefix("public protocol") || line.hasPrefix("public enum") { inPublicType = true }
        if line.hasPrefix("}") { inPublicType = false }
        guard inPublicType || line.contains("public") else { continue }
        let words = words(of: line)
        guard inPublicType || words.contains("public"), let keyword = words.firstIndex(where: declaring.contains) else {
          continue
        }
        names.insert(words[keyword] == "init" ? "init" : words.dropFirst(keyword + 1).first ?? "")
        // A declaration may go on until its body begins.
        var declaration = line
        for next in file.lines.dropFirst(index + 1).prefix(8) where !declaration.contains("{") { declaration += next }
        for piece in declaration.utf8.split(whereSeparator: { $0 == UInt8(ascii: "(") || $0 == UInt8(ascii: ",") }) {
          guard let colon = piece.firstIndex(of: UInt8(ascii: ":")) else { continue }
          // A label, or a label and the name behind it.
          let label = Self.words(of: String(decoding: piece[..<colon], as: UTF8.self))
          if label.count <= 2, let first = label.first { names.insert(first) }
        }
      }
    }
    return names
  }

  /// The words of a line of code, of letters alone.
  private static func words(of line: String) -> [String] {
    let code = line.utf8.starts(with: "//".utf8) ? "" : line
    return code.utf8.split { byte in
      !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) && !(UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    }.map { String(decoding: $0, as: UTF8.self) }
  }

  private static let declaring: Set = [
    "func", "var", "let", "class", "struct", "enum", "protocol", "typealias", "case", "init", "subscript", "actor",
  ]
}

extension String {
  fileprivate var trimmed: String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
