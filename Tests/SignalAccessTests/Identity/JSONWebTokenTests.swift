// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore
import Testing

/// A JSON Web Token that is not accepted, and why.
struct BadToken: CustomStringConvertible, Sendable {
  let name: String
  let text: String
  let fault: TokenFault

  init(_ name: String, _ text: String, _ fault: TokenFault) {
    self.name = name
    self.text = text
    self.fault = fault
  }

  var description: String { name }

  private static let maker = TokenMaker()
  private static let good = #"{"sub":"ann","exp":2000,"iss":"idp","aud":"signal"}"#
  private static let header = #"{"alg":"HS256"}"#

  private static func withHeader(_ header: String) -> String { maker.token(header, good) }
  private static func withClaims(_ claims: String) -> String { maker.token(header, claims) }
  private static func base64(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }

  /// Parts of a good token, to be put together wrongly.
  private static let parts = withClaims(good).split(separator: ".").map(String.init)

  static let form: [BadToken] = [
    BadToken("empty", "", .malformed),
    BadToken("a word", "secret", .malformed),
    BadToken("one dot", "\(parts[0]).\(parts[1])", .malformed),
    BadToken("three dots", "\(parts[0]).\(parts[1]).\(parts[2]).", .malformed),
    BadToken("encrypted, of five parts", "a.b.c.d.e", .malformed),
    BadToken("dots alone", "..", .badHeader),
    BadToken("padding", "\(parts[0])=.\(parts[1]).\(parts[2])", .malformed),
    BadToken("padding of the signature", "\(parts[0]).\(parts[1]).\(parts[2])=", .malformed),
    BadToken("alphabet of Base64", "\(parts[0]).\(parts[1]).\(String(repeating: "+/", count: 21))A", .malformed),
    BadToken("space inside", "\(parts[0]). \(parts[1]).\(parts[2])", .malformed),
    BadToken("line end after it", "\(parts[0]).\(parts[1]).\(parts[2])\n", .malformed),
    BadToken("unused bits", "\(parts[0]).\(parts[1]).\(parts[2].dropLast())_", .malformed),
    BadToken("a length that no bytes have", "\(parts[0]).\(parts[1]).AAAAA", .malformed),
    BadToken("not ASCII", "\(parts[0]).\(parts[1]).ä", .malformed),
    BadToken("a zero", "\(parts[0]).\(parts[1]).\0\(parts[2])", .malformed),
    BadToken(
      "9 KiB", withClaims(#"{"sub":"ann","exp":2000,"x":"\#(String(repeating: "x", count: 9 << 10))"}"#), .tooLong),
    BadToken("9 KiB of dots", String(repeating: ".", count: 9 << 10), .tooLong),
  ]

  static let headers: [BadToken] = [
    BadToken("header no JSON", withHeader("alg=HS256"), .badHeader),
    BadToken("header an array", withHeader(#"["HS256"]"#), .badHeader),
    BadToken("header a string", withHeader(#""HS256""#), .badHeader),
    BadToken("header not UTF-8", "_w.\(parts[1]).\(parts[2])", .badHeader),
    BadToken("header followed by something", withHeader(header + "{}"), .badHeader),
    BadToken("header with alg twice", withHeader(#"{"alg":"none","alg":"HS256"}"#), .badHeader),
    BadToken("header with alg twice, escaped", withHeader(#"{"alg":"HS256","\u0061lg":"none"}"#), .badHeader),
    BadToken(
      "header too deep",
      withHeader(
        #"{"alg":"HS256","x":\#(String(repeating: "[", count: 40))"#
          + "\(String(repeating: "]", count: 40))}"), .badHeader),
    BadToken("no alg", withHeader(#"{"typ":"JWT"}"#), .badHeader),
    BadToken("alg a number", withHeader(#"{"alg":256}"#), .badHeader),
    BadToken("alg null", withHeader(#"{"alg":null}"#), .badHeader),
    BadToken("alg none", withHeader(#"{"alg":"none"}"#), .wrongAlgorithm),
    BadToken("alg none, unsigned", "\(base64(#"{"alg":"none"}"#)).\(parts[1]).", .wrongAlgorithm),
    BadToken("alg None", withHeader(#"{"alg":"None"}"#), .wrongAlgorithm),
    BadToken("alg empty", withHeader(#"{"alg":""}"#), .wrongAlgorithm),
    BadToken("alg in lower case", withHeader(#"{"alg":"hs256"}"#), .wrongAlgorithm),
    BadToken("alg HS512", withHeader(#"{"alg":"HS512"}"#), .wrongAlgorithm),
    BadToken("alg of another key", withHeader(#"{"alg":"RS256"}"#), .wrongAlgorithm),
    BadToken("crit", withHeader(#"{"alg":"HS256","crit":["exp"],"exp":1}"#), .unsupported),
    BadToken("crit empty", withHeader(#"{"alg":"HS256","crit":[]}"#), .unsupported),
    BadToken("jku", withHeader(#"{"alg":"HS256","jku":"https://evil.example/jwks"}"#), .unsupported),
    BadToken("x5u", withHeader(#"{"alg":"HS256","x5u":"https://evil.example/pem"}"#), .unsupported),
    BadToken("jwk", withHeader(#"{"alg":"HS256","jwk":{"kty":"oct","k":"AAAA"}}"#), .unsupported),
    BadToken("b64", withHeader(#"{"alg":"HS256","b64":false}"#), .unsupported),
    BadToken("zip", withHeader(#"{"alg":"HS256","zip":"DEF"}"#), .unsupported),
    BadToken("enc", withHeader(#"{"alg":"HS256","enc":"A128GCM"}"#), .unsupported),
    BadToken("typ of a logout token", withHeader(#"{"alg":"HS256","typ":"logout+jwt"}"#), .unsupported),
    BadToken("typ a number", withHeader(#"{"alg":"HS256","typ":1}"#), .badHeader),
    BadToken("kid a number", withHeader(#"{"alg":"HS256","kid":1}"#), .badHeader),
    BadToken(
      "kid too long", withHeader(#"{"alg":"HS256","kid":"\#(String(repeating: "k", count: 300))"}"#), .badHeader),
    BadToken(
      "kid with ../, not signed by a key of ours",
      TokenMaker(secret: []).token(#"{"alg":"HS256","kid":"../../dev/null"}"#, good), .unknown),
    BadToken(
      "kid with SQL, not signed by a key of ours",
      TokenMaker(secret: Array("x".utf8)).token(#"{"alg":"HS256","kid":"' OR 1=1"}"#, good), .unknown),
  ]

  static let signatures: [BadToken] = [
    BadToken("no signature", "\(parts[0]).\(parts[1]).", .badSignature),
    BadToken("a short signature", "\(parts[0]).\(parts[1]).AAAA", .badSignature),
    BadToken("zeros", "\(parts[0]).\(parts[1]).\(Base64URL.encode(Array(repeating: 0, count: 32)))", .badSignature),
    BadToken(
      "of another secret", TokenMaker(secret: Array(repeating: 7, count: 32)).token(header, good), .badSignature),
    BadToken("of the empty secret", TokenMaker(secret: []).token(header, good), .badSignature),
    BadToken("other claims", "\(parts[0]).\(base64(good + " ")).\(parts[2])", .badSignature),
    BadToken("another header", "\(base64(#"{"alg":"HS256","typ":"JWT"}"#)).\(parts[1]).\(parts[2])", .badSignature),
    BadToken("one byte more", "\(parts[0]).\(parts[1]).\(parts[2].dropLast())AA", .badSignature),
  ]

  static let claims: [BadToken] = [
    BadToken("claims no JSON", withClaims("sub=ann"), .badClaims),
    BadToken("claims an array", withClaims("[]"), .badClaims),
    BadToken("claims empty", withClaims(""), .badClaims),
    BadToken("claims not UTF-8", "\(parts[0])._w.\(maker.signature("\(parts[0])._w"))", .badClaims),
    BadToken("a claim twice", withClaims(#"{"sub":"root","sub":"ann","exp":2000}"#), .badClaims),
    BadToken("a claim twice, escaped", withClaims(#"{"sub":"ann","s\u0075b":"root","exp":2000}"#), .badClaims),
    BadToken("a claim twice further in", withClaims(#"{"sub":"ann","exp":2000,"x":[{"a":1,"a":2}]}"#), .badClaims),
    BadToken("exp twice", withClaims(#"{"sub":"ann","exp":1,"exp":2000}"#), .badClaims),
    BadToken("no exp", withClaims(#"{"sub":"ann"}"#), .badClaims),
    BadToken("exp a string", withClaims(#"{"sub":"ann","exp":"2000"}"#), .badClaims),
    BadToken("exp null", withClaims(#"{"sub":"ann","exp":null}"#), .badClaims),
    BadToken("exp infinite", withClaims(#"{"sub":"ann","exp":1e400}"#), .badClaims),
    BadToken("exp in milliseconds of a far year", withClaims(#"{"sub":"ann","exp":1e15}"#), .badClaims),
    BadToken("exp negative", withClaims(#"{"sub":"ann","exp":-1}"#), .badClaims),
    BadToken("expired", withClaims(#"{"sub":"ann","exp":970,"iss":"idp","aud":"signal"}"#), .expired),
    BadToken("expired at zero", withClaims(#"{"sub":"ann","exp":0,"iss":"idp","aud":"signal"}"#), .expired),
    BadToken("not yet", withClaims(#"{"sub":"ann","exp":2000,"nbf":1030.001}"#), .notYet),
    BadToken("nbf a string", withClaims(#"{"sub":"ann","exp":2000,"nbf":"1"}"#), .badClaims),
    BadToken("iat a string", withClaims(#"{"sub":"ann","exp":2000,"iat":"1"}"#), .badClaims),
    BadToken("no sub", withClaims(#"{"exp":2000}"#), .badClaims),
    BadToken("sub empty", withClaims(#"{"sub":"","exp":2000}"#), .badClaims),
    BadToken("sub a number", withClaims(#"{"sub":1,"exp":2000}"#), .badClaims),
    BadToken(
      "sub too long", withClaims(#"{"sub":"\#(String(repeating: "a", count: 300))","exp":2000}"#), .badClaims),
    BadToken("no iss", withClaims(#"{"sub":"ann","exp":2000,"aud":"signal"}"#), .wrongIssuer),
    BadToken("another iss", withClaims(#"{"sub":"ann","exp":2000,"iss":"idp/","aud":"signal"}"#), .wrongIssuer),
    BadToken("iss an array", withClaims(#"{"sub":"ann","exp":2000,"iss":["idp"],"aud":"signal"}"#), .badClaims),
    BadToken("no aud", withClaims(#"{"sub":"ann","exp":2000,"iss":"idp"}"#), .wrongAudience),
    BadToken("another aud", withClaims(#"{"sub":"ann","exp":2000,"iss":"idp","aud":"signa"}"#), .wrongAudience),
    BadToken("aud empty", withClaims(#"{"sub":"ann","exp":2000,"iss":"idp","aud":[]}"#), .wrongAudience),
    BadToken("aud of others", withClaims(#"{"sub":"ann","exp":2000,"iss":"idp","aud":["a","b"]}"#), .wrongAudience),
    BadToken("aud with a number", withClaims(#"{"sub":"ann","exp":2000,"iss":"idp","aud":["signal",1]}"#), .badClaims),
    BadToken("aud an object", withClaims(#"{"sub":"ann","exp":2000,"iss":"idp","aud":{"a":1}}"#), .badClaims),
  ]
}

@Suite("JSON Web Tokens (RFC 7515, 7519)") struct JSONWebTokenTests {
  private let now = Timestamp(milliseconds: 1_000_000)
  private func verifier() throws -> TokenVerifier {
    TokenVerifier(
      [try VerificationKey(secret: TokenMaker.secret)], TokenVerifier.Requirements(issuer: "idp", audience: "signal"))
  }

  @Test(arguments: BadToken.form + BadToken.headers + BadToken.signatures + BadToken.claims)
  func `is refused`(_ token: BadToken) throws {
    let verifier = try verifier()
    // Twice, as a refusal is not remembered.
    for _ in 0..<2 {
      #expect(throws: token.fault) { try verifier.identity(of: token.text, at: now) }
    }
  }

  @Test(arguments: [
    #"{"sub":"ann","exp":2000,"iss":"idp","aud":"signal"}"#,
    #"{"sub":"ann","exp":970.001,"iss":"idp","aud":["signal"]}"#,
    #"{"sub":"ann","exp":2000,"iss":"idp","aud":["other","signal"],"nbf":1030,"iat":5000}"#,
    #"{"sub":"ann","exp":2e3,"iss":"\u0069dp","aud":"signal","jti":"x"}"#,
  ])
  func `is accepted`(_ claims: String) throws {
    let token = TokenMaker().token(#"{"typ":"jwt","alg":"HS256","kid":"any","x5t":"abc"}"#, claims)
    let identity = try verifier().identity(of: token, at: now)
    #expect(identity.kind == .jwt && identity.id == "ann")
  }

  @Test func `the identity has the claims and the end`() throws {
    let token = TokenMaker().token(
      claims: #"{"sub":"ann","exp":2000,"iss":"idp","aud":"signal","kind":"root","n":[1]}"#)
    let identity = try verifier().identity(of: token, at: now)
    #expect(identity.expires == Timestamp(milliseconds: 2_000_000))
    #expect(identity.end == Timestamp(milliseconds: 2_030_000))
    #expect(
      "\(identity.auth.text(of: .root))"
        == #"{"sub":"ann","exp":2000,"iss":"idp","aud":"signal","n":[1],"kind":"jwt","id":"ann","#
        + #""expires":"1970-01-01T00:33:20.000Z"}"#)
  }

  @Test func `a good token is remembered until it ends`() throws {
    let verifier = try verifier()
    let token = TokenMaker().token(claims: #"{"sub":"ann","exp":2000,"iss":"idp","aud":"signal"}"#)
    let first = try verifier.identity(of: token, at: now)
    #expect(try verifier.identity(of: token, at: Timestamp(milliseconds: 2_029_999)) === first)
    #expect(throws: TokenFault.expired) {
      try verifier.identity(of: token, at: Timestamp(milliseconds: 2_030_000))
    }
  }

  @Test func `more tokens than are remembered are still accepted`() throws {
    let verifier = try verifier()
    for number in 0...TokenVerifier.mostRemembered {
      let token = TokenMaker().token(claims: #"{"sub":"\#(number)","exp":2000,"iss":"idp","aud":"signal"}"#)
      #expect(try verifier.identity(of: token, at: now).id == "\(number)")
    }
  }

  @Test(arguments: ["rs256", "es256", "edDSA"])
  func `each algorithm is verified by its key, from PEM and from a set`(_ name: String) throws {
    let (token, pem, algorithm): (String, String, SignatureAlgorithm) =
      switch name {
      case "rs256": (SignedTokens.rs256, SignedTokens.rsaKey, .rs256)
      case "es256": (SignedTokens.es256, SignedTokens.ecCertificate, .es256)
      default: (SignedTokens.edDSA, SignedTokens.edKey, .edDSA)
      }
    let required = TokenVerifier.Requirements(issuer: "https://idp.example", audience: "signal")
    let key = try VerificationKey(pem: Array(pem.utf8), algorithm: algorithm)
    let set = try JSONWebKeySet(Array(SignedTokens.keySet.utf8))
    for keys in [[key], set.keys] {
      #expect(try TokenVerifier(keys, required).identity(of: token, at: now).id == "ann")
    }
    // A bit of each part.
    for place in [5, token.utf8.count / 2, token.utf8.count - 5] {
      var changed = Array(token.utf8)
      changed[place] = changed[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      let text = String(decoding: changed, as: UTF8.self)
      #expect(throws: TokenFault.self) { try TokenVerifier([key], required).identity(of: text, at: now) }
    }
  }

  @Test(arguments: [
    (SignedTokens.es256DER, TokenFault.badSignature), (SignedTokens.es384, .wrongAlgorithm),
    (SignedTokens.ps256, .wrongAlgorithm), (SignedTokens.rs512, .wrongAlgorithm),
    (SignedTokens.rs512AsRS256, .badSignature), (SignedTokens.hmacWithPublicKey, .wrongAlgorithm),
    (SignedTokens.rsaAsES256, .badSignature), (SignedTokens.p384AsES256, .badSignature),
  ])
  func `an algorithm belongs to its key`(_ token: String, _ fault: TokenFault) throws {
    let keys = [
      try VerificationKey(pem: Array(SignedTokens.rsaKey.utf8), algorithm: .rs256),
      try VerificationKey(pem: Array(SignedTokens.ecKey.utf8), algorithm: .es256),
    ]
    #expect(throws: fault) { try TokenVerifier(keys).identity(of: token, at: now) }
  }

  @Test(arguments: [
    (0, 1), (1, 0), (0, 0),
  ])
  func `a signature with a zero is none`(_ r: UInt8, _ s: UInt8) throws {
    let key = try VerificationKey(pem: Array(SignedTokens.ecKey.utf8), algorithm: .es256)
    let zeros = [UInt8](repeating: 0, count: 31)
    let signature: [UInt8] = zeros + [r] + zeros + [s]
    #expect(!key.hasSigned("message", signature))
  }

  @Test func `a name chooses among the keys that have one, and nothing else`() throws {
    let (one, two) = (Array(repeating: UInt8(1), count: 32), Array(repeating: UInt8(2), count: 32))
    let verifier = TokenVerifier([
      try VerificationKey(secret: one, id: Array("1".utf8)), try VerificationKey(secret: two, id: Array("2".utf8)),
    ])
    func fault(_ secret: [UInt8], _ header: String) -> TokenFault? {
      let token = TokenMaker(secret: secret).token(header, #"{"sub":"ann","exp":2000}"#)
      do throws(TokenFault) {
        _ = try verifier.identity(of: token, at: now)
        return nil
      } catch {
        return error
      }
    }
    #expect(fault(one, #"{"alg":"HS256","kid":"1"}"#) == nil)
    #expect(fault(two, #"{"alg":"HS256"}"#) == nil)
    #expect(fault(one, #"{"alg":"HS256","kid":"2"}"#) == .badSignature)
    #expect(fault(one, #"{"alg":"HS256","kid":"3"}"#) == .unknown)
    #expect(fault(one, #"{"alg":"ES256","kid":"1"}"#) == .wrongAlgorithm)
  }

  @Test func `of many keys without a name none is tried`() throws {
    let keys = try (0...TokenVerifier.mostTried).map {
      try VerificationKey(secret: Array(repeating: UInt8($0), count: 32))
    }
    let token = TokenMaker(secret: Array(repeating: 0, count: 32)).token(claims: #"{"sub":"ann","exp":2000}"#)
    #expect(throws: TokenFault.unknown) { try TokenVerifier(keys).identity(of: token, at: now) }
    #expect(try TokenVerifier(keys.dropLast()).identity(of: token, at: now).id == "ann")
  }
}

extension TokenMaker {
  /// A token with the plainest header.
  func token(claims: String) -> String { token(#"{"alg":"HS256"}"#, claims) }
}

@Suite("Examples of RFC 7515 and RFC 8037") struct SignatureExampleTests {
  private static let claims =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

  private func verifies(_ key: VerificationKey, _ header: String, _ claims: String, _ signature: String) throws -> Bool
  {
    key.hasSigned("\(header).\(claims)", try #require(Base64URL.bytes(signature)))
  }

  private func key(_ members: String) throws -> VerificationKey {
    try #require(JSONWebKeySet(Array(#"{"keys":[{\#(members)}]}"#.utf8)).keys.first)
  }

  @Test func `RFC 7515 A.1: HMAC SHA-256`() throws {
    let key = try key(
      #""kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow""#)
    let (header, signature) = (
      "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    )
    #expect(try verifies(key, header, Self.claims, signature))
    #expect(try !verifies(key, header, Self.claims + "A", signature))
    // It names nobody, and its time is over.
    #expect(throws: TokenFault.badClaims) {
      try TokenVerifier([key]).identity(of: "\(header).\(Self.claims).\(signature)", at: Timestamp(milliseconds: 0))
    }
  }

  @Test func `RFC 7515 A.2: RSASSA-PKCS1-v1_5 SHA-256`() throws {
    let key = try key(
      """
      "kty":"RSA","e":"AQAB","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1\
      Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-\
      KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2et\
      hFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
      """)
    let signature = """
      cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1d\
      nZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwu\
      sC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw
      """
    #expect(try verifies(key, "eyJhbGciOiJSUzI1NiJ9", Self.claims, signature))
    #expect(try !verifies(key, "eyJhbGciOiJSUzI1NiK9", Self.claims, signature))
  }

  @Test func `RFC 7515 A.3: ECDSA P-256 SHA-256`() throws {
    let key = try key(
      """
      "kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStik\
      YjKIWI5a0"
      """)
    let signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    #expect(try verifies(key, "eyJhbGciOiJFUzI1NiJ9", Self.claims, signature))
    #expect(try !verifies(key, "eyJhbGciOiJFUzI1NiK9", Self.claims, signature))
  }

  @Test func `RFC 8037 A.4: Ed25519`() throws {
    let key = try key(#""kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo""#)
    let signature = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    #expect(try verifies(key, "eyJhbGciOiJFZERTQSJ9", "RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc", signature))
    #expect(try !verifies(key, "eyJhbGciOiJFZERTQSJ9", "RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmd", signature))
  }
}
