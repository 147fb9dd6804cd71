// SPDX-License-Identifier: MIT

/// The compressors of one loop; each is created when it is first needed.
final class Compressors {
  /// For messages of all clients.
  private(set) lazy var inflater = Inflater()
  /// For messages that refer to nothing before them.
  private lazy var alone = Deflater(.raw, window: .small)
  private lazy var body = Deflater(.gzip, window: .large)
  /// What may be spent on compressing in this turn, in the units of `TurnWork`; without any left, output is sent as it is.
  var workLeft: Int
  /// The same on decompressing; without any left, messages wait.
  var inflationLeft: Int
  private var windowsLeft = CompressionLimits.windows
  /// Compressors of groups that have no members any more.
  private var spare: [Deflater] = []

  init(work: Int) {
    workLeft = work
    inflationLeft = work
  }

  func beginTurn(work: Int) {
    workLeft = work
    inflationLeft = work
  }

  /// Compresses a message by itself, as permessage-deflate has it; nil when that makes it no smaller, or is too much
  /// work.
  ///
  /// - Parameter largest: The size from which on the result could refer further back than the client allows.
  func alone(_ message: Span<UInt8>, largest: Int) -> [UInt8]? {
    guard message.count >= CompressionLimits.smallestMessage, message.count <= largest, workLeft > 0 else {
      return nil
    }
    workLeft -= Self.cost(bytes: message.count)
    alone.reset()
    var bytes: [UInt8] = []
    bytes.reserveCapacity(message.count)
    alone.append(message, to: &bytes)
    alone.flush(to: &bytes)
    bytes.removeLast(Self.tailCount)
    return bytes.count < message.count ? bytes : nil
  }

  /// Compresses a response as gzip; nil when that makes it no smaller, or is too much work.
  func gzip(_ content: Span<UInt8>) -> [UInt8]? {
    guard content.count >= CompressionLimits.smallestBody, content.count <= CompressionLimits.largestBody,
      workLeft > 0
    else { return nil }
    workLeft -= Self.cost(bytes: content.count)
    body.reset()
    var bytes: [UInt8] = []
    body.append(content, to: &bytes)
    body.finish(to: &bytes)
    return bytes.count < content.count ? bytes : nil
  }

  /// The bytes at the end of a flushed part that a message does not have (RFC 7692 §7.2.1).
  static let tailCount = 4

  /// The cost in the units of `TurnWork`: 3 µs, and 5 ns for each byte.
  static func cost(bytes: Int) -> Int { 300 + bytes / 2 }

  // MARK: Windows

  /// A compressor for the window of a group; nil when there are as many as there may be.
  func takeWindow() -> Deflater? {
    guard windowsLeft > 0 else { return nil }
    windowsLeft -= 1
    return spare.popLast() ?? Deflater(.raw, window: .small, level: Self.windowLevel)
  }

  /// Of what many get, an eighth less is worth a microsecond or two more.
  private static let windowLevel: Int32 = 6

  func giveBack(_ window: Deflater) {
    windowsLeft += 1
    if spare.count < Self.mostSpare { spare.append(window) }
  }

  private static let mostSpare = 8
}
