// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalAccess
import SignalStore

/// Explains how the server understands an expression: `POST /expressions/explain` (`docs/protocol.md` §2.8).
extension LiveAPI {
  func explain(
    _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter,
    _ responder: HTTPResponder, as caller: Caller, on loop: isolated EventLoop
  ) throws(APIError) -> Disposition {
    _ = try Query(head, [])
    try refuseEncoding(head)
    let body = try body.read()
    let request = try problem { () throws(Problem) in
      try body.withSpan { bytes throws(Problem) in try ExplainRequest(bytes, service.configuration) }
    }
    var text: [UInt8] = []
    if !request.isFormula, let filter = explainFilter(request, to: &text), filter.isListable {
      let trial = FilterTrial(
        filter,
        on: try problem { () throws(Problem) in
          try service.commands.scope(.list, of: request.patterns, as: caller)
        },
        service.commands, caller,
        properties: service.configuration.limits.turnProperties, explanation: text)
      return answer(with: trial, &response, responder, on: loop)
    }
    if request.isFormula {
      try problem { () throws(Problem) in try explainFormula(request.expression, as: caller, to: &text) }
    }
    response.begin(.ok)
    response.field("Content-Type", "application/json")
    appendRevision(service.commands.revision, &response)
    response.end(text)
    return .answered
  }

  /// Writes what can be determined without a property, and returns the filter when it can be tried on some.
  private func explainFilter(_ request: ExplainRequest, to text: inout [UInt8]) -> Filter? {
    let filter: Filter
    do throws(CELError) {
      filter = try Filter(request.expression, limits: service.commands.filterLimits)
    } catch {
      appendInvalid(error.message, error, in: request.expression, to: &text)
      return nil
    }
    appendValid(filter.program, to: &text)
    text.append(literal: filter.isState ? #","kind":"state","indexed":["# : #","kind":"transition","indexed":["#)
    for (index, conjunct) in filter.conjuncts.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text.appendJSON("\(conjunct)")
    }
    text.append(literal: filter.isListable ? "]" : "]}")
    return filter
  }

