// SPDX-License-Identifier: MIT

/// The structure of a ``JSONText``: one flat array of nodes over its bytes, in document order.
///
/// A node is named by a ``Node``, four bytes that mean something only together with their tree; every question is a
/// method of the tree that takes one. So code that walks a value passes the tree once, as a parameter, and holds
/// nodes in registers: no reference counting per step.
///
/// ```
/// {"a":[1,2],"b":3}     0 object  count 2, next 7
///                       1   key a          next 5
///                       2   array  count 2, next 5
///                       3     number       next 4
///                       4     number       next 5
///                       5   key b          next 7
///                       6   number         next 7
/// ```
///
/// Building takes one pass without recursion and allocates one block of 16 bytes per node; nothing for a text that
/// is a number, string or literal alone. Copying a tree retains two blocks.
///
/// No question traps on a node of this tree: one that does not suit the kind is answered with nil, or zero.
public struct JSONTree: Sendable {
  /// Names one node of a tree.
  public struct Node: Sendable, Hashable {
    /// The place in document order; the root is 0.
    @usableFromInline
    let index: UInt32

    @inlinable
    init(index: UInt32) { self.index = index }

    /// The whole value, in every tree.
    @inlinable
    public static var root: Node { Node(index: 0) }
  }

  /// What a node is.
  public enum Kind: UInt8, Sendable {
    /// The literal `null`.
    case null
    /// The literal `false`.
    case `false`
    /// The literal `true`.
    case `true`
    /// A number; see ``JSONTree/isInteger(_:)``.
    case number
    /// A string that is a value.
    case string
    /// An array; its elements follow.
    case array
    /// An object; its members follow, each a key and a value.
    case object
    /// A string that is the name of a member; the next node is the member's value.
    case key
  }

  /// What is kept of a node: 16 bytes.
  @usableFromInline
  struct Record: Sendable {
    /// The first byte of the node in the text.
    @usableFromInline var start: UInt32
    /// The byte after the last.
    @usableFromInline var end: UInt32
    /// The node after this one and all it contains; for a key, after its value.
    ///
    /// While a container is being built, the container around it.
    @usableFromInline var next: UInt32
    /// The kind in three bits, the flag in one, the count in the other 28.
    @usableFromInline var tag: UInt32

    @inlinable
    init(_ kind: Kind, flag: Bool = false, start: Int, end: Int, next: UInt32) {
      self.start = UInt32(truncatingIfNeeded: start)
      self.end = UInt32(truncatingIfNeeded: end)
      self.next = next
      tag = UInt32(kind.rawValue) | (flag ? 8 : 0)
    }

    // The eight kinds are the eight values of three bits, so every pattern is one of them; asking `init(rawValue:)` would
    // be a call of another module for each node that is looked at.
    @inlinable
    var kind: Kind { unsafe unsafeBitCast(UInt8(truncatingIfNeeded: tag & 7), to: Kind.self) }

    /// A string or key: there is an escape in it.
    ///
    /// A number: it has neither fraction nor exponent.
    @inlinable
    var flag: Bool { tag & 8 != 0 }

    /// Elements of an array, members of an object.
    @inlinable
    var count: Int { Int(tag >> 4) }

    /// The text of a string or key without its quotes.
    @inlinable
    var content: Range<Int> { Int(start) + 1..<Int(end) - 1 }
  }

  /// The text this is the structure of.
  public let text: JSONText
  @usableFromInline let rootRecord: Record
  /// All records in document order, the root too; empty when the root is alone.
  @usableFromInline let records: [Record]

  /// Finds the structure of a text.
  public init(_ text: JSONText) {
    self.text = text
    (rootRecord, records) = TreeBuilder.build(text.bytes.span)
  }

  /// A `null` made of no bytes, where a tree is to come; nothing is allocated.
  package init() {
    text = JSONText()
    rootRecord = Record(.null, start: 0, end: 0, next: 1)
    records = []
  }

  @inlinable
  func record(_ node: Node) -> Record {
    node.index == 0 ? rootRecord : records[Int(node.index)]
  }
}

// MARK: - Any node

extension JSONTree {
  /// The whole value.
  @inlinable
  public var root: Node { .root }

