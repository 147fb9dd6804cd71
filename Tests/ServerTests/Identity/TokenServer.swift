// SPDX-License-Identifier: MIT
import Foundation
import JSON
import SignalAccess
import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// A server with a file of tokens, that goes with it.
final class TokenServer {
  let server: TestServer
  let authenticator: Authenticator
  private(set) var settings = AuthenticationSettings()
  private let file = FileManager.default.temporaryDirectory.appending(path: "tokens-\(UUID().uuidString).json").path

  /// - Parameters:
  ///   - store: One in which `a` is 1, unless given.
  ///   - change: Changes the settings, in which there are a file of tokens and nothing else.
  init(
    store: PropertyStore? = nil, live: LiveConfiguration = LiveConfiguration(), limits: Limits = Limits(),
    hosts: [String] = ["*"],
    _ change: (inout AuthenticationSettings) -> Void = { _ in }
  ) throws {
    settings.tokens = file
    change(&settings)
    try TokenFile.change(file) { (tokens) throws(IdentityError) in _ = try tokens.add(Self.entry("first").1) }
    authenticator = try Authenticator(settings)
    server = try TestServer(
      store: store ?? .forTests(), live: live, limits: limits, hosts: hosts, authenticator: authenticator)
    if store == nil { try server.store.set("a", "1") }
  }

  deinit { try? FileManager.default.removeItem(atPath: file) }

  private static func entry(
    _ id: String, claims: String = "{}", expires: Timestamp? = nil
  ) -> (Token, TokenFile.Entry) {
    guard let token = Token(id: id), let claims = try? JSONText(validating: claims) else {
      preconditionFailure("\(id) with \(claims) is no token")
    }
    return (token, TokenFile.Entry(token, claims: claims, created: .now, expires: expires))
  }

  /// Makes a token, and lets the server read the file.
  func make(_ id: String, claims: String = "{}", expires: Timestamp? = nil) throws -> String {
    let (token, entry) = Self.entry(id, claims: claims, expires: expires)
    try TokenFile.change(file) { (tokens) throws(IdentityError) in
      _ = tokens.remove(id)
      _ = try tokens.add(entry)
    }
    try authenticator.apply(settings)
    return token.text
  }

  /// Who somebody with a new token is.
  func identity(_ id: String) throws -> Identity { try authenticator.identity(of: make(id).utf8.span) }

  /// Revokes a token, and lets the server read the file.
  func revoke(_ id: String) throws {
    try TokenFile.change(file) { (tokens) throws(IdentityError) in _ = tokens.remove(id) }
    try authenticator.apply(settings)
  }

  /// Lets the server judge by other settings.
  func change(_ body: (inout AuthenticationSettings) -> Void) throws {
    body(&settings)
    try authenticator.apply(settings)
  }

  /// The fields of a request with a token.
  static func fields(_ token: String) -> [(String, String)] { [("Authorization", "Bearer \(token)")] }

  func request(
    _ method: String, _ target: String, _ token: String? = nil, fields: [(String, String)] = [], body: String? = nil
  ) throws -> HTTPClientResponse {
    try server.connect().request(
      method, target, fields: (token.map(Self.fields) ?? []) + fields, body: body)
  }
}

extension Timestamp {
  /// So many seconds from now.
  static func inSeconds(_ seconds: Int64) -> Timestamp {
    Timestamp(milliseconds: Timestamp.now.milliseconds + seconds * 1000)
  }
}
