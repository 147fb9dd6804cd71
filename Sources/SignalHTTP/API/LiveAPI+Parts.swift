// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// Helpers shared by the routes: paths, values, validators, and conversion of errors to refusals.
extension LiveAPI {
  func read(_ encoded: ByteView, as caller: Caller) throws(APIError) -> (value: StoredValue?, revision: Revision) {
    // A path without escapes is looked up as it is: nothing is allocated, and an invalid path is simply not found.
    if encoded.firstIndex(of: UInt8(ascii: "%")) == nil {
      let found = try encoded.withSpan { bytes throws(APIError) in try read(bytes: bytes, as: caller) }
      if found.value != nil { return found }
    }
    let path = try propertyPath(encoded)
    return try read(bytes: path.bytes.span, as: caller)
  }

  private func read(
    bytes: Span<UInt8>, as caller: Caller
  ) throws(APIError) -> (value: StoredValue?, revision: Revision) {
    do throws(Problem) {
      return try service.commands.read(bytes: bytes, as: caller)
    } catch {
      throw .problem(error)
    }
  }

  func propertyPath(_ encoded: ByteView) throws(APIError) -> PropertyPath {
    do throws(PathError) {
      return try encoded.withSpan { bytes throws(PathError) in
        try PropertyPath(percentEncoded: bytes, limits: service.configuration.paths)
      }
    } catch {
      throw .problem(Problem(.badPath, "\(error)"))
    }
  }

  /// Whether the answer waits until the state that it reports is durable (`?sync=true`).
  func isSynced(_ query: Query) throws(APIError) -> Bool {
    guard try query.bool("sync") == true else { return false }
    try problem { () throws(Problem) in try service.commands.checkDurability() }
    return true
  }

  func refuseEncoding(_ head: borrowing RequestHead) throws(APIError) {
    try head.forEachElement(of: .contentEncoding) { encoding throws(APIError) in
      guard !encoding.equalsIgnoringCase("identity") else { return }
      var problem = Problem(
        .unsupportedEncoding, "A body with Content-Encoding \"\(encoding.string)\" is not taken.")
      problem.acceptsEncoding = true
      throw .problem(problem)
    }
  }

  func jsonValue(_ body: ByteView) throws(APIError) -> JSONText {
    do throws(JSONError) {
      return try body.withSpan { bytes throws(JSONError) in
        try JSONText(validating: bytes, limits: service.configuration.values)
      }
    } catch {
      if error.reason == .tooLarge {
        throw .problem(Problem(.bodyTooLarge, "A value has at most \(service.configuration.values.bytes) bytes."))
      }
      throw .problem(Problem(.badJSON, "\(error)", position: error.offset))
    }
  }

  /// - Parameter revision: The store's revision at which the value was read.
  func part(of value: JSONText, _ pointer: String, at revision: Revision) throws(APIError) -> JSONText {
    let parsed: JSONPointer
    do throws(JSONPointer.ParseError) {
      parsed = try JSONPointer(pointer)
    } catch {
      let position = if case .badEscape(let offset) = error { offset } else { 0 }
      throw .problem(Problem(.badPointer, "\(error)", position: position))
    }
    let tree = JSONTree(value)
    guard let node = tree.node(at: parsed) else {
      var problem = Problem(.pointerNotFound, "The value has nothing at \"\(pointer)\".")
      problem.cursor = cursor(revision)
      throw .problem(problem)
    }
    return tree.text(of: node)
  }

  /// How the content that a tag identifies is encoded: different bytes have different strong tags (RFC 9110 §8.8.3.3).
  enum TagCoding: CaseIterable {
    case identity, gzip

    fileprivate var suffix: StaticString { self == .gzip ? "-gzip" : "" }
  }

