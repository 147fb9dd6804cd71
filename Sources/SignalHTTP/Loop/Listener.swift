// SPDX-License-Identifier: MIT
import CReadiness
import Glibc

/// A listening socket: accepts on the first loop and hands each connection to the loop with the fewest.
final class Listener {
  /// Connections accepted in one go, so that a storm of them does not stop the loop's other work.
  private static let acceptsPerTurn = 16

  private let socket: BoundSocket
  /// Its place among those of the server, which each connection carries.
  private let number: UInt8
  /// Called with each accepted socket, which is then the callee's.
  private let hand: (AcceptedSocket, isolated EventLoop) -> Void
  private(set) var isPaused = false
  /// Somebody waits to be accepted.
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
      // The pointer is good during the call.
      let accepted = unsafe creadiness_accept(descriptor, &peer)
      if accepted >= 0 {
        hand(AcceptedSocket(descriptor: accepted, peer: PeerAddress(peer), listener: number), loop)
        continue
      }
      switch errno {
      case EINTR, ECONNABORTED: continue
      case EMFILE, ENFILE, ENOBUFS, ENOMEM:
        // Level-triggered: without a pause the loop would spin on a connection it cannot take.
        loop.unwatchListener(self)
        return pause(on: loop)
      default: return
      }
    }
  }

  /// Waits for the next sweep.
  func pause(on loop: isolated EventLoop) {
    isPaused = true
    loop.needSweep()
  }

  /// Tries again after a pause, at the next sweep.
  func resumeIfPaused(on loop: isolated EventLoop) {
    guard isPaused else { return }
    isPaused = false
    loop.watchListener(self)
  }
}
