// SPDX-License-Identifier: MIT
import SignalHTTP

extension Setting {
  /// What stands for every peer on a unix socket.
  private static let unixSockets = "unix"
  /// The most proxies: each is compared with, for each request that names a client.
  private static let mostProxies = 256

  /// Addresses and blocks of them, and unix sockets.
  static func proxies(_ name: String, _ field: Field<TrustedProxies>, _ summary: String) -> Setting {
    Setting(
      name: name, expected: "a list of addresses and blocks such as 10.0.0.0/8, ::1, or unix", summary: summary,
      isList: true,
      assign: { texts, settings in
        guard proxyFault(texts) == nil else { return false }
        settings[keyPath: field] = TrustedProxies(
          texts.compactMap { try? AddressBlock($0) }, includesUnixSockets: texts.contains(unixSockets))
        return true
      },
      fault: proxyFault,
      texts: { settings in
        let proxies = settings[keyPath: field]
        // Quoted, as an address of IPv6 may begin or end with a colon.
        return proxies.blocks.map { "\"\($0)\"" } + (proxies.includesUnixSockets ? [unixSockets] : [])
      }, copy: { $1[keyPath: field] = $0[keyPath: field] })
  }

  /// Why texts name no proxies.
  @Sendable private static func proxyFault(_ texts: [String]) -> String? {
    guard texts.count <= mostProxies else { return "has at most \(mostProxies) of them" }
    for text in texts where text != unixSockets {
      do throws(AddressBlock.Fault) {
        _ = try AddressBlock(text)
      } catch {
        return "'\(text.printable)' \(error)"
      }
    }
    return nil
  }

  /// How long browsers shall use nothing but TLS: `off`, or a length of time.
  static func hsts(
    _ name: String, _ field: Field<Duration?>, _ range: ClosedRange<Duration>, _ summary: String
  ) -> Setting {
    let bounds = "\(SettingText.text(duration: range.lowerBound)) to \(SettingText.text(duration: range.upperBound))"
    return Setting(
      name, field, "off, or a duration in whole seconds from \(bounds), such as 8760h", summary,
      read: { text -> Duration?? in
        guard text != "off" else { return .some(nil) }
        guard let time = SettingText.duration(text), range.contains(time), time.components.attoseconds == 0 else {
          return nil
        }
        return time
      },
      write: { $0.map(SettingText.text(duration:)) ?? "off" })
  }
}