  private func appendEntityTag(of stored: StoredValue, _ coding: TagCoding = .identity, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\""))
    cursor(stored.revision).write(to: &output)
    output.append(literal: coding.suffix)
    output.append(UInt8(ascii: "\""))
  }

  /// The inside of a tag without what says how the content was encoded: a write is about the property itself.
  static func withoutCoding(_ tag: ByteView) -> ByteView {
    let end = tag.count - 5
    return end > 0 && tag[end..<tag.count].equals("-gzip") ? tag[0..<end] : tag
  }

  func appendEntityTag(of stored: StoredValue, _ response: inout ResponseWriter) {
    response.field("ETag") { appendEntityTag(of: stored, to: &$0) }
  }

  /// Whether a conditional field matches the tag of a property, or of a missing one; nil when there is no such field.
  func matches(
    _ field: KnownField, _ head: borrowing RequestHead, _ found: StoredValue?,
    _ comparison: RequestHead.TagComparison, tags: [TagCoding] = TagCoding.allCases
  ) throws(APIError) -> Bool? {
    guard head.has(field) else { return nil }
    return try entityTags { () throws(HTTPParseError) in
      guard let found else { return try head.entityTags(in: field, contain: nil, by: comparison) }
      for coding in tags {
        var tag: [UInt8] = []
        appendEntityTag(of: found, coding, to: &tag)
        let isMatched = try tag.withView { view throws(HTTPParseError) in
          try head.entityTags(in: field, contain: view, by: comparison)
        }
        if isMatched == true { return true }
      }
      // One that was given before a restart.
      return try head.entityTags(in: field, by: comparison) { tag in
        let content = tag[1..<tag.count - 1]
        let plain = Self.withoutCoding(content)
        guard tags.contains(plain.count == content.count ? .identity : .gzip), let cursor = Cursor(plain.string)
        else { return false }
        return service.commands.isCursor(cursor, of: found)
      }
    }
  }

  /// Reads the tags of a conditional field.
  func entityTags<Result>(_ read: () throws(HTTPParseError) -> Result) throws(APIError) -> Result {
    do throws(HTTPParseError) {
      return try read()
    } catch {
      throw .problem(Problem(.badCondition, error.description))
    }
  }

  /// A cursor of the store's history.
  func cursor(_ revision: Revision) -> Cursor { service.commands.cursor(revision) }

  func isModified(_ stored: StoredValue, _ head: borrowing RequestHead) -> Bool {
    guard let date = date(.ifModifiedSince, head) else { return true }
    return stored.time.seconds > date.secondsSinceEpoch
  }

  /// The date in a conditional field; one that cannot be parsed is ignored (RFC 9110 §13.1.3, §13.1.4).
  func date(_ field: KnownField, _ head: borrowing RequestHead) -> HTTPDate? {
    head[field].flatMap { HTTPDate($0, now: HTTPDate(secondsSinceEpoch: wallClockSeconds())) }
  }

  func appendValidators(
    _ stored: StoredValue, _ revision: Revision, _ coding: TagCoding, _ response: inout ResponseWriter
  ) {
    response.field("ETag") { appendEntityTag(of: stored, coding, to: &$0) }
    appendCacheControl(&response)
    response.field("Last-Modified", HTTPDate(secondsSinceEpoch: stored.time.seconds))
    if let expires = stored.expires { response.field("Signal-Expires") { expires.write(to: &$0) } }
    appendRevision(revision, &response)
  }

  /// Makes caches revalidate each time; otherwise they would guess a lifetime (RFC 9111 §4.2.2).
  func appendCacheControl(_ response: inout ResponseWriter) { response.field("Cache-Control", "no-cache") }

  func appendRevision(_ revision: Revision, _ response: inout ResponseWriter) {
    response.field("Signal-Revision") { cursor(revision).write(to: &$0) }
  }

  func problem<Result>(_ body: () throws(Problem) -> Result) throws(APIError) -> Result {
    do throws(Problem) {
      return try body()
    } catch {
      throw .problem(error)
    }
  }

  func parsing<Result>(_ body: () throws(HTTPParseError) -> Result) throws(APIError) -> Result {
    do throws(HTTPParseError) {
      return try body()
    } catch {
      throw .request(error)
    }
  }
}
