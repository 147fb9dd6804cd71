// SPDX-License-Identifier: MIT
import JSON
import Testing

@testable import SignalHTTP

/// Members of a message are told apart by the bytes of their names.
@Suite("Members of messages")
struct MemberTests {
  private static func members(_ text: String) throws -> JSONMembers {
    let tree = JSONTree(try JSONText(validating: text))
    return try #require(JSONMembers(tree, tree.root, of: "a command"))
  }

  @Test func `names that look alike are two, and the first that nobody took is refused`() throws {
    // é as one character, and as e with an accent.
    var members = try Self.members("{\"\u{E9}\":1,\"e\u{301}\":2}")
    #expect(try members.integer("e\u{301}") == 2)
    let refusal = #expect(throws: Problem.self) { try members.end() }
    #expect(refusal?.detail.utf8.elementsEqual("A command has no member \"\u{E9}\".".utf8) == true)
  }

  @Test func `of several with the same name, written with an escape or without, the last counts`() throws {
    var members = try Self.members(#"{"id":1,"\u0069d":2,"id":3}"#)
    #expect(try members.integer("id") == 3)
    try members.end()
  }
}
