// SPDX-License-Identifier: MIT

import Foundation
import SignalStore
import Testing

@Suite struct RevisionTests {
  @Test(arguments: ["x7.1042", "a.0", "abcdefgh.18446744073709551615", "0.9"])
  func `a cursor reads back as it was written`(text: String) throws {
    let cursor = try #require(Cursor(text))
    #expect(cursor.description == text)
    #expect(Cursor(Array(text.utf8).span) == cursor)
    #expect(text == "\(cursor.epoch).\(cursor.revision)")
  }

  @Test(arguments: [
    "", ".", "x7", "x7.", ".1", "x7.01", "x7.00", "x7.-1", "x7.+1", "x7. 1", "x7.1 ", "x7.1.2", "X7.1", "x_7.1", "ü.1",
    "abcdefghi.1", "x7.18446744073709551616", "x7.99999999999999999999", "x7.100000000000000000000", "x7.1a",
    "\"x7.1\"",
    "x7.１",
  ])
  func `a text that is not exactly a cursor is refused`(text: String) {
    #expect(Cursor(text) == nil)
  }

  @Test(arguments: ["", "abcdefghi", "A", "a b", "-", "é"])
  func `an epoch is one to eight lowercase letters and digits`(text: String) {
    #expect(Epoch(text) == nil)
    #expect(Epoch("x7")?.description == "x7")
  }

  @Test func `a random epoch has eight characters and is not the next one`() {
    let epochs = (0..<1000).map { _ in Epoch.random() }
    #expect(Set(epochs).count == 1000)
    for epoch in epochs {
      #expect(epoch.description.utf8.count == 8)
      #expect(Epoch(epoch.description) == epoch)
    }
    var one = StoreGenerator(seed: 1)
    var same = StoreGenerator(seed: 1)
    #expect(Epoch.random(using: &one) == Epoch.random(using: &same))
  }

  @Test func `revisions are ordered by number`() {
    #expect(Revision(9) < Revision(10))
    #expect(([3, 1, 2] as [Revision]).sorted() == [1, 2, 3])
  }
}

@Suite struct TimestampTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (1_767_323_045_678, "2026-01-02T03:04:05.678Z"),
      (951_782_399_999, "2000-02-28T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (951_868_800_000, "2000-03-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
      (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
      (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"), (-62_162_035_200_001, "0000-02-29T23:59:59.999Z"),
      (.max, "9999-12-31T23:59:59.999Z"), (.min, "0000-01-01T00:00:00.000Z"),
    ] as [(Int64, String)])
  func `a time is written as RFC 3339 has it`(milliseconds: Int64, text: String) {
    let time = Timestamp(milliseconds: milliseconds)
    #expect(time.description == text)
    var bytes: [UInt8] = [1]
    time.write(to: &bytes)
    #expect(bytes == [1] + Array(text.utf8))
  }

  @Test func `every day of eight centuries is the day that Foundation names`() {
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withInternetDateTime]
    var generator = StoreGenerator(seed: 1)
    for day in stride(from: -140_000, to: 160_000, by: 7) {
      let second = Int64(day) * 86_400 + Int64(generator.number(below: 86_400))
      let expected = formatter.string(from: Date(timeIntervalSince1970: Double(second)))
      // Foundation changes to the Julian calendar in 1582.
      guard day > -141_000 else { continue }
      #expect(Timestamp(milliseconds: second * 1000).description == expected.dropLast() + ".000Z")
    }
  }

  @Test func `now is what the system says`() {
    let before = Int64(Date().timeIntervalSince1970 * 1000) - 1
    let now = Timestamp.now
    let after = Int64(Date().timeIntervalSince1970 * 1000) + 1
    #expect((before...after).contains(now.milliseconds))
  }
}
