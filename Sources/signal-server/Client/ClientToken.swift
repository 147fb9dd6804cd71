// SPDX-License-Identifier: MIT

/// The token that a client verb proves with who it is.
enum ClientToken: Equatable, Sendable {
  case text(String)
  /// A file that is read for each connection, so that a new token is used when the old one ends.
  case file(String)

  /// The longest file.
  private static let mostBytes = 64 << 10

  /// The token of a flag, of `SIGNAL_TOKEN`, or of the file that `SIGNAL_TOKEN_FILE` names; nil without any.
  init?(_ flag: String?, in environment: [String: String]) {
    func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    if let text = flag ?? variable("SIGNAL_TOKEN") {
      self = .text(text)
    } else if let file = variable("SIGNAL_TOKEN_FILE") {
      self = .file(file)
    } else {
      return nil
    }
  }

  /// The fields of a request that carry it.
  ///
  /// - Throws: `Failure`, in which there is nothing of the token.
  var fields: [(String, String)] {
    get throws(Failure) {
      let (text, source): (String, String)
      switch self {
      case .text(let given): (text, source) = (given, "the token")
      case .file(let path):
        source = path
        do throws(SystemFailure) {
          text = String(decoding: try Terminal.readFile(path, atMost: Self.mostBytes), as: UTF8.self)
        } catch {
          throw Failure(.usage, "SIGNAL_TOKEN_FILE: \(path.printable): \(error)")
        }
      }
      let trimmed = text.utf8.drop(while: Self.isSpace).reversed().drop(while: Self.isSpace).reversed()
      guard !trimmed.isEmpty, trimmed.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
        throw Failure(.usage, "\(source.printable) is no token")
      }
      return [("Authorization", "Bearer \(String(decoding: trimmed, as: UTF8.self))")]
    }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D }

  /// What to do about a refusal for want of a token, or of a good one.
  static let advice = "give a token with SIGNAL_TOKEN, SIGNAL_TOKEN_FILE or --token"
}
