// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The texts of replies to commands (`docs/protocol.md` §3.1).
enum LiveReply {
  /// Appends an `ok` with further members, each with a comma before it.
  static func appendOK(_ id: Int, to text: inout [UInt8], _ members: (inout [UInt8]) -> Void) {
    LiveService.appendReply(to: id, &text)
    text.append(literal: #""type":"ok""#)
    members(&text)
    text.append(UInt8(ascii: "}"))
  }

  /// Appends the reply to a write.
  static func append(_ result: OperationResult, _ id: Int, to text: inout [UInt8]) {
    appendOK(id, to: &text) { text in
      appendRevision(result.revision, to: &text)
      text.append(literal: result.outcome == .unchanged ? #","changed":false"# : #","changed":true"#)
      if let stored = result.value { LiveEventWriter.appendExpires(of: stored, to: &text) }
    }
  }

  /// Appends the reply to a transaction.
  static func append(_ result: TransactionResult, _ id: Int, to text: inout [UInt8]) {
    appendOK(id, to: &text) { text in
      appendRevision(result.revision, to: &text)
      text.append(literal: #","changed":"#)
      text.appendJSON(result.results.count { $0.outcome != .unchanged })
    }
  }

  /// Appends an `error`.
  static func append(_ problem: Problem, _ id: Int?, to text: inout [UInt8]) {
    LiveService.appendReply(to: id, &text)
    text.append(literal: #""type":"error","error":"#)
    problem.write(to: &text, asDocument: false)
    text.append(UInt8(ascii: "}"))
  }

  static func appendRevision(_ revision: Revision, to text: inout [UInt8]) {
    text.append(literal: #","revision":"#)
    text.appendJSON(revision.number)
  }
}

extension LiveService {
  /// Executes a message of another node's client that changes something.
  func answer(_ message: [UInt8], as caller: Caller) -> ForwardedAnswer {
    var text: [UInt8] = []
    func refuse(_ problem: Problem, _ id: Int?, _ command: String) -> ForwardedAnswer {
      commands.note(problem, of: caller.identity, caller.peer, request: command)
      LiveReply.append(problem, id, to: &text)
      var answer = ForwardedAnswer(message: text)
      answer.problem = problem.code.rawValue
      return answer
    }
    do throws(ClientMessage.Refusal) {
      let message = try ClientMessage(
        message.span, configuration: configuration, operationLimit: commands.limits.transactionOperations,
        holder: caller.holder)
      do throws(Problem) {
        try execute(message, as: caller, &text)
        return ForwardedAnswer(message: text)
      } catch {
        return refuse(error, message.id, message.command.name)
      }
    } catch {
      return refuse(error.problem, error.id, "")
    }
  }

  private func execute(
    _ message: ClientMessage, as caller: Caller, _ text: inout [UInt8]
  ) throws(Problem) {
    if message.isSynced { try commands.checkDurability() }
    switch message.command {
    case .send(let request):
      try commands.send(request, as: caller)
      LiveReply.appendOK(message.id, to: &text) { _ in }
    case .onDisconnect(let operations, let command):
      try commands.keep(onDisconnect: operations, as: caller, in: command)
      LiveReply.appendOK(message.id, to: &text) { _ in }
    case .write(let request): LiveReply.append(try commands.execute(request, as: caller), message.id, to: &text)
    case .patch(let request): LiveReply.append(try commands.patch(request, as: caller), message.id, to: &text)
    case .transact(let requests): LiveReply.append(try commands.execute(requests, as: caller), message.id, to: &text)
    case .subscribe, .subscribeToDemand, .unsubscribe, .get, .ping, .hello, .authenticate:
      throw Problem(.badMessage, "The command changes nothing, and is not for another node.")
    }
  }
}
