// SPDX-License-Identifier: MIT

/// A JSON Merge Patch (RFC 7396): an object whose members replace those of the same name, `null` removing them.
///
/// What it does not touch keeps its bytes. The work is proportional to the sizes of both.
public struct MergePatch: Sendable {
  private let tree: JSONTree

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
  mutating func merge() { root = merged(.target(.root), patch.root) }

  /// RFC 7396 §2, the function `MergePatch`; as deep as the patch.
  private func merged(_ target: Piece?, _ node: JSONTree.Node) -> Piece {
    guard patch.kind(of: node) == .object else { return .patch(node) }
    var members = target.flatMap { self.members(of: $0) } ?? []
    // Of several with the same name the last counts, and the others go as soon as one is touched.
    var places: [[UInt8]: Int] = [:]
    for index in members.indices { places[name(of: members[index].key)] = index }
    let known = members.count
    var touched: Set<[UInt8]> = []
    for key in patch.keys(of: node) {
      guard let value = patch.value(ofKey: key) else { continue }
      let name = name(of: .patch(key))
      let place = places[name]
      // Merged into what was there before the patch, also when the patch has the name twice.
      let before = place.flatMap { $0 < known ? originals(members, $0) : nil }
      let isRemoval = patch.kind(of: value) == .null
      let new = isRemoval ? nil : merged(before, value)
      if place.map({ $0 < known }) ?? false { touched.insert(name) }
      switch (place, new) {
      case (let place?, _): members[place].pending = .some(new)
      case (nil, let new?):
        places[name] = members.count
        members.append(Member(key: .patch(key), value: new, pending: .some(new)))
      case (nil, nil): continue
      }
    }
    guard !members.isEmpty else { return .object([]) }
    var result: [Member] = []
    result.reserveCapacity(members.count)
    for (index, member) in members.enumerated() {
      if let pending = member.pending {
        if let pending { result.append(Member(key: member.key, value: pending)) }
      } else if touched.isEmpty || !touched.contains(name(of: member.key)) || places[name(of: member.key)] == index {
        result.append(member)
      }
    }
    return .object(result)
  }

  private func originals(_ members: [Member], _ index: Int) -> Piece { members[index].value }
}
