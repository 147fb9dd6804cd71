// SPDX-License-Identifier: MIT

/// What is done on a loop besides its connections: at the end of each turn, and when a time has come.
package protocol LoopWork: AnyObject {
  /// Called at the end of a turn, before output is sent.
  ///
  /// - Parameter now: The time of the turn, in milliseconds of a clock that only grows.
  /// - Returns: When the next turn is needed at the latest, by the same clock; `.max` for no such time.
  func turnEnds(at now: UInt64, on loop: isolated EventLoop) -> UInt64
}

/// Lets work that knows no turns take part in them.
private final class WorkingParticipant: TurnParticipant {
  private let work: any LoopWork

  init(_ work: any LoopWork) { self.work = work }

  func turnEnds(on loop: isolated EventLoop) -> Bool {
    let next = work.turnEnds(at: loop.milliseconds, on: loop)
    if next != .max { loop.needTurn(at: next &* 1_000_000) }
    return true
  }
}

extension EventLoop {
  /// The time of the turn in milliseconds, by a clock that only grows.
  package var milliseconds: UInt64 { now / 1_000_000 }

  /// Calls the work in every turn from now on, for as long as the loop runs.
  package func add(_ work: some LoopWork) {
    addParticipant(WorkingParticipant(work))
    continueInNextTurn()
  }

  /// Makes the loop run a turn soon; may be called from anywhere.
  package nonisolated func needTurnSoon() { wake() }

  /// Ends the loop; what it holds is released.
  package func end() { stop() }
}
