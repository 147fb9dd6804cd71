// SPDX-License-Identifier: MIT

/// What an expression uses of its variables, for those who have to explain its value.
extension CheckedExpression {
  /// A variable that an expression uses, or a field inside it: `auth`, `auth.sub`, `value["a b"].c`.
  package struct Use: Hashable, Sendable {
    /// The slot of the variable in the environment.
    package let slot: Int
    /// The variable and its fields.
    package let subject: FilterSubject

    /// What is there for a value of the variable; nil when a field is missing, or a parent is no map.
    package func value(in variable: CELValue) -> CELValue? {
      var value = variable
      for field in subject.fields {
        guard case .map(let entries) = value else { return nil }
        let entry = entries.first { entry in
          if case .string(let key) = entry.key { key.utf8.elementsEqual(field) } else { false }
        }
        guard let entry else { return nil }
        value = entry.value
      }
      return value
    }
  }

  /// Each variable with the fields that are asked for by constant names, once, in the order of the source.
  ///
  /// Of `auth.sub` only the whole, not `auth`. O(nodes).
  package var uses: [Use] {
    var found: [Syntax.ID: (slot: Int, fields: [[UInt8]])] = [:]
    var parts: Set<Syntax.ID> = []
    for (id, node) in syntax.nodes.enumerated() {
      switch node.kind {
      case .variable(let slot): found[id] = (slot, [])
      case .select(let operand, let field, _), .has(let operand, let field):
        guard let (slot, fields) = found[operand] else { continue }
        found[id] = (slot, fields + [field])
        parts.insert(operand)
      case .index(let operand, let key, _):
        guard let (slot, fields) = found[operand], case .string(let field) = syntax.nodes[key].kind else { continue }
        found[id] = (slot, fields + [field])
        parts.insert(operand)
      default: continue
      }
    }
    var uses: [Use] = []
    for (id, use) in found.sorted(by: { $0.key < $1.key }) where !parts.contains(id) {
      let subject = FilterSubject(program.environment.variables[use.slot].name, fields: use.fields)
      let use = Use(slot: use.slot, subject: subject)
      if !uses.contains(use) { uses.append(use) }
    }
    return uses
  }
}

extension CheckedExpression {
  /// Whether a condition may turn out to hold when these variables are not known, whatever the others are; true also
  /// where that is not certain.
  ///
  /// Only `&&`, `||` and `? :` decide without some of their parts, and macros without their bodies. O(size of the
  /// expression).
  package func canHold(without slots: Set<Int>) -> Bool {
    /// Of a node: whether it may hold without the variables, and whether it may have any value.
    var nodes: [(holds: Bool, decides: Bool)] = []
    for node in syntax.nodes {
      let parts = node.kind.parts.map { nodes[$0] }
      switch node.kind {
      case .variable(let slot):
        let isUsed = slots.contains(slot)
        nodes.append((!isUsed, !isUsed))
      case .and: nodes.append((parts.allSatisfy(\.holds), true))
      case .or: nodes.append((parts.contains(where: \.holds), true))
      case .conditional, .comprehension, .bind, .optionalMap: nodes.append((true, true))
      default:
        let decides = parts.allSatisfy(\.decides)
        nodes.append((decides, decides))
      }
    }
    return nodes[syntax.root].holds
  }
}
