// SPDX-License-Identifier: MIT

@testable import SignalCluster

extension FuzzTarget {
  /// Two bytes that choose cuts, and what a server of NATS sends: the same events, and the same end, however it is cut.
  static let nats = FuzzTarget(name: "NATS") { input in
    guard let input = CutInput(input) else { return }
    _ = input.sameOutcome { bytes, cuts in
      var parser = NATSParser()
      var outcome = NATSOutcome()
      var start = 0
      do throws(NATSSyntaxError) {
        for end in cuts {
          parser.append(Array(bytes[start..<end]))
          start = end
          while let event = try parser.next() { outcome.events.append(event) }
        }
      } catch {
        outcome.isRefused = true
      }
      for case .message(let message) in outcome.events {
        require(message.payload.count + message.header.count <= bytes.count, "a message of more than there is")
        _ = message.status
        _ = message.number("Nats-Sequence")
      }
      return outcome
    }
  }
}

private struct NATSOutcome: Equatable {
  var events: [NATSEvent] = []
  var isRefused = false
}
