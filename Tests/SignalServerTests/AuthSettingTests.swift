// SPDX-License-Identifier: MIT
import SignalAccess
import Testing

@testable import signal_server

@Suite("The settings of auth")
struct AuthSettingTests {
  private func resolved(
    _ file: String?, _ environment: [String: String] = [:], _ flags: [String] = []
  ) throws(ConfigurationError) -> ResolvedSettings {
    var parsed: SettingsFile?
    if let file { parsed = try SettingsFile(path: "f.yaml", bytes: Array(file.utf8)) }
    return try ResolvedSettings(file: parsed, environment: environment, flags: flags)
  }

  private static let keys: [AuthenticationSettings.KeySource] = [
    .pem("idp.pem", .es256), .secret("shared.key"), .keySet("jwks.json"), .url("https://idp.example/jwks"),
  ]

  @Test func `keys are groups in a file`() throws {
    let settings = try resolved(
      """
      auth:
        tokens: tokens.json
        required: true
        jwt:
          keys:
            - {alg: ES256, file: idp.pem}
            - {secret-file: shared.key}
            - {file: jwks.json}
            - {url: "https://idp.example/jwks"}
          issuer: https://idp.example
          audience: signal
        cookie: session
        timeout: 2s
      """
    ).settings
    #expect(settings.auth.keys == Self.keys && settings.auth.tokens == "tokens.json" && settings.auth.required)
    #expect(
      settings.auth.requirements == TokenVerifier.Requirements(issuer: "https://idp.example", audience: "signal"))
    #expect(settings.auth.cookie == "session" && settings.auth.timeout == .seconds(2))
    #expect(settings.auth.files == ["tokens.json", "idp.pem", "shared.key", "jwks.json"])
    #expect(settings.auth.urls == ["https://idp.example/jwks"])
  }

  @Test func `on one line they are words`() throws {
    let text = "ES256 idp.pem, HS256 shared.key, jwks.json, https://idp.example/jwks"
    #expect(try resolved(nil, ["SIGNAL_AUTH_JWT_KEYS": text]).settings.auth.keys == Self.keys)
    #expect(try resolved(nil, [:], ["--auth-jwt-keys", text]).settings.auth.keys == Self.keys)
  }

  @Test func `what is printed can be read`() throws {
    let text = "ES256 idp.pem, HS256 shared.key, jwks.json, https://idp.example/jwks"
    let flags = ["--auth-jwt-keys", text, "--auth-jwt-issuer", "https://idp.example", "--auth-cookie", "session"]
    let first = try resolved(nil, [:], flags)
    #expect(try resolved(first.listing).settings == first.settings)
  }

  @Test func `certificates of clients are enough to require an identity`() throws {
    let settings = try resolved(
      """
      listen: ["https://127.0.0.1:8443"]
      tls: {certificates: [a.pem], client-ca: ca.pem, client-certificate: optional}
      auth: {required: true}
      """
    ).settings
    #expect(settings.auth.required && settings.auth.isActive)
  }

  @Test(arguments: [
    ("auth: {required: true}", "auth.required: needs auth.tokens or auth.jwt.keys"),
    ("auth: {cookie: session}", "auth.cookie: needs auth.jwt.keys"),
    ("auth: {jwt: {audience: x}}", "auth.jwt.audience: needs auth.jwt.keys"),
    ("auth: {cookie: a b}", "'a b' is not the name of a cookie"),
    ("auth: {jwt: {issuer: a b}}", "'a b' is not an issuer"),
    ("auth: {jwt: {keys: [ES256]}}", "is not a list of keys"),
    ("auth: {jwt: {keys: [ES512 a.pem]}}", "is not a list of keys"),
    (#"auth: {jwt: {keys: ["http://idp.example/jwks"]}}"#, "is not a list of keys"),
    ("auth:\n  jwt:\n    keys:\n      - {alg: ES256}", "auth.jwt.keys[0]: needs one of file, secret-file and url"),
    ("auth:\n  jwt:\n    keys:\n      - {file: a, url: b}", "needs one of file, secret-file and url"),
    ("auth:\n  jwt:\n    keys:\n      - {alg: none, file: a}", "'none' is not one of HS256"),
    ("auth:\n  jwt:\n    keys:\n      - {alg: HS256, file: a}", "needs secret-file instead of file"),
    ("auth:\n  jwt:\n    keys:\n      - {alg: ES256, secret-file: a}", "is HS256 for a secret"),
    (#"auth: {jwt: {keys: [{url: "http://idp.example"}]}}"#, "is not a URL that begins with https://"),
    (#"auth: {jwt: {keys: [{alg: ES256, url: "https://idp.example"}]}}"#, "by the keys of a set themselves"),
    ("auth:\n  jwt:\n    keys:\n      - {algorithm: ES256, file: a}", "unknown setting 'auth.jwt.keys[0].algorithm'"),
    ("auth:\n  jwt:\n    keys:\n      - {file: [a]}", "auth.jwt.keys[0].file: has no value; expected a file"),
  ])
  func `what cannot be stops the start`(_ file: String, _ reason: String) {
    do throws(ConfigurationError) {
      _ = try resolved(file)
      Issue.record("it was accepted")
    } catch {
      #expect(error.description.contains(reason), "\(error)")
    }
  }
}
