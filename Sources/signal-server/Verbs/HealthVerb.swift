// SPDX-License-Identifier: MIT
import ArgumentParser

/// `signal-server health`: asks a server whether it takes new work, for the health checks of containers.
struct HealthVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "health",
    abstract: "Ask whether a server is ready: exit status 0 or 1.",
    discussion: """
      Without --server and SIGNAL_SERVER, the server is the one that serve runs with the settings of this \
      environment: in a container, the one beside it.
      """)

  @OptionGroup var client: ClientOptions

  func run() throws {
    var client = client
    do {
      if try client.named() == nil {
        let settings = try ResolvedSettings.load(file: nil, environment: ProcessEnvironment.variables, flags: [])
        client.server = ServerURL(listeningWith: settings.settings).description
      }
      _ = try client.request("GET", "/health/ready")
    } catch let failure as Failure {
      throw Failure(.refused, failure.message)
    } catch let error as ConfigurationError {
      throw Failure(.refused, error.description)
    }
    Terminal.print("ready")
  }
}
