// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// `PATCH /properties/{path}`: a new value computed from the present one (`docs/protocol.md` §2.1, "Patches").
extension LiveAPI {
  /// - Returns: Whether something was changed.
  func patchProperty(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter,
    as caller: Caller
  ) throws(APIError) -> Bool {
    let query = try Query(head, ["always", "if", "ttl", "sync"])
    let path = try propertyPath(encoded)
    try refuseEncoding(head)
    let isSynced = try isSynced(query)
    let always = try query.bool("always") ?? false
    let ttl = try query.duration("ttl")
    let (condition, filter) = try conditions(head, query, body)
    let patch = try ValuePatch(head, body, service.configuration)
    let result = try problem { () throws(Problem) in
      try service.commands.patch(
        PatchRequest(path: path, patch: patch, condition: condition, filter: filter, always: always, ttl: ttl),
        as: caller)
    }
    if isSynced { service.awaitDurability() }
    response.begin(result.outcome == .created ? .created : .noContent)
    appendRevision(result.revision, &response)
    if let stored = result.value {
      appendEntityTag(of: stored, &response)
      if let expires = stored.expires { response.field("Signal-Expires") { expires.write(to: &$0) } }
    }
    if result.outcome == .created { response.field("Location", head.path.array) }
    response.endWithoutBody()
    return result.isChange
  }
}

/// A patch of either kind, parsed.
enum ValuePatch: Equatable {
  /// RFC 7396.
  case merge(JSONText)
  /// RFC 6902.
  case operations(JSONText)

  /// The media types, as `Accept-Patch` lists them (RFC 5789 §3.1).
  static let mediaTypes: StaticString = "application/merge-patch+json, application/json-patch+json"

  /// Parses the body of a request by its media type.
  init(_ head: borrowing RequestHead, _ body: RequestBody, _ configuration: LiveConfiguration) throws(APIError) {
    var type: MediaType?
    do throws(HTTPParseError) {
      type = try head.single(.contentType).map { value throws(HTTPParseError) in try MediaType(value) }
    } catch {
      type = nil
    }
    let isMerge = type?.matches("application/merge-patch+json") ?? false
    guard isMerge || type?.matches("application/json-patch+json") ?? false else {
      var problem = Problem(.unsupportedPatch, "A patch is one of \(Self.mediaTypes).")
      problem.acceptsPatch = true
      throw .problem(problem)
    }
    let body = try body.read()
    // In a JSON Patch a value is nested two levels deep.
    let limits = configuration.texts(bytes: body.count, levels: 2)
    let text: JSONText
    do throws(JSONError) {
      text = try body.withSpan { bytes throws(JSONError) in try JSONText(validating: bytes, limits: limits) }
    } catch {
      throw .problem(Problem(.badJSON, "\(error)", position: error.offset))
    }
    self = isMerge ? .merge(text) : .operations(text)
  }

  /// Takes `merge` or `operations` from a command.
  init(_ members: inout JSONMembers) throws(Problem) {
    let merge = members.value("merge")
    let operations = members.value("operations")
    switch (merge, operations) {
    case (let merge?, nil): self = .merge(merge)
    case (nil, let operations?): self = .operations(operations)
    case (nil, nil), (_?, _?): throw Problem(.badMessage, #"A patch command has either "merge" or "operations"."#)
    }
  }
}
