// SPDX-License-Identifier: MIT

import JSON
import SignalClient
import SignalHTTP
import SignalStore
import Signals
import Synchronization
import TestSupport

/// A server in this process, and clients of it.
final class RemoteServer: Sendable {
  let store: PropertyStore
  private let server: TestServer

  init(store: PropertyStore = .forTests()) throws {
    self.store = store
    server = try TestServer(store: store)
  }

  /// A client of it.
  func connect(_ change: (inout RemoteStore.Configuration) -> Void = { _ in }) throws -> RemoteStore {
    var configuration = RemoteStore.Configuration()
    configuration.minDelay = .milliseconds(1)
    if TestTransport.isSecured { configuration.authorities = TestTransport.certificate.file.chain }
    change(&configuration)
    return try RemoteStore("\(TestTransport.scheme)://127.0.0.1:\(server.port)", configuration: configuration)
  }

  /// Ends the server, and with it all connections.
  func shutDown() { server.server.shutdown() }
}

extension ReadableSource where Message: Equatable {
  /// Waits until it has a value.
  func becomes(_ value: Message) async {
    for await message in values(buffering: .all) where message == value { return }
  }
}

/// What observers have been called with.
final class Record<Entry: Sendable>: Sendable {
  private let list = Property<[Entry]>([])

  var entries: [Entry] { list.value }
  func add(_ entry: Entry) { list.update { $0.append(entry) } }

  /// Waits for so many entries; there may be fewer when the test's time is over.
  func count(_ count: Int) async { for await entries in list.values() where entries.count >= count { return } }
}
