// SPDX-License-Identifier: MIT
import Foundation
import Logging
import SignalAccess
import SignalHTTP
import Synchronization
import Testing

@testable import signal_server

@Suite("JSON Web Key Sets by URL")
struct KeySetFetcherTests {
  private static let set = """
    {"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}
    """

  private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  @Test(arguments: [
    (200, set, true), (200, "nonsense", false), (404, set, false), (301, set, false),
    (200, #"{"keys":[{"kty":"oct","k":"\#(String(repeating: "A", count: 43))"}]}"#, false),
    (200, #"{"keys":[],"x":"\#(String(repeating: "x", count: 300 << 10))"}"#, false),
  ])
  func `a set is used when it is good, and another changes nothing`(
    _ status: Int, _ body: String, _ isGood: Bool
  ) throws {
    let made = try #require(MadeCertificate(subject: "localhost", for: .server(["localhost", "127.0.0.1"]), days: 1))
    let file = FileManager.default.temporaryDirectory.appending(path: "certificate-\(UUID().uuidString).pem").path
    #expect(
      FileManager.default.createFile(
        atPath: file, contents: Data(made.pem), attributes: [.posixPermissions: 0o600]))
    defer { try? FileManager.default.removeItem(atPath: file) }
    let answer = Mutex((status: 200, body: Self.set))
    let configuration = ServerConfiguration(
      listeners: [
        ListenerConfiguration(
          .tls(host: "127.0.0.1", port: 0), tls: TLSConfiguration(certificates: [.init(chain: file)]))
      ], loops: 1)
    let server = Server(configuration) { request, _ in
      let (status, body) = answer.withLock { $0 }
      guard request.path == "/jwks", let status = HTTPStatus(code: status) else {
        return .response(HTTPResponse(.notFound))
      }
      return .response(HTTPResponse(status, body: Array(body.utf8)))
    }
    try server.start()
    defer { server.shutdown() }
    let port = try #require(server.address?.port)
    var settings = AuthenticationSettings()
    let url = "https://127.0.0.1:\(port)/jwks"
    settings.keys = [.url(url)]
    let authenticator = try Authenticator(settings)
    let fetcher = KeySetFetcher(authenticator, Self.logger, trust: try TLSContext(trusting: file))
    fetcher.fetchAll()
    let first = authenticator.generation
    // The same again is no change; another set is one; what is none leaves the first.
    fetcher.fetchAll()
    #expect(authenticator.generation == first)
    answer.withLock { $0 = (status, isGood ? body.replacing("\"a\"", with: "\"b\"") : body) }
    fetcher.fetchAll()
    #expect((authenticator.generation > first) == isGood)
  }

  @Test func `who cannot be trusted gives no keys`() throws {
    var settings = AuthenticationSettings()
    settings.keys = [.url("https://127.0.0.1:1/jwks")]
    let authenticator = try Authenticator(settings)
    let before = authenticator.generation
    KeySetFetcher(authenticator, Self.logger).fetchAll()
    #expect(authenticator.generation == before)
  }

  @Test func `a URL has a host and a path`() throws {
    let url = try #require(KeySetURL("https://idp.example:8443/a/jwks?x=1"))
    #expect(url.endpoint == .tls(host: "idp.example", port: 8443) && url.target == "/a/jwks?x=1")
    #expect(KeySetURL("https://idp.example")?.target == "/")
    for text in ["http://idp.example/a", "https://", "https:///a", "https://a b/", "https://a/#b", "https://u@a/"] {
      #expect(KeySetURL(text) == nil, "\(text)")
    }
  }
}
