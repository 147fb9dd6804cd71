// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP

/// One property of a list.
struct ListedProperty {
  let path: String
  let value: JSONText
  /// The cursor of its last change.
  let cursor: String
  /// The property as the server wrote it: an object with all its members.
  let line: [UInt8]
}

/// The pages of a list, one request each (`docs/protocol.md` §2.2).
struct PropertyPages {
  /// The properties of a page, unless the server allows fewer.
  private static let pageLimit = 1000

  private let client: ClientOptions
  private let query: [(name: String, value: String)]
  /// The limit of one request; nil leaves it to the server.
  private var limit: Int?
  /// Properties still wanted; nil is all.
  private var wanted: Int?
  /// Where the next page begins, as encoded in a URL; nil before the first.
  private var after: String?
  private var isAtEnd = false

  /// - Parameters:
  ///   - query: `match`, `where`, and `limit` for a number of properties in all.
  init(_ client: ClientOptions, _ query: [(name: String, value: String)]) {
    self.client = client
    self.query = query.filter { $0.name != "limit" }
    wanted = query.first { $0.name == "limit" }.flatMap { Int($0.value) }
    limit = min(wanted ?? Self.pageLimit, Self.pageLimit)
  }

  /// The next page, which may be empty; nil after the last.
  mutating func next() throws(Failure) -> [ListedProperty]? {
    guard !isAtEnd else { return nil }
    let response = try request()
    after = response.value("Signal-Next")
    var properties = try Self.properties(in: response)
    if let left = wanted {
      if properties.count > left { properties.removeLast(properties.count - left) }
      wanted = left - properties.count
    }
    isAtEnd = after == nil || wanted == 0
    return properties
  }

  private mutating func request() throws(Failure) -> HTTPClientResponse {
    while true {
      let number = limit.map { [(name: "limit", value: "\(min($0, wanted ?? $0))")] } ?? []
      // What follows the first page is not older.
      let asked = after == nil ? query : query.filter { $0.name != "fresh" }
      var target = PropertyTarget.make("", asked + number, in: "/properties")
      if let after { target += (target.contains("?") ? "&" : "?") + "after=\(after)" }
      let response = try client.exchange("GET", target, fields: [("Accept", "application/x-ndjson")])
      if response.status == 200 { return response }
      // A server may be set to smaller pages than ours.
      guard limit != nil, Members.body(response.body)?.string("code") == "bad_query" else {
        throw Failure(.refused, response.refusal())
      }
      limit = nil
    }
  }

  private static func properties(in response: HTTPClientResponse) throws(Failure) -> [ListedProperty] {
    let epoch = response.value("Signal-Revision").map { $0.prefix { $0 != "." } } ?? ""
    var properties: [ListedProperty] = []
    for line in response.body.split(separator: UInt8(ascii: "\n")) {
      guard let text = try? JSONText(validating: Array(line), limits: ServerMessage.limits) else {
        throw Failure(.refused, "the server's list is not JSON")
      }
      let members = Members(text)
      guard let path = members.string("path"), let value = members.text("value"),
        let revision = members.number("revision")
      else {
        throw Failure(.refused, "the server's list has something without a path, a value or a revision")
      }
      properties.append(
        ListedProperty(path: path, value: value, cursor: "\(epoch).\(revision)", line: Array(line)))
    }
    return properties
  }
}