  /// What the node is.
  @inlinable
  public func kind(of node: Node) -> Kind { record(node).kind }

  /// Where the node is in the text's bytes; strings and keys with their quotes.
  @inlinable
  public func range(of node: Node) -> Range<Int> {
    let record = record(node)
    return Int(record.start)..<Int(record.end)
  }

  /// A copy of the node as a text of its own; the root is not copied.
  ///
  /// Of a key, the string.
  public func text(of node: Node) -> JSONText {
    if node == .root { return text }
    // A node of a valid compact text is one.
    return JSONText(alreadyCompact: [UInt8](text.bytes[range(of: node)]))
  }

  /// Whether the node is `true`; nil when it is neither `true` nor `false`.
  @inlinable
  public func bool(_ node: Node) -> Bool? {
    switch kind(of: node) {
    case .true: true
    case .false: false
    default: nil
    }
  }

  /// The number of elements of an array or members of an object, duplicates included; 0 for anything else.
  @inlinable
  public func count(of node: Node) -> Int { record(node).count }
}

// MARK: - Walking

extension JSONTree {
  /// The first element of an array, or the first key of an object; nil when there is none.
  @inlinable
  public func firstChild(of node: Node) -> Node? {
    record(node).count == 0 ? nil : Node(index: node.index + 1)
  }

  /// The element or key that follows `child` in the array or object `parent`; nil after the last.
  @inlinable
  public func child(after child: Node, in parent: Node) -> Node? {
    let next = record(child).next
    return next < record(parent).next ? Node(index: next) : nil
  }

  /// The value of the member whose key this is; nil when the node is not a key.
  @inlinable
  public func value(ofKey key: Node) -> Node? {
    kind(of: key) == .key ? Node(index: key.index + 1) : nil
  }

  /// The elements of an array in order; nothing for any other kind.
  @inlinable
  public func elements(of node: Node) -> Children {
    Children(self, of: kind(of: node) == .array ? node : nil)
  }

  /// The keys of an object in document order, duplicates included; nothing for any other kind.
  @inlinable
  public func keys(of node: Node) -> Children {
    Children(self, of: kind(of: node) == .object ? node : nil)
  }

  /// The children of one container, in order.
  ///
  /// Making it retains the tree once; each step is one load.
  public struct Children: Sequence, IteratorProtocol {
    @usableFromInline let tree: JSONTree
    @usableFromInline var index: UInt32
    @usableFromInline let end: UInt32

    @inlinable
    init(_ tree: JSONTree, of node: Node?) {
      self.tree = tree
      guard let node else {
        index = 0
        end = 0
        return
      }
      index = node.index + 1
      end = tree.record(node).next
    }

    /// The next child.
    @inlinable
    public mutating func next() -> Node? {
      guard index < end else { return nil }
      let node = Node(index: index)
      index = tree.record(node).next
      return node
    }
  }

  /// An element of an array by its place; nil when there is none, or the node is not an array.
  ///
  /// O(1) when no element is an array or object with content, else O(index).
  public func element(_ position: Int, of node: Node) -> Node? {
    let array = record(node)
    guard array.kind == .array, position >= 0, position < array.count else { return nil }
    if Int(array.next - node.index) == array.count + 1 {
      return Node(index: node.index + 1 + UInt32(position))
    }
    var index = node.index + 1
    for _ in 0..<position { index = records[Int(index)].next }
    return Node(index: index)
  }

  /// The value of the member of an object with this name, by its UTF-8 bytes after unescaping; nil when there is none,
  /// or the node is not an object.
  ///
  /// Of several with the same name the last counts. O(members), no allocation.
  public func member(_ name: Span<UInt8>, of node: Node) -> Node? {
    let object = record(node)
    guard object.kind == .object else { return nil }
    let source = text.bytes.span
    var found: Node?
    var index = node.index + 1
    while index < object.next {
      let key = records[Int(index)]
      if StringContent(key).equals(name, in: source) { found = Node(index: index + 1) }
      index = key.next
    }
    return found
  }

  /// The same for a name that is at hand as a string; compared by UTF-8 bytes, so that
  /// differently composed forms of a letter are different names.
  public func member(_ name: String, of node: Node) -> Node? {
    member(name.utf8.span, of: node)
  }
}
