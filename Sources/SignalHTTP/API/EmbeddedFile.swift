// SPDX-License-Identifier: MIT
import CFiles

/// A file that is served as it is in the source tree: a description of the interface, the console, a client.
///
/// The files are in the binary, so that a server is one file; see `docs/decisions/0018-embedded-files.md`.
struct EmbeddedFile: Sendable {
  /// Where it is served.
  let path: [UInt8]
  let bytes: [UInt8]
  let mediaType: StaticString
  /// Identifies the content (RFC 9110 §8.8.3), with its quotes.
  let tag: [UInt8]

  /// All of them; read once, when the first is asked for.
  static let all: [EmbeddedFile] = (0..<cfiles_count()).map { unsafe EmbeddedFile(cfiles_at($0)) }

  /// What requests for files are counted as: those for the console together.
  static let templates: [String] = all.reduce(into: []) { templates, file in
    if !templates.contains(file.routeTemplate) { templates.append(file.routeTemplate) }
  }

  /// The place in ``templates``.
  var template: UInt8 { UInt8(Self.templates.firstIndex(of: routeTemplate) ?? 0) }

  private var routeTemplate: String { isOfConsole ? "/console" : String(decoding: path, as: UTF8.self) }

  /// Whether it is served at this path, in which unreserved characters may be percent-encoded.
  func isAt(_ path: ByteView) -> Bool { self.path.withView { PercentEncoding.end(of: $0, in: path) == path.count } }

  /// Whether it is part of the console, which can be turned off.
  var isOfConsole: Bool { path.starts(with: "/console".utf8) }

  /// Whether it is a client, which pages of others import, too.
  var isOfClient: Bool { path.starts(with: "/client.".utf8) }

  /// Whether it is a document that a browser shows, and not only part of one.
  var isPage: Bool { mediaType.description.starts(with: "text/html") }

  /// The same content as gzip has a tag of its own (RFC 9110 §8.8.3.3).
  var tagOfGzip: [UInt8] { tag.dropLast() + Array("-gzip\"".utf8) }

  private init(_ file: cfiles_file) {
    // The strings and bytes are constants of the program.
    let path = unsafe String(cString: file.path)
    self.path = Array(path.utf8)
    bytes = unsafe Array(UnsafeBufferPointer(start: file.bytes, count: file.size))
    mediaType = Self.mediaType(of: path)
    tag = Array("\"\(String(Self.hash(bytes), radix: 36))\"".utf8)
  }

  private static func mediaType(of path: String) -> StaticString {
    switch path.split(separator: ".").dropFirst().last {
    case "css": "text/css; charset=utf-8"
    case "js": "text/javascript; charset=utf-8"
    case "svg": "image/svg+xml"
    case "ts": "application/typescript; charset=utf-8"
    // RFC 9512; there is no registered type for AsyncAPI documents.
    case "yaml": "application/yaml"
    case "json": "application/schema+json"
    default: "text/html; charset=utf-8"
    }
  }

  /// FNV-1a, which tells apart what two versions of a file say.
  private static func hash(_ bytes: [UInt8]) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}
