// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// Writes a property as members of an object that the caller opens and closes.
extension StoredValue {
  /// Appends `"path":…,"value":…,"revision":…,"time":…`, and the expiry if there is one.
  func appendMembers(to text: inout [UInt8]) {
    text.append(literal: #""path":"#)
    let path = path.bytes
    text.appendJSON(utf8: path.span)
    text.append(literal: #","value":"#)
    text.appendJSON(value)
    appendRevisionAndTime(to: &text)
  }

  /// Appends `,"revision":…,"time":…`, and the expiry if there is one.
  func appendRevisionAndTime(to text: inout [UInt8]) {
    text.append(literal: #","revision":"#)
    text.appendJSON(revision.number)
    text.append(literal: #","time":""#)
    time.write(to: &text)
    text.append(UInt8(ascii: "\""))
    LiveEventWriter.appendExpires(of: self, to: &text)
  }
}
