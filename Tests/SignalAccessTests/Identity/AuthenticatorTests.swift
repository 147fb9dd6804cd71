// SPDX-License-Identifier: MIT
import Foundation
import JSON
import SignalAccess
import SignalStore
import Synchronization
import Testing

@Suite("Authenticator") struct AuthenticatorTests {
  private let now = Timestamp(milliseconds: 1_000_000)
  private let folder: Folder
  private let path: String

  init() throws {
    folder = try Folder()
    path = folder.path + "/tokens.json"
  }

  private func make(_ id: String, claims: String = "{}", expires: Timestamp? = nil) throws -> String {
    let token = try #require(Token(id: id))
    let claims = try JSONText(validating: claims)
    let entry = TokenFile.Entry(token, claims: claims, created: now, expires: expires)
    #expect(try TokenFile.change(path) { (file) throws(IdentityError) in try file.add(entry) })
    return token.text
  }

  private func settings(_ keys: [AuthenticationSettings.KeySource] = []) -> AuthenticationSettings {
    var settings = AuthenticationSettings()
    settings.tokens = path
    settings.keys = keys
    return settings
  }

  @Test func `a token is known by its file`() throws {
    let text = try make("kitchen", claims: #"{"role":"sensor"}"#)
    let authenticator = try Authenticator(settings())
    let identity = try authenticator.identity(of: text, at: now)
    #expect("\(identity.auth.text(of: .root))" == #"{"role":"sensor","kind":"token","id":"kitchen"}"#)
    #expect(authenticator.isActive && authenticator.current.confirms(identity))
    let other = try #require(Token(id: "kitchen"))
    #expect(throws: TokenFault.unknown) { try authenticator.identity(of: other.text, at: now) }
    let stranger = try #require(Token(id: "cellar"))
    #expect(throws: TokenFault.unknown) { try authenticator.identity(of: stranger.text, at: now) }
    #expect(throws: TokenFault.malformed) { try authenticator.identity(of: "sgn_kitchen", at: now) }
    #expect(throws: TokenFault.tooLong) {
      try authenticator.identity(of: "sgn_" + String(repeating: "x", count: 500), at: now)
    }
    #expect(throws: TokenFault.unknown) { try authenticator.identity(of: "a.b.c", at: now) }
  }

