// SPDX-License-Identifier: MIT

/// Content negotiation by `Accept` (RFC 9110 §12.5.1).
package enum Accept {
  /// The index in `offered` of the type that the client prefers, the first of equals; nil when it accepts none.
  ///
  /// Without `Accept` all types are equally acceptable. A malformed element is skipped, as if it had not been sent: a
  /// preference is no reason to refuse a request. A parameter of a range must be in the offered type too, except for
  /// `charset`, which has no meaning for types that are UTF-8 by definition.
  package static func best(of offered: [StaticString], for head: borrowing RequestHead) -> Int? {
    var best: Int?
    var bestQuality = 0
    for (place, name) in offered.enumerated() {
      guard let type = try? MediaType(ByteView(name)) else { preconditionFailure("\(name) is not a media type") }
      let quality = quality(of: type, for: head)
      if quality > bestQuality {
        best = place
        bestQuality = quality
      }
    }
    return best
  }

  /// The quality of a type, in thousandths: that of the most specific range that matches it.
  private static func quality(of type: MediaType, for head: borrowing RequestHead) -> Int {
    var quality = 0
    var specificity = 0
    var hasRange = false
    head.forEachElement(of: .accept) { element in
      guard let range = MediaRange(element) else { return }
      hasRange = true
      let match = range.specificity(for: type)
      if match > specificity {
        specificity = match
        quality = range.quality
      }
    }
    return hasRange ? quality : 1000
  }
}

/// One element of `Accept`: a media type, `type/*` or `*/*`, with a weight.
private struct MediaRange {
  let type: MediaType
  /// Between 0 and 1000.
  let quality: Int

  init?(_ element: ByteView) {
    guard let type = try? MediaType(element) else { return nil }
    if type.type.isAsterisk, !type.subtype.isAsterisk { return nil }
    var quality = 1000
    for parameter in type.allParameters where parameter.name.isWeight {
      guard let weight = Weight.thousandths(parameter.value) else { return nil }
      quality = weight
    }
    self.type = type
    self.quality = quality
  }

  /// 0 when the range does not contain the type; the more specific, the higher.
  func specificity(for offered: MediaType) -> Int {
    if type.type.isAsterisk { return 1 }
    guard type.type.equalsIgnoringCase(offered.type) else { return 0 }
    if type.subtype.isAsterisk { return 2 }
    guard type.subtype.equalsIgnoringCase(offered.subtype) else { return 0 }
    var specificity = 3
    for parameter in type.allParameters {
      if parameter.name.isWeight { break }
      let isMatched = offered.allParameters.contains {
        $0.name.equalsIgnoringCase(parameter.name) && $0.content == parameter.content
      }
      if isMatched {
        specificity += 1
      } else if !parameter.name.equalsIgnoringCase("charset") {
        return 0
      }
    }
    return specificity
  }
}

/// The weight of a preference, `qvalue` of RFC 9110 §12.4.2: 0 to 1 with at most three decimal places.
enum Weight {
  /// A weight in thousandths; nil when it is none.
  static func thousandths(_ value: ByteView) -> Int? {
    guard value.count >= 1, value.count <= 5 else { return nil }
    let whole = value.byte(at: 0)
    guard whole == ASCII.zero || whole == ASCII.zero + 1 else { return nil }
    guard value.count == 1 || value.byte(at: 1) == ASCII.dot else { return nil }
    var weight = Int(whole - ASCII.zero) * 1000
    var place = 100
    for digit in value.dropFirst(2) {
      guard ASCII.isDigit(digit) else { return nil }
      weight += Int(digit - ASCII.zero) * place
      place /= 10
    }
    return weight <= 1000 ? weight : nil
  }
}

extension ByteView {
  fileprivate var isAsterisk: Bool { count == 1 && byte(at: 0) == ASCII.asterisk }
  fileprivate var isWeight: Bool { count == 1 && ASCII.lowercased(byte(at: 0)) == UInt8(ascii: "q") }
}
