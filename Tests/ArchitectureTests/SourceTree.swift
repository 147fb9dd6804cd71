// SPDX-License-Identifier: MIT
import Foundation

/// One file of the repository, as the rules look at it.
struct SourceFile: Sendable, CustomStringConvertible {
  /// From the root of the repository: `Sources/JSON/JSONText.swift`.
  let path: String
  let lines: [String]

  var description: String { path }

  /// The folders and the name: `["Sources", "JSON", "JSONText.swift"]`.
  var parts: [String] { path.split(separator: "/").map(String.init) }

  /// The module of a source: its folder, but for the signals, which lie in the folder of the store.
  var module: String { path.hasPrefix("Sources/SignalStore/Signals/") ? "Signals" : parts[1] }

  /// The modules that the file imports, with the line of each.
  var imports: [(module: String, line: Int)] {
    lines.enumerated().compactMap { index, line in
      let words = line.split(separator: " ")
      guard let position = words.firstIndex(of: "import"), position + 1 < words.count,
        words[..<position].allSatisfy({ $0.hasPrefix("@") || Self.accessLevels.contains(String($0)) })
      else { return nil }
      // `import struct Module.Name` names a kind first.
      let name = Self.importKinds.contains(String(words[position + 1])) ? words.last : words[position + 1]
      return name.map { name in
        let module = String(name.split(separator: ".")[0])
        // The C library by its names on other systems.
        return (["Musl", "Darwin", "Android"].contains(module) ? "Glibc" : module, index + 1)
      }
    }
  }

  private static let accessLevels: Set = ["public", "package", "internal", "fileprivate", "private"]
  private static let importKinds: Set = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]

  /// The types that the file declares at its top level.
  var declaredTypes: Set<String> {
    Set(
      lines.compactMap { line in
        guard let first = line.first, first.isLetter || first == "@" else { return nil }
        let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
        guard let kind = words.firstIndex(where: { Self.typeKinds.contains(String($0)) }), kind + 1 < words.count
        else { return nil }
        return String(words[kind + 1])
      })
  }

  private static let typeKinds: Set = ["struct", "class", "enum", "actor", "protocol", "typealias"]

  /// Every word of the code that begins with a capital letter, with the first line it stands on; comments and text in
  /// quotes are not code.
  var capitalizedWords: [String: Int] {
    var words: [String: Int] = [:]
    for (index, line) in lines.enumerated() {
      var word: [UInt8] = []
      var isQuoted = false
      var previous = UInt8(ascii: " ")
      for byte in Array(line.utf8) + [UInt8(ascii: " ")] {
        defer { previous = byte }
        if byte == UInt8(ascii: "\""), previous != UInt8(ascii: "\\") { isQuoted.toggle() }
        if isQuoted { continue }
        if byte == UInt8(ascii: "/"), previous == byte { break }
        if Self.isWordByte(byte) {
          word.append(byte)
        } else {
          if let first = word.first, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) {
            let text = String(decoding: word, as: UTF8.self)
            if words[text] == nil { words[text] = index + 1 }
          }
          word = []
        }
      }
    }
    return words
  }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
    default: false
    }
  }

  /// What the line says to the compiler.
  static func code(of line: String) -> Substring {
    line.split(separator: "//", maxSplits: 1, omittingEmptySubsequences: false)[0]
  }
}

/// The repository that the tests were built from.
enum SourceTree {
  static let root = URL(filePath: #filePath).resolvingSymlinksInPath()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The files under some folders whose names end so, built and hidden ones left out, in order.
  static func files(in folders: [String], endingWith ending: String = ".swift") -> [SourceFile] {
    folders.flatMap { folder -> [SourceFile] in
      let top = root.appending(path: folder)
      let walk = FileManager.default.enumerator(at: top, includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
      let urls = (walk?.allObjects as? [URL] ?? []).filter { $0.path.hasSuffix(ending) }
      return urls.compactMap { url in
        guard let text = try? String(contentsOf: url, encoding: .utf8) else { return nil }
        let path = url.standardized.path.dropFirst(root.path.count).drop { $0 == "/" }
        return SourceFile(path: String(path), lines: text.components(separatedBy: "\n"))
      }
    }.sorted { $0.path < $1.path }
  }

  static let sources = files(in: ["Sources"])
  static let all = files(in: ["Sources", "Tests", "Examples", "Fuzz", "Benchmarks"])
}
