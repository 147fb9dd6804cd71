// SPDX-License-Identifier: MIT

import SignalHTTP

extension FuzzTarget {
  /// `Sec-WebSocket-Extensions`, several fields with line feeds between them: what is agreed to is within the bounds of RFC
  /// 7692, and the response to it is an offer of the same.
  static let offers = FuzzTarget(name: "Offers") { input in
    let bytes = input.indices.map { input[$0] }
    let fields = bytes.split(separator: 10, omittingEmptySubsequences: false).map(Array.init)
    guard let offers = ExtensionOffer.parse(fields) else { return }
    let commas = bytes.count { $0 == UInt8(ascii: ",") }
    require(offers.count <= fields.count + commas, "more offers than commas divide")
    for offer in offers {
      let names = [offer.name] + offer.parameters.map(\.name) + offer.parameters.compactMap(\.value)
      for name in names { require(!name.isEmpty && name.allSatisfy { $0 > 32 && $0 < 127 }, "no token") }
    }
    guard let chosen = MessageDeflate.choose(from: offers) else { return }
    require((8...15).contains(chosen.windowBits ?? 15), "a window of another size")
    require((256...64 << 10).contains(chosen.largestAlone), "messages of another size")
    let response = ExtensionOffer.parse([Array(chosen.response.utf8)])
    require(
      response.map { MessageDeflate.choose(from: $0) } == chosen, "the response says something else: \(chosen.response)"
    )
  }
}
