// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore

/// What an expression means to the server: `POST /expressions/explain` (`docs/protocol.md` §2.8).
extension LiveAPI {
  func explain(
    _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter, as caller: Caller
  ) throws(APIError) {
    _ = try Query(head, [])
    try refuseEncoding(head)
    let body = try body.read()
    let request = try problem { () throws(Problem) in
      try body.withSpan { bytes throws(Problem) in try ExplainRequest(bytes, service.configuration) }
    }
    var text: [UInt8] = []
    let revision: Revision
    if request.isFormula {
      revision = service.commands.revision
      explainFormula(request.expression, as: caller, to: &text)
    } else {
      let snapshot = service.commands.snapshot(as: caller)
      revision = snapshot.revision
      explainFilter(request, snapshot, to: &text)
    }
    response.begin(.ok)
    response.field("Content-Type", "application/json")
    appendRevision(revision, &response)
    response.end(text)
  }

  private func explainFilter(_ request: ExplainRequest, _ snapshot: StoreSnapshot, to text: inout [UInt8]) {
    let filter: Filter
    do throws(CELError) {
      filter = try Filter(request.expression, limits: service.configuration.expressions)
    } catch {
      return appendInvalid(error.message, error, in: request.expression, to: &text)
    }
    appendValid(filter.program, to: &text)
    text.append(literal: filter.isState ? #","kind":"state","indexed":["# : #","kind":"transition","indexed":["#)
    for (index, conjunct) in filter.conjuncts.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text.appendJSON("\(conjunct)")
    }
    text.append(UInt8(ascii: "]"))
    if filter.isListable {
      var budget = service.configuration.limits.turnProperties
      var scan = snapshot.scan(match: request.patterns)
      var examined = 0
      var matching = 0
      var failed = 0
      var failure: EvaluationError?
      while let stored = scan.next(visiting: &budget) {
        examined += 1
        switch filter.test(stored) {
        case .success(true): matching += 1
        case .success(false): break
        case .failure(let error):
          failed += 1
          failure = failure ?? error
        }
      }
      text.append(literal: #","properties":{"examined":"#)
      text.appendJSON(examined)
      text.append(literal: #","matching":"#)
      text.appendJSON(matching)
      text.append(literal: #","failed":"#)
      text.appendJSON(failed)
      text.append(literal: #","all":"#)
      text.appendJSON(scan.isAtEnd)
      if let failure {
        text.append(literal: #","failure":"#)
        text.appendJSON(failure.rendering(in: request.expression))
      }
      text.append(UInt8(ascii: "}"))
    }
    text.append(UInt8(ascii: "}"))
  }

  private func explainFormula(_ source: String, as caller: Caller, to text: inout [UInt8]) {
    let program: Program
    do throws(CELError) {
      program = try service.commands.formulaProgram(source)
    } catch {
      return appendInvalid(error.message, error, in: source, to: &text)
    }
    let formula: Formula
    do throws(Problem) {
      formula = try service.commands.formula(program)
    } catch {
      return appendInvalid(error.detail, nil, in: source, to: &text)
    }
    appendValid(program, to: &text)
    text.append(literal: #","kind":"formula","inputs":["#)
    for (index, input) in formula.inputs.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text.appendJSON("\(input)")
    }
    text.append(UInt8(ascii: "]"))
    switch formula.evaluate({ service.commands.read(bytes: $0.bytes.span, as: caller).value }) {
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

  /// The member of what is allowed and probably not meant; none when there is nothing.
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

/// The body of `POST /expressions/explain`.
private struct ExplainRequest {
  let expression: String
  /// Whether it is the formula of a computed property, and not a filter.
  let isFormula: Bool
  /// Whose properties a filter is tried on.
  let patterns: [PathPattern]

  init(_ body: Span<UInt8>, _ configuration: LiveConfiguration) throws(Problem) {
    let tree: JSONTree
    do throws(JSONError) {
      let limits = JSONLimits(bytes: body.count, depth: 4, digits: configuration.values.digits)
      tree = JSONTree(try JSONText(validating: body, limits: limits))
    } catch {
      throw Problem(.badJSON, "\(error)", position: error.offset)
    }
    guard var members = JSONMembers(tree, tree.root, of: "a question about an expression") else {
      throw Problem(.badMessage, "A question about an expression is a JSON object.")
    }
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
