// SPDX-License-Identifier: MIT
@testable import SignalAccess
import Testing

@Suite("What was used recently")
struct RecentlyUsedTests {
  @Test func `what is asked for again is kept, however many others come`() {
    var cache = RecentlyUsed<Int, String>(capacity: 4)
    cache.insert("kept", for: 0)
    for number in 1...100 {
      cache.insert("\(number)", for: number)
      #expect(cache.find(0) == "kept" && cache.find(number) == "\(number)")
      #expect(cache.count <= 8)
    }
    #expect(cache.find(1) == nil)
  }

  @Test func `as many as its capacity never miss, in whichever order they are asked for`() {
    var cache = RecentlyUsed<Int, Int>(capacity: 5)
    for number in 0..<3 { cache.insert(number, for: -1 - number) }
    for number in 0..<5 { cache.insert(number, for: number) }
    for round in 0..<20 {
      for number in 0..<5 { #expect(cache.find(round.isMultiple(of: 2) ? number : 4 - number) != nil) }
    }
  }
}
