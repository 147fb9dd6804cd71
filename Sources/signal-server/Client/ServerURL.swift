// SPDX-License-Identifier: MIT

/// The server that a client verb talks to.
struct ServerURL: Equatable, Sendable, CustomStringConvertible {
  /// A name or an address, IPv6 without brackets.
  let host: String
  let port: UInt16

  init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Reads `http://host`, `http://host:port` or the same with a slash behind.
  ///
  /// - Throws: `Failure` with what is wrong; `source` names the flag or variable.
  init(_ text: String, from source: String) throws(Failure) {
    func refuse(_ reason: String) -> Failure { Failure(.usage, "\(source): '\(text.printable)' \(reason)") }
    guard !text.lowercased().hasPrefix("https:") else {
      throw refuse("needs TLS, which this client does not speak yet; use http:// or a proxy in between")
    }
    guard text.lowercased().hasPrefix("http://") else { throw refuse("is not a URL that begins with http://") }
    var rest = text.dropFirst("http://".count)
    if rest.last == "/" { rest.removeLast() }
    guard !rest.contains("/") else {
      throw refuse("has a path, and verbs ask for the root of a server; end it behind the host and the port")
    }
    guard !rest.contains(where: { "?#@".contains($0) }) else { throw refuse("must not go on behind host and port") }
    var port: UInt16 = 80
    if rest.last != "]", let colon = rest.lastIndex(of: ":") {
      let digits = rest[rest.index(after: colon)...]
      guard let number = SettingText.integer(digits).flatMap(UInt16.init(exactly:)), number > 0 else {
        throw refuse("has no port from 1 to 65535 behind its colon")
      }
      port = number
      rest = rest[..<colon]
    }
    if rest.hasPrefix("["), rest.hasSuffix("]") {
      rest = rest.dropFirst().dropLast()
    } else if rest.contains(":") {
      throw refuse("needs brackets around its IPv6 address")
    }
    guard !rest.isEmpty, rest.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { throw refuse("has no host") }
    self.init(host: String(rest), port: port)
  }

  var description: String { host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)" }

  /// Where a server listens that was started with the settings of this environment, as seen from this machine.
  init(listeningWith settings: Settings) {
    let host =
      switch settings.host {
      case "0.0.0.0": "127.0.0.1"
      case "::", "[::]": "::1"
      case let host: host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
      }
    self.init(host: host, port: UInt16(clamping: settings.port))
  }
}
