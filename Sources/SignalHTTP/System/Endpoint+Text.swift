// SPDX-License-Identifier: MIT

/// The reason a text names no server, as a phrase to follow it: "is not a URL …".
package struct EndpointError: Error, Equatable, Sendable {
  /// The phrase.
  package let reason: String

  package init(_ reason: String) { self.reason = reason }
}

extension Endpoint {
  /// Reads `http://host`, `https://host:port`, the same with a trailing slash, or `unix:/path`.
  ///
  /// - Parameter lowestPort: 0 where the system may pick one.
  package init(_ text: String, lowestPort: Int) throws(EndpointError) {
    if text.hasPrefix("unix:") {
      let path = String(text.dropFirst("unix:".count))
      guard path.hasPrefix("/"), path.last != "/" else {
        throw EndpointError("has no path of a socket, such as unix:/run/signal/socket")
      }
      guard path.utf8.count <= Self.mostPathBytes, !path.utf8.contains(0) else {
        throw EndpointError("has a path of more than \(Self.mostPathBytes) bytes, more than the system takes")
      }
      self = .unix(path: path)
      return
    }
    let isSecured = text.lowercased().hasPrefix("https://")
    guard isSecured || text.lowercased().hasPrefix("http://") else {
      throw EndpointError("is not a URL that begins with http://, https:// or unix:/")
    }
    var rest = text.dropFirst(isSecured ? "https://".count : "http://".count)
    if rest.last == "/" { rest.removeLast() }
    guard !rest.contains("/") else { throw EndpointError("has a path; end it behind the host and the port") }
    guard !rest.contains(where: { "?#@".contains($0) }) else {
      throw EndpointError("must not go on behind host and port")
    }
    var port: UInt16 = isSecured ? 443 : 80
    if rest.last != "]", let colon = rest.lastIndex(of: ":") {
      let digits = rest[rest.index(after: colon)...]
      guard !digits.isEmpty, digits.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let number = UInt16(digits),
        number >= lowestPort
      else {
        throw EndpointError("has no port from \(lowestPort) to 65535 behind its colon")
      }
      port = number
      rest = rest[..<colon]
    }
    if rest.hasPrefix("["), rest.hasSuffix("]") {
      rest = rest.dropFirst().dropLast()
    } else if rest.contains(":") {
      throw EndpointError("needs brackets around its IPv6 address")
    }
    guard !rest.isEmpty, rest.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { throw EndpointError("has no host") }
    self = isSecured ? .tls(host: String(rest), port: port) : .tcp(host: String(rest), port: port)
  }

  /// The maximum path length of a socket address, without its terminating zero.
  private static let mostPathBytes = 107
}
