// SPDX-License-Identifier: MIT
import JSON
import SignalStore
import Synchronization

/// What a program tells of itself to those who operate it: since when it runs, and with which settings.
package final class ServerFacts: Sendable {
  /// A setting as it is told.
  package struct Setting: Sendable {
    package let name: String
    package let value: String
    package let source: String
    package let summary: String
    package let pending: String?

    /// - Parameters:
    ///   - value: As it is written in a file; no secret.
    ///   - source: Where the value came from.
    ///   - summary: A few words on what it is for.
    ///   - pending: The value from the next start on; nil when it is this one.
    package init(name: String, value: String, source: String, summary: String, pending: String? = nil) {
      self.name = name
      self.value = value
      self.source = source
      self.summary = summary
      self.pending = pending
    }

    fileprivate func append(to text: inout [UInt8]) {
      text.append(literal: #"{"name":"#)
      text.appendJSON(name)
      text.append(literal: #","value":"#)
      text.appendJSON(value)
      text.append(literal: #","source":"#)
      text.appendJSON(source)
      text.append(literal: #","summary":"#)
      text.appendJSON(summary)
      if let pending {
        text.append(literal: #","pending":"#)
        text.appendJSON(pending)
      }
      text.append(UInt8(ascii: "}"))
    }
  }

  let started = Timestamp.now
  // A lock for those who ask and for a reload, and for nobody else.
  private let told = Mutex<[Setting]>([])

  package init() {}

  /// Tells these settings from now on.
  package func set(_ settings: [Setting]) { told.withLock { $0 = settings } }

  /// The settings as they are told.
  package var list: [Setting] { told.withLock { $0 } }

  /// The settings as JSON.
  var settings: [UInt8] {
    var text: [UInt8] = []
    text.append(literal: #"{"settings":["#)
    for (index, setting) in list.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      setting.append(to: &text)
    }
    text.append(literal: "]}")
    return text
  }
}
