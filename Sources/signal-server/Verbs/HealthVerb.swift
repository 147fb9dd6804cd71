// SPDX-License-Identifier: MIT
import ArgumentParser

/// `signal-server health`: asks a server whether it takes new work, for the health checks of containers.
struct HealthVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "health",
    abstract: "Ask whether a server is ready: exit status 0 or 1.")

  @OptionGroup var client: ClientOptions

  func run() throws {
    do throws(Failure) {
      _ = try client.request("GET", "/health/ready")
    } catch {
      // A health check knows two answers.
      throw Failure(.refused, error.message)
    }
    Terminal.print("ready")
  }
}
