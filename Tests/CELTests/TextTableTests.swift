// SPDX-License-Identifier: MIT

import JSON
import Testing

@testable import CEL

@Suite struct TextTableTests {
  @Test(arguments: [0, 1, 15, 16, 17, 18, 300])
  func `each text leads to what was added with it, however many there are`(_ count: Int) {
    var table = TextTable<Int>()
    for number in 0..<count {
      let text = Array("text \(number)".utf8)
      #expect(table[text] == nil)
      table.add(text, number)
      #expect(table[text] == number)
    }
    for number in 0..<count { #expect(table[Array("text \(number)".utf8)] == number) }
    #expect(table[Array("text".utf8)] == nil && table[[]] == nil)
  }

  @Test func `a filter of many fields reads each of them`() throws {
    let fields = (0..<40).map { "f\($0)" }
    let source = fields.map { "value.\($0) == '\($0)'" }.joined(separator: " && ")
    let json = "{" + fields.map { "\"\($0)\":\"\($0)\"" }.joined(separator: ",") + "}"
    let program = try Program(filter: source)
    let activation = { (text: String) throws in
      Activation(path: [], value: JSONTree(try JSONText(validating: text)))
    }
    #expect(program.matches(try activation(json)))
    for field in fields {
      let other = json.replacing("\"\(field)\":\"\(field)\"", with: "\"\(field)\":\"f\"")
      #expect(!program.matches(try activation(other)), "\(field)")
    }
  }
}
