// SPDX-License-Identifier: MIT

public import JSON
public import SignalStore

/// An operation of a transaction, or of what happens when the connection ends.
public enum RemoteOperation: Sendable {
  /// Sets a property.
  case set(PropertyPath, JSONText)
  /// Removes a property.
  case delete(PropertyPath)

  /// Which property.
  var path: PropertyPath {
    switch self {
    case .set(let path, _), .delete(let path): path
    }
  }

  /// As JSON.
  var text: [UInt8] {
    switch self {
    case .set(let path, let value): Self.text(path, value, WriteOptions())
    case .delete(let path): Self.text(path, nil, WriteOptions())
    }
  }

  /// One that sets a property, or removes it when there is no value.
  static func text(_ path: PropertyPath, _ value: JSONText?, _ options: WriteOptions) -> [UInt8] {
    var members: [UInt8] = []
    members.append(literal: value == nil ? #"{"op":"delete""# : #"{"op":"set""#)
    var text = CommandText(members: members)
    text.add(path)
    text.add("value", value)
    options.add(to: &text)
    return text.members + [UInt8(ascii: "}")]
  }
}
