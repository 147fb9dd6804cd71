// SPDX-License-Identifier: MIT
import SignalHTTP
import Testing

@testable import signal_server

@Suite("The settings of a cluster")
struct ClusterSettingTests {
  private func resolved(_ flags: [String]) throws(ConfigurationError) -> Settings {
    try ResolvedSettings(file: nil, environment: [:], flags: flags).settings
  }

  private static let whole = [
    "--cluster-name", "home", "--cluster-engine", "nats://n1,tls://n2:4333", "--cluster-secret-file", "secret",
  ]

  @Test func `servers of the engine have a port of their own unless one is given`() throws {
    let cluster = try resolved(Self.whole).cluster
    #expect(cluster.engine == [.tcp(host: "n1", port: 4222), .tls(host: "n2", port: 4333)])
    #expect(cluster.replicas == 3 && cluster.engineSync == .always && cluster.role == .member)
  }

  @Test(arguments: [
    (["--cluster-engine", "nats://n1"], "cluster.engine"),
    (["--cluster-name", "home"], "cluster.engine"),
    (["--cluster-name", "home", "--cluster-engine", "nats://n1"], "cluster.secret-file"),
    (whole + ["--data-dir", "d"], "data.dir"),
    (whole + ["--http-body-bytes", "2MiB"], "http.body-bytes"),
    (["--cluster-name", "a.b"], "cluster.name"),
    (["--cluster-engine", "http://n1"], "cluster.engine"),
  ]) func `what does not go together is refused by name`(_ flags: [String], _ name: String) {
    let error = #expect(throws: ConfigurationError.self) { try resolved(flags) }
    let text = error.map { "\($0)" } ?? ""
    let flag = "--" + name.map { $0 == "." ? "-" : String($0) }.joined()
    #expect(text.contains(name) || text.contains(flag), "\(text)")
  }
}
