// SPDX-License-Identifier: MIT

public import JSON
public import SignalStore

/// An operation of a transaction, or of what happens when the connection ends.
public enum RemoteOperation: Sendable {
  /// Sets a property.
  case set(PropertyPath, JSONText)
  /// Removes a property.
  case delete(PropertyPath)

  /// As JSON.
  var text: [UInt8] {
    var text: [UInt8] = []
    switch self {
    case .set(let path, let value):
      text += Array(#"{"op":"set","path":"#.utf8)
      text.appendJSON(utf8: path.bytes.span)
      text += Array(#","value":"#.utf8)
      text.appendJSON(value)
    case .delete(let path):
      text += Array(#"{"op":"delete","path":"#.utf8)
      text.appendJSON(utf8: path.bytes.span)
    }
    text.append(UInt8(ascii: "}"))
    return text
  }
}
