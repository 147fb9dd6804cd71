// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// Executes commands that other nodes have forwarded, on one loop, in their order.
struct ForwardedCommands: ForwardedExecutor {
  private let loop: EventLoop

  init(on loop: EventLoop) { self.loop = loop }

  func execute(_ body: @escaping @Sendable (_ execute: (ForwardedCommand) -> ForwardedAnswer) -> Void) {
    loop.submit { loop in
      guard let acceptor = loop.acceptor as? Acceptor, let api = acceptor.handler as? LiveAPI else { return }
      body { api.execute($0, on: loop) }
    }
  }

  func whenSeen(_ body: @escaping @Sendable () -> Void) {
    loop.submit { loop in
      let seen = LoopLatch(max(1, loop.all.count), body)
      for each in loop.all.isEmpty ? [loop] : loop.all {
        // What a loop sees at the end of its turn it has seen in the next one.
        each.submit { loop in loop.submit { _ in seen.countDown() } }
      }
    }
  }
}

extension LiveAPI {
  /// Executes a command of another node's client, who has been admitted there.
  func execute(_ command: ForwardedCommand, on loop: isolated EventLoop) -> ForwardedAnswer {
    let caller = command.caller
    switch command.content {
    case .barrier: preconditionFailure("The node that decides answers it without executing anything.")
    case .end:
      service.commands.end(caller)
      return ForwardedAnswer(message: [])
    case .message(let message):
      return service.answer(message, as: caller)
    case .request(let head, let body):
      var parser = RequestHeadParser(limits: .ofForwarded)
      return head.withView { view in
        body.withView { body in
          let clock = ResponseClock(hsts: nil)
          do throws(HTTPParseError) {
            let head = try parser.parse(view)
            var response = ResponseWriter(
              appendingTo: [], for: head, mayKeepAlive: true, isSecured: false, clock)
            do throws(APIError) {
              try write(head, RequestBody(body), &response, as: caller)
            } catch {
              response.refuse(error)
            }
            return ForwardedAnswer(response)
          } catch {
            var response = ResponseWriter(appendingTo: [], isSecured: false, clock)
            response.refuse(error)
            return ForwardedAnswer(response)
          }
        }
      }
    }
  }
}

extension HTTPLimits {
  /// The node that a request has come to has held it to its own limits.
  fileprivate static let ofForwarded: HTTPLimits = {
    var limits = HTTPLimits()
    (limits.headBytes, limits.targetBytes, limits.methodBytes, limits.fields) = (1 << 20, 1 << 20, 1 << 10, 10_000)
    return limits
  }()
}
