// SPDX-License-Identifier: MIT
import Testing

@testable import signal_server

@Suite("How values of settings are written")
struct SettingTextTests {
  @Test(arguments: [
    ("0", 0), ("1", 1), ("1023", 1023), ("1KiB", 1024), ("64KiB", 65_536), ("1MiB", 1_048_576), ("2GiB", 2 << 30),
    ("0KiB", 0), ("007", 7),
  ])
  func `a size is a count of bytes or of a binary unit`(text: String, bytes: Int) {
    #expect(SettingText.bytes(text) == bytes)
  }

  @Test(arguments: [
    "", "KiB", "1kb", "1KB", "1kib", "1 KiB", "1K", "1M", "-1", "+1", "1.5MiB", "0x10", "1_000", " 1", "1 ", "١",
    "9223372036854775808", "9007199254740992GiB", "1MiBKiB",
  ])
  func `anything else is no size`(text: String) {
    #expect(SettingText.bytes(text) == nil)
  }

  @Test(arguments: [
    ("250ms", Duration.milliseconds(250)), ("30s", .seconds(30)), ("5m", .seconds(300)), ("2h", .seconds(7200)),
    ("0s", .zero), ("1500ms", .milliseconds(1500)),
  ])
  func `a duration is a number with its unit`(text: String, duration: Duration) {
    #expect(SettingText.duration(text) == duration)
  }

  @Test(arguments: [
    "", "s", "30", "30 s", "1.5s", "-1s", "+1s", "30S", "1m30s", "1d", "99999999999999999999s",
    "9223372036854775807h", "٣s",
  ])
  func `anything else is no duration`(text: String) {
    #expect(SettingText.duration(text) == nil)
  }

  @Test(arguments: [0, 1, 255, 1000, 1023, 1024, 1025, 16 << 10, 1088 << 10, 1 << 20, 3 << 30, 1 << 40])
  func `a size that was written is read as the same`(bytes: Int) {
    #expect(SettingText.bytes(SettingText.text(bytes: bytes)) == bytes)
  }

  @Test(arguments: [0, 1, 10, 250, 999, 1000, 1500, 10_000, 60_000, 75_000, 3_600_000, 86_400_000])
  func `a duration that was written is read as the same`(milliseconds: Int) {
    let duration = Duration.milliseconds(milliseconds)
    #expect(SettingText.duration(SettingText.text(duration: duration)) == duration)
  }

  @Test(arguments: [(1088 << 10, "1088KiB"), (1 << 20, "1MiB"), (255, "255"), (0, "0")])
  func `a size is written in the largest unit that divides it`(bytes: Int, text: String) {
    #expect(SettingText.text(bytes: bytes) == text)
  }
}
