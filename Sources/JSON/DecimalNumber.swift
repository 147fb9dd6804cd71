// SPDX-License-Identifier: MIT

/// A JSON number taken apart, and its conversion to the nearest `Double`, ties to even.
///
/// Three ways, each exact before its one rounding: a product or quotient of two exact doubles; 128-bit integers for up
/// to 19 digits and powers of ten from -27 to 27, which is nearly every number that a program has written; the
/// standard library's parser for the rest.
struct DecimalNumber {
  private let isNegative: Bool
  /// The first 19 significant digits.
  private let significand: UInt64
  /// The value is the significand times ten to this power, if nothing was cut off.
  private let exponent: Int
  /// Whether a digit that is not zero follows them.
  private let isCut: Bool

  /// Reads a valid number.
  init(_ text: Span<UInt8>) {
    var position = 0
    isNegative = text.count > 0 && text.byte(at: 0) == UInt8(ascii: "-")
    if isNegative { position = 1 }

    var significand: UInt64 = 0
    var digits = 0
    var exponent = 0
    var isCut = false
    var isFraction = false
    while position < text.count {
      let byte = text.byte(at: position)
      if Validator.isDigit(byte) {
        if digits < 19 {
          significand = significand &* 10 &+ UInt64(byte &- UInt8(ascii: "0"))
          if significand != 0 { digits += 1 }
          if isFraction { exponent -= 1 }
        } else {
          // Zeros at the end are only a matter of the exponent.
          isCut = isCut || byte != UInt8(ascii: "0")
          if !isFraction { exponent += 1 }
        }
      } else if byte == UInt8(ascii: ".") {
        isFraction = true
      } else {
        break
      }
      position += 1
    }
    if position < text.count { exponent += Self.exponentPart(text, from: position + 1) }
    self.significand = significand
    self.exponent = exponent
    self.isCut = isCut
  }

  /// The value of a number of at most 16 bytes without an exponent, as most are; nil for every other.
  ///
  /// Fifteen digits and their power of ten are exact doubles, so the one division rounds correctly.
  @inline(__always)
  static func short(_ text: Span<UInt8>) -> Double? {
    let count = text.count
    guard count <= 16 else { return nil }
    var significand: UInt64 = 0
    var pointAt = count
    let isNegative = count > 0 && text.byte(at: 0) == UInt8(ascii: "-")
    var position = isNegative ? 1 : 0
    while position < count {
      let byte = text.byte(at: position)
      let digit = byte &- UInt8(ascii: "0")
      if digit < 10 {
        significand = significand &* 10 &+ UInt64(digit)
      } else if byte == UInt8(ascii: ".") {
        pointAt = position
      } else {
        return nil
      }
      position += 1
    }
    guard significand <= 1 << 53 else { return nil }
    var magnitude = Double(significand)
    let decimals = count - pointAt - 1
    if decimals > 0 { magnitude /= powersOfTen[decimals] }
    return isNegative ? -magnitude : magnitude
  }

  /// The number after `e`, held at 10^12: no text is long enough for its digits to make up for that.
  private static func exponentPart(_ text: Span<UInt8>, from start: Int) -> Int {
    var position = start
    var isNegative = false
    if position < text.count, !Validator.isDigit(text.byte(at: position)) {
      isNegative = text.byte(at: position) == UInt8(ascii: "-")
      position += 1
    }
    var value = 0
    while position < text.count {
      value = min(value * 10 + Int(text.byte(at: position) &- UInt8(ascii: "0")), 1_000_000_000_000)
      position += 1
    }
    return isNegative ? -value : value
  }

  /// The value; `text` is the one it was read from.
  func double(of text: Span<UInt8>) -> Double {
    let magnitude: Double
    if significand == 0 {
      magnitude = 0
    } else if !isCut, exponent >= -22, exponent <= 22, significand <= 1 << 53 {
      // Both operands are exact, so the one operation rounds correctly.
      let power = Self.powersOfTen[abs(exponent)]
      magnitude = exponent < 0 ? Double(significand) / power : Double(significand) * power
    } else if !isCut, exponent >= -27, exponent <= 27 {
      magnitude = exponent < 0 ? quotient() : product()
    } else if exponent > 310 {
      magnitude = .infinity
    } else if exponent < -400 {
      // Below 10^-380: less than half of the smallest subnormal.
      magnitude = 0
    } else {
      magnitude = general(text)
    }
    return isNegative ? -magnitude : magnitude
  }

