// SPDX-License-Identifier: MIT
import ArgumentParser
import JSON

/// `signal-server send`: sends a message through a signal.
struct SendVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "send",
    abstract: "Send a message through a signal: to whoever watches it now.",
    discussion: """
      The message is JSON, as with set; without one it is null. Watch signals with: watch --signals 'doorbell/**'
      """,
    aliases: ["fire"])

  @Argument(help: "The signal, for example doorbell/front.")
  var path: Operand

  @Argument(help: "The message, as JSON; - reads it from the standard input.")
  var message: Operand?

  @Flag(help: "Take the message as text, not as JSON.")
  var string = false

  @Flag(help: "Keep it as the last message of the signal, for those who come later.")
  var remember = false

  @OptionGroup var client: ClientOptions

  func run() throws {
    var body: [UInt8] = []
    if let message = message?.text {
      let source: [UInt8]
      do {
        source = message == "-" ? try Terminal.readAll() : Array(message.utf8)
      } catch {
        throw Failure(.usage, "cannot read the standard input: \(error)")
      }
      body = try SetValue.json(from: source, isText: string, isInput: message == "-").bytes
    }
    let query = remember ? [(name: "remember", value: "true")] : []
    let target = PropertyTarget.make(path.text, query, in: "/signals/")
    _ = try client.request(
      "POST", target, about: path.text, fields: [("Content-Type", "application/json")], body: body)
  }
}
