// SPDX-License-Identifier: MIT
import Foundation
import SignalAccess
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

@Suite("§12 Console and client")
struct ConsoleTests {
  /// What is served, with the file that it is and its media type.
  private static let files: [(path: String, file: String, type: String)] = {
    let folder = "Sources/CFiles/console"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)) ?? []
    let types = ["css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "html": "text/html"]
    return names.sorted().map { name in
      let type = types[String(name.split(separator: ".").last ?? "")] ?? ""
      return (name == "index.html" ? "/console" : "/console/\(name)", "\(folder)/\(name)", type)
    } + [
      ("/client.js", "Clients/javascript/signal-client.js", "text/javascript"),
      ("/client.d.ts", "Clients/javascript/signal-client.d.ts", "application/typescript"),
    ]
  }()

  private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")

  @Test func `every file is served as it is in the tree`() throws {
    let client = try TestServer().connect()
    #expect(Self.files.count > 12)
    for (path, file, type) in Self.files {
      let response = try client.request("GET", path)
      #expect(response.status == 200, "\(path)")
      #expect(try response.body == Array(Data(contentsOf: Self.root.appending(path: file))), "\(path)")
      #expect(response.value("Content-Type")?.hasPrefix(type) == true, "\(path)")
      #expect(response.value("Cache-Control") == "no-cache")
      let tag = try #require(response.value("ETag"))
      let again = try client.request("GET", path, fields: [("If-None-Match", tag)])
      #expect(again.status == 304 && again.body.isEmpty && again.value("ETag") == tag)
      #expect(try client.request("GET", path, fields: [("If-None-Match", "\"x\"")]).status == 200)
      let head = try client.request("HEAD", path)
      #expect(head.status == 200 && head.body.isEmpty && head.value("Content-Length") == "\(response.body.count)")
      #expect(try client.request("PUT", path, body: "1").value("Allow") == "GET, HEAD, OPTIONS")
      #expect(try client.request("GET", path + "?x=1").code == "unknown_parameter")
    }
  }

  @Test func `the console stays within 120 KiB, and asks nobody else`() throws {
    var size = 0
    for (path, file, _) in Self.files where path.hasPrefix("/console") {
      let text = try String(contentsOf: Self.root.appending(path: file), encoding: .utf8)
      size += text.utf8.count
      let others = text.matches(of: /https?:\/\/[^\s"'`<)]+/).map { String($0.0) }
        .filter { $0 != "http://www.w3.org/2000/svg" }
      #expect(others.isEmpty, "\(file)")
      #expect(!text.contains("innerHTML") && !text.contains("eval("), "\(file)")
    }
    #expect(size <= 120 << 10)
  }

  @Test func `the page has a policy of its own, also where a browser has it already`() throws {
    let client = try TestServer().connect()
    let page = try client.request("GET", "/console")
    let policy = try #require(page.value("Content-Security-Policy"))
    #expect(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"))
    #expect(!policy.contains("unsafe") && policy.contains("require-trusted-types-for 'script'"))
    let tag = try #require(page.value("ETag"))
    let again = try client.request("GET", "/console", fields: [("If-None-Match", tag)])
    #expect(again.status == 304 && again.value("Content-Security-Policy") == policy)
    let script = try client.request("GET", "/console/app.js").value("Content-Security-Policy")
    #expect(script?.contains("script-src") == false)
  }

  @Test func `it can be turned off, and the client stays`() throws {
    var live = LiveConfiguration()
    live.console = false
    let client = try TestServer(live: live).connect()
    for path in ["/console", "/console/app.js", "/console/none"] {
      let response = try client.request("GET", path)
      #expect(response.status == 404 && response.code == "no_such_route")
    }
    #expect(try client.request("GET", "/client.js").status == 200 && client.isAlive())
  }

  @Test func `a listener can be without it`() throws {
    var without = ListenerConfiguration(.tcp(host: "127.0.0.1", port: 0))
    without.console = false
    let server = Server(
      ServerConfiguration(listeners: [without, ListenerConfiguration(.tcp(host: "127.0.0.1", port: 0))], loops: 1),
      store: .forTests())
    try server.start()
    defer { server.shutdown() }
    let statuses = try server.endpoints.map { endpoint in
      let socket = try BlockingSocket(endpoint, timeout: LiveClient.patience)
      return try HTTPClient(socket, authority: "127.0.0.1").request("GET", "/console", timeout: LiveClient.patience)
        .status
    }
    #expect(statuses == [404, 200])
  }

  @Test func `it is served to everybody, as there is no data in it`() throws {
    let server = try TokenServer { $0.required = true }
    for (path, _, _) in Self.files {
      #expect(try server.request("GET", path).status == 200)
      #expect(try server.request("GET", path, "sgn_wrong_token").status == 200)
    }
  }

  @Test func `it is compressed where others are`() throws {
    var limits = Limits()
    limits.compression = .public
    let client = try TestServer(limits: limits).connect()
    let plain = try client.request("GET", "/console/console.css")
    let packed = try client.request("GET", "/console/console.css", fields: [("Accept-Encoding", "gzip")])
    #expect(packed.value("Content-Encoding") == "gzip" && packed.body.count < plain.body.count / 2)
    #expect(packed.value("ETag")?.hasSuffix("-gzip\"") == true)
    let tag = try #require(packed.value("ETag"))
    #expect(try client.request("GET", "/console/console.css", fields: [("If-None-Match", tag)]).status == 304)
  }
}
