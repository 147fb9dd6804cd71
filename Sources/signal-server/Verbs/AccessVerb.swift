// SPDX-License-Identifier: MIT
import ArgumentParser
import JSON
import SignalAccess
import SignalHTTP
import SignalStore

/// `signal-server access`: explains, tests and reviews access rules.
struct AccessVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "access", abstract: "Explain, test and check who may do what.",
    subcommands: [Explain.self, Test.self, Check.self])

  /// Which rules.
  struct RuleOptions: ParsableArguments {
    @Option(
      help: ArgumentHelp("Read the settings from this file (environment: SIGNAL_CONFIG).", valueName: "file"),
      completion: .file())
    var config: String?

    /// The settings with their compiled rules, and the lines of the rules in the file.
    func load() throws(Failure) -> (settings: Settings, policy: AccessPolicy, lines: [Int]) {
      let settings: Settings
      let lines: [Int]
      do throws(ConfigurationError) {
        settings = try ResolvedSettings.load(
          file: config, environment: ProcessEnvironment.variables, flags: []
        ).settings
        lines = try self.lines()
      } catch {
        throw Failure(error)
      }
      guard let policy = settings.live.policy else {
        throw Failure(.configuration, "the settings have no access rules (access.rules, access.admin)")
      }
      return (settings, policy, lines)
    }

    private func lines() throws(ConfigurationError) -> [Int] {
      guard let path = ResolvedSettings.name(ofFile: config, ProcessEnvironment.variables)?.path,
        let bytes = try? Terminal.readFile(path, atMost: SettingsFile.byteLimit + 1)
      else { return [] }
      for entry in try SettingsFile(path: path, bytes: bytes).entries where entry.name == "access.rules" {
        if case .groups(let groups) = entry.value { return groups.map(\.line) }
      }
      return []
    }
  }

  /// `signal-server access explain`.
  struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "explain", abstract: "Ask a server what its rules decide about an operation, and why.",
      discussion: """
        Without --as it is about whoever asks. About others administrators may ask:

          signal-server access explain --as '{"sub":"ann"}' --operation set --path users/bob/x --value 1
        """)

    @Option(
      name: .customLong("as"),
      help: ArgumentHelp("Somebody with these claims, or null for somebody unknown.", valueName: "claims"))
    var claims: String?

    @Option(
      help: ArgumentHelp("One of \(AccessOperation.allCases.map(\.rawValue).joined(separator: ", "))."))
    var operation: String

    @Option(help: "The path; for list, watch, listen and demand also a pattern.")
    var path: String

    @Option(help: ArgumentHelp("What is set or sent, or read instead of what is there.", valueName: "json"))
    var value: Operand?

    @OptionGroup var client: ClientOptions

    func validate() throws {
      guard AccessOperation(rawValue: operation) != nil else {
        let nearest = Suggestion.nearest(to: operation, among: AccessOperation.allCases.map(\.rawValue))
        throw ValidationError(
          "unknown operation '\(operation.printable)'" + (nearest.map { "; did you mean \($0)?" } ?? ""))
      }
    }

    func run() throws {
      var body = Array(#"{"operation":"#.utf8)
      body.appendJSON(operation)
      body.append(contentsOf: #","path":"#.utf8)
      body.appendJSON(path)
      for (name, text) in [("as", claims), ("value", value?.text)] {
        guard let text else { continue }
        guard let json = try? JSONText(validating: text) else {
          throw Failure(.usage, "--\(name): '\(text.printable)' is not JSON")
        }
        body.append(contentsOf: ",\"\(name)\":".utf8)
        body.appendJSON(json)
      }
      body.append(UInt8(ascii: "}"))
      let fields = [("Content-Type", "application/json")]
      let answer = try client.request("POST", "/access/explain", fields: fields, body: body).body
      guard let text = try? JSONText(validating: answer) else {
        throw Failure(.refused, "the server's answer is not JSON")
      }
      for line in ExplanationText.lines(JSONTree(text)) { Terminal.print(line) }
    }
  }

  /// `signal-server access test`.
  struct Test: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "test", abstract: "Try the rules of a settings file on a table of who can do what.",
      discussion: """
        No server is needed. Each operation that is not as the table says is a line; exit status 1 when there is one.

          - as: {sub: ann}
            given: {rooms/r1/members: [ann]}
            can: [get rooms/r1/topic, watch users/ann/name]
            cannot: [get users/bob/name, set rooms/r1/topic 1]
        """)

    @Argument(help: "The table, a YAML file.", completion: .file())
    var table: Operand

    @OptionGroup var rules: RuleOptions

    func run() throws {
      let (settings, policy, _) = try rules.load()
      let path = table.text
      let bytes: [UInt8]
      do throws(SystemFailure) {
        bytes = try Terminal.readFile(path, atMost: AccessTable.byteLimit + 1)
      } catch {
        throw Failure(.configuration, "cannot read '\(path.printable)': \(error)")
      }
      let table: AccessTable
      do throws(AccessTable.Fault) {
        table = try AccessTable(bytes, paths: settings.live.paths, values: settings.live.values)
      } catch {
        throw Failure(.configuration, "\(path.printable):\(error)")
      }
      let failures = table.failures(policy)
      for failure in failures { Terminal.print("\(path.printable):\(failure.line): \(failure.text)") }
      let rows = table.count.counted("operation", "operations")
      guard failures.isEmpty else {
        throw Failure(.refused, "\(path.printable): of \(rows) \(failures.count) not as the table says")
      }
      Terminal.print("\(path.printable): \(rows) as the table says")
    }
  }

  /// `signal-server access check`.
  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract: "Tell what the rules of a settings file cost, and what of them is probably not meant.",
      discussion: """
        An error is a part of a rule that changes nothing, whoever asks: exit status 1. Warnings are worth a look.
        """)

    @OptionGroup var rules: RuleOptions

    func run() throws {
      let (settings, policy, lines) = try rules.load()
      let claims = KnownClaims(settings)
      let review = AccessReview(policy, claims: claims.claims)
      for (index, rule) in policy.source.rules.enumerated() {
        let line = lines.indices.contains(index) ? ", line \(lines[index])" : ""
        Terminal.print("rule \(index + 1)\(line): \(rule.match.printable)")
        for condition in review.conditions where condition.rule == index + 1 {
          Terminal.print("  \(condition.name): \(condition.source.printable)  (cost \(condition.cost))")
        }
      }
      if let remark = claims.remark { Terminal.print("warning: \(remark)") }
      for finding in review.findings {
        let place = finding.rule.map { "rule \($0): " } ?? ""
        let nearest = finding.claim.flatMap { claims.nearest(to: $0) }.map { "; did you mean auth.\($0)?" } ?? ""
        Terminal.print("\(finding.isError ? "error" : "warning"): \(place)\(finding.text.printable)\(nearest)")
      }
      let errors = review.findings.count(where: \.isError)
      let warnings = review.findings.count - errors + (claims.remark == nil ? 0 : 1)
      let rules = policy.source.rules.count.counted("rule", "rules")
      let summary = "\(rules), \(errors.counted("error", "errors")), \(warnings.counted("warning", "warnings"))"
      guard errors == 0 else { throw Failure(.refused, summary) }
      Terminal.print(summary)
    }
  }
}
