// SPDX-License-Identifier: MIT
import Foundation
import JSON
import SignalAccess
import SignalStore
import Testing

@Suite("Tokens of the server") struct TokenFileTests {
  private let now = Timestamp(milliseconds: 1_000_000)

  private func entry(_ id: String, claims: String = "{}", expires: Timestamp? = nil) throws -> (Token, TokenFile.Entry)
  {
    let token = try #require(Token(id: id))
    let entry = TokenFile.Entry(token, claims: try JSONText(validating: claims), created: now, expires: expires)
    return (token, entry)
  }

  private func reason(_ body: () throws(IdentityError) -> Void) -> String? {
    do throws(IdentityError) {
      try body()
      return nil
    } catch {
      return error.description
    }
  }

  @Test(arguments: ["kitchen", "a", "a_b", "a.b-c", "sgn_x_y", String(repeating: "i", count: 64)])
  func `a token says its id`(_ id: String) throws {
    let token = try #require(Token(id: id))
    #expect(token.text.hasPrefix("sgn_\(id)_") && token.text.utf8.count == id.utf8.count + 48)
    #expect(Token.id(of: token.text) == id)
    #expect("\(token)" == "the token \(id)")
    #expect(try #require(Token(id: id)).text != token.text)
  }

  @Test(arguments: ["", "a b", "ä", "a/b", "a\n", String(repeating: "i", count: 65)])
  func `other texts are no ids`(_ id: String) { #expect(Token(id: id) == nil) }

  @Test(arguments: [
    "", "sgn_", "sgn__\(String(repeating: "A", count: 43))", "sgn_a_\(String(repeating: "A", count: 42))",
    "sgn_a-\(String(repeating: "A", count: 43))", "SGN_a_\(String(repeating: "A", count: 43))",
    "sgn_a_\(String(repeating: "=", count: 43))", "sgn_a b_\(String(repeating: "A", count: 43))",
  ])
  func `other texts are no tokens`(_ text: String) { #expect(Token.id(of: text) == nil) }

  @Test func `an id that may hold a secret is not for a log`() throws {
    func loggable(_ text: String) -> String? { Token.loggableID(in: text.utf8.span) }
    let token = try #require(Token(id: "ann")).text
    #expect(loggable(token) == "ann")
    #expect(Token.id(of: token + token) == String((token + token).dropFirst(4).dropLast(44)))
    for text in [token + token, token + "." + token, token + "x", token + "_" + token.dropFirst(4)] {
      #expect(loggable(text) == nil, "\(text)")
    }
    #expect(loggable(try #require(Token(id: "a.b-c")).text) == "a.b-c")
    // It cannot be told from a good token with something behind it.
    #expect(loggable(try #require(Token(id: "a_b")).text) == nil)
  }

  @Test func `the file keeps no secret, and is only for its owner`() throws {
    let folder = try Folder()
    let path = folder.path + "/tokens.json"
    let (token, entry) = try entry(
      "kitchen", claims: #"{"role":"sensor"}"#, expires: Timestamp(milliseconds: 2_000_000))
    #expect(try TokenFile.change(path) { (file) throws(IdentityError) in try file.add(entry) })
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(!text.contains(token.text.suffix(43)))
    #expect(
      text == """
        {"tokens":[
        {"id":"kitchen","sha256":"\(entry.digest.hexadecimal)","claims":{"role":"sensor"},\
        "created":"1970-01-01T00:16:40.000Z","expires":"1970-01-01T00:33:20.000Z"}
        ]}

        """)
    #expect(try TokenFile(reading: path).entries == [entry])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["tokens.json"])
  }

  @Test func `an id is there once, and can be removed`() throws {
    var file = TokenFile()
    #expect(try file.add(entry("a").1) && file.add(entry("b").1))
    #expect(try !file.add(entry("a").1))
    #expect(file.remove("a") && !file.remove("a") && file.entries.map(\.id) == ["b"])
  }

  @Test func `many processes that change it lose nothing`() async throws {
    let folder = try Folder()
    let path = folder.path + "/tokens.json"
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        group.addTask {
          guard let token = Token(id: "t\(number)") else { return }
          let entry = TokenFile.Entry(token, claims: TokenFile.noClaims, created: .now, expires: nil)
          _ = try? TokenFile.change(path) { (file) throws(IdentityError) in try file.add(entry) }
        }
      }
    }
    #expect(try TokenFile(reading: path).entries.count == 20)
  }

