// SPDX-License-Identifier: MIT

@testable import SignalHTTP

extension FuzzTarget {
  /// The header of the PROXY protocol in pieces: the same outcome however it is cut, no more waiting once the limit is
  /// reached, and what is found says the same when it is written anew.
  static let proxyHeader = FuzzTarget(name: "ProxyHeader") { input in
    guard let input = CutInput(input) else { return }
    let outcome = input.sameOutcome(proxyOutcome)
    if outcome == .needsMore {
      require(input.bytes.count < ProxyHeader.mostBytes, "a header over the limit is awaited")
    }
    guard case .header(let header) = outcome else { return }
    require(
      (15...min(input.bytes.count, ProxyHeader.mostBytes)).contains(header.length), "a header of \(header.length)")
    guard case .client(let address, let port) = header.source else { return }
    let family = address.ipv4 == nil ? "TCP6" : "TCP4"
    let line = Array("PROXY \(family) \(address) \(address) \(port) 1\r\n".utf8)
    // An address of IPv4 that was written as one of IPv6 is the same.
    let again = line.withView { try? ProxyHeader.parse($0) }
    require(again == ProxyHeader(source: header.source, length: line.count), "\(header.source) reads as another")
  }

  private enum ProxyOutcome: Equatable {
    case needsMore
    case refused(ProxyHeaderError)
    case header(ProxyHeader)
  }

  private static func proxyOutcome(of bytes: [UInt8], cutAt cuts: [Int]) -> ProxyOutcome {
    for cut in cuts {
      do throws(ProxyHeaderError) {
        // A copy, so that the sanitizer sees a read behind the end of what has arrived.
        let arrived = Array(bytes[..<cut])
        let header = try arrived.withView { (view) throws(ProxyHeaderError) in try ProxyHeader.parse(view) }
        if let header { return .header(header) }
      } catch {
        return .refused(error)
      }
    }
    return .needsMore
  }
}
