// SPDX-License-Identifier: MIT
import Foundation
package import SignalHTTP
import Synchronization

/// What carries the bytes between the servers and the clients of tests: sockets alone or, with `TEST_TRANSPORT=tls`, TLS,
/// so that whatever is promised of connections is tried with both.
package enum TestTransport {
  /// Whether it is TLS.
  package static let isSecured = ProcessInfo.processInfo.environment["TEST_TRANSPORT"] == "tls"

  /// A certificate of this machine, and those who trust it.
  package static let certificate = TestCertificate()

  /// Where a server listens: on a port that the system picks.
  static var listener: ListenerConfiguration {
    guard isSecured else { return ListenerConfiguration(.tcp(host: "127.0.0.1", port: 0)) }
    return ListenerConfiguration(
      .tls(host: "127.0.0.1", port: 0), tls: TLSConfiguration(certificates: [certificate.file]))
  }

  /// Where a client finds it.
  package static func endpoint(port: UInt16) -> Endpoint {
    isSecured ? .tls(host: "127.0.0.1", port: port) : .tcp(host: "127.0.0.1", port: port)
  }

  /// What a test says for sockets alone, with the schemes and their ports changed places if it is TLS: what is a server's own
  /// origin is so again.
  package static func adapted(_ text: String) -> String {
    guard isSecured else { return text }
    var text = text
    for (a, b) in [("http://", "https://"), (":80", ":443")] {
      if text.hasPrefix(b) || (a.first == ":" && text.hasSuffix(b)) {
        text = text.replacing(b, with: a)
      } else if text.hasPrefix(a) || (a.first == ":" && text.hasSuffix(a)) {
        text = text.replacing(a, with: b)
      }
    }
    return text
  }

  /// The scheme of a server's own origin.
  package static var scheme: String { isSecured ? "https" : "http" }

  /// Whom such a client trusts.
  package static var trust: TLSContext? { isSecured ? certificate.trust : nil }
}

/// A certificate that is signed by itself, in a file that goes with the process.
package struct TestCertificate: Sendable {
  /// The file, which holds the key, too.
  package let file: TLSConfiguration.Certificate
  /// Trusts this certificate alone.
  package let trust: TLSContext

  /// Makes one for some names.
  package init(_ names: [String] = ["localhost", "127.0.0.1", "::1"], isRSA: Bool = false) {
    guard let made = MadeCertificate(subject: names[0], for: .server(names), days: 1, isRSA: isRSA) else {
      preconditionFailure("\(names) cannot be in a certificate")
    }
    let path = TestCertificate.write(made.pem)
    file = TLSConfiguration.Certificate(chain: path)
    guard let context = try? TLSContext(trusting: path) else { preconditionFailure("\(path) cannot be trusted") }
    trust = context
  }

  /// Writes a file that only this user can read, and gives its path.
  package static func write(_ bytes: [UInt8]) -> String {
    let path = FileManager.default.temporaryDirectory.appending(path: "certificate-\(UUID().uuidString).pem").path
    let isWritten = FileManager.default.createFile(
      atPath: path, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
    precondition(isWritten, "\(path) cannot be written")
    _ = removal
    filesToRemove.withLock { $0.append(path) }
    return path
  }
}

/// Files that are removed when the process ends.
private let filesToRemove = Mutex<[String]>([])

/// Removes them.
private let removal: Void = {
  atexit { filesToRemove.withLock { files in files.forEach { path in unsafe unlink(path) } } }
}()
