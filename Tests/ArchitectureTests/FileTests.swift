// SPDX-License-Identifier: MIT
import Foundation
import Testing

@Suite("Files")
struct FileTests {
  @Test func `every Swift file begins with its licence`() {
    for file in SourceTree.all {
      // A manifest begins with the version of its tools: the package manager wants it so.
      let line = file.parts.last == "Package.swift" ? 1 : 0
      #expect(file.lines[line] == "// SPDX-License-Identifier: MIT", "\(file)")
    }
  }

  @Test func `no file is longer than 600 lines`() {
    for file in SourceTree.all {
      #expect(file.lines.count <= 601, "\(file) has \(file.lines.count - 1) lines: a second concept hides in it")
    }
  }

  @Test func `Foundation as a whole is not linked`() {
    for file in SourceTree.sources {
      for (module, line) in file.imports where module == "Foundation" {
        Issue.record("\(file):\(line): Foundation makes the binary 44 MB larger")
      }
    }
  }

  @Test func `what the compiler is told to believe has its reason on the line above`() {
    for file in SourceTree.sources {
      for (index, line) in file.lines.enumerated() {
        let code = SourceFile.code(of: line)
        guard code.contains("@unchecked Sendable") || code.contains("nonisolated(unsafe)") else { continue }
        // Attributes may stand between.
        let above =
          file.lines[..<index].map { $0.trimmingCharacters(in: .whitespaces) }.last { !$0.hasPrefix("@") } ?? ""
        #expect(above.hasPrefix("//"), "\(file):\(index + 1)")
      }
    }
  }

  @Test func `lists of observers are kept by the signals alone`() {
    // A collection whose elements are functions: `[(Change) -> Void]`, `[ID: @Sendable (Demand) -> Void]`.
    let list = /\[[^\]]*\([^)]*\)[^\]]*->[^\]]*\]/
    #expect("var all: [Int: @Sendable (Int) -> Void] = [:]".contains(list))
    #expect(!"func all(_ one: (Int) -> [Int])".contains(list))
    for file in SourceTree.sources where file.parts.contains("SignalHTTP") || file.parts.contains("Store") {
      for (index, line) in file.lines.enumerated() where SourceFile.code(of: line).contains(list) {
        Issue.record("\(file):\(index + 1): a Signal keeps observers in order, and lets go of them safely")
      }
    }
  }

  @Test func `every file of the clients names its licence, and none is longer than 1000 lines`() {
    let files = [".js", ".ts", ".py", ".toml"].flatMap { SourceTree.files(in: ["Clients"], endingWith: $0) }
    #expect(files.count > 10)
    for file in files {
      // A program of its own names its interpreter first.
      let line = file.lines[0].hasPrefix("#!") ? 1 : 0
      #expect(file.lines[line].hasSuffix(" SPDX-License-Identifier: MIT"), "\(file)")
      #expect(file.lines.count <= 1001, "\(file)")
    }
  }

  @Test func `every script names its licence and stops at the first error`() {
    let scripts =
      SourceTree.files(in: ["scripts", "Tests/Outside"], endingWith: ".sh")
      + SourceTree.files(in: [".ci"], endingWith: "run")
    #expect(scripts.count > 3)
    for script in scripts {
      #expect(script.lines[1] == "# SPDX-License-Identifier: MIT", "\(script)")
      #expect(script.lines.contains { $0.hasPrefix("set -eu") }, "\(script)")
    }
  }
}