  private func explainFormula(_ source: String, as caller: Caller, to text: inout [UInt8]) throws(Problem) {
    let program: Program
    do throws(CELError) {
      program = try service.configuration.formulaProgram(source)
    } catch {
      return appendInvalid(error.message, error, in: source, to: &text)
    }
    let formula: Formula
    do throws(Problem) {
      formula = try service.configuration.formula(program)
    } catch {
      return appendInvalid(error.detail, nil, in: source, to: &text)
    }
    for input in formula.inputs {
      try service.commands.checkReading(.get, input, service.commands.readForRules(input), as: caller)
    }
    appendValid(program, to: &text)
    text.append(literal: #","kind":"formula","inputs":["#)
    for (index, input) in formula.inputs.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text.appendJSON("\(input)")
    }
    text.append(UInt8(ascii: "]"))
    switch formula.evaluate({ service.commands.readForRules($0) }) {
    case .value(let value):
      text.append(literal: #","value":"#)
      text.appendJSON(value)
    case .failure(let sentence):
      text.append(literal: #","failure":"#)
      text.appendJSON(sentence)
    }
    text.append(UInt8(ascii: "}"))
  }

  /// Opens the object of an expression that compiles.
  private func appendValid(_ program: Program, to text: inout [UInt8]) {
    text.append(literal: #"{"valid":true,"type":"#)
    text.appendJSON("\(program.type)")
    text.append(literal: #","variables":["#)
    for (index, name) in program.variables.sorted().enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text.appendJSON(name)
    }
    text.append(literal: #"],"cost":"#)
    text.appendJSON(program.estimatedCost())
    appendWarnings(program.warnings, in: program.source, to: &text)
  }

  /// Appends the member with warnings about what is allowed but probably not meant, if there are any.
  private func appendWarnings(_ warnings: [CELWarning], in source: String, to text: inout [UInt8]) {
    guard !warnings.isEmpty else { return }
    text.append(literal: #","warnings":["#)
    for (index, warning) in warnings.enumerated() {
      text.append(literal: index > 0 ? #",{"detail":"# : #"{"detail":"#)
      text.appendJSON(warning.message)
      appendPlace(warning.position, warning.line, warning.column, warning.rendering(in: source), to: &text)
      text.append(UInt8(ascii: "}"))
    }
    text.append(UInt8(ascii: "]"))
  }

  private func appendPlace(_ position: Int, _ line: Int, _ column: Int, _ rendering: String, to text: inout [UInt8]) {
    text.append(literal: #","position":"#)
    text.appendJSON(position)
    text.append(literal: #","line":"#)
    text.appendJSON(line)
    text.append(literal: #","column":"#)
    text.appendJSON(column)
    text.append(literal: #","text":"#)
    text.appendJSON(rendering)
  }

  private func appendInvalid(_ message: String, _ error: CELError?, in source: String, to text: inout [UInt8]) {
    text.append(literal: #"{"valid":false,"detail":"#)
    text.appendJSON(message)
    if let error {
      appendPlace(error.position, error.line, error.column, error.rendering(in: source), to: &text)
    }
    text.append(UInt8(ascii: "}"))
  }
}

/// Evaluates a filter for the existing properties.
private final class FilterTrial: RequestWork {
  private struct Progress {
    let cursor: Cursor
    var scan: PropertyScan
    var budget: Int
    var examined = 0
    var matching = 0
    var failed = 0
    var failure: EvaluationError?
  }

  private let filter: Filter
  private let patterns: [PathPattern]
  private let audience: Audience?
  private let commands: Commands
  private let caller: Caller
  /// The number of properties to examine.
  private let properties: Int
  /// The part of the explanation that is already written.
  private let explanation: [UInt8]
  /// nil before the work has begun.
  private var progress: Progress?

  init(
    _ filter: Filter, on scope: (patterns: [PathPattern], audience: Audience?), _ commands: Commands,
    _ caller: Caller, properties: Int,
    explanation: [UInt8]
  ) {
    self.filter = filter
    (patterns, audience) = scope
    self.commands = commands
    self.caller = caller
    self.properties = properties
    self.explanation = explanation
  }

  func restart() { progress = nil }

  func proceed(_ work: inout Int) -> Bool {
    var progress = takeProgress()
    defer { self.progress = progress }
    repeat {
      guard progress.budget > 0 else { return true }
      progress.budget -= 1
      work -= WorkCost.property
      var one = 1
      guard let stored = progress.scan.next(visiting: &one) else {
        if progress.scan.isAtEnd { return true }
        continue
      }
      guard commands.admits(audience, stored, work: &work) else { continue }
      progress.examined += 1
      switch filter.match(stored, work: &work) {
      case .yes: progress.matching += 1
      case .no: break
      case .failed(let error):
        progress.failed += 1
        progress.failure = progress.failure ?? error
      }
    } while work > 0
    return false
  }

  private func takeProgress() -> Progress {
    if let progress = progress.take() { return progress }
    let snapshot = commands.snapshot(as: caller)
    return Progress(cursor: snapshot.cursor, scan: snapshot.scan(match: patterns), budget: properties)
  }

  func answer(_ response: inout ResponseWriter) {
    let progress = takeProgress()
    var text = explanation
    text.append(literal: #","properties":{"examined":"#)
    text.appendJSON(progress.examined)
    text.append(literal: #","matching":"#)
    text.appendJSON(progress.matching)
    text.append(literal: #","failed":"#)
    text.appendJSON(progress.failed)
    text.append(literal: #","all":"#)
    text.appendJSON(progress.scan.isAtEnd)
    if let failure = progress.failure {
      text.append(literal: #","failure":"#)
      text.appendJSON(failure.rendering(in: filter.program.source))
    }
    text.append(literal: "}}")
    response.begin(.ok)
    response.field("Content-Type", "application/json")
    response.field("Signal-Revision") { progress.cursor.write(to: &$0) }
    response.end(text)
  }
}

/// The body of `POST /expressions/explain`.
private struct ExplainRequest {
  let expression: String
  /// Whether it is the formula of a computed property, not a filter.
  let isFormula: Bool
  /// The patterns of the properties on which a filter is tried.
  let patterns: [PathPattern]

  init(_ body: Span<UInt8>, _ configuration: LiveConfiguration) throws(Problem) {
    let limits = JSONLimits(bytes: body.count, depth: 4, digits: configuration.values.digits)
    var members = try JSONMembers(reading: body, within: limits, of: "a question about an expression")
    let filter = try members.string("where")
    let formula = try members.string("formula")
    switch (filter, formula) {
    case (let filter?, nil): (expression, isFormula) = (filter, false)
    case (nil, let formula?): (expression, isFormula) = (formula, true)
    default: throw Problem(.badMessage, #"A question about an expression has "where" or "formula"."#)
    }
    patterns =
      isFormula || !members.has("match")
      ? [.all] : try members.patterns("match", limits: configuration.limits, paths: configuration.paths)
    try members.end()
  }
}
