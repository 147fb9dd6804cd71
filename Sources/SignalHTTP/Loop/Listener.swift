// SPDX-License-Identifier: MIT
import CReadiness
import Glibc

/// A listening socket: accepts on the first loop and hands each connection to the loop with the fewest.
final class Listener {
  /// Connections accepted in one go, so that a burst of them does not stall the loop's other work.
  private static let acceptsPerTurn = 16

  private let socket: BoundSocket
  /// Its index among the server's listeners, which each connection records.
  private let number: UInt8
  /// Called with each accepted socket, whose ownership passes to the callee.
  private let hand: (AcceptedSocket, isolated EventLoop) -> Void
  private(set) var isPaused = false
  /// Whether connections wait to be accepted.
  var isReady = false

  var descriptor: Int32 { socket.handle.descriptor }
  var token: UInt64 { EventLoop.token(ofListener: number) }

  init(_ socket: BoundSocket, number: UInt8, hand: @escaping (AcceptedSocket, isolated EventLoop) -> Void) {
    self.socket = socket
    self.number = number
    self.hand = hand
  }

  func accept(on loop: isolated EventLoop) {
    isReady = false
    for _ in 0..<Self.acceptsPerTurn {
      var peer = creadiness_peer()
      // The pointer is valid during the call.
      let accepted = unsafe creadiness_accept(descriptor, &peer)
      if accepted >= 0 {
        hand(AcceptedSocket(descriptor: accepted, peer: PeerAddress(peer), listener: number), loop)
        continue
      }
      switch errno {
      case EINTR, ECONNABORTED: continue
      case EMFILE, ENFILE, ENOBUFS, ENOMEM:
        // Level-triggered: without a pause the loop would spin on a connection that it cannot accept.
        loop.unwatchListener(self)
        return pause(on: loop)
      default: return
      }
    }
  }

  /// Stops accepting until the next sweep.
  func pause(on loop: isolated EventLoop) {
    isPaused = true
    loop.needSweep()
  }

  /// Resumes accepting after a pause, at the next sweep.
  func resumeIfPaused(on loop: isolated EventLoop) {
    guard isPaused else { return }
    isPaused = false
    loop.watchListener(self)
  }
}
