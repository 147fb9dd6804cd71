// SPDX-License-Identifier: MIT
import ArgumentParser
import JSON
import SignalHTTP

/// `signal-server set`: sets a property.
struct SetVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Set a property, and print the cursor of the change.",
    discussion: """
      The value is JSON: 21.5, true, '"on"', '{"r":255}'. The cursor that is printed is what --if-match takes.
      """)

  @Argument(help: "The property, for example kitchen/temperature.")
  var path: Operand

  @Argument(help: "The value, as JSON; - reads it from the standard input.")
  var value: Operand

  @Flag(help: "Take the value as text, not as JSON.")
  var string = false

  @Flag(
    help: ArgumentHelp(
      "Take the value as an expression over other properties, which the server computes anew when one of them changes.",
      discussion: "For example: 'properties[\"kitchen/temperature\"] * 1.8 + 32.0'"))
  var computed = false

  @Option(
    help: ArgumentHelp("Only if the property was last changed at this cursor.", valueName: "cursor"))
  var ifMatch: String?

  @Flag(help: "Only if there is no such property.")
  var ifAbsent = false

  @Option(
    name: .customLong("if"),
    help: ArgumentHelp(
      "Only if this holds for what is there, for example 'value < 22'; value is null when nothing is.",
      valueName: "expression"))
  var condition: Operand?

  @Flag(help: "Make it a change even if the value is the same.")
  var always = false

  @Option(
    help: ArgumentHelp(
      "Let the property end after this time, such as 60s or 2h; setting it again before gives it more.",
      valueName: "time"))
  var ttl: String?

  @Flag(
    help: """
      Stay connected, and let the property end with this command, for whatever reason that ends; unless somebody else \
      has set it by then. A connection that breaks is made anew.
      """)
  var hold = false

  @OptionGroup var client: ClientOptions

  func validate() throws {
    if ifMatch != nil, ifAbsent { throw ValidationError("--if-match and --if-absent exclude each other") }
    if computed, string || always { throw ValidationError("--computed goes with neither --string nor --always") }
  }

  func run() throws {
    let value = value.text
    let source: [UInt8]
    do {
      source = value == "-" ? try Terminal.readAll() : Array(value.utf8)
    } catch {
      throw Failure(.usage, "cannot read the standard input: \(error)")
    }
    if hold {
      ProcessSignals.makeSuccess()
      let value = try SetValue.json(from: source, isText: string, isInput: value == "-")
      try HeldProperty(
        path: path.text, value: value, ifMatch: ifMatch, ifAbsent: ifAbsent, always: always, ttl: ttl,
        filter: condition?.text
      ).run(in: .process(try client.url()))
    }
    let body = computed ? source : try SetValue.json(from: source, isText: string, isInput: value == "-").bytes
    var fields = [("Content-Type", computed ? "application/cel" : "application/json")]
    if let ifMatch { fields.append(("If-Match", "\"\(ifMatch)\"")) }
    if ifAbsent { fields.append(("If-None-Match", "*")) }
    var query: [(name: String, value: String)] = []
    if always { query.append((name: "always", value: "true")) }
    if let ttl { query.append((name: "ttl", value: ttl)) }
    if let condition { query.append((name: "if", value: condition.text)) }
    let target = PropertyTarget.make(path.text, query)
    let response = try client.request("PUT", target, about: path.text, fields: fields, body: body)
    // The tag of the property when there is one, which also stands when the value was equal and nothing changed.
    let tag = response.value("ETag").map { $0.filter { $0 != "\"" } }
    if let cursor = tag ?? response.value("Signal-Revision") { Terminal.print(cursor.printable) }
    if computed { warn(of: source) }
  }

  /// Tells what is allowed in the formula and probably not meant, if the server says.
  private func warn(of formula: [UInt8]) {
    var body = Array(#"{"formula":"#.utf8)
    body.appendJSON(String(decoding: formula, as: UTF8.self))
    body.append(UInt8(ascii: "}"))
    let fields = [("Content-Type", "application/json")]
    guard let answer = try? client.exchange("POST", "/expressions/explain", fields: fields, body: body),
      let text = try? JSONText(validating: answer.body)
    else { return }
    for warning in Explanation.warnings(JSONTree(text)) { Terminal.complain("warning: \(warning)") }
  }
}

/// The value that `set` sends.
enum SetValue {
  /// The value as JSON.
  ///
  /// - Parameters:
  ///   - source: what the user gave.
  ///   - isText: whether it is text, which becomes a string.
  ///   - isInput: whether it came from the standard input, where the line end after text is not part of it.
  /// - Throws: `Failure` when it is not JSON, with how to quote it if that was meant.
  static func json(from source: [UInt8], isText: Bool, isInput: Bool) throws(Failure) -> JSONText {
    if isText {
      let line = isInput && source.last == UInt8(ascii: "\n") ? source.dropLast() : source[...]
      guard let text = String(validating: line, as: UTF8.self) else { throw Failure(.usage, "the text is not UTF-8") }
      return JSONText(text)
    }
    do {
      // The server has the say over size and depth.
      return try JSONText(
        validating: source, limits: JSONLimits(bytes: JSONLimits.bytesCeiling, depth: 1 << 16, digits: .max))
    } catch {
      let text = String(decoding: source.prefix(60), as: UTF8.self).printable
      guard !isInput else { throw Failure(.usage, "the standard input is not JSON: \(error)") }
      throw Failure(.usage, "'\(text)' is not JSON: \(error); for text, write '\(JSONText(text))' or add --string")
    }
  }
}
