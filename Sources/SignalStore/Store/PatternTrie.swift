// SPDX-License-Identifier: MIT

/// Finds, for a path, the elements that were added with a pattern that matches it.
///
/// The cost of a look-up depends on the patterns that match a beginning of the path, not on the
/// number of those that do not, and nothing is allocated for it. An element may have several
/// patterns; it is found once. In which order elements are found is not promised.
///
/// It belongs to one owner, who adds, removes and looks up: a look-up uses memory of the trie.
package struct PatternTrie<Element: Hashable>: ~Copyable {
  @usableFromInline
  struct Slot {
    @usableFromInline var element: Element?
    /// The nodes in which the patterns of the element end.
    @usableFromInline var nodes: [PatternAutomaton.Index] = []
    /// The look-up that last found the element.
    @usableFromInline var lookUp: UInt64 = 0
  }

  @usableFromInline var automaton = PatternAutomaton()
  @usableFromInline var slots: [Slot] = []
  @usableFromInline var lookUps: UInt64 = 0
  private var numbers: [Element: Int32] = [:]
  private var free: [Int32] = []

  /// A trie without patterns.
  package init() {}

  /// Whether no element has a pattern.
  package var isEmpty: Bool { numbers.isEmpty }

  /// Gives the element another pattern; false when it has that one already.
  @discardableResult
  package mutating func add(_ pattern: PathPattern, _ element: Element) -> Bool {
    let number = numbers[element] ?? addSlot(for: element)
    let node = automaton.insert(pattern)
    if slots[Int(number)].nodes.contains(node) { return false }
    slots[Int(number)].nodes.append(node)
    automaton.addTarget(number, to: node)
    return true
  }

  /// Takes a pattern from the element; false when it does not have it.
  @discardableResult
  package mutating func remove(_ pattern: PathPattern, _ element: Element) -> Bool {
    guard let number = numbers[element], let node = automaton.node(of: pattern),
      let index = slots[Int(number)].nodes.firstIndex(of: node)
    else { return false }
    slots[Int(number)].nodes.remove(at: index)
    automaton.removeTarget(number, from: node)
    if slots[Int(number)].nodes.isEmpty {
      numbers[element] = nil
      slots[Int(number)] = Slot(element: nil)
      free.append(number)
    }
    return true
  }

  /// Calls `body` with each element that has a pattern matching the path, once.
  ///
  /// The trie cannot be changed, or asked, from inside `body`.
  @inlinable
  package mutating func forEachMatch(_ path: PropertyPath, _ body: (Element) -> Void) {
    automaton.read(path)
    lookUps += 1
    for index in automaton.active {
      for number in automaton.nodes[Int(index)].targets {
        // Only an element with several patterns can be found twice.
        if slots[Int(number)].nodes.count > 1 {
          if slots[Int(number)].lookUp == lookUps { continue }
          slots[Int(number)].lookUp = lookUps
        }
        if let element = slots[Int(number)].element { body(element) }
      }
    }
  }

  private mutating func addSlot(for element: Element) -> Int32 {
    let number: Int32
    if let reused = free.popLast() {
      number = reused
      slots[Int(number)] = Slot(element: element)
    } else {
      number = Int32(slots.count)
      slots.append(Slot(element: element))
    }
    numbers[element] = number
    return number
  }
}
