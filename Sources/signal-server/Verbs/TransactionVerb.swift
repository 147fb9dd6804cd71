// SPDX-License-Identifier: MIT
import ArgumentParser
import JSON
import SignalHTTP

/// `signal-server transaction`: changes several properties at once, or none.
struct TransactionVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "transaction",
    abstract: "Change several properties at once, or none, and print the cursor of the change.",
    discussion: """
      Either assignments, such as: door='"open"' light/level=80 --delete alarm
      or all operations as JSON, with their conditions; - reads them from the standard input:
      '[{"op":"set","path":"door","value":"open","if":"value == \\'closed\\'"},{"op":"delete","path":"alarm"}]'
      """)

  @Argument(help: "path=value, the value as JSON, or the operations as JSON.")
  var operations: [Operand] = []

  @Option(help: ArgumentHelp("Delete this property; may be repeated.", valueName: "path"))
  var delete: [String] = []

  @Flag(help: "Take the values of assignments as text, not as JSON.")
  var string = false

  @OptionGroup var client: ClientOptions

  func validate() throws {
    if operations.isEmpty, delete.isEmpty { throw ValidationError("a transaction has at least one operation") }
  }

  func run() throws {
    let transaction = try TransactionText(operations.map(\.text), deleting: delete, isText: string) {
      () throws(Failure) in
      do throws(SystemFailure) {
        return try Terminal.readAll()
      } catch {
        throw Failure(.usage, "cannot read the standard input: \(error)")
      }
    }
    let response = try client.exchange(
      "POST", "/transactions", fields: [("Content-Type", "application/json")], body: transaction.bytes)
    guard response.status == 200 else {
      let place = Members.body(response.body)?.number("operation").flatMap(Int.init(exactly:))
      throw Failure(.refused, response.refusal(about: place.flatMap(transaction.path(ofOperation:))))
    }
    if let cursor = Members.body(response.body)?.string("revision") { Terminal.print(cursor.printable) }
  }
}

/// The body of a transaction, made of what the user wrote.
struct TransactionText {
  /// What is sent.
  let bytes: [UInt8]

  /// - Parameters:
  ///   - words: assignments, or one text that is JSON or `-`.
  ///   - isText: whether the values of assignments are texts.
  ///   - input: reads the standard input.
  /// - Throws: `Failure` when they are neither.
  init(
    _ words: [String], deleting: [String], isText: Bool, input: () throws(Failure) -> [UInt8]
  ) throws(Failure) {
    if words.count == 1, let word = words.first, word == "-" || word.hasPrefix("[") || word.hasPrefix("{") {
      guard deleting.isEmpty, !isText else {
        throw Failure(.usage, "--delete and --string go with assignments, not with operations as JSON")
      }
      let source = word == "-" ? try input() : Array(word.utf8)
      let text = try SetValue.json(from: source, isText: false, isInput: word == "-").bytes
      // A list is the operations; an object is the whole body.
      let isList = text.first == UInt8(ascii: "[")
      bytes = isList ? Array(#"{"operations":"#.utf8) + text + [UInt8(ascii: "}")] : text
      return
    }
    var operations: [[UInt8]] = []
    for word in words {
      guard let equals = word.firstIndex(of: "="), equals > word.startIndex else {
        throw Failure(.usage, "'\(word.printable)' is neither path=value nor operations as JSON")
      }
      let value = try SetValue.json(
        from: Array(word[word.index(after: equals)...].utf8), isText: isText, isInput: false)
      var operation = Array(#"{"op":"set","path":"#.utf8)
      operation.appendJSON(String(word[..<equals]))
      operations.append(operation + Array(#","value":"#.utf8) + value.bytes + [UInt8(ascii: "}")])
    }
    for path in deleting {
      var operation = Array(#"{"op":"delete","path":"#.utf8)
      operation.appendJSON(path)
      operations.append(operation + [UInt8(ascii: "}")])
    }
    bytes = Array(#"{"operations":["#.utf8) + operations.joined(separator: [UInt8(ascii: ",")]) + Array("]}".utf8)
  }

  /// Which property an operation is about, by its number.
  func path(ofOperation number: Int) -> String? {
    guard let text = try? JSONText(validating: bytes, limits: ServerMessage.limits) else { return nil }
    let tree = JSONTree(text)
    guard let list = tree.member("operations", of: .root), tree.kind(of: list) == .array else { return nil }
    let operations = Array(tree.elements(of: list))
    guard operations.indices.contains(number) else { return nil }
    return Members(tree: tree, node: operations[number]).string("path")
  }
}
