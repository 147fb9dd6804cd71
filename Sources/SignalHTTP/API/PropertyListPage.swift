// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore

/// One page of the list (`docs/protocol.md` §2.2), bounded in properties, bytes, examined properties, and work.
final class PropertyListPage: RequestWork {
  /// The requested page.
  struct Request {
    let patterns: [PathPattern]
    /// Who may see what of them; nil: everybody everything.
    let audience: Audience?
    let filter: Filter?
    let after: PropertyPath?
    let limit: Int
    /// The number of segments from which on paths are one entry; nil for all of them.
    var depth: Int?
    let fields: EventFields
    let asLines: Bool
  }

  private let commands: Commands
  private let caller: Caller
  private let request: Request
  private let limits: LiveLimits
  /// nil before the work has begun.
  private var madeProgress: Progress?

  /// The state of the page so far.
  private struct Progress {
    /// The revision for which the page holds.
    let cursor: Cursor
    var scan: PropertyScan
    var budget: Int
    var count = 0
    var text: [UInt8] = []
    /// The last entry, when it has as many segments as there may be, and it is not known whether there is more below it.
    var open: PropertyPath?
    /// Where the next page begins, if not where the scan has come to.
    var last: PropertyPath?

    init(_ snapshot: StoreSnapshot, _ request: Request, _ limits: LiveLimits) {
      cursor = snapshot.cursor
      scan = snapshot.scan(match: request.patterns, after: request.after)
      if let depth = request.depth, let after = request.after, after.depth == depth {
        scan.skip(below: after)
      }
      budget = limits.turnProperties
      guard !request.asLines else { return }
      text.append(literal: #"{"cursor":""#)
      cursor.write(to: &text)
      text.append(literal: #"","properties":["#)
    }
  }

  init(_ commands: Commands, _ caller: Caller, _ request: Request, _ limits: LiveLimits) {
    self.commands = commands
    self.caller = caller
    self.request = request
    self.limits = limits
  }

  func restart() { madeProgress = nil }

  func proceed(_ work: inout Int) -> Bool {
    // Moved out while it grows, so that its text is not copied.
    var progress = takeProgress()
    defer { madeProgress = progress }
    repeat {
      // An entry is complete when it is known whether there is more below it.
      guard progress.open != nil || progress.count < request.limit && progress.text.count < limits.listBytes
      else { return true }
      let before = progress.budget
      // One at a time, so that properties that do not match the patterns count as work, too.
      var one = min(1, before)
      let stored = progress.scan.next(visiting: &one)
      progress.budget -= 1
      work -= WorkCost.property
      guard before > 0, stored != nil || !progress.scan.isAtEnd else { return true }
      if let stored, commands.admits(request.audience, stored, work: &work),
        request.filter?.holds(forStored: stored, work: &work) ?? true
      {
        let count = progress.text.count
        add(stored, to: &progress)
        work -= WorkCost.writing(bytes: progress.text.count - count)
      }
    } while work > 0
    return false
  }

  /// Adds a property to the page, or to the entry that stands for it and for others.
  private func add(_ stored: StoredValue, to progress: inout Progress) {
    if let open = progress.open.take() {
      if stored.path.isBelow(open) {
        progress.text.append(literal: #","more":true"#)
        return progress.scan.skip(below: open)
      }
      guard progress.count < request.limit, progress.text.count < limits.listBytes else {
        progress.last = open
        return
      }
    }
    end(&progress)
    progress.count += 1
    guard let depth = request.depth else { return append(stored, to: &progress.text) }
    let entry = stored.path.prefix(segments: depth)
    if entry == stored.path {
      append(stored, to: &progress.text)
      if entry.depth == depth { progress.open = entry }
    } else {
      append(path: entry, to: &progress.text)
      progress.text.append(literal: #","more":true"#)
      progress.scan.skip(below: entry)
    }
  }

  /// Ends the object of the last entry.
  private func end(_ progress: inout Progress) {
    guard progress.count > 0 else { return }
    progress.text.append(literal: request.asLines ? "}\n" : "},")
  }

  private func takeProgress() -> Progress {
    madeProgress.take() ?? Progress(commands.snapshot(as: caller), request, limits)
  }

  private func append(path: PropertyPath, to text: inout [UInt8]) {
    text.append(literal: #"{"path":"#)
    let path = path.bytes
    text.appendJSON(utf8: path.span)
  }

  /// Appends an object without its end.
  private func append(_ stored: StoredValue, to text: inout [UInt8]) {
    append(path: stored.path, to: &text)
    if request.fields.contains(.value) {
      text.append(literal: #","value":"#)
      text.appendJSON(stored.value)
    }
    if request.fields.contains(.revision) {
      text.append(literal: #","revision":"#)
      text.appendJSON(stored.revision.number)
    }
    if request.fields.contains(.time) {
      text.append(literal: #","time":""#)
      stored.time.write(to: &text)
      text.append(UInt8(ascii: "\""))
    }
    if let computation = stored.computation { Self.append(computation, to: &text) }
    LiveEventWriter.appendExpires(of: stored, to: &text)
  }

  func answer(_ response: inout ResponseWriter) {
    let progress = takeProgress()
    // Where the next page begins; nil when this is the last.
    let next = progress.last ?? (progress.scan.isAtEnd ? nil : progress.scan.visited)
    response.begin(.ok)
    response.field("Content-Type", request.asLines ? "application/x-ndjson" : "application/json")
    response.field("Vary", "Accept")
    response.field("Cache-Control", "no-cache")
    response.field("Signal-Revision") { progress.cursor.write(to: &$0) }
    if request.asLines, let next {
      response.field("Signal-Next") { Query.appendEncoded(next.bytes, to: &$0) }
    }
    var text = progress.text
    if progress.count > 0 { text.append(literal: request.asLines ? "}\n" : "}") }
    guard !request.asLines else { return response.end(text) }
    text.append(literal: "]")
    if let next {
      text.append(literal: #","next":"#)
      let path = next.bytes
      text.appendJSON(utf8: path.span)
    }
    text.append(UInt8(ascii: "}"))
    response.end(text)
  }

  /// Appends the member that marks a computed property.
  private static func append(_ computation: Computation, to text: inout [UInt8]) {
    text.append(literal: #","computed":{"formula":"#)
    text.appendJSON(computation.formula.source)
    if let error = computation.error {
      text.append(literal: #","error":"#)
      text.appendJSON(error)
    }
    text.append(UInt8(ascii: "}"))
  }
}
