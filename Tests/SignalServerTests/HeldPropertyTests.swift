// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP
import Testing

@testable import signal_server

@Suite struct HeldPropertyTests {
  private static let hello = Theatre.Act.says(#"{"type":"hello","epoch":"e","revision":0}"#)
  private static let broken = Theatre.Act.ends(.broken("the line is cut"))

  private static func ok(_ revision: Int, changed: Bool = true) -> Theatre.Act {
    .says(#"{"id":1,"type":"ok","revision":\#(revision),"changed":\#(changed)}"#)
  }

  private static func failed(current: String) -> Theatre.Act {
    .says(
      #"""
      {"id":1,"type":"error","error":{"status":412,"code":"precondition_failed","title":"The condition failed","detail":"d",\#
      "temporary":false,"current":\#(current)}}
      """#)
  }

  /// Runs to the end of the script, where the connection is refused.
  private func run(_ property: HeldProperty, in theatre: Theatre) -> Failure? {
    do throws(Failure) {
      try property.run(in: theatre.surroundings)
    } catch {
      return error
    }
  }

  private static let unchanged: [Theatre.Act] = [
    ok(90, changed: false),
    .says(#"{"id":1,"type":"ok","path":"presence/ann","value":"here","revision":7,"time":"t"}"#),
  ]
  private let get = #"{"id":1,"type":"get","path":"presence/ann"}"#

  private let property = HeldProperty(path: "presence/ann", value: JSONText("here"))
  private let set = #"{"id":1,"type":"set","path":"presence/ann","value":"here","hold":true"#

  @Test func `the first connection has to succeed, and what it is refused is final`() {
    let unreachable = Theatre([.failure(.broken("nobody there"))])
    #expect(run(property, in: unreachable)?.status == .unreachable)
    let refused = Theatre([.success([Self.hello, Self.failed(current: "null")])])
    #expect(run(property, in: refused)?.status == .refused)
    #expect(refused.printed.isEmpty)
  }

  @Test func `after a broken connection it is set again, and printed once`() {
    let theatre = Theatre([
      .success([Self.hello, Self.ok(1), Self.broken]), .failure(.broken("restarting")),
      .success([Self.hello] + Self.unchanged + [Self.broken]),
    ])
    _ = run(property, in: theatre)
    #expect(theatre.printed == ["e.1"])
    #expect(theatre.sent == [set + "}", set + "}", get])
    #expect(theatre.complaints.first == "the line is cut; reconnecting")
    #expect(theatre.complaints.contains("connected again"))
    #expect(theatre.slept.count == 3)
  }

  @Test func `a server that does not answer a ping is gone`() {
    let theatre = Theatre([.success([Self.hello, Self.ok(1), .isSilent, .isSilent])])
    _ = run(property, in: theatre)
    #expect(theatre.sent == [set + "}", #"{"id":0,"type":"ping"}"#])
    #expect(theatre.complaints.first == "the server does not answer; reconnecting")
    #expect(HeldProperty.silence + HeldProperty.patience < Limits().idleTimeout)
  }

  @Test func `what was asked for under a condition is taken again only from itself, or when it has ended`() {
    var claim = property
    claim.ifAbsent = true
    claim.filter = "true"
    let back = Theatre([
      .success([Self.hello, Self.ok(7), Self.broken]),
      .success([Self.hello] + Self.unchanged + [Self.broken]),
      .success([Self.hello, Self.failed(current: "null"), Self.ok(12), Self.broken]),
      .success([Self.hello, Self.failed(current: #"{"value":"bob","revision":13}"#)]),
    ])
    #expect(run(claim, in: back)?.status == .refused)
    #expect(
      back.sent == [
        set + #","ifNoneMatch":"*","if":"true"}"#, set + #","ifMatch":"e.7"}"#, get, set + #","ifMatch":"e.7"}"#,
        set + #","ifNoneMatch":"*"}"#, set + #","ifMatch":"e.12"}"#,
      ])
    #expect(back.printed == ["e.7"])
  }
}
