// SPDX-License-Identifier: MIT
import ArgumentParser
import JSON
import SignalHTTP

/// What all client verbs have in common: which server, and how its answers are handled.
struct ClientOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The server (environment: SIGNAL_SERVER; default: where serve would listen with the settings of this environment, \
      \(ServerURL(listeningWith: Settings()))).
      """, valueName: "url"))
  var server: String?

  @Option(
    help: ArgumentHelp(
      "Trust servers whose certificates these authorities have signed (environment: SIGNAL_CA; default: the system's).",
      valueName: "file"))
  var ca: String?

  @Option(help: ArgumentHelp("Show this certificate to the server (environment: SIGNAL_CERT).", valueName: "file"))
  var cert: String?

  @Option(help: ArgumentHelp("Its key, unless it is in the same file (environment: SIGNAL_KEY).", valueName: "file"))
  var key: String?

  @Option(
    help: ArgumentHelp(
      """
      Say with this token who you are (environment: SIGNAL_TOKEN, or SIGNAL_TOKEN_FILE for a file that holds it). Others on \
      this machine can see what stands on a command line: prefer the variables.
      """, valueName: "token"))
  var token: String?

  /// The server to use: named by the flag, else by `SIGNAL_SERVER`, else the one that `serve` runs with the settings of
  /// this environment (`SIGNAL_PORT`, `SIGNAL_HOST`, `SIGNAL_LISTEN`, `SIGNAL_CONFIG`): in a container, its own server.
  ///
  /// - Throws: `Failure` when its name is invalid.
  func url(
    in environment: [String: String] = ProcessEnvironment.variables
  ) throws(Failure) -> ServerURL {
    var url = try namedURL(in: environment)
    url.token = ClientToken(token, in: environment)
    guard url.endpoint.isSecured else { return url }
    func file(_ flag: String?, _ variable: String) -> String? {
      flag ?? environment[variable].flatMap { $0.isEmpty ? nil : $0 }
    }
    let certificate = file(cert, "SIGNAL_CERT").map { chain in
      TLSConfiguration.Certificate(chain: chain, key: file(key, "SIGNAL_KEY"))
    }
    do throws(TLSError) {
      url.tls = try TLSContext(trusting: file(ca, "SIGNAL_CA"), certificate: certificate)
    } catch {
      throw Failure(.usage, error.description)
    }
    return url
  }

  private func namedURL(in environment: [String: String]) throws(Failure) -> ServerURL {
    if let server { return try ServerURL(server, from: "--server") }
    if let server = environment["SIGNAL_SERVER"], !server.isEmpty {
      return try ServerURL(server, from: "SIGNAL_SERVER")
    }
    let settings: Settings
    do throws(ConfigurationError) {
      settings = try ResolvedSettings.load(file: nil, environment: environment, flags: []).settings
    } catch {
      throw Failure(error)
    }
    let url = ServerURL(listeningWith: settings)
    guard url.isKnown else {
      throw Failure(.usage, "port 0 is one that the system picks, so nothing says where the server is; give --server")
    }
    return url
  }

  /// Sends one request and returns the response.
  ///
  /// - Parameter path: The path requested, so that a refusal names it, and suggests similar ones if it does not exist.
  /// - Throws: `Failure` when no server answers, or when it refuses the request.
  func request(
    _ method: String, _ target: String, about path: String? = nil, fields: [(String, String)] = [],
    body: [UInt8]? = nil
  ) throws(Failure) -> HTTPClientResponse {
    let response = try exchange(method, target, fields: fields, body: body)
    if (200..<300).contains(response.status) { return response }
    if response.status == 401 { throw Failure(.refused, "\(response.refusal()); \(ClientToken.advice)") }
    let text = response.refusal(about: path)
    guard Members.body(response.body)?.string("code") == "not_found", let path,
      let hint = PathSuggestion(path).hint(from: self)
    else { throw Failure(.refused, text) }
    throw Failure(.refused, "\(text.last == "." ? String(text.dropLast()) : text); \(hint.printable)")
  }

  /// Sends one request and returns the response, whatever its status.
  ///
  /// - Parameter patience: The timeout of the response; unless given more than a node of a cluster takes to say that no
  ///   other one answers (`cluster.write-timeout`).
  func exchange(
    _ method: String, _ target: String, fields: [(String, String)] = [], body: [UInt8]? = nil,
    patience: Duration = .seconds(15)
  ) throws(Failure) -> HTTPClientResponse {
    let url = try url()
    let own = try url.fields
    do {
      let client = try HTTPClient(url.endpoint, tls: url.tls)
      return try client.request(
        method, target, fields: own + fields, body: body, timeout: patience, limit: JSONLimits.bytesCeiling)
    } catch {
      throw Failure(.unreachable, "\(url): \(error)")
    }
  }
}

extension HTTPClientResponse {
  /// The message of an unsuccessful response, in one line: that of its problem, or else its status.
  ///
  /// - Parameter path: The path requested; it is prepended unless the message names it anyway.
  func refusal(about path: String? = nil) -> String {
    let text = Members.problemText(in: body) ?? "HTTP \(status) \(reason)"
    guard let path, !path.isEmpty, !text.contains("\"\(path)\"") else { return text.printable }
    return "\(path): \(text)".printable
  }
}
