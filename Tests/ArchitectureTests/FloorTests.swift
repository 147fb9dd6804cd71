// SPDX-License-Identifier: MIT
import Testing

@Suite("Floors")
struct FloorTests {
  @Test func `the sources are found`() {
    #expect(SourceTree.sources.count > 50)
    #expect(Set(SourceTree.sources.map(\.module)).isSuperset(of: Floors.modules.keys))
  }

  @Test func `a module imports only modules below it`() {
    for file in SourceTree.sources {
      guard let allowed = Floors.modules[file.module] else {
        Issue.record("\(file) is in a module that the table of floors does not know")
        continue
      }
      let exceptions = Floors.exceptions[file.path] ?? []
      for (module, line) in file.imports where !allowed.contains(module) && !exceptions.contains(module) {
        Issue.record("\(file):\(line): \(file.module) must not import \(module)")
      }
    }
  }

  @Test func `a folder of SignalHTTP imports only what belongs on its floor`() {
    for (file, name, folder) in Self.foldersOfSignalHTTP() {
      let allowed = folder.imports.union(Floors.exceptions[file.path] ?? [])
      for (module, line) in file.imports where !allowed.contains(module) {
        Issue.record("\(file):\(line): \(name.isEmpty ? "this level" : name) must not import \(module)")
      }
    }
  }

  @Test func `a folder of SignalHTTP names only types of its floor and those below`() {
    let files = Self.foldersOfSignalHTTP()
    var homes: [String: String] = [:]
    for (file, name, _) in files {
      for type in file.declaredTypes { homes[type] = name }
    }
    for (file, name, folder) in files {
      for (word, line) in file.capitalizedWords {
        guard let home = homes[word], home != name, !folder.uses.contains(home) else { continue }
        if Floors.useExceptions[file.path]?.contains(word) == true { continue }
        Issue.record("\(file):\(line): \(name.isEmpty ? "this level" : name) must not know \(word) of \(home)")
      }
    }
  }

  @Test(arguments: ["JSON", "CEL", "SignalHTTP/System", "SignalHTTP/Bytes", "SignalHTTP/HTTP", "SignalHTTP/WebSocket"])
  func `nothing waits on the floors of bytes and values`(folder: String) {
    for file in SourceTree.sources where file.path.hasPrefix("Sources/\(folder)/") {
      for (index, line) in file.lines.enumerated() {
        let words = SourceFile.code(of: line).split { !$0.isLetter }
        if words.contains("async") || words.contains("await") { Issue.record("\(file):\(index + 1): async or await") }
      }
    }
  }

  @Test func `routes and sessions have no store but go through the commands`() {
    let observers: Set = ["PropertyWait.swift", "CursorWaits.swift"]
    for file in SourceTree.sources where file.path.hasPrefix("Sources/SignalHTTP/API/") {
      let name = String(file.path.split(separator: "/").last ?? "")
      guard !name.hasPrefix("Commands"), !observers.contains(name) else { continue }
      for (index, line) in file.lines.enumerated() where SourceFile.code(of: line).contains("store.") {
        Issue.record("\(file):\(index + 1): the store is used outside of Commands")
      }
    }
  }

  /// The files of SignalHTTP with their folder; a folder that the table does not know is an issue.
  private static func foldersOfSignalHTTP() -> [(file: SourceFile, name: String, folder: Floors.Folder)] {
    SourceTree.sources.filter { $0.parts[1] == "SignalHTTP" }.compactMap { file in
      let name = file.parts.count > 3 ? file.parts[2] : ""
      guard let folder = Floors.folders[name] else {
        Issue.record("\(file) is in a folder that the table of floors does not know")
        return nil
      }
      return (file, name, folder)
    }
  }
}
