// SPDX-License-Identifier: MIT
import JSON

/// One line of an export: a header, the items, and an end that says that they are all.
///
///     {"export":1,"cursor":"x7k2m9qd.1042"}
///     {"path":"a","value":1}
///     {"end":true,"properties":1,"timers":0,"signals":0}
enum ExportedLine: Equatable {
  case header
  case item(ExportedItem)
  case end(End)

  /// The format that is written, and the newest that is read.
  static let format: UInt64 = 1

  /// The first line.
  static func header(_ cursor: String) -> [UInt8] {
    var text = Array(#"{"export":\#(format),"cursor":"#.utf8)
    text.appendJSON(cursor)
    return text + Array("}".utf8)
  }

  /// The numbers of items of each kind.
  struct Counts: Equatable {
    var properties = 0
    var timers = 0
    var signals = 0

    mutating func count(_ item: ExportedItem) {
      switch item {
      case .property, .computed: properties += 1
      case .timer: timers += 1
      case .signal: signals += 1
      }
    }

    /// The last line of an export of so many.
    var endLine: [UInt8] {
      Array(#"{"end":true,"properties":\#(properties),"timers":\#(timers),"signals":\#(signals)}"#.utf8)
    }
  }

  /// The last line as it was read: a number that it does not say is nil, as when people write one.
  struct End: Equatable {
    var properties: UInt64?
    var timers: UInt64?
    var signals: UInt64?

    /// How what was read differs from what it says, in a sentence; nil when it does not.
    func difference(from counts: Counts) -> String? {
      for (said, found, name) in [
        (properties, counts.properties, "properties"), (timers, counts.timers, "timers"),
        (signals, counts.signals, "kept messages"),
      ] {
        if let said, said != UInt64(found) { return "it says that there are \(said) \(name), and there are \(found)" }
      }
      return nil
    }
  }

  /// Reads a line.
  ///
  /// - Throws: What is wrong with it, in a sentence.
  init(_ line: ArraySlice<UInt8>) throws(Fault) {
    let text: JSONText
    do throws(JSONError) {
      text = try JSONText(validating: Array(line), limits: ServerMessage.limits)
    } catch {
      throw Fault(message: "\(error)")
    }
    let tree = JSONTree(text)
    guard tree.kind(of: tree.root) == .object else { throw Fault(message: "it is no JSON object") }
    let members = Members(text)
    if let format = members.number("export") {
      guard format <= Self.format else {
        throw Fault(
          message: "it has format \(format), written by a later version; this one reads formats up to \(Self.format)")
      }
      self = .header
    } else if members.has("end") {
      self = .end(try Self.end(members))
    } else {
      self = .item(try ExportedItem(members))
    }
  }

  private static func end(_ members: Members) throws(Fault) -> End {
    let names = ["properties", "timers", "signals"].filter(members.has)
    guard members.bool("end") == true, members.count == names.count + 1,
      names.allSatisfy({ members.number($0) != nil })
    else { throw Fault(message: "it is no end, as an export has it") }
    return End(
      properties: members.number("properties"), timers: members.number("timers"), signals: members.number("signals"))
  }

  /// The reason a line is not a line of an export.
  struct Fault: Error, Equatable {
    let message: String
  }
}
