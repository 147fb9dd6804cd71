// SPDX-License-Identifier: MIT
import CReadiness
import Glibc

/// The listening socket: accepts on the first loop and hands each connection to the loop with the fewest.
final class Listener {
  /// Connections accepted in one go, so that a storm of them does not stop the loop's other work.
  private static let acceptsPerTurn = 16

  private let handle: SocketHandle
  /// Called with each accepted descriptor, which is then the callee's.
  private let hand: (Int32, isolated EventLoop) -> Void
  private(set) var isPaused = false

  var descriptor: Int32 { handle.descriptor }

  init(_ handle: consuming SocketHandle, hand: @escaping (Int32, isolated EventLoop) -> Void) {
    self.handle = handle
    self.hand = hand
  }

  func accept(on loop: isolated EventLoop) {
    for _ in 0..<Self.acceptsPerTurn {
      let accepted = creadiness_accept(handle.descriptor)
      if accepted >= 0 {
        hand(accepted, loop)
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
