// SPDX-License-Identifier: MIT

/// What belongs to each of some texts.
///
/// They are compared one by one while they are a few, as the names and strings of nearly every filter are: that takes
/// less time than hashing one of them. When they become many they are hashed, so that no source can make finding them
/// take the square of their number.
struct TextTable<Element> {
  /// How many are compared one by one.
  private static var few: Int { 16 }

  private var entries: [(text: [UInt8], element: Element)] = []
  /// The places of the entries, once there are many.
  private var places: [[UInt8]: Int] = [:]

  subscript(text: [UInt8]) -> Element? {
    if entries.count > Self.few { return places[text].map { entries[$0].element } }
    for entry in entries where entry.text == text { return entry.element }
    return nil
  }

  /// Adds a text that is not there yet.
  mutating func add(_ text: [UInt8], _ element: Element) {
    entries.append((text, element))
    guard entries.count > Self.few else { return }
    if places.isEmpty {
      for (place, entry) in entries.enumerated() { places[entry.text] = place }
    } else {
      places[text] = entries.count - 1
    }
  }
}
