// SPDX-License-Identifier: MIT

@testable import SignalHTTP

extension FuzzTarget {
  /// Lines of `Forwarded`, `X-Forwarded-For` and `X-Forwarded-Proto`, as a trusted proxy passes them on: a client that is named
  /// is the same when a further trusted proxy has appended its own peer; and what is put before is none of its business.
  static let forwarded = FuzzTarget(name: "Forwarded") { input in
    let bytes = input.indices.map { input[$0] }
    bytes.withView { view in
      _ = IPAddress(view)
      _ = ForwardedElement(view)
      _ = try? AddressBlock(view.string)
    }
    let lines = bytes.split(separator: 0x0A).map { Array($0) }
    guard let client = forwardedClient(lines), case .address(let address, _)? = client.node else { return }
    require(IPAddress(address.description) == address, "\(address) reads as another")
    guard !forwardedTrust.contains(address) else { return }
    func own(_ field: String) -> [[UInt8]] {
      lines.filter { String(decoding: $0, as: UTF8.self).lowercased().hasPrefix("\(field):") }
    }
    let standard = forwardedClient(own("forwarded")) != nil
    let customary = forwardedClient(own("x-forwarded-for")) != nil
    // Schemes would have to be one more, too.
    guard own("x-forwarded-proto").isEmpty else { return }
    let appended =
      (standard ? ["Forwarded: for=10.0.0.1"] : []) + (customary ? ["X-Forwarded-For: 10.0.0.1"] : [])
    require(forwardedClient(lines + appended.map { Array($0.utf8) }) == client, "a further proxy changes the client")
    let before = ["Forwarded: for=192.0.2.99", "X-Forwarded-For: 192.0.2.99"].filter { line in
      line.hasPrefix("X") ? customary : standard
    }
    require(forwardedClient(before.map { Array($0.utf8) } + lines) == client, "what stands before changes the client")
  }

  private static let forwardedTrust: TrustedProxies = {
    guard let block = try? AddressBlock("10.0.0.0/8") else { fatalError("10.0.0.0/8 is a block") }
    return TrustedProxies([block])
  }()

  /// nil when there is no such head, or nothing is said, or it is refused.
  private static func forwardedClient(_ lines: [[UInt8]]) -> ForwardedClient? {
    var head = Array("GET / HTTP/1.1\r\nHost: a\r\n".utf8)
    for line in lines { head += line + [0x0D, 0x0A] }
    head += [0x0D, 0x0A]
    // Room for what the invariants add to any input.
    var limits = HTTPLimits()
    limits.fields = lines.count + 8
    var parser = RequestHeadParser(limits: limits)
    return head.withView { view in
      guard let head = try? parser.parse(view) else { return nil }
      return try? ForwardedClient(head, trusting: forwardedTrust)
    }
  }
}

extension IPAddress {
  fileprivate init?(_ text: String) {
    guard let address = Array(text.utf8).withView({ IPAddress($0) }) else { return nil }
    self = address
  }
}
