// SPDX-License-Identifier: MIT

/// Enforces the server's memory limit on one loop: checks the use and, when memory is short, drops connections whose
/// peers do not accept their pending output.
///
/// That frees what nothing else can: pending frames and answers, conflated events of lagging subscribers, and the old
/// snapshots that they still read.
final class MemoryKeeper: TurnParticipant {
  let budget: MemoryBudget
  /// Bytes that have become pending since the last check.
  private var noted = 0
  private var nextLook: UInt64 = 0

  /// Pending bytes after which memory is checked again: there may be many within one turn.
  private static let noticedBytes = 1 << 20
  /// How often it is checked otherwise, and how often connections are dropped; their memory is freed in between.
  private static let interval: UInt64 = 100_000_000
  /// While memory is short, at most this much of an answer may stay pending.
  static let smallRest = 16 << 10

  init(_ budget: MemoryBudget) { self.budget = budget }

  /// Most of the memory is used.
  var isShort: Bool { budget.gauge.isShort }

  /// Counts bytes that have become pending.
  func note(_ bytes: Int) {
    noted += bytes
    guard noted >= Self.noticedBytes else { return }
    noted = 0
    budget.gauge.look()
  }

  /// Claims the memory that a connection counts for; nil when there is none left, and it can only be refused.
  func takeConnection(isSecured: Bool) -> Int? {
    let bytes = isSecured ? MemoryBudget.securedConnectionBytes : MemoryBudget.connectionBytes
    if budget.connections.take(bytes) { return bytes }
    budget.countRefused(1)
    return nil
  }

  /// Releases the memory claimed for input.
  func release(input: Int) { if input > 0 { budget.requests.giveBack(input) } }

  /// Releases the memory claimed for a connection.
  func release(input: Int, connection: Int?) {
    release(input: input)
    guard let connection else { return budget.countRefused(-1) }
    if connection > 0 { budget.connections.giveBack(connection) }
  }

  func turnEnds(on loop: isolated EventLoop) -> Bool {
    if loop.now >= nextLook { look(on: loop) }
    return true
  }

  private func look(on loop: isolated EventLoop) {
    nextLook = loop.now + Self.interval
    budget.gauge.look()
    guard isShort else { return }
    // There may be no other event that would begin a turn.
    loop.needTurn(at: nextLook)
    let dropped = loop.abortBlocked()
    loop.counters.add(.droppedForMemory, dropped)
    budget.noteShortage(dropping: dropped, at: loop.now)
  }
}
