// SPDX-License-Identifier: MIT
import Testing

/// Code that the compiler has to refuse, checked by compiling it against the module that the tests use.
@Suite struct `What must not compile` {
  /// Lines of a client, each with what the compiler has to say about it; nothing for those that have to compile.
  ///
  /// The row of the list of capabilities is in front.
  static let lines: [(row: String, code: String, complaint: String?)] = [
    ("A3", "Signal<(data: [UInt8]?, code: Int?)>().send((nil, 5))", nil),
    ("A3", "Signal<(data: [UInt8]?, code: Int?)>().send((nil, 5, 6))", "error: "),
    ("A3", "Signal<(data: [UInt8]?, code: Int?)>().send((nil, \"x\"))", "error: cannot convert value of type"),
    ("A5", "_ = Model().temperature.value + 1", nil),
    ("A5", "_ = Model().pressed.subscribe { _ in }", nil),
    ("A5", "Model().temperature.value = 2", "error: cannot assign to property: 'value' is a get-only property"),
    ("A5", "Model().temperature.modify { $0 = 2 }", "has no member 'modify'"),
    ("A5", "Model().pressed.send(2)", "has no member 'send'"),
    ("A5", "Signal<Int>().observerCounts.send(3)", "has no member 'send'"),
    ("A5", "Property(1).observerCounts.send(3)", "has no member 'send'"),
    ("A5", "OnceTimer().fired.send()", "has no member 'send'"),
    ("A3", "_ = Property((1, \"x\")).subscribe { a, b in _ = a + 1; _ = b.count }", nil),
    ("A3", "_ = Property((1, \"x\")).readOnly.subscribe { a, b in _ = a + 1; _ = b.count }", nil),
    ("K3", "_ = Property(1).subscribe { new, old in _ = new + old }", "error: "),
    ("K3", "_ = Property(1).changes.subscribe { _ = $0.new + $0.old }", nil),
    ("B2", "let kept = Signal<Int>().subscribe { _ in }; _ = kept", nil),
    ("B2", "Signal<Int>().subscribe { _ in }", "is unused"),
    ("B14", "network.send(\\.renamed, \"x\", from: 5)", nil),
    ("B14", "network.send(\\.renamed, \"x\", from: \"me\")", "error: cannot convert"),
    ("C19", "_ = Signal<Int>().subscribe { _ in throw Refused() }", "error: invalid conversion from throwing function"),
    ("G2", "_ = Property(1).filter { $0 > 0 }.value", "has no member 'value'"),
    ("G3", "_ = Property(1).compactMap { Optional($0) }.value", "has no member 'value'"),
    ("G3", "_ = Property(1).flatMap { [$0] }.value", "has no member 'value'"),
    ("I1", "Property(1).map { $0 + 1 }.value = 5", "error: cannot assign to property: 'value' is a get-only property"),
    ("I1", "Property(1).distinct().value = 5", nil),
    ("M2", "network.send(\\.lost, 3)", nil),
    ("M2", "network.send(\\Office.opened, 3)", "error: cannot convert"),
    ("M2", "network.lost.send(3)", "has no member 'send'"),
    ("M3", "SignalRegistry()[name: Opened.self].send(2.5)", nil),
    ("M3", "SignalRegistry()[name: Opened.self].send(\"x\")", "error: cannot convert value of type"),
    ("E8", "@MainActor func f(_ v: View) { Property(1).subscribe(boundTo: v) { $0.count = $1 } }", nil),
    ("E8", "@MainActor func f(_ v: View) { Property(1).plain.subscribe(boundTo: v) { $0.count = $1 } }", nil),
    ("E8", "func f(_ v: View) { Property(1).subscribe(boundTo: v) { $0.count = $1 } }", "error: main actor-isolated"),
    ("E8", "func f(_ v: View) -> Subscription { Property(1).subscribe(on: .main) { v.count = $0 } }", nil),
    ("E8", "func f(_ v: View) -> Subscription { Signal<Int>().subscribe(on: .main) { v.count = $0 } }", nil),
    ("E8", "func f(_ v: View) -> Subscription { Property(1).subscribe(on: .inline) { v.count = $0 } }", "error: main"),
    ("E8", "@MainActor func f(_ v: View) -> Subscription { Property(1).bind(to: v, \\.count) }", nil),
    ("E8", "func f(_ v: View) -> Subscription { Property(1).bind(to: v, \\.count) }", "error: cannot form key path"),
    ("N7", "let log = NotSendable(); _ = Signal<Int>().subscribe { _ in log.count += 1 }", "error: capture of 'log'"),
  ]

  static let preamble = """
    import SignalStore
    struct Refused: Error {}
    final class NotSendable { var count = 0 }
    struct Model: Sendable {
      private let stored = Property(1)
      private let sent = Signal<Int>()
      var temperature: DerivedProperty<Int> { stored.readOnly }
      var pressed: DerivedSignal<Int, Never> { sent.readOnly }
    }
    final class Network: TopicOwner {
      let lost = Topic<Network, Int>()
      let renamed = Topic<Network, (sender: Int, message: String)>()
    }
    @MainActor final class View { var count = 0 }
    final class Office: TopicOwner { let opened = Topic<Office, Int>() }
    enum Opened: SignalName { typealias Message = Double }
    let network = Network()

    """

  @Test func `every line is refused or accepted as it should be`() throws {
    let start = Self.preamble.split(separator: "\n", omittingEmptySubsequences: false).count
    let functions = Self.lines.enumerated().map { "func line\($0)() { \($1.code) }" }
    let complaints = try compile(Self.preamble + functions.joined(separator: "\n") + "\n")
    for (number, line) in Self.lines.enumerated() {
      let said = complaints[start + number] ?? []
      if let expected = line.complaint {
        #expect(said.contains { $0.contains(expected) }, "\(line.row): \(line.code): \(said)")
      } else {
        #expect(said.isEmpty, "\(line.row): \(line.code): \(said)")
      }
    }
    // Nothing is said of the lines above, so it is not they that stop the others.
    #expect(complaints.keys.allSatisfy { $0 >= start }, "\(complaints)")
  }

  @Test func `a name has one payload`() throws {
    let complaints = try compile(
      """
      import SignalStore
      enum Opened: SignalName { typealias Message = Double }
      enum Opened: SignalName { typealias Message = Int }
      """)
    #expect(complaints[3]?.contains { $0.contains("error: invalid redeclaration of 'Opened'") } == true)
  }
}
