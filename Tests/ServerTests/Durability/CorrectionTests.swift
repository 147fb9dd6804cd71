// SPDX-License-Identifier: MIT
import JSON
import SignalStore
import TestSupport
import Testing

/// What those who resume are told of properties whose last values a restart has forgotten (`docs/protocol.md` §9).
@Suite("Corrections after a restart")
struct CorrectionTests {
  private let server: TestServer
  /// Where one stopped who had been told of other values than those that were kept.
  private let cursor: String

  init() throws {
    let rules = try ["v/** volatile", "e/** every 1s"].map { try PersistenceRule($0) }
    var replica = Replica(epoch: .random(), rules: rules)
    var revision: Revision = 0
    for path in ["v/a", "e/a"] as [PropertyPath] {
      revision = Revision(revision.number + 1)
      let value = StoredValue(
        path: path, value: try JSONText(validating: #"{"n":1}"#), revision: revision, time: Timestamp(milliseconds: 1))
      replica.apply(.commit(Commit(Change(set: value, replacing: nil))))
    }
    replica.skip(to: 9)
    cursor = "\(Cursor(epoch: replica.epoch, revision: 9))"
    let store = PropertyStore(restoring: replica, rules: rules, isClean: false) { source throws(FormulaError) in
      throw FormulaError("there are none")
    }
    server = try TestServer(store: store)
  }

  private func resume(_ options: String) throws -> [LiveMessage] {
    let client = try LiveClient(server)
    try client.send(#"{"id":1,"type":"subscribe","since":"\#(cursor)",\#(options)}"#)
    return try client.next(upTo: { $0.type == "live" })
  }

  @Test func `what is volatile goes, and what is kept only so often is told anew`() throws {
    let messages = try resume(#""match":"**""#)
    #expect(messages.map(\.type) == ["ok", "didDelete", "didSet", "live"])
    #expect(messages[0].raw("recovered") == "true")
    #expect(messages[1].raw("path") == #""v/a""# && messages[1].revision == 10)
    #expect(messages[2].raw("path") == #""e/a""# && messages[2].raw("value") == #"{"n":1}"#)
  }

  @Test func `one with a filter is told of what it may have, though what was kept does not match`() throws {
    let messages = try resume(#""match":"**","where":"value.n > 5""#)
    #expect(messages.map(\.type) == ["ok", "didExit", "didExit", "live"])
    let silent = try resume(#""match":"**","where":"value.n > 5","exit":false"#)
    #expect(silent.map(\.type) == ["ok", "didDelete", "live"])
    let matching = try resume(#""match":"e/**","where":"value.n < 5""#)
    #expect(matching.map(\.type) == ["ok", "didSet", "live"])
  }

  @Test func `one that sees a part is told of it, though what was kept has it or not`() throws {
    let present = try resume(#""match":"**","pointer":"/n""#)
    #expect(present.map(\.type) == ["ok", "didDelete", "didSet", "live"])
    let absent = try resume(#""match":"**","pointer":"/m""#)
    #expect(absent.map(\.type) == ["ok", "didDelete", "didDelete", "live"])
  }
}
