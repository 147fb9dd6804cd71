// SPDX-License-Identifier: MIT

/// The items of an export, all read before any of them is used.
struct ExportedItems {
  /// The items with the lines that they are on.
  private(set) var items: [(line: Int, item: ExportedItem)] = []
  private(set) var counts = ExportedLine.Counts()
  /// The line without which it is not known that these are all items of an export; nil when none is missing.
  private(set) var missing: String? = "first line"

  /// Reads all lines.
  ///
  /// A header is the first line, nothing follows the end, and what the end says of the items is true; both may be missing.
  ///
  /// - Parameter source: The name of the file, for error messages.
  init(_ bytes: [UInt8], _ source: String) throws(Failure) {
    var (number, isFirst, isOver) = (0, true, false)
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      number += 1
      if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") }) { continue }
      func fault(_ message: String) -> Failure {
        Failure(.damaged, "\(source), line \(number): \(message.printable)")
      }
      if isOver { throw fault("it follows the end of the export") }
      do throws(ExportedLine.Fault) {
        switch try ExportedLine(line) {
        case .header:
          guard isFirst else { throw ExportedLine.Fault(message: "it is a header, which is the first line only") }
          missing = "last line"
        case .item(let item):
          items.append((number, item))
          counts.count(item)
        case .end(let end):
          if let difference = end.difference(from: counts) { throw ExportedLine.Fault(message: difference) }
          isOver = true
          if missing != "first line" { missing = nil }
        }
      } catch {
        throw fault(error.message)
      }
      isFirst = false
    }
  }
}
