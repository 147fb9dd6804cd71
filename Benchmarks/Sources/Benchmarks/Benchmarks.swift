// SPDX-License-Identifier: MIT

import Foundation

/// Measures the libraries and prints a Markdown table; arguments choose the rows.
@main
struct Benchmarks {
  static let usage = """
    Usage: swift run -c release --package-path Benchmarks Benchmarks [part of a name ...]
    Measures the rows whose name has one of the parts in it, upper or lower case; all without one.
    """

  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst()
    if let option = arguments.first(where: { $0.hasPrefix("-") }) {
      print(usage)
      exit(option == "--help" || option == "-h" ? EXIT_SUCCESS : EXIT_FAILURE)
    }
    var harness = Harness(filters: Array(arguments))
    print(Machine.description(arguments: arguments))
    print(Harness.tableHead)
    try measureJSON(&harness)
    try measureCEL(&harness)
    try measureStore(&harness)
    try measureFormulas(&harness)
    try measureSignals(&harness)
    // The sum of all results: printed, so that no result is without a use.
    print("\n\(harness.operationCount) operations, checksum \(harness.checksum)")
    if harness.operationCount == 0 { exit(EXIT_FAILURE) }
  }
}
