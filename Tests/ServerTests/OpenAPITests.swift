// SPDX-License-Identifier: MIT
import Foundation
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

/// `openapi.yaml` says what the server does: every route, method and status.
@Suite struct OpenAPITests {
  /// The statuses by path and method, as the document has them.
  private let paths: [String: [String: Set<Int>]]
  private let text: String

  init() throws {
    let tests = URL(filePath: #filePath).deletingLastPathComponent()
    text = try String(contentsOf: tests.appending(path: "../../Sources/SignalHTTP/API/openapi.yaml"), encoding: .utf8)
    var paths: [String: [String: Set<Int>]] = [:]
    var path = ""
    var method = ""
    for line in text.prefix(upTo: try #require(text.range(of: "\ncomponents:")).lowerBound).split(separator: "\n") {
      if let match = line.wholeMatch(of: #/  (\/.*):/#) {
        path = String(match.1)
        paths[path] = [:]
      } else if let match = line.wholeMatch(of: #/    (get|head|put|patch|post|delete):/#) {
        method = match.1.uppercased()
        paths[path]?[method] = []
      } else if let match = line.prefixMatch(of: #/        "([1-5][0-9][0-9])":/#), let status = Int(match.1) {
        paths[path]?[method]?.insert(status)
      }
    }
    self.paths = paths
  }

  @Test(arguments: [
    ("openapi.yaml", "application/yaml"), ("asyncapi.yaml", "application/yaml"),
    ("messages.schema.json", "application/schema+json"),
  ])
  func `each document is served as it is in the tree`(name: String, mediaType: String) throws {
    let client = try TestServer().connect()
    let response = try client.request("GET", "/\(name)")
    #expect(response.status == 200 && response.value("Content-Type") == mediaType)
    #expect(try response.body == Array(MessageSchema.file("Sources/SignalHTTP/API/\(name)").utf8))
    let head = try client.request("HEAD", "/\(name)")
    #expect(head.status == 200 && head.body.isEmpty && head.value("Content-Length") == "\(response.body.count)")
    #expect(try client.request("GET", "/\(name)?x=1").code == "unknown_parameter")
    #expect(try client.request("PUT", "/\(name)", body: "1").value("Allow") == "GET, HEAD, OPTIONS")
  }

  /// JSON Schema has them; generators read them as a mistake, and build nothing.
  @Test func `no schema is a mere true or false`() {
    let schemas = text.split(separator: "\n").filter { $0.contains(/^ *(schema|value|message|items): *(true|false)/) }
    #expect(schemas.isEmpty)
    // Of an enumeration without a type they make a text that may be anything.
    let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    for (line, next) in zip(lines, lines.dropFirst()) where next.hasPrefix("enum:") || next.hasPrefix("const:") {
      #expect(line == "type: string", "\(next)")
    }
  }

  @Test func `every path has the methods that its route allows`() throws {
    let client = try TestServer().connect()
    for (path, methods) in paths {
      let response = try client.request("OPTIONS", path.replacing(/\{(path|id)\}/, with: "a"))
      let allowed = Set((response.value("Allow") ?? "").split(separator: ", ").map(String.init)).subtracting(["OPTIONS"]
      )
      #expect(allowed == Set(methods.keys), "\(path)")
    }
  }

  @Test func `every route of the protocol is a path`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/protocol.md")
    let document = try String(contentsOf: root, encoding: .utf8)
    let named = document.matches(
      of: /`(?:GET |POST |DELETE )?(\/[a-z]+(?:(?:\/[a-z{}\-]+)+|\.yaml|\.schema\.json|\.js|\.d\.ts)?)`/
    ).map {
      String($0.1)
    }
    #expect(Set(named) == Set(paths.keys))
  }

  /// The path and the statuses that belong to a request; nil for a route or a method that there is not.
  private func statuses(_ method: String, _ target: String) -> Set<Int>? {
    let path = String(target.prefix { $0 != "?" })
    let template = path.replacing(/^\/(properties|signals|timers|history)\/.+$/) { "/\($0.1)/{path}" }
      .replacing(/^\/server\/connections\/.+$/, with: "/server/connections/{id}")
    return paths[template]?[method]
  }

  @Test(arguments: Refusal.requests + Refusal.handshakes)
  func `every refusal of a request is among the statuses`(_ refusal: Refusal) throws {
    guard case .status(let status, _) = refusal.answer else { return }
    switch refusal.deed {
    case .request(let method, let target, _, _):
      if let documented = statuses(method, target) { #expect(documented.contains(status), "\(method) \(target)") }
    case .handshake(let target, _):
      if let documented = statuses("GET", target) { #expect(documented.contains(status), "\(target)") }
    default: break
    }
  }

  @Test func `every status is one that somebody answers with`() {
    let refusals = Set(Problem.Code.allCases.map(\.status)).union(HTTPParseError.allCases.map { Int($0.status.code) })
    let known = refusals.union([101, 200, 201, 204, 304, 408, 426, 503])
    for (path, methods) in paths {
      for (method, statuses) in methods {
        #expect(statuses.isSubset(of: known), "\(method) \(path)")
        // What any request can be answered with, whatever it is about.
        #expect(statuses.isSuperset(of: [400, 503]), "\(method) \(path)")
        if !["GET", "HEAD"].contains(method) || path == "/events" {
          #expect(statuses.contains(403), "\(method) \(path)")
        }
      }
    }
  }

  @Test func `a problem has the members that the document names, and no others`() throws {
    let schema = try #require(text.range(of: "\n    Problem:\n")).upperBound
    let members = Set(text[schema...].matches(of: /\n        ([a-z]+):/).map { String($0.1) })
    var seen: Set<String> = []
    let server = try TestServer()
    try server.store.set("a", "1")
    server.store.setQuotas([try Quota("full", properties: 0)])
    let client = try server.connect()
    for (method, target, body) in [
      ("PUT", "/properties/full", "1"), ("PUT", "/properties/a?if=value+==+2", "1"), ("PUT", "/properties/a", "}"),
      ("GET", "/properties/b", nil),
      ("POST", "/transactions", #"{"operations":[{"op":"set","path":"a","value":1,"ifMatch":"e.9"}]}"#),
    ] as [(String, String, String?)] {
      seen.formUnion(try LiveMessage(client.request(method, target, body: body).text).names)
    }
    #expect(seen == members)
  }
}
