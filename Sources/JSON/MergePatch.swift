// SPDX-License-Identifier: MIT

/// A JSON Merge Patch (RFC 7396): an object whose members replace those of the same name, `null` removing them.
///
/// What it does not touch keeps its bytes. The work is proportional to the sizes of both.
public struct MergePatch: Sendable {
  private let tree: JSONTree

  /// How deep the patch is nested, 0 when it is neither an array nor an object.
  public var depth: Int { tree.depth(of: tree.root) }

  /// Any value is a patch; one that is not an object replaces the whole.
  public init(_ document: JSONText) { tree = JSONTree(document) }

  /// The value that the patch makes of `value`, nil when there is none.
  ///
  /// The result is no deeper than the deeper of the two, and no longer than both together.
  public func apply(to value: JSONText?) -> JSONText {
    guard tree.kind(of: tree.root) == .object else { return tree.text }
    var patcher = Patcher(JSONTree(value ?? .null), tree, JSONPatch.Limits())
    patcher.merge()
    return JSONText(alreadyCompact: patcher.result())
  }
}

extension Patcher {
  /// Makes of the root what the patch document, as a merge patch, makes of it.
  mutating func merge() { root = merged(.root, patch.root) }

  /// RFC 7396 §2, the function `MergePatch`; as deep as the patch.
  ///
  /// - Parameter before: What there is in the target; nil when nothing.
  private func merged(_ before: JSONTree.Node?, _ node: JSONTree.Node) -> Piece {
    guard patch.kind(of: node) == .object else { return .patch(node) }
    var members = MergedMembers(patch, node)
    var parts: Parts = []
    if let before, let (whole, isArray) = run(of: .target(before)), !isArray {
      var rest = whole
      // Of several with the same name the last counts, and the others go as soon as one is touched.
      for match in members.matches(in: target, whole) {
        let (untouched, from) = rest.split(at: match.key, rest.count - (whole.count - match.offset))
        if untouched.count > 0 { parts.append(.run(untouched)) }
        rest = from.split(at: target.next(match.key), 1).after
        guard members.lastMatch[match.member] == match.key, let value = members.values[match.member] else { continue }
        let key = JSONTree.Node(index: match.key)
        parts.append(.member(.target(key), merged(JSONTree.Node(index: match.key + 1), value)))
      }
      if rest.count > 0 { parts.append(.run(rest)) }
    }
    for (member, value) in members.values.enumerated() where members.lastMatch[member] == nil {
      if let value { parts.append(.member(.patch(members.keys[member]), merged(nil, value))) }
    }
    return .object(parts)
  }
}

/// The members of an object of a merge patch, each name once; of several values the last counts.
private struct MergedMembers {
  private let patch: JSONTree
  private(set) var keys: [JSONTree.Node] = []
  /// Nil for what is to be removed.
  private(set) var values: [JSONTree.Node?] = []
  /// The last key of the target with the name.
  private(set) var lastMatch: [UInt32?] = []
  private var table: NameTable
  /// A bit for each length and last byte that there is: most names of the target need not be hashed.
  private var shapes: UInt64 = 0

  init(_ patch: JSONTree, _ object: JSONTree.Node) {
    self.patch = patch
    let count = patch.count(of: object)
    table = NameTable(capacity: count)
    keys.reserveCapacity(count)
    values.reserveCapacity(count)
    for key in patch.keys(of: object) {
      guard let node = patch.value(ofKey: key) else { continue }
      let value = patch.kind(of: node) == .null ? nil : node
      patch.withUTF8(of: key) { name in
        let hash = NameTable.hash(name)
        if let known = find(name, hash) {
          values[known] = value
        } else {
          table.add(hash)
          shapes |= Self.shape(name)
          keys.append(key)
          values.append(value)
        }
      }
    }
    lastMatch = Array(repeating: nil, count: keys.count)
  }

  /// The members of an object that have one of the names, in order: the key, how many members come before it, and
  /// which of these members has the name.
  mutating func matches(in tree: JSONTree, _ run: Patcher.Run) -> [(key: UInt32, offset: Int, member: Int)] {
    var matches: [(key: UInt32, offset: Int, member: Int)] = []
    let source = tree.text.bytes.span
    var (key, offset) = (run.nodes.lowerBound, 0)
    while key < run.nodes.upperBound {
      let record = tree.records[Int(key)]
      var found: Int?
      if record.flag {
        found = tree.withUTF8(of: JSONTree.Node(index: key)) { find($0, NameTable.hash($0)) } ?? nil
      } else {
        let name = source.extracting(record.content)
        if shapes & Self.shape(name) != 0 { found = find(name, NameTable.hash(name)) }
      }
      if let found {
        matches.append((key, offset, found))
        lastMatch[found] = key
      }
      key = record.next
      offset += 1
    }
    return matches
  }

  private func find(_ name: Span<UInt8>, _ hash: Int) -> Int? {
    table.find(hash) { patch.string(keys[$0], equals: name) ?? false }
  }

  private static func shape(_ name: Span<UInt8>) -> UInt64 {
    let last = name.count > 0 ? name[name.count - 1] : 0
    return 1 << UInt64((name.count &* 11 &+ Int(last)) & 63)
  }
}
