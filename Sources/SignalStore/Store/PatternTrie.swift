// SPDX-License-Identifier: MIT

/// Finds, for a path, the elements that were added with a pattern that matches it.
///
/// The cost of a look-up depends on the patterns that match a beginning of the path, not on the
/// number of those that do not, and nothing is allocated for it. An element may have several
/// patterns; it is found once. In which order elements are found is not promised.
///
/// It belongs to one owner, who adds, removes and looks up: a look-up uses memory of the trie.
package struct PatternTrie<Element: Hashable>: ~Copyable {
  /// The elements by number; nil for a number that is free.
  private(set) var elements: ContiguousArray<Element?> = []
  private(set) var automaton = PatternAutomaton()
  private var numbers: [Element: Int32] = [:]
  private var free: [Int32] = []

  /// A trie without patterns.
  package init() {}

  /// Whether no element has a pattern.
  package var isEmpty: Bool { numbers.isEmpty }

  /// Gives the element another pattern; false when it has that one already.
  @discardableResult
  package mutating func add(_ pattern: PathPattern, _ element: Element) -> Bool {
    automaton.add(pattern, numbers[element] ?? addNumber(for: element))
  }

  /// Takes a pattern from the element; false when it does not have it.
  @discardableResult
  package mutating func remove(_ pattern: PathPattern, _ element: Element) -> Bool {
    guard let number = numbers[element], automaton.remove(pattern, number) else { return false }
    if !automaton.hasPattern(number) {
      numbers[element] = nil
      elements[Int(number)] = nil
      free.append(number)
    }
    return true
  }

  /// Calls `body` with each element that has a pattern matching the path, once.
  ///
  /// The trie cannot be changed, or asked, from inside `body`.
  package mutating func forEachMatch(_ path: PropertyPath, _ body: (Element) -> Void) {
    for number in automaton.numbers(matching: path) {
      if let element = elements[Int(number)] { body(element) }
    }
  }

  private mutating func addNumber(for element: Element) -> Int32 {
    let number = free.popLast() ?? Int32(elements.count)
    if Int(number) == elements.count { elements.append(element) } else { elements[Int(number)] = element }
    numbers[element] = number
    return number
  }
}
