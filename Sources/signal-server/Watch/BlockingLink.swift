// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP

/// The live protocol over a WebSocket.
final class BlockingLink: LiveLink {
  private let socket: WebSocketClient

  /// Connects and asks for the protocol.
  init(_ url: ServerURL) throws(LinkFailure) {
    var limits = WebSocketClient.largeLimits
    // What can be read as JSON can be received.
    limits.messageBytes = JSONLimits.bytesCeiling
    let fields: [(String, String)]
    do throws(Failure) {
      fields = try url.fields
    } catch {
      throw .broken(error.message)
    }
    do throws(ClientError) {
      socket = try WebSocketClient(
        url.endpoint, target: "/events", tls: url.tls, subprotocols: ["signal.v1.json"], fields: fields,
        limits: limits)
    } catch {
      if case .upgradeRefused(let response) = error {
        let hint = response.status == 401 ? "; \(ClientToken.advice)" : ""
        throw .refused(status: response.status, text: response.refusal() + hint)
      }
      throw .broken("\(url): \(error)")
    }
  }

  func send(_ message: [UInt8]) throws(LinkFailure) {
    do throws(ClientError) {
      try socket.send(.text, message)
    } catch {
      throw .broken(error.description)
    }
  }

  func receive(within timeout: Duration) throws(LinkFailure) -> [UInt8]? {
    let deadline = ContinuousClock.now + timeout
    while true {
      let event: WebSocketClient.Event?
      do throws(ClientError) {
        event = try socket.receive(timeout: max(ContinuousClock.now.duration(to: deadline), .zero))
      } catch {
        throw .broken(error.description)
      }
      switch event {
      case .text(let message): return message
      case .binary: throw .closed(code: .unsupportedData, reason: "the server sent a binary message")
      case .closed(let frame): throw .closed(code: frame.code, reason: frame.reason)
      case .pong: continue
      case nil: return nil
      }
    }
  }
}
