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

    init(_ snapshot: StoreSnapshot, _ request: Request, _ limits: LiveLimits) {
      cursor = snapshot.cursor
      scan = snapshot.scan(match: request.patterns, after: request.after)
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
      guard progress.count < request.limit, progress.text.count < limits.listBytes else { return true }
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
        append(stored, to: &progress.text, isFirst: progress.count == 0)
        progress.count += 1
        work -= WorkCost.writing(bytes: progress.text.count - count)
      }
    } while work > 0
    return false
  }

  private func takeProgress() -> Progress {
    madeProgress.take() ?? Progress(commands.snapshot(as: caller), request, limits)
  }

  private func append(_ stored: StoredValue, to text: inout [UInt8], isFirst: Bool) {
    if !request.asLines, !isFirst { text.append(UInt8(ascii: ",")) }
    text.append(literal: #"{"path":"#)
    let path = stored.path.bytes
    text.appendJSON(utf8: path.span)
    text.append(literal: #","value":"#)
    text.appendJSON(stored.value)
    text.append(literal: #","revision":"#)
    text.appendJSON(stored.revision.number)
    text.append(literal: #","time":""#)
    stored.time.write(to: &text)
    text.append(UInt8(ascii: "\""))
    if let computation = stored.computation { Self.append(computation, to: &text) }
    LiveEventWriter.appendExpires(of: stored, to: &text)
    text.append(literal: request.asLines ? "}\n" : "}")
  }

  func answer(_ response: inout ResponseWriter) {
    let progress = takeProgress()
    // Where the next page begins; nil when this is the last.
    let next = progress.scan.isAtEnd ? nil : progress.scan.visited
    response.begin(.ok)
    response.field("Content-Type", request.asLines ? "application/x-ndjson" : "application/json")
    response.field("Vary", "Accept")
    response.field("Cache-Control", "no-cache")
    response.field("Signal-Revision") { progress.cursor.write(to: &$0) }
    if request.asLines, let next {
      response.field("Signal-Next") { Query.appendEncoded(next.bytes, to: &$0) }
    }
    var text = progress.text
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
