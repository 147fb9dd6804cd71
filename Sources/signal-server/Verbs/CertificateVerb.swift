// SPDX-License-Identifier: MIT
import ArgumentParser
import Glibc
import SignalHTTP

/// `signal-server certificate`: makes certificates for trying things out.
struct CertificateVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "certificate", abstract: "Make a certificate for the first minute.", subcommands: [SelfSigned.self])

  /// `signal-server certificate self-signed`.
  struct SelfSigned: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "self-signed",
      abstract: "Make a certificate that is signed by itself, with its key.",
      discussion: """
        Both go into one file, which only its owner can read. It serves TLS at once:

          signal-server serve --listen https://127.0.0.1:8443 --tls-certificates signal.pem
          signal-server get kitchen/temperature --server https://localhost:8443 --ca signal.pem

        Browsers warn of such a certificate, unless they are told to trust it. For a name that others know, have one from an \
        authority (Let's Encrypt by certbot, lego or Caddy); the server takes a new file over by itself.
        """)

    @Option(
      name: .customLong("name"),
      help: ArgumentHelp(
        "A name or an address of the server; can be given several times. Default: localhost, 127.0.0.1 and ::1.",
        valueName: "host"))
    var names: [String] = []

    @Option(help: "For how many days it is good.")
    var days = 365

    @Option(help: "The file that is written; there must not be one yet.", completion: .file())
    var output = "signal.pem"

    func run() throws {
      let names = names.isEmpty ? ["localhost", "127.0.0.1", "::1"] : names
      guard (1...36_500).contains(days) else { throw Failure(.usage, "--days is not from 1 to 36500") }
      guard let made = MadeCertificate(subject: String(names[0].prefix(64)), for: .server(names), days: days) else {
        throw Failure(.usage, "--name: \(names.joined(separator: ", ").printable) cannot be in a certificate")
      }
      do throws(SystemFailure) {
        try Terminal.writeSecret(made.pem, to: output)
      } catch {
        throw Failure(.system, "\(output.printable): \(error)")
      }
      Terminal.print("\(output): for \(names.joined(separator: ", ")), good for \(days.counted("day", "days"))")
    }
  }
}
