// SPDX-License-Identifier: MIT

import JSON
import SignalAccess
import SignalStore
import Testing

@Suite("Identity") struct IdentityTests {
  private func auth(_ identity: Identity) -> String { "\(identity.auth.text(of: .root))" }

  @Test func `auth has the claims, and who it is`() throws {
    let claims = JSONTree(try JSONText(validating: #"{"role":"sensor","level":3}"#))
    let identity = Identity(.token, id: "kitchen", claims: claims, expires: Timestamp(milliseconds: 1))
    #expect(
      auth(identity)
        == #"{"role":"sensor","level":3,"kind":"token","id":"kitchen","expires":"1970-01-01T00:00:00.001Z"}"#)
  }

  @Test func `claims cannot say who it is`() throws {
    let claims = JSONTree(try JSONText(validating: #"{"kind":"token","id":"root","expires":null,"sub":"ann"}"#))
    #expect(auth(Identity(.jwt, id: "ann", claims: claims)) == #"{"sub":"ann","kind":"jwt","id":"ann"}"#)
  }

  @Test func `what is no object has no claims`() throws {
    let list = JSONTree(try JSONText(validating: "[1]"))
    #expect(auth(Identity(.user, id: "1000", claims: list)) == #"{"kind":"user","id":"1000"}"#)
    #expect(auth(Identity(.certificate, id: "a\"b", claims: JSONTree())) == #"{"kind":"certificate","id":"a\"b"}"#)
  }
}
