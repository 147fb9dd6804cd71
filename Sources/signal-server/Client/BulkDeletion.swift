// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP

/// The deletion of all properties that match, page by page: each page is one transaction.
///
/// Exactly the listed properties are deleted. Under a filter each deletion has the condition that the property has not
/// changed since it was listed, because a changed one may no longer match.
struct BulkDeletion {
  let pattern: String
  let filter: String?
  let client: ClientOptions

  /// What has been done.
  private struct Tally {
    var deleted = 0
    /// Changed between the list and the deletion, and therefore kept.
    var left = 0
    var transactions = 0
  }

  /// Deletes, and reports each transaction; it also reports when no pattern matches anything.
  func run(dryRun: Bool) throws(Failure) {
    var query = [(name: "match", value: pattern)]
    if let filter { query.append((name: "where", value: filter)) }
    var pages = PropertyPages(client, query)
    var tally = Tally()
    do throws(Failure) {
      while let page = try pages.next() {
        if dryRun {
          if !page.isEmpty { Terminal.print(lines: page.map { Array($0.path.utf8) }) }
          tally.deleted += page.count
        } else {
          try delete(page, &tally)
        }
      }
    } catch {
      guard tally.deleted > 0, !dryRun else { throw error }
      throw Failure(
        error.status, "\(error.message); deleted before that: \(tally.deleted.counted("property", "properties"))")
    }
    if dryRun { return Terminal.complain("would delete \(tally.deleted.counted("property", "properties"))") }
    if tally.transactions != 1 { Terminal.print("deleted \(tally.deleted.counted("property", "properties"))") }
    if tally.left > 0 {
      Terminal.complain("left, because changed meanwhile: \(tally.left.counted("property", "properties"))")
    }
  }

  /// Deletes a page, in one transaction, or in more when the server allows fewer operations in one.
  private func delete(_ page: [ListedProperty], _ tally: inout Tally) throws(Failure) {
    var pending = page[...]
    var size = pending.count
    while !pending.isEmpty {
      let batch = Array(pending.prefix(size))
      let response = try client.exchange(
        "POST", "/transactions", fields: [("Content-Type", "application/json")], body: body(of: batch))
      if response.status == 200 {
        report(response, &tally)
        pending = pending.dropFirst(batch.count)
        continue
      }
      let problem = Members.body(response.body)
      let operation = problem?.number("operation").flatMap(Int.init(exactly:)) ?? batch.count
      switch problem?.string("code") {
      case "too_many_operations" where size > 1: size /= 2
      case "precondition_failed" where operation < batch.count:
        pending.remove(at: pending.startIndex + operation)
        tally.left += 1
      default: throw Failure(.refused, response.refusal(about: pattern))
      }
    }
  }

  private func report(_ response: HTTPClientResponse, _ tally: inout Tally) {
    let answer = Members.body(response.body)
    let number = Int(clamping: answer?.number("changed") ?? 0)
    tally.deleted += number
    tally.transactions += 1
    Terminal.print(
      "deleted \(number.counted("property", "properties")), as of \(answer?.string("revision") ?? "")".printable)
  }

  /// The transaction that deletes these.
  private func body(of batch: [ListedProperty]) -> [UInt8] {
    var text = Array(#"{"operations":["#.utf8)
    for (index, property) in batch.enumerated() {
      text += Array((index > 0 ? "," : "").utf8) + Array(#"{"op":"delete","path":"#.utf8)
      text.appendJSON(property.path)
      if filter != nil { text += Array(#","ifMatch":""#.utf8) + Array(property.cursor.utf8) + [UInt8(ascii: "\"")] }
      text.append(UInt8(ascii: "}"))
    }
    return text + Array("]}".utf8)
  }
}
