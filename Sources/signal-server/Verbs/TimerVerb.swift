// SPDX-License-Identifier: MIT
import ArgumentParser
import JSON
import SignalHTTP

/// `signal-server timer`: sets, shows or removes a timer.
struct TimerVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "timer",
    abstract: "Set, show or remove a timer, which sends a message through the signal at its path.",
    discussion: "Without --after, --at, --every and --delete, the timer is shown; without a path, all of them.")

  @Argument(help: "The timer, for example tea.")
  var path: Operand?

  @Option(help: ArgumentHelp("Fire once, after this time, such as 3m.", valueName: "time"))
  var after: String?

  @Option(help: ArgumentHelp("Fire once, at this time, such as 2026-01-02T07:00:00Z.", valueName: "time"))
  var at: String?

  @Option(help: ArgumentHelp("Fire again and again, with this interval, such as 5s.", valueName: "time"))
  var every: String?

  @Option(help: ArgumentHelp("What to send, as JSON.", valueName: "json"))
  var message: Operand?

  @Flag(help: "Remove the timer.")
  var delete = false

  @OptionGroup var client: ClientOptions

  func validate() throws {
    let times = [after, at, every].compactMap(\.self).count
    if times > 1 || (delete && times > 0) {
      throw ValidationError("--after, --at, --every and --delete exclude each other")
    }
    if path == nil, times > 0 || delete || message != nil { throw ValidationError("a timer has a path") }
    if message != nil, times == 0 { throw ValidationError("--message needs --after, --at or --every") }
  }

  func run() throws {
    guard let path else {
      return Terminal.print(bytes: try client.request("GET", "/timers").body)
    }
    let target = PropertyTarget.make(path.text, in: "/timers/")
    if delete {
      _ = try client.request("DELETE", target, about: path.text)
      return
    }
    let time = [("after", after), ("at", at), ("every", every)].first { $0.1 != nil }
    guard let (name, given) = time, let text = given else {
      return Terminal.print(bytes: try client.request("GET", target, about: path.text).body)
    }
    var body = Array("{\"\(name)\":".utf8) + JSONText(text).bytes
    if let message {
      body += Array(",\"message\":".utf8)
      body += try SetValue.json(from: Array(message.text.utf8), isText: false, isInput: false).bytes
    }
    body.append(UInt8(ascii: "}"))
    let fields = [("Content-Type", "application/json")]
    Terminal.print(bytes: try client.request("PUT", target, about: path.text, fields: fields, body: body).body)
  }
}
