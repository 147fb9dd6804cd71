// SPDX-License-Identifier: MIT

/// Writing the whole.
extension Patcher {
  /// The text of the whole.
  func result() -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(target.text.bytes.count + patch.text.bytes.count)
    write(root, to: &text)
    return text
  }

  private func write(_ piece: Piece, to text: inout [UInt8]) {
    switch piece {
    case .target(let node): text += target.text.bytes[target.range(of: node)]
    case .patch(let node): text += patch.text.bytes[patch.range(of: node)]
    case .array(let parts): write(parts, UInt8(ascii: "["), UInt8(ascii: "]"), to: &text)
    case .object(let parts): write(parts, UInt8(ascii: "{"), UInt8(ascii: "}"), to: &text)
    }
  }

  private func write(_ parts: Parts, _ begin: UInt8, _ end: UInt8, to text: inout [UInt8]) {
    text.append(begin)
    for (index, part) in parts.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      switch part {
      case .run(let run):
        let tree = tree(of: run)
        text += tree.text.bytes[tree.range(of: run.nodes, in: run.container)]
      case .element(let value): write(value, to: &text)
      case .member(let key, let value):
        switch key {
        case .target(let node): text += target.text.bytes[target.range(of: node)]
        case .patch(let node): text += patch.text.bytes[patch.range(of: node)]
        case .name(let name): text.appendJSON(utf8: name.span)
        }
        text.append(UInt8(ascii: ":"))
        write(value, to: &text)
      }
    }
    text.append(end)
  }
}
