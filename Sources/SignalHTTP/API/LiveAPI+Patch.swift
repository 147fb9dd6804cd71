// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// `PATCH /properties/{path}`: a value made of the one that is there (`docs/protocol.md` §2.1, "Patches").
extension LiveAPI {
  func patchProperty(
    _ encoded: ByteView, _ head: borrowing RequestHead, _ body: RequestBody, _ response: inout ResponseWriter
  ) throws(APIError) {
    let query = try Query(head, ["always", "if", "ttl"])
    let path = try propertyPath(encoded)
    try refuseEncoding(head)
    let always = try query.bool("always") ?? false
    let ttl = try query.duration("ttl")
    let (condition, filter) = try conditions(head, query, body)
    let patch = try ValuePatch(head, body, service.configuration)
    let result = try problem { () throws(Problem) in
      try service.patch(path, patch, condition, filter: filter, always: always, ttl: ttl)
    }
    response.begin(result.outcome == .created ? .created : .noContent)
    appendRevision(result.revision, &response)
    if let stored = result.value {
      appendEntityTag(of: stored, &response)
      if let expires = stored.expires { response.field("Signal-Expires") { expires.write(to: &$0) } }
    }
    if result.outcome == .created { response.field("Location", head.path.array) }
    response.endWithoutBody()
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

  /// Reads the body of a request by its media type.
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
    // Two levels stand around a value in a JSON Patch.
    let limits = configuration.texts(bytes: body.count, levels: 2)
    let text: JSONText
    do throws(JSONError) {
      text = try body.withSpan { bytes throws(JSONError) in try JSONText(validating: bytes, limits: limits) }
    } catch {
      throw .problem(Problem(.badJSON, "\(error)", position: error.offset))
    }
    self = isMerge ? .merge(text) : .operations(text)
  }

  /// Takes `merge` or `operations` out of a command.
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

extension LiveService {
  /// Sets a property to what a patch makes of its value; tried again when others are faster.
  func patch(
    _ path: PropertyPath, _ patch: ValuePatch, _ condition: Condition, filter: String?, always: Bool, ttl: Duration?,
    holder: Holder? = nil
  ) throws(Problem) -> OperationResult {
    switch patch {
    case .merge(let document):
      let patch = MergePatch(document)
      return try update(path, condition, filter: filter) { current, _ throws(Problem) in
        .set(try held(patch.apply(to: current?.value)), always: always, ttl: ttl, holder: holder)
      }
    case .operations(let document):
      let patch: JSONPatch
      do throws(JSONPatchError) {
        patch = try JSONPatch(document, limits: configuration.patchLimits)
      } catch {
        throw problem(error, nil, store.revision)
      }
      return try update(path, condition, filter: filter, needsValue: true) { current, revision throws(Problem) in
        guard let current else { throw notFound(path, at: revision) }
        do throws(JSONPatchError) {
          return .set(try patch.apply(to: current.value), always: always, ttl: ttl, holder: holder)
        } catch {
          throw problem(error, current, revision)
        }
      }
    }
  }

  /// Holds what a merge has made to the limits of a value.
  private func held(_ value: JSONText) throws(Problem) -> JSONText {
    do {
      return try JSONText(validating: value.bytes, limits: configuration.values)
    } catch {
      guard error.reason == .tooLarge else { throw Problem(.badPatch, "The result: \(error)") }
      throw Problem(.bodyTooLarge, "A value has at most \(configuration.values.bytes) bytes.")
    }
  }

  private func problem(_ error: JSONPatchError, _ current: StoredValue?, _ revision: Revision) -> Problem {
    let code: Problem.Code =
      switch error.reason {
      case .tooManyOperations: .tooManyOperations
      case .tooLarge: .bodyTooLarge
      case .tooDeep, .tooCostly: .badPatch
      default: error.reason.isMalformed ? .badPatch : .patchConflict
      }
    var problem = Problem(code, "In the patch, \(error.description).")
    problem.operation = error.operation
    if code == .patchConflict {
      problem.current = current.map(currentText)
      problem.cursor = Cursor(epoch: store.epoch, revision: revision)
    }
    return problem
  }
}

extension LiveConfiguration {
  /// What a JSON Patch may cost.
  fileprivate var patchLimits: JSONPatch.Limits {
    JSONPatch.Limits(operations: limits.patchOperations, work: limits.patchWork, result: values)
  }
}
