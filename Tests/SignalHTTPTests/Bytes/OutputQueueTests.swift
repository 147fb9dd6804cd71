// SPDX-License-Identifier: MIT
import Testing

@testable import SignalHTTP

@Suite struct OutputQueueTests {
  private func front(_ queue: OutputQueue) -> [UInt8] {
    unsafe queue.withBlocks { blocks in
      var bytes: [UInt8] = []
      for index in blocks.indices {
        let block = unsafe blocks[index]
        unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(start: block.start, count: block.count))
      }
      return bytes
    }
  }

  @Test func `what goes in comes out in order, however it is consumed`() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      var queue = OutputQueue()
      var model: [UInt8] = []
      var next: UInt8 = 0
      for _ in 0..<Int.random(in: 1...120, using: &generator) {
        if Bool.random(using: &generator) || queue.isEmpty {
          let block = (0..<Int.random(in: 0...9, using: &generator)).map { _ -> UInt8 in
            next &+= 1
            return next
          }
          queue.append(block)
          model += block
        } else {
          let seen = front(queue)
          #expect(model.starts(with: seen))
          #expect(!seen.isEmpty)
          let count = Int.random(in: 0...seen.count, using: &generator)
          queue.consume(count)
          model.removeFirst(count)
        }
        #expect(queue.count == model.count)
        #expect(queue.isEmpty == model.isEmpty)
      }
    }
  }

  @Test func `one call gathers sixteen blocks at most`() {
    var queue = OutputQueue()
    for index in 0..<40 { queue.append([UInt8(index)]) }
    #expect(front(queue) == (0..<16).map { UInt8($0) })
    queue.consume(16)
    #expect(front(queue) == (16..<32).map { UInt8($0) })
  }

  @Test func `a block that is shared is not copied`() {
    let block = [UInt8](repeating: 7, count: 1000)
    var queue = OutputQueue()
    queue.append(block)
    let original = unsafe block.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    let queued = unsafe queue.withBlocks { blocks in unsafe UInt(bitPattern: blocks[0].start) }
    #expect(original == queued)
  }

  @Test func `consuming more than waits is a programming error`() async {
    await #expect(processExitsWith: .failure) {
      var queue = OutputQueue()
      queue.append([1])
      queue.consume(2)
    }
  }
}
