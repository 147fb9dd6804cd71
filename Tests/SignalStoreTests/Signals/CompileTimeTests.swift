// SPDX-License-Identifier: MIT
import Testing

/// Expressions that users write in one piece, and that the compiler must not take long for.
@Suite struct `What has to compile quickly` {
  /// Each in a function of its own, which has sources of several types as its parameters.
  static let expressions = [
    "combineLatest(a, b, c, d, e, f).map { $0 + $1 + $2 + $3 + $4 + $5 }",
    "combineLatest(a, b, c, d, e, f).map { $0 + $1 * $2 - $3 + $4 * $5 }",
    "combineLatest(a, b, c, d, e, f).map { a, b, c, d, e, f in a + b * c - d + e * f }.subscribe { print($0 + 1) }",
    "combineLatest(a, b, c, d, e, f).filter { $0.0 > $0.1 && $0.2 * 2 < $0.3 || $0.4 == 0 }.map(\\.5)",
    "combineLatest(a, b, c, d, e, f).scan(0) { $0 + $1.0 + $1.1 * $1.2 + $1.3 + $1.4 - $1.5 }",
    "combineLatest(a, b, c, d, e).map { $0 + $1 * $2 - $3 + $4 }",
    "combineLatest(a, b, c, d).map { $0 + $1 * $2 - $3 }",
    "combineLatest(a, text, real, flag, some, list).map { $0 + $1.count * 2 + Int($2) + ($3 ? 1 : 0) + ($4 ?? 0) + $5[0] }",
    #"combineLatest(a, text, real, flag, some, list).map { "\($0 + 1) \($1) \($2 * 2) \(!$3) \($4 ?? 0) \($5)" }"#,
    "combineLatest(messages: s, s, s, s, s, s).map { $0 + $1 * $2 - $3 + $4 * $5 }.filter { $0 > 3 }",
    "combine(a, b, c, d, e, f).map { $0 + $1 * $2 - $3 + $4 * $5 }",
    "combine(a, text, real, flag).value = (a.value + 1, text.value + \"x\", real.value / 2 + 1, !flag.value)",
    "merge(a.map { $0 + 1 }, b.filter { $0 > 2 }, s).map { $0 * 2 - 1 }.subscribe { print($0 + 1) }",
    #"""
    a.map { $0 * 2 }.filter { $0 > 10 }.map { "\($0 + 1)" }.distinct().scan(0) { $0 + $1.count }.filter { $0 % 2 == 0 }
        .pairwise().map { $0.current - $0.previous }.subscribe { print($0) }
    """#,
  ]

  /// The compiler counts its own processor time, so a busy machine changes little; each takes 0.02 to 0.2 s.
  static let limitMilliseconds = 1000

  @Test(arguments: expressions)
  func `an expression with several sources or operators takes the compiler well under a second`(expression: String)
    throws
  {
    let complaints = try compile(
      """
      import SignalStore
      func client(
        _ a: Property<Int>, _ b: Property<Int>, _ c: Property<Int>, _ d: Property<Int>, _ e: Property<Int>,
        _ f: Property<Int>, _ s: Signal<Int>, _ text: Property<String>, _ real: Property<Double>,
        _ flag: Property<Bool>, _ some: Property<Int?>, _ list: Property<[Int]>
      ) {
        \(expression.contains(".value =") ? "" : "_ = ")\(expression)
      }
      """,
      flags: [
        "-Xfrontend", "-warn-long-expression-type-checking=\(Self.limitMilliseconds)",
        "-Xfrontend", "-solver-expression-time-threshold=5",
      ])
    #expect(complaints.isEmpty, "\(complaints)")
  }

  @Test func `the compiler tells when an expression takes long`() throws {
    // Ten operators without a type to begin with.
    let complaints = try compile(
      """
      func slow() { _ = [1, 2].lazy.map { $0 + 1 * $0 - $0 }.filter { $0 % 2 == 0 }.map { Double($0) / 2 }.max() }
      """,
      flags: ["-Xfrontend", "-warn-long-expression-type-checking=1"])
    #expect(complaints[1]?.contains { $0.contains("to type-check") } == true, "\(complaints)")
  }
}
