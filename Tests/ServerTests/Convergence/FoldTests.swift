// SPDX-License-Identifier: MIT
import TestSupport
import Testing

@Suite("The fold of the convergence tests")
struct FoldTests {
  /// Feeds messages, and returns the fold or what was wrong with the last of them.
  private func fold(_ messages: [String]) throws -> Fold {
    var fold = Fold()
    for message in messages { try fold.receive(LiveMessage(message)) }
    return fold
  }

  private let begin = [
    #"{"id":1,"type":"ok","subscription":1,"revision":3}"#,
    #"{"type":"didSet","subscription":1,"path":"a","value":1,"revision":2}"#,
    #"{"type":"live","subscription":1,"revision":3}"#,
  ]
  private func set(_ path: String, _ value: Int, was old: Int?, _ revision: Int, more: Bool = false) -> String {
    let old = old.map { #","oldValue":\#($0)"# } ?? ""
    return
      #"{"type":"didSet","subscription":1,"path":"\#(path)","value":\#(value)\#(old),"revision":\#(revision)\#(more ? #","more":true"# : "")}"#
  }

  @Test func `snapshot and changes add up`() throws {
    let fold = try fold(
      begin + [
        set("b", 2, was: nil, 4, more: true), set("a", 3, was: 1, 4),
        #"{"type":"didDelete","subscription":1,"path":"b","oldValue":2,"revision":5}"#,
      ])
    #expect(fold.state == ["a": .init(value: "3", revision: 4)])
    #expect(fold.cursor == 5)
    #expect(fold.log == ["4 b", "4 a", "5 b"])
  }

  @Test func `a transaction that was cut is forgotten and its cursor is the one before`() throws {
    var fold = try fold(begin + [set("b", 2, was: nil, 4, more: true)])
    fold.connectionEnded()
    #expect(fold.cursor == 3)
    #expect(fold.cutTransactions == 1)
    try fold.receive(LiveMessage(#"{"id":1,"type":"ok","subscription":1,"revision":4,"recovered":true}"#))
    try fold.receive(LiveMessage(set("b", 2, was: nil, 4)))
    #expect(fold.state["b"]?.value == "2")
  }

  @Test func `what the protocol forbids is found`() throws {
    let wrong = [
      [set("a", 3, was: 1, 5)],  // a hole
      [set("a", 3, was: 1, 3)],  // a repetition
      [set("a", 3, was: 2, 4)],  // another value before
      [set("b", 3, was: 2, 4)],  // a value before that was not
      [set("a", 3, was: 1, 4, more: true), set("b", 3, was: nil, 5)],  // an interrupted transaction
      [set("a", 3, was: 1, 4, more: true), set("a", 4, was: 1, 4)],  // a path twice in one
      [#"{"type":"bookmark","subscription":1,"revision":4}"#],  // a bookmark for what did not come
      [#"{"type":"live","subscription":1,"revision":3}"#],  // a second live
    ]
    for messages in wrong {
      #expect(throws: Fold.Violation.self) { try fold(begin + messages) }
    }
    #expect(throws: Fold.Violation.self) { try fold([begin[0], begin[1], begin[1]]) }
    #expect(throws: Fold.Violation.self) { try fold([begin[0], set("a", 1, was: nil, 4)]) }
    #expect(throws: Fold.Violation.self) { try fold([begin[2]]) }
  }
}
