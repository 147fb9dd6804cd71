// SPDX-License-Identifier: MIT

public import JSON
public import SignalStore

extension RemoteStore {
  // MARK: Reading

  /// The property at a path as the server has it; nil when there is none.
  public func entry(_ path: PropertyPath) async throws(RemoteError) -> RemoteEntry? {
    var command = CommandText("get")
    command.add(path)
    do throws(RemoteError) {
      let reply = try await request(command.members)
      return Self.entry(reply.members, epoch: reply.epoch)
    } catch {
      if error.code == "not_found" { return nil }
      throw error
    }
  }

  private static func entry(_ members: Members, epoch: String) -> RemoteEntry? {
    guard let value = members.text("value"), let revision = members.number("revision") else { return nil }
    return RemoteEntry(value, revision, epoch, members)
  }

  // MARK: Writing

  /// Sets a property.
  @discardableResult
  public func set(
    _ path: PropertyPath, _ value: JSONText, _ options: WriteOptions = WriteOptions()
  ) async throws(RemoteError) -> WriteResult {
    try await write(path, value, options) { _ in }
  }

  /// Removes a property.
  @discardableResult
  public func delete(
    _ path: PropertyPath, _ options: WriteOptions = WriteOptions()
  ) async throws(RemoteError) -> WriteResult {
    try await write(path, nil, options) { _ in }
  }

  /// Changes a part of a property: a merge patch (RFC 7396), or, if it is an array, a JSON Patch (RFC 6902).
  @discardableResult
  public func patch(
    _ path: PropertyPath, _ patch: JSONText, _ options: WriteOptions = WriteOptions()
  ) async throws(RemoteError) -> WriteResult {
    var command = CommandText("patch")
    command.add(path)
    command.add(patch.bytes.first == UInt8(ascii: "[") ? "operations" : "merge", patch)
    options.add(to: &command)
    // A JSON Patch is another change each time.
    let isKept = options.isKept && patch.bytes.first != UInt8(ascii: "[")
    let reply = try await request(
      command.members, effect: .write(path, isKept: isKept), timeout: options.timeout)
    return WriteResult(reply.members, epoch: reply.epoch)
  }

  /// All operations or none, as one revision.
  @discardableResult
  public func transaction(_ operations: [RemoteOperation]) async throws(RemoteError) -> WriteResult {
    let reply = try await request(
      Self.transaction(operations.map(\.text)), effect: .writes(operations.map(\.path)))
    return WriteResult(reply.members, epoch: reply.epoch)
  }

  /// What the server does when the connection ends (docs/protocol.md §3.6); told again on each new one, until replaced.
  public func onDisconnect(_ operations: [RemoteOperation]) async throws(RemoteError) {
    var command = CommandText("onDisconnect")
    command.add("operations", texts: operations.map(\.text))
    _ = try await request(command.members, effect: .onDisconnect(isKept: !operations.isEmpty))
  }

  // MARK: Signals

  /// Sends a message through a signal.
  ///
  /// - Parameter isRemembered: Whether who listens later gets it, too.
  public func send(
    _ path: PropertyPath, _ message: JSONText = .null, isRemembered: Bool = false
  ) async throws(RemoteError) {
    var command = CommandText("send")
    command.add(path)
    command.add("message", message)
    if isRemembered { command.add("remember", true) }
    _ = try await request(command.members)
  }

  // MARK: Making commands

  /// The command that sets a property, or removes it when there is no text.
  func writing(_ path: PropertyPath, _ text: JSONText?, _ options: WriteOptions) -> [UInt8] {
    var command = CommandText(text == nil ? "delete" : "set")
    command.add(path)
    command.add("value", text)
    options.add(to: &command)
    return command.members
  }

  static func transaction(_ operations: [[UInt8]]) -> [UInt8] {
    var command = CommandText("transaction")
    command.add("operations", texts: operations)
    return command.members
  }

  /// Writes, and waits for the reply.
  ///
  /// - Parameter settle: Called with the reply, before the events behind it.
  func write(
    _ path: PropertyPath, _ text: JSONText?, _ options: WriteOptions, settle: @escaping RemoteTransaction.Settle
  ) async throws(RemoteError) -> WriteResult {
    let reply = try await request(
      writing(path, text, options), effect: .write(path, isKept: options.isKept), timeout: options.timeout,
      settle: settle)
    return WriteResult(reply.members, epoch: reply.epoch)
  }

  private func request(
    _ members: [UInt8], effect: PendingCommand.Effect = .none, timeout: Duration? = nil,
    settle: @escaping RemoteTransaction.Settle = { _ in }
  ) async throws(RemoteError) -> PendingCommand.Reply {
    let result: Result<PendingCommand.Reply, RemoteError> = await withCheckedContinuation { continuation in
      send(members, effect: effect, timeout: timeout) { result in
        settle(result)
        continuation.resume(returning: result)
      }
    }
    return try result.get()
  }

  /// What is there, as the refusal of a condition says; nil for nothing.
  func entry(of error: RemoteError) -> RemoteEntry? {
    error.current.flatMap { Self.entry($0, epoch: error.epoch) }
  }
}
