// SPDX-License-Identifier: MIT

/// Output queued for one socket: references to immutable blocks and an offset into the first, never copies.
///
/// A block is an array; appending one that is also referenced elsewhere costs a retain. The first block is stored
/// inline, so that the usual case, one block that is sent at once, allocates nothing.
struct OutputQueue {
  /// Bytes not yet sent.
  private(set) var count = 0
  private var first: [UInt8] = []
  private var offset = 0
  private var rest: [[UInt8]] = []
  private var nextInRest = 0

  /// Maximum number of blocks sent by one call.
  static let gatherLimit = 16

  var isEmpty: Bool { count == 0 }

  mutating func append(_ block: [UInt8]) {
    guard !block.isEmpty else { return }
    if count == 0 {
      first = block
      offset = 0
    } else {
      rest.append(block)
    }
    count += block.count
  }

  /// Removes `sent` bytes at the front; all storage is released when nothing is left.
  mutating func consume(_ sent: Int) {
    precondition(sent <= count, "consumed more bytes than were waiting")
    count -= sent
    if count == 0 {
      first = []
      if rest.isEmpty { return }
      rest = []
      nextInRest = 0
      return
    }
    var left = sent
    while left >= first.count - offset {
      left -= first.count - offset
      first = rest[nextInRest]
      rest[nextInRest] = []
      nextInRest += 1
      offset = 0
    }
    offset += left
    // Blocks already sent are removed from the array in runs, so that consuming stays linear.
    if nextInRest > 32 && nextInRest * 2 > rest.count {
      rest.removeFirst(nextInRest)
      nextInRest = 0
    }
  }

  /// Calls `body` with the front blocks, at most `gatherLimit`, in order.
  ///
  /// Must not be called on an empty queue.
  func withBlocks<Result>(_ body: (UnsafeMutableBufferPointer<Block>) -> Result) -> Result {
    let blocks = min(1 + rest.count - nextInRest, Self.gatherLimit)
    if blocks == 1 { return unsafe withFirst(body) }
    // Uninitialised stack memory; `gather` fills exactly `blocks` of it before `body` sees it.
    return unsafe withUnsafeTemporaryAllocation(of: Block.self, capacity: blocks) { memory in
      unsafe gather(0, blocks, memory, body)
    }
  }

  /// One block's bytes, laid out like the `iovec` of the system calls; valid during the call it is passed to.
  @unsafe struct Block {
    let start: UnsafeMutableRawPointer?
    let count: Int
  }

  /// The usual case, without a list of blocks.
  private func withFirst<Result>(_ body: (UnsafeMutableBufferPointer<Block>) -> Result) -> Result {
    unsafe first.withUnsafeBytes { bytes in
      let start = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { unsafe $0 + offset })
      var block = unsafe Block(start: start, count: bytes.count - offset)
      return unsafe withUnsafeMutablePointer(to: &block) {
        unsafe body(UnsafeMutableBufferPointer(start: $0, count: 1))
      }
    }
  }

  /// Recursion keeps every array's storage pinned while the pointers to it are used.
  private func gather<Result>(
    _ index: Int, _ total: Int, _ memory: UnsafeMutableBufferPointer<Block>,
    _ body: (UnsafeMutableBufferPointer<Block>) -> Result
  ) -> Result {
    guard index < total else { return unsafe body(memory) }
    let block = index == 0 ? first : rest[nextInRest + index - 1]
    let skipped = index == 0 ? offset : 0
    return unsafe block.withUnsafeBytes { bytes in
      let start = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress.map { unsafe $0 + skipped })
      unsafe memory.initializeElement(at: index, to: Block(start: start, count: bytes.count - skipped))
      return unsafe gather(index + 1, total, memory, body)
    }
  }
}
