// SPDX-License-Identifier: MIT

import JSON
import SignalStore

/// The path of a property that decides about others: `rooms/{room}/members`, `groups/{auth.sub}`.
///
/// A template and no computed key: so it is known which properties decide about which.
struct PathTemplate: Equatable, Sendable {
  enum Part: Equatable, Sendable {
    case text(String)
    case capture(Int)
    /// A claim, by the names that lead to it.
    case claim([String])
  }

  /// The parts of each segment.
  let segments: [Part]
  private let limits: PathLimits

  /// Parses a template.
  ///
  /// - Parameter captures: The captures of the rule that stand for one segment, by name.
  init(_ text: String, captures: [String: Int], limits: PathLimits) throws(AccessFault) {
    var segments: [Part] = []
    for segment in text.split(separator: "/", omittingEmptySubsequences: false) {
      guard segment.first == "{", segment.last == "}" else {
        do throws(PathError) {
          segments.append(.text("\(try PropertyPath(String(segment), limits: limits))"))
        } catch {
          throw AccessFault(description: "'\(text)' is no path of a property: \(error)")
        }
        continue
      }
      let inner = segment.dropFirst().dropLast()
      if inner.hasPrefix("auth.") {
        let names = inner.split(separator: ".", omittingEmptySubsequences: false).dropFirst().map(String.init)
        guard names.allSatisfy(CapturePattern.isName) else {
          throw AccessFault(description: "'\(segment)' is no claim such as {auth.sub}")
        }
        segments.append(.claim(names))
      } else if let capture = captures[String(inner)] {
        segments.append(.capture(capture))
      } else {
        throw AccessFault(
          description: "'\(segment)' is neither a capture of one segment nor a claim such as {auth.sub}")
      }
    }
    self.segments = segments
    self.limits = limits
  }

  /// The path, for somebody and for the captures of a path; nil when there is none, because a claim is missing or is no
  /// segment.
  func path(_ identity: Identity?, captures: (Int) -> String) -> PropertyPath? {
    guard let texts = texts(identity, captures: { captures($0) }) else { return nil }
    return try? PropertyPath(texts.joined(separator: "/"), limits: limits)
  }

  /// The paths that it may stand for, for somebody; nil when there are none.
  func pattern(_ identity: Identity?) -> PathPattern? {
    guard let texts = texts(identity, captures: { _ in "*" }) else { return nil }
    return try? PathPattern(texts.joined(separator: "/"), limits: limits)
  }

  private func texts(_ identity: Identity?, captures: (Int) -> String) -> [String]? {
    var texts: [String] = []
    for segment in segments {
      switch segment {
      case .text(let text): texts.append(text)
      case .capture(let capture): texts.append(captures(capture))
      case .claim(let names):
        guard let text = PathTemplate.claim(names, of: identity), !text.utf8.contains(UInt8(ascii: "/")), text != "*",
          text != "**"
        else { return nil }
        texts.append(text)
      }
    }
    return texts
  }

  private static func claim(_ names: [String], of identity: Identity?) -> String? {
    guard let tree = identity?.auth else { return nil }
    var node = JSONTree.Node.root
    for name in names {
      guard tree.kind(of: node) == .object, let next = tree.member(name, of: node) else { return nil }
      node = next
    }
    return tree.string(node)
  }
}
