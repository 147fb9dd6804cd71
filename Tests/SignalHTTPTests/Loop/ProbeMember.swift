// SPDX-License-Identifier: MIT
import Glibc

@testable import SignalHTTP

/// Two connected sockets.
struct SocketPair {
  let first: Int32
  let second: Int32

  init() {
    var pair: (Int32, Int32) = (-1, -1)
    // The two descriptors lie behind each other, as the call wants them.
    unsafe withUnsafeMutableBytes(of: &pair) { bytes in
      _ = unsafe socketpair(
        AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0,
        bytes.assumingMemoryBound(to: Int32.self).baseAddress)
    }
    (first, second) = pair
  }

  /// Receives what has come to the second, and throws it away.
  func drainSecond() {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    // A buffer of this call, of the size that is told.
    while unsafe recv(second, &buffer, buffer.count, 0) > 0 {}
  }
}

/// A member of a loop, one end of a pair of sockets, that tells when its time has come.
class ProbeMember: LoopMember {
  let descriptor: Int32
  var peer: Int32?
  var blockedTime: UInt64?
  var backlog = 0
  var isNew = false
  /// Whether it has been dropped.
  private(set) var isAborted = false
  private let whenDue: () -> Void

  init(_ descriptor: Int32, whenDue: @escaping () -> Void = {}) {
    self.descriptor = descriptor
    self.whenDue = whenDue
  }

  deinit {
    close(descriptor)
    if let peer { close(peer) }
  }

  /// The other end sends a byte.
  func peerSends() {
    // One byte of a constant.
    _ = peer.map { unsafe send($0, [0x61] as [UInt8], 1, 0) }
  }

  /// The other end sends no more.
  func peerEnds() { _ = peer.map { shutdown($0, Int32(SHUT_WR)) } }

  func ready(_ event: ReadinessEvent, on loop: isolated EventLoop) {}
  func proceed(on loop: isolated EventLoop) {}
  func flush(on loop: isolated EventLoop) {}
  func deadlineReached(on loop: isolated EventLoop) { whenDue() }
  func drain(on loop: isolated EventLoop) {}
  func abort(on loop: isolated EventLoop) { isAborted = true }
}
