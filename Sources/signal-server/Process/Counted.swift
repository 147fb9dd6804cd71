// SPDX-License-Identifier: MIT

extension Int {
  /// The number with what it counts: "1 property", "2 properties".
  func counted(_ one: String, _ many: String) -> String { self == 1 ? "1 \(one)" : "\(self) \(many)" }
}
