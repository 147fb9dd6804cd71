// SPDX-License-Identifier: MIT

/// A media type (RFC 9110 §8.3.1) read in place: `text/html; charset="utf-8"`.
package struct MediaType {
  private let essence: ByteView
  private let slash: Int
  private let parameters: ByteView

  /// - Throws: `HTTPParseError.malformedMediaType`.
  package init(_ value: ByteView) throws(HTTPParseError) {
    let slash = value.firstIndex(notIn: .token, from: 0)
    guard slash > 0, slash < value.count, value.byte(at: slash) == ASCII.slash else { throw .malformedMediaType }
    let end = value.firstIndex(notIn: .token, from: slash + 1)
    guard end > slash + 1 else { throw .malformedMediaType }
    essence = value[0..<end]
    self.slash = slash
    parameters = value[end..<value.count]
    var walk = ParameterWalk(parameters)
    while try walk.next() != nil {}
  }

  /// The part before the slash, as it came.
  package var type: ByteView { essence[0..<slash] }
  /// The part after the slash, as it came.
  package var subtype: ByteView { essence[slash + 1..<essence.count] }

  /// Whether this is the type of that name, for example `application/json`, whatever its parameters.
  package func matches(_ name: StaticString) -> Bool { essence.equalsIgnoringCase(name) }

  /// The content of the first parameter of this name, which is in lower case, without quotes; nil when there is none.
  package func parameter(_ name: StaticString) -> [UInt8]? {
    for parameter in allParameters where parameter.name.equalsIgnoringCase(name) { return parameter.content }
    return nil
  }

  var allParameters: Parameters { Parameters(walk: ParameterWalk(parameters)) }

  struct Parameter {
    let name: ByteView
    /// As it came, with quotes if it has them.
    let value: ByteView

    var content: [UInt8] {
      value.count > 0 && value.byte(at: 0) == ASCII.quote ? QuotedString.content(of: value) : value.array
    }
  }

  /// The parameters of a type that has been checked.
  struct Parameters: Sequence, IteratorProtocol {
    fileprivate var walk: ParameterWalk

    mutating func next() -> Parameter? { (try? walk.next()) ?? nil }
  }

  /// `*( OWS ";" OWS [ parameter ] )` (RFC 9110 §5.6.6).
  fileprivate struct ParameterWalk {
    private let text: ByteView
    private var index = 0

    init(_ text: ByteView) { self.text = text }

    private mutating func skipBlanks() {
      while index < text.count, ASCII.isBlank(text.byte(at: index)) { index += 1 }
    }

    mutating func next() throws(HTTPParseError) -> Parameter? {
      while true {
        skipBlanks()
        guard index < text.count else { return nil }
        guard text.byte(at: index) == ASCII.semicolon else { throw .malformedMediaType }
        index += 1
        skipBlanks()
        guard index < text.count else { return nil }
        if text.byte(at: index) == ASCII.semicolon { continue }
        let nameEnd = text.firstIndex(notIn: .token, from: index)
        guard nameEnd > index, nameEnd < text.count, text.byte(at: nameEnd) == ASCII.equals else {
          throw .malformedMediaType
        }
        let value = nameEnd + 1
        let tokenEnd = text.firstIndex(notIn: .token, from: value)
        guard let end = tokenEnd > value ? tokenEnd : QuotedString.end(in: text, from: value) else {
          throw .malformedMediaType
        }
        let parameter = Parameter(name: text[index..<nameEnd], value: text[value..<end])
        index = end
        return parameter
      }
    }
  }
}
