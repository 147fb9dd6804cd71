// SPDX-License-Identifier: MIT
import Foundation
import Testing

@Suite("Dependencies")
struct DependencyTests {
  @Test func `the resolved graph has no SwiftNIO and nothing that the manifest does not name`() throws {
    let resolved = try Self.resolvedIdentities()
    let named = try Self.namedIdentities()
    #expect(!named.isEmpty)
    #expect(resolved.filter { $0.hasPrefix("swift-nio") } == [])
    // What a dependency brings along is ours to carry, too.
    #expect(resolved == named)
  }

  @Test func `what the product Signals is made of needs no other package`() throws {
    let manifest = try String(contentsOf: SourceTree.root.appending(path: "Package.swift"), encoding: .utf8)
    #expect(manifest.contains(#".library(name: "Signals", targets: ["Signals"])"#))
    // The packages of the command line belong to a trait that others leave out.
    #expect(!manifest.contains(/\.product\(name: "(ArgumentParser|Logging)", package: "[a-z-]*"\)/))
    // A target without dependencies, of ours or of others; `scripts/signals-alone.sh` builds a package that uses it.
    let target = try #require(manifest.firstMatch(of: /\.target\(\s*name: "Signals",([^\n]*)\n/))
    #expect(target.1.contains(#"path: "Sources/SignalStore/Signals""#) && !target.1.contains("dependencies"))
  }

  /// The packages that this very build was resolved to, from the state that the package manager keeps beside the tests.
  ///
  /// Asking the package manager itself would wait for the lock that the running `swift test` holds.
  private static func resolvedIdentities() throws -> Set<String> {
    struct State: Decodable {
      struct Object: Decodable { let dependencies: [Dependency] }
      struct Dependency: Decodable { let packageRef: Reference }
      struct Reference: Decodable { let identity: String }
      let object: Object
    }
    var folder = URL(filePath: CommandLine.arguments[0]).standardized
    while folder.path != "/" {
      folder.deleteLastPathComponent()
      guard let data = try? Data(contentsOf: folder.appending(path: "workspace-state.json")) else { continue }
      return Set(try JSONDecoder().decode(State.self, from: data).object.dependencies.map(\.packageRef.identity))
    }
    throw NotFound(what: "workspace-state.json above \(CommandLine.arguments[0])")
  }

  private static func namedIdentities() throws -> Set<String> {
    let manifest = try String(contentsOf: SourceTree.root.appending(path: "Package.swift"), encoding: .utf8)
    return Set(
      manifest.matches(of: /\.package\(url: "[^"]*\/([^"\/]+)"/).map { match in
        match.1.lowercased().replacing(/\.git$/, with: "")
      })
  }

  private struct NotFound: Error { let what: String }
}