  @Test func `a token ends`() throws {
    let text = try make("kitchen", expires: Timestamp(milliseconds: 1_000_001))
    let authenticator = try Authenticator(settings())
    let identity = try authenticator.identity(of: text, at: now)
    #expect(throws: TokenFault.expired) {
      try authenticator.identity(of: text, at: Timestamp(milliseconds: 1_000_001))
    }
    #expect(authenticator.current.confirms(identity, at: now))
    #expect(!authenticator.current.confirms(identity, at: Timestamp(milliseconds: 1_000_001)))
  }

  @Test func `nothing is accepted without settings`() throws {
    let authenticator = Authenticator()
    #expect(!authenticator.isActive)
    let text = try make("kitchen")
    #expect(throws: TokenFault.unknown) { try authenticator.identity(of: text, at: now) }
  }

  @Test func `what is read anew counts, and whoever has asked is told`() throws {
    let (kept, revoked) = (try make("kept"), try make("revoked"))
    let authenticator = try Authenticator(settings())
    let identities = [
      try authenticator.identity(of: kept, at: now), try authenticator.identity(of: revoked, at: now),
    ]
    let told = Mutex(0)
    authenticator.observe { told.withLock { $0 += 1 } }
    #expect(try TokenFile.change(path) { (file) throws(IdentityError) in file.remove("revoked") })
    try authenticator.apply(settings())
    #expect(told.withLock { $0 } == 1)
    #expect(identities.map { authenticator.current.confirms($0, at: now) } == [true, false])
    #expect(throws: TokenFault.unknown) { try authenticator.identity(of: revoked, at: now) }
  }

  @Test func `a file that cannot be used changes nothing`() throws {
    let text = try make("kitchen")
    let authenticator = try Authenticator(settings())
    for content in ["nonsense", nil] {
      if let content {
        _ = try folder.write("tokens.json", content)
      } else {
        try FileManager.default.removeItem(atPath: path)
      }
      #expect(throws: IdentityError.self) { try authenticator.apply(settings()) }
      #expect(try authenticator.identity(of: text, at: now).id == "kitchen")
    }
  }

  @Test func `keys come from files`() throws {
    let secret = "a secret that has more than 32 bytes"
    _ = try make("kitchen")
    let keys: [AuthenticationSettings.KeySource] = [
      .secret(try folder.write("secret", secret + "\n")),
      .pem(try folder.write("rsa.pem", SignedTokens.rsaKey, mode: 0o644), .rs256),
      .keySet(try folder.write("jwks.json", SignedTokens.keySet, mode: 0o644)),
    ]
    let authenticator = try Authenticator(settings(keys))
    let own = TokenMaker(secret: Array(secret.utf8)).token(claims: #"{"sub":"bob","exp":2000}"#)
    #expect(try authenticator.identity(of: own, at: now).id == "bob")
    let identity = try authenticator.identity(of: SignedTokens.edDSA, at: now)
    #expect(try authenticator.identity(of: SignedTokens.rs256, at: now).id == "ann")
    // Other requirements, or without the key, and it is not accepted any more.
    #expect(authenticator.current.confirms(identity, at: now))
    var changed = settings(keys)
    changed.requirements.audience = "signal"
    try authenticator.apply(changed)
    #expect(!authenticator.current.confirms(identity, at: now))
    try authenticator.apply(settings(keys.dropLast()))
    #expect(!authenticator.current.confirms(identity, at: now))
    #expect(throws: TokenFault.wrongAlgorithm) { try authenticator.identity(of: SignedTokens.edDSA, at: now) }
  }

  @Test func `a file with a secret is only for its owner`() throws {
    _ = try make("kitchen")
    let set = #"{"keys":[{"kty":"oct","k":"\#(Base64URL.encode(Array(repeating: 1, count: 32)))"}]}"#
    for key: AuthenticationSettings.KeySource in [
      .secret(try folder.write("secret", String(repeating: "s", count: 40), mode: 0o640)),
      .keySet(try folder.write("jwks.json", set, mode: 0o644)),
    ] {
      #expect(throws: IdentityError.self) { try Authenticator(settings([key])) }
    }
  }

  @Test func `keys of a URL are used when they have come, and a token that names another asks for them`() throws {
    _ = try make("kitchen")
    let url = "https://idp.example/jwks"
    let authenticator = try Authenticator(settings([.url(url)]))
    let asked = Mutex(0)
    let told = Mutex(0)
    authenticator.observeUnknownKeys { asked.withLock { $0 += 1 } }
    authenticator.observe { told.withLock { $0 += 1 } }
    #expect(throws: TokenFault.unknown) { try authenticator.identity(of: SignedTokens.es256, at: now) }
    #expect(asked.withLock { $0 } == 1)
    let set = try JSONWebKeySet(Array(SignedTokens.keySet.utf8))
    authenticator.use(set.keys, from: url)
    let identity = try authenticator.identity(of: SignedTokens.es256, at: now)
    #expect(asked.withLock { $0 } == 1)
    // The same keys again are no change.
    authenticator.use(try JSONWebKeySet(Array(SignedTokens.keySet.utf8)).keys, from: url)
    #expect(told.withLock { $0 } == 1)
    // Files that are read anew leave them as they are.
    try authenticator.apply(settings([.url(url)]))
    #expect(authenticator.current.confirms(identity, at: now))
    authenticator.use(set.keys, from: "https://another.example/jwks")
    authenticator.use(nil, from: url)
    #expect(!authenticator.current.confirms(identity, at: now))
    #expect(asked.withLock { $0 } == 1)
    // A token of the server's own asks for no keys.
    #expect(throws: TokenFault.malformed) { try authenticator.identity(of: "sgn_x", at: now) }
    #expect(asked.withLock { $0 } == 1)
  }
}
