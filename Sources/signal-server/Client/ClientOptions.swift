// SPDX-License-Identifier: MIT
import ArgumentParser
import JSON
import SignalHTTP

/// What all client verbs have in common: which server, and how its answers are taken.
struct ClientOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The server (environment: SIGNAL_SERVER; default: \(ClientOptions.standard)).", valueName: "url"))
  var server: String?

  static let standard = ServerURL(host: "127.0.0.1", port: 8080)

  /// The server that is named by the flag, else by the environment; nil when by neither.
  func named() throws(Failure) -> ServerURL? {
    if let server { return try ServerURL(server, from: "--server") }
    if let server = ProcessEnvironment.variables["SIGNAL_SERVER"], !server.isEmpty {
      return try ServerURL(server, from: "SIGNAL_SERVER")
    }
    return nil
  }

  /// Sends one request and gives back the answer.
  ///
  /// - Throws: `Failure` when no server answers, or when the answer is a refusal.
  func request(
    _ method: String, _ target: String, fields: [(String, String)] = [], body: [UInt8]? = nil
  ) throws(Failure) -> HTTPClientResponse {
    let response = try exchange(method, target, fields: fields, body: body)
    guard (200..<300).contains(response.status) else { throw Failure(.refused, response.refusal) }
    return response
  }

  /// Sends one request and gives back the answer, whatever it says.
  ///
  /// - Parameter patience: How long the answer may take.
  func exchange(
    _ method: String, _ target: String, fields: [(String, String)] = [], body: [UInt8]? = nil,
    patience: Duration = .seconds(10)
  ) throws(Failure) -> HTTPClientResponse {
    let url = try named() ?? Self.standard
    do {
      let client = try HTTPClient(host: url.host, port: url.port)
      return try client.request(
        method, target, fields: fields, body: body, timeout: patience, limit: JSONLimits.bytesCeiling)
    } catch {
      throw Failure(.unreachable, "\(url): \(error)")
    }
  }
}

extension HTTPClientResponse {
  /// What an answer that is no success says, in one line: `title: detail` of its problem, or else its status.
  var refusal: String { Members.problemText(in: body)?.printable ?? "HTTP \(status) \(reason)".printable }
}