  @Test(arguments: [0o640, 0o604, 0o644, 0o660, 0o666, 0o620, 0o601])
  func `a file that others can use is refused`(_ mode: Int) throws {
    let folder = try Folder()
    let path = try folder.write("tokens.json", #"{"tokens":[]}"#, mode: mode)
    let reason = reason { () throws(IdentityError) in _ = try TokenFile(reading: path) }
    #expect(reason == "\(path): can be read or changed by others (mode 0\(String(mode, radix: 8))): chmod 600 it")
  }

  @Test(arguments: [
    ("", "is not JSON"), ("[]", "is not an object"), (#"{"tokens":{}}"#, "is not an object"),
    (#"{"tokens":[],"x":1}"#, "is not an object"), (#"{"tokens":[1]}"#, "token 1: is not an object"),
    (#"{"tokens":[{"id":"a b"}]}"#, #"no valid "id""#), (#"{"tokens":[{"id":"a","secret":"x"}]}"#, "unknown member"),
    (#"{"tokens":[{"id":"a","sha256":"00"}]}"#, #"no valid "sha256""#),
    (#"{"tokens":[{"id":"a","id":"b"}]}"#, #"the member "id" twice"#),
    (#"{"tokens":[{"id":"a","sha256":"DIGEST","claims":[]}]}"#, "no object"),
    (#"{"tokens":[{"id":"a","sha256":"DIGEST","claims":{"r":1,"r":2}}]}"#, #"the member "r" twice"#),
    (#"{"tokens":[{"id":"a","sha256":"DIGEST"}]}"#, #"no "created""#),
    (#"{"tokens":[{"id":"a","sha256":"DIGEST","created":"today"}]}"#, #"no valid "created""#),
    (
      #"{"tokens":[{"id":"a","sha256":"DIGEST","created":"2026-01-02T03:04:05Z","expires":null}]}"#, #"valid "expires""#
    ),
    (
      #"{"tokens":[{"id":"a","sha256":"DIGEST","created":"2026-01-02T03:04:05Z"},"#
        + #"{"id":"a","sha256":"DIGEST","created":"2026-01-02T03:04:05Z"}]}"#, #"two tokens "a""#
    ),
  ])
  func `a file with something else is refused`(_ text: String, _ expected: String) throws {
    let folder = try Folder()
    let digest = Digest(of: Array("x".utf8).span).hexadecimal
    let path = try folder.write("tokens.json", text.replacingOccurrences(of: "DIGEST", with: digest))
    let reason = reason { () throws(IdentityError) in _ = try TokenFile(reading: path) }
    #expect(reason?.contains(expected) == true, "\(reason ?? "accepted")")
  }

  @Test func `a failed change leaves the file as it was`() throws {
    let folder = try Folder()
    let path = try folder.write("tokens.json", "nonsense")
    let reason = reason { () throws(IdentityError) in
      _ = try TokenFile.change(path) { (file) throws(IdentityError) in file.remove("a") }
    }
    #expect(reason?.contains("is not JSON") == true)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "nonsense")
  }

  @Test func `digests are those of sha256sum`() {
    let digest = Digest(of: Array("abc".utf8).span)
    #expect(digest.hexadecimal == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(Digest(hexadecimal: digest.hexadecimal) == digest)
    #expect(digest.isSame(as: digest) && !digest.isSame(as: Digest(of: Array("abd".utf8).span)))
    for text in ["", "00", String(repeating: "g", count: 64), digest.hexadecimal.uppercased()] {
      #expect(Digest(hexadecimal: text) == nil)
    }
  }

  @Test(arguments: ["", "f", "fo", "foo", "foob", "fooba", "foobar", "\u{FF}\u{3FF}"])
  func `Base64url is read as it is written`(_ text: String) {
    let bytes = Array(text.utf8)
    #expect(Base64URL.bytes(Base64URL.encode(bytes)) == bytes)
  }
}
