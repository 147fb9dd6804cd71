// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §3.7, demand")
struct DemandTests {
  /// A client that is told of demand, behind its beginning.
  private func provider(_ server: TestServer, _ demand: String) throws -> LiveClient {
    let client = try LiveClient(server)
    _ = try client.subscribe(#""demand":\#(demand)"#)
    return client
  }

  @Test func `the first watcher and the last are told, whatever loop they are on`() throws {
    let server = try TestServer(loops: 3)
    let provider = try provider(server, #"["sensors/**"]"#)
    let watchers = try (0..<6).map { _ in try LiveClient(server) }
    for watcher in watchers { _ = try watcher.subscribe(#""match":"sensors/attic""#) }
    #expect(try provider.next().text == #"{"type":"demand","subscription":1,"match":"sensors/attic","watched":true}"#)
    _ = try watchers[0].subscribe(#""match":"kitchen""#, id: 2)
    for watcher in watchers.dropLast() {
      #expect(try watcher.ask(#"{"id":3,"type":"unsubscribe","subscription":1}"#).type == "ok")
    }
    #expect(try provider.settle().isEmpty)
    #expect(try watchers[5].ask(#"{"id":3,"type":"unsubscribe","subscription":1}"#).type == "ok")
    #expect(try provider.next().text == #"{"type":"demand","subscription":1,"match":"sensors/attic","watched":false}"#)
  }

  @Test func `a connection that ends takes its demand with it, and a stream of events is a watcher too`() throws {
    let server = try TestServer()
    let provider = try provider(server, #""**""#)
    do {
      let stream = try EventStreamClient(server, query: "match=a/*&match=b")
      _ = try stream.next()
      #expect(Set(try provider.next(2).map { $0.string("match") }) == ["a/*", "b"])
    }
    let gone = try provider.next(2)
    #expect(gone.allSatisfy { $0.bool("watched") == false })
  }

  @Test func `what is watched already comes first, then live`() throws {
    let server = try TestServer()
    let watcher = try LiveClient(server)
    _ = try watcher.subscribe(#""match":["a/*/c","x","a/b/c"]"#)
    let client = try LiveClient(server)
    let beginning = try client.subscribe(#""demand":["a/b/**"]"#)
    #expect(beginning.map(\.type) == ["ok", "demand", "demand", "live"])
    #expect(Set(beginning.compactMap { $0.string("match") }) == ["a/*/c", "a/b/c"])
  }

  @Test func `one that has unsubscribed is told no more, and its own subscriptions count`() throws {
    let server = try TestServer()
    let client = try provider(server, #""a""#)
    #expect(try client.subscribe(#""match":"a""#, id: 2).first?.int("subscription") == 2)
    #expect(try client.next().bool("watched") == true)
    #expect(try client.ask(#"{"id":3,"type":"unsubscribe","subscription":1}"#).type == "ok")
    #expect(try client.ask(#"{"id":4,"type":"unsubscribe","subscription":2}"#).type == "ok")
    #expect(try client.settle().isEmpty)
  }

  @Test func `the number of watchers is told on request`() throws {
    let server = try TestServer(loops: 2)
    try server.store.set("a/b", "1")
    let rest = try server.connect()
    #expect(try rest.request("GET", "/properties/a/b?watchers=true").value("Signal-Watchers") == "0")
    let clients = try (0..<3).map { _ in try LiveClient(server) }
    // Two patterns of one subscription are one watcher.
    for client in clients { _ = try client.subscribe(#""match":["a/*","a/b"]"#) }
    _ = try clients[0].subscribe(#""match":"**""#, id: 2)
    _ = try clients[0].subscribe(#""match":"c""#, id: 3)
    #expect(try rest.request("GET", "/properties/a/b?watchers=true").value("Signal-Watchers") == "4")
    #expect(try rest.request("GET", "/properties/a/b").value("Signal-Watchers") == nil)
    #expect(try clients[1].ask(#"{"id":9,"type":"get","path":"a/b","watchers":true}"#).int("watchers") == 4)
    #expect(try clients[1].ask(#"{"id":9,"type":"get","path":"a/b"}"#).int("watchers") == nil)
    #expect(try clients[0].ask(#"{"id":4,"type":"unsubscribe","subscription":2}"#).type == "ok")
    #expect(try rest.request("GET", "/properties/a/b?watchers=true").value("Signal-Watchers") == "3")
    // Whoever is to provide it can ask before there is anything.
    let absent = try rest.request("GET", "/properties/a/none?watchers=true")
    #expect(absent.status == 404 && absent.value("Signal-Watchers") == "3")
    // Optimized, an object ends with its last use, and with these the subscriptions.
    withExtendedLifetime(clients) {}
  }

  @Test func `many patterns come in pieces, each once`() throws {
    let server = try TestServer()
    let watcher = try LiveClient(server)
    for number in 0..<120 {
      let patterns = (0..<20).map { #""\#(String(repeating: "x", count: 200))/\#(number)/\#($0)""# }
      _ = try watcher.subscribe(#""match":[\#(patterns.joined(separator: ","))]"#, id: number)
    }
    let client = try LiveClient(server)
    let beginning = try client.subscribe(#""demand":"**""#)
    #expect(beginning.count == 2402)
    #expect(Set(beginning.compactMap { $0.string("match") }).count == 2400)
  }
}
