// SPDX-License-Identifier: MIT

/// How the frames of a group can be compressed for its members: part of the group's key.
enum FrameCompression: Hashable {
  /// Not at all.
  case none
  /// permessage-deflate, each message by itself, if it is not larger than this.
  case alone(largest: Int)
  /// permessage-deflate; messages may refer to those before them.
  case window
}

/// In which form a member gets the group's frames.
enum FrameForm {
  /// As they are.
  case plain
  /// Each message compressed by itself.
  case alone
  /// Messages that refer to those before them.
  case window
}

/// Frames of a group in the forms that its members get.
struct FrameForms {
  let plain: Frames
  /// nil when no member gets it, or nothing is compressed.
  var alone: Frames?
  var window: Frames?

  init(_ plain: Frames) { self.plain = plain }

  /// What can be decompressed in any case takes the place of a form that there is not.
  subscript(form: FrameForm) -> Frames {
    switch form {
    case .plain: plain
    case .alone: alone ?? plain
    case .window: window ?? plain
    }
  }
}

/// Compresses the frames of one group, once for all its members (RFC 7692).
///
/// A client decompresses each message with the last bytes of those before it that were compressed. So the members of the
/// *window* all get the same messages of one compressor, from one on that refers to nothing before it, and nothing else
/// that is compressed. Who is not in the window gets each message compressed by itself, until the window begins anew
/// with all who can be in it. Frames that are not compressed can be sent to anyone at any time.
final class GroupCompression {
  private let kind: FrameCompression
  private let compressors: Compressors
  private var window: Deflater?
  /// When the window began.
  private var begun: UInt64 = 0
  /// Frames that members outside of the window would have got smaller, if it had begun anew.
  private var missed = 0
  private var membersAlone = 0
  private var membersInWindow = 0

  init?(_ kind: FrameCompression, _ compressors: Compressors) {
    if case .none = kind { return nil }
    self.kind = kind
    self.compressors = compressors
  }

  deinit { if let window { compressors.giveBack(window) } }

  /// Counts the members that get a form.
  func count(_ form: FrameForm, _ change: Int) {
    switch form {
    case .plain: break
    case .alone: membersAlone += change
    case .window: membersInWindow += change
    }
  }

  /// Compresses frames for the members that get them now.
  func forms(of frames: Frames, for members: [Membership], at now: UInt64) -> FrameForms {
    var forms = FrameForms(frames)
    guard let whole = frames.compressible else { return forms }
    if mayBegin(members.count, at: now) { begin(members, at: now) }
    if let window, membersInWindow > 0 {
      forms.window = Frames(
        FrameCompressor.compress(whole, work: &compressors.workLeft) { message, output in
          window.append(message, to: &output)
          window.flush(to: &output)
          output.removeLast(Compressors.tailCount)
        })
    }
    if membersAlone > 0 { forms.alone = alone(whole) }
    return forms
  }

  /// Compresses frames that one member gets, so that they refer to nothing before them.
  func alone(_ frames: Frames) -> Frames {
    guard let whole = frames.compressible else { return frames }
    return alone(whole)
  }

  private func alone(_ whole: [UInt8]) -> Frames {
    let largest = if case .alone(let largest) = kind { largest } else { CompressionLimits.largestMessage }
    var output: [UInt8] = []
    output.reserveCapacity(whole.count)
    FrameCompressor.forEachFrame(of: whole) { frame, message in
      let bytes = whole.span.extracting(message)
      if let packed = compressors.alone(bytes, largest: largest) {
        FrameCompressor.append(packed, to: &output)
      } else {
        output += whole[frame]
      }
    }
    return Frames(output)
  }

  // MARK: The window

  /// Whether the window begins anew with the next frames.
  ///
  /// That costs each member of the window once what a member outside of it loses with every frame. So it is done when
  /// those have lost as much: together they never get more than twice the bytes of the best moment, however members come
  /// and go.
  private func mayBegin(_ members: Int, at now: UInt64) -> Bool {
    guard case .window = kind else { return false }
    if membersInWindow == 0, let left = window.take() { compressors.giveBack(left) }
    guard membersAlone > 0, members >= CompressionLimits.windowMembers else { return false }
    missed += membersAlone
    guard missed >= membersInWindow, now >= begun + CompressionLimits.windowInterval else { return false }
    if window == nil { window = compressors.takeWindow() }
    return window != nil
  }

  private func begin(_ members: [Membership], at now: UInt64) {
    window?.reset()
    begun = now
    missed = 0
    for member in members { member.enterWindow() }
  }
}

/// Compresses the messages of finished text frames.
enum FrameCompressor {
  /// Compresses each message that is worth it; `deflate` appends its bytes without those at the end that a message does
  /// not have.
  static func compress(
    _ frames: [UInt8], work: inout Int, _ deflate: (Span<UInt8>, inout [UInt8]) -> Void
  ) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(frames.count)
    var packed: [UInt8] = []
    forEachFrame(of: frames) { frame, message in
      guard (CompressionLimits.smallestMessage...CompressionLimits.largestMessage).contains(message.count), work > 0
      else {
        output += frames[frame]
        return
      }
      work -= Compressors.cost(bytes: message.count)
      packed.removeAll(keepingCapacity: true)
      deflate(frames.span.extracting(message), &packed)
      append(packed, to: &output)
    }
    return output
  }

  /// Appends a text frame whose payload is compressed.
  static func append(_ payload: [UInt8], to output: inout [UInt8]) {
    let start = output.count
    FrameWriter.append(.text, payload, to: &output)
    output[start] |= FrameWriter.compressedBit
  }

  /// Calls `body` with the place of each frame and of the message in it; frames of ours are whole messages without a mask.
  static func forEachFrame(of frames: [UInt8], _ body: (_ frame: Range<Int>, _ message: Range<Int>) -> Void) {
    var start = 0
    while start < frames.count {
      var length = Int(frames[start + 1])
      var message = start + 2
      if length > 125 {
        let end = message + (length == 126 ? 2 : 8)
        length = frames[message..<end].reduce(0) { $0 << 8 | Int($1) }
        message = end
      }
      body(start..<message + length, message..<message + length)
      start = message + length
    }
  }
}

extension Frames {
  /// The frames in one piece; nil when that is so large that they are sent as they are.
  fileprivate var compressible: [UInt8]? {
    if rest.isEmpty { return first }
    guard count <= CompressionLimits.largestMessage else { return nil }
    return rest.reduce(into: first) { $0 += $1 }
  }
}