  private func product() -> Double {
    let (high, low) = significand.multipliedFullWidth(by: Self.powersOfFive[exponent])
    guard high != 0 else { return Double(low) * Self.powerOfTwo(exponent) }
    let shift = high.leadingZeroBitCount
    let top = high << UInt64(shift) | (shift == 0 ? 0 : low >> UInt64(64 - shift))
    let rest = low << UInt64(shift)
    // Bit 0 is far below the last bit that a Double keeps: it can stand for all that was cut off.
    return Double(top | (rest == 0 ? 0 : 1)) * Self.powerOfTwo(exponent + 64 - shift)
  }

  private func quotient() -> Double {
    let divisor = Self.powersOfFive[-exponent]
    let divisorShift = divisor.leadingZeroBitCount
    let shift = significand.leadingZeroBitCount
    let dividend = significand << UInt64(shift)
    // The high word is below 2^63, the divisor is not: the quotient fits one word and has 63 bits or more.
    let (quotient, remainder) = (divisor << UInt64(divisorShift))
      .dividingFullWidth((high: dividend >> 1, low: dividend << 63))
    return Double(quotient | (remainder == 0 ? 0 : 1)) * Self.powerOfTwo(exponent + divisorShift - shift - 63)
  }

  /// Anything else.
  ///
  /// More than 800 digits cannot matter, only whether one of the others is not zero: so a text of a megabyte costs as
  /// little as one of a kilobyte.
  private func general(_ text: Span<UInt8>) -> Double {
    var digits: [UInt8] = []
    var exponent = 0
    var isFraction = false
    var position = isNegative ? 1 : 0
    var isInexact = false
    while position < text.count {
      let byte = text.byte(at: position)
      position += 1
      if byte == UInt8(ascii: ".") {
        isFraction = true
        continue
      }
      guard Validator.isDigit(byte) else { break }
      if digits.isEmpty, byte == UInt8(ascii: "0") {
        if isFraction { exponent -= 1 }
      } else if digits.count < 800 {
        digits.append(byte)
        if isFraction { exponent -= 1 }
      } else {
        isInexact = isInexact || byte != UInt8(ascii: "0")
        if !isFraction { exponent += 1 }
      }
    }
    if position < text.count { exponent += Self.exponentPart(text, from: position) }
    if isInexact {
      digits.append(UInt8(ascii: "1"))
      exponent -= 1
    }
    digits.append(UInt8(ascii: "e"))
    digits.appendJSON(exponent)
    // Digits and an exponent are always a number to the standard library.
    return Double(String(decoding: digits, as: UTF8.self)) ?? .nan
  }

  private static func powerOfTwo(_ exponent: Int) -> Double {
    // Exponents here are between -154 and 91: always a normal number.
    Double(bitPattern: UInt64(1023 + exponent) << 52)
  }

  private static let powersOfTen: InlineArray<23, Double> = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
    1e20, 1e21, 1e22,
  ]

  /// The largest that fits 64 bits is 5^27.
  private static let powersOfFive: InlineArray<28, UInt64> = [
    1, 5, 25, 125, 625, 3125, 15625, 78125, 390_625, 1_953_125, 9_765_625, 48_828_125, 244_140_625, 1_220_703_125,
    6_103_515_625, 30_517_578_125, 152_587_890_625, 762_939_453_125, 3_814_697_265_625, 19_073_486_328_125,
    95_367_431_640_625, 476_837_158_203_125, 2_384_185_791_015_625, 11_920_928_955_078_125, 59_604_644_775_390_625,
    298_023_223_876_953_125, 1_490_116_119_384_765_625, 7_450_580_596_923_828_125,
  ]
}
