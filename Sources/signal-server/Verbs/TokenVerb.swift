// SPDX-License-Identifier: MIT
import ArgumentParser
import JSON
import SignalAccess
import SignalStore

/// `signal-server token`: makes, lists and revokes the tokens of a server.
struct TokenVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Make, list, revoke and look at tokens.",
    discussion: """
      The tokens are in the file of the setting auth.tokens; a running server takes a change over within a second. The file \
      keeps digests: a token is shown once, when it is made.
      """,
    subcommands: [Create.self, List.self, Revoke.self, Inspect.self])

  /// Which file.
  struct FileOptions: ParsableArguments {
    @Option(
      help: ArgumentHelp("The file of the tokens (default: that of the setting auth.tokens).", valueName: "file"),
      completion: .file())
    var file: String?

    @Option(help: ArgumentHelp("Read the settings from this file (environment: SIGNAL_CONFIG).", valueName: "file"))
    var config: String?

    /// Its path.
    var path: String {
      get throws(Failure) {
        if let file {
          if file.isEmpty { throw Failure(.usage, "--file takes the file of the tokens") }
          return file
        }
        do throws(ConfigurationError) {
          let settings = try ResolvedSettings.load(
            file: config, environment: ProcessEnvironment.variables, flags: []
          ).settings
          if !settings.auth.tokens.isEmpty { return settings.auth.tokens }
        } catch {
          throw Failure(error)
        }
        throw Failure(.usage, "no file is named: say --file, or set SIGNAL_AUTH_TOKENS")
      }
    }
  }

  /// `signal-server token create`.
  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "create", abstract: "Make a token, and show it once.",
      discussion: """
        Rules of access see the claims as auth.<name>. A value is JSON, or else a text:

          signal-server token create --id kitchen --claim role=sensor --claim 'rooms=["kitchen"]' --ttl 90d
        """)

    @Option(help: "The name by which it is listed, logged and revoked: letters, digits, dots, hyphens, underscores.")
    var id: String

    @Option(
      name: .customLong("claim"),
      help: ArgumentHelp("What is known of its bearer; can be given several times.", valueName: "name=value"))
    var claims: [String] = []

    @Option(help: ArgumentHelp("How long it is good, such as 90d; without it, until it is revoked.", valueName: "time"))
    var ttl: String?

    @OptionGroup var options: FileOptions

    func run() throws {
      guard Token.isID(id) else {
        throw Failure(
          .usage, "--id has 1 to \(Token.idBytes) letters, digits, dots, hyphens and underscores")
      }
      let claims = try Self.object(claims)
      let now = Timestamp.now
      let expires = try ttl.map { text throws(Failure) in
        guard let time = Self.duration(text), time > .zero, time <= Self.longest else {
          throw Failure(.usage, "--ttl is a duration up to 3660d, such as 90d, not '\(text.printable)'")
        }
        return Timestamp(milliseconds: now.milliseconds + Int64(time / .milliseconds(1)))
      }
      let path = try options.path
      guard let token = Token(id: id) else { throw Failure(.system, "the system has no random bytes") }
      let entry = TokenFile.Entry(token, claims: claims, created: now, expires: expires)
      let isNew = try Failure.ofTokens { () throws(IdentityError) in
        try TokenFile.change(path) { (file) throws(IdentityError) in try file.add(entry) }
      }
      guard isNew else { throw Failure(.refused, "there is a token \(id) already: revoke it, or choose another id") }
      Terminal.print(token.text)
      let end = expires.map { ", good until \($0)" } ?? ""
      Terminal.printToError("\(path.printable): token \(id)\(end); it is not shown again")
    }

    /// Reads a duration, also in days.
    private static func duration(_ text: String) -> Duration? {
      guard text.hasSuffix("d") else { return SettingText.duration(text) }
      return SettingText.integer(text.dropLast()).flatMap { $0 <= 3660 ? .seconds($0 * 86_400) : nil }
    }

    private static let longest = Duration.seconds(3660 * 86_400)

    /// Claims as the members of an object.
    static func object(_ claims: [String]) throws(Failure) -> JSONText {
      var text: [UInt8] = [UInt8(ascii: "{")]
      var names: Set<String> = []
      for claim in claims {
        guard let equals = claim.firstIndex(of: "="), equals > claim.startIndex else {
          throw Failure(.usage, "--claim is name=value, not '\(claim.printable)'")
        }
        let name = String(claim[..<equals])
        let given = String(claim[claim.index(after: equals)...])
        guard names.insert(name).inserted else { throw Failure(.usage, "the claim \(name.printable) is given twice") }
        guard !["kind", "id", "expires"].contains(name) else {
          throw Failure(.usage, "the claim \(name) is the server's own")
        }
        if text.count > 1 { text.append(UInt8(ascii: ",")) }
        text.appendJSON(name)
        text.append(UInt8(ascii: ":"))
        text.appendJSON((try? JSONText(validating: given, limits: JSONLimits(depth: 16))) ?? JSONText(given))
      }
      text.append(UInt8(ascii: "}"))
      guard text.count <= TokenFile.mostClaimBytes else {
        throw Failure(.usage, "the claims have more than \(TokenFile.mostClaimBytes) bytes")
      }
      guard let object = try? JSONText(validating: text), JSONTree(object).repeatedName(in: .root) == nil else {
        throw Failure(.usage, "a claim holds an object that has a name twice")
      }
      return object
    }
  }

  /// `signal-server token list`.
  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the tokens: id, when it was made, when it ends, claims.")

    @OptionGroup var options: FileOptions

    func run() throws {
      let path = try options.path
      let file = try Failure.ofTokens { () throws(IdentityError) in try TokenFile(reading: path) }
      let now = Timestamp.now
      for entry in file.entries {
        let end = entry.expires.map { $0 > now ? "until \($0)" : "ended \($0)" } ?? "until revoked"
        Terminal.print("\(entry.id)  made \(entry.created)  \(end)  \(entry.claims.description.printable)")
      }
    }
  }

  /// `signal-server token revoke`.
  struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "revoke", abstract: "Remove a token; a running server ends its connections.")

    @Argument(help: "The id of the token.")
    var id: Operand

    @OptionGroup var options: FileOptions

    func run() throws {
      let path = try options.path
      let isFound = try Failure.ofTokens { () throws(IdentityError) in
        try TokenFile.change(path, createsIfMissing: false) { (file) throws(IdentityError) in file.remove(id.text) }
      }
      guard isFound else { throw Failure(.refused, "there is no token \(id.text.printable) in \(path.printable)") }
      Terminal.printToError("\(path.printable): token \(id.text) is revoked")
    }
  }

  /// `signal-server token inspect`.
  struct Inspect: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "inspect",
      abstract: "Show what a token or a JSON Web Token on the standard input says.",
      discussion: """
        Nothing secret is shown: neither the letters of a token nor a signature. A token of the server's is looked up in the \
        file; the claims of a JSON Web Token are shown as they are, not verified.
        """)

    @OptionGroup var options: FileOptions

    func run() throws {
      let input: [UInt8]
      do throws(SystemFailure) {
        input = try Terminal.readAll()
      } catch {
        throw Failure(.system, "the standard input: \(error)")
      }
      let text = Array(input.filter { $0 > 0x20 })
      if let id = Token.id(in: text.span) { return try inspect(id, text) }
      let token: JSONWebToken
      do throws(TokenFault) {
        token = try JSONWebToken(text.span)
      } catch {
        throw Failure(.refused, "that is neither a token of the server nor a JSON Web Token (\(error.rawValue))")
      }
      Terminal.print("header  \(token.header.text(of: .root).description.printable)")
      Terminal.print("claims  \(token.claims.text(of: .root).description.printable)")
      if let end = try? token.time("exp") {
        Terminal.print(end > .now ? "good until \(end), if its signature is" : "ended \(end)")
      } else {
        Terminal.print("has no valid exp: it is not accepted")
      }
    }

    private func inspect(_ id: String, _ text: [UInt8]) throws(Failure) {
      let path = try options.path
      let file = try Failure.ofTokens { () throws(IdentityError) in try TokenFile(reading: path) }
      guard let entry = file.entry(id), entry.digest.isSame(as: Digest(of: text.span)) else {
        let name = Token.loggableID(in: text.span).map { "the token \($0)" } ?? "it"
        throw Failure(.refused, "\(name) is not in \(path.printable): revoked, or of another server")
      }
      Terminal.print("token   \(id)")
      Terminal.print("claims  \(entry.claims.description.printable)")
      Terminal.print("made    \(entry.created)")
      Terminal.print(
        entry.expires.map { $0 > .now ? "good until \($0)" : "ended \($0)" } ?? "good until it is revoked")
    }
  }
}

extension Failure {
  /// Calls something that uses the file of the tokens.
  fileprivate static func ofTokens<Result>(
    _ body: () throws(IdentityError) -> Result
  ) throws(Failure) -> Result {
    do throws(IdentityError) {
      return try body()
    } catch {
      throw Failure(.system, error.description.printable)
    }
  }
}
