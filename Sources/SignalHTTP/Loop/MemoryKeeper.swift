// SPDX-License-Identifier: MIT

/// What one loop does about the memory of the server: it looks how much there is, and when it is short, drops connections
/// whose peers do not take what waits for them.
///
/// That takes back what nothing else can: frames and answers that wait, the newest event of each path for those who are
/// behind, the old snapshots that they still read.
final class MemoryKeeper: TurnParticipant {
  let budget: MemoryBudget
  /// Bytes that have begun to wait since somebody looked.
  private var noted = 0
  private var nextLook: UInt64 = 0

  /// After so many bytes it is looked how much memory there is: within a turn there may be many.
  private static let noticedBytes = 1 << 20
  /// How often it is looked otherwise, and how often connections are dropped; what they have is given back meanwhile.
  private static let interval: UInt64 = 100_000_000
  /// While memory is short, no more than this waits of an answer.
  static let smallRest = 16 << 10

  init(_ budget: MemoryBudget) { self.budget = budget }

  /// Most of the memory is used.
  var isShort: Bool { budget.gauge.isShort }

  /// Notes bytes that have begun to wait.
  func note(_ bytes: Int) {
    noted += bytes
    guard noted >= Self.noticedBytes else { return }
    noted = 0
    budget.gauge.look()
  }

  /// Takes what a connection is counted with; nil when there is none left, and it can only be refused.
  func takeConnection(isSecured: Bool) -> Int? {
    let bytes = isSecured ? MemoryBudget.securedConnectionBytes : MemoryBudget.connectionBytes
    if budget.connections.take(bytes) { return bytes }
    budget.countRefused(1)
    return nil
  }

  /// Gives back what was counted for input.
  func release(input: Int) { if input > 0 { budget.requests.giveBack(input) } }

  /// Gives back what was counted for a connection.
  func release(input: Int, connection: Int?) {
    release(input: input)
    guard let connection else { return budget.countRefused(-1) }
    if connection > 0 { budget.connections.giveBack(connection) }
  }

  func turnBegins(on loop: isolated EventLoop) {}

  func turnEnds(on loop: isolated EventLoop) {
    guard loop.now >= nextLook else { return }
    nextLook = loop.now + Self.interval
    budget.gauge.look()
    guard isShort else { return }
    // There may be no other event that begins a turn.
    loop.needTurn(at: nextLook)
    budget.noteShortage(dropping: loop.abortBlocked(), at: loop.now)
  }
}
