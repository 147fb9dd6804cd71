// SPDX-License-Identifier: MIT
import SignalStore
import Synchronization
import Testing

@testable import SignalCluster
@testable import SignalHTTP

/// What nodes tell each other of what is watched, by messages that may be lost.
struct DemandTests {
  /// Whether a question has been answered.
  private final class Answer: Sendable {
    private let here = Atomic(false)
    var isHere: Bool { here.load(ordering: .acquiring) }
    func come() { here.store(true, ordering: .releasing) }
  }

  /// A node without anything else.
  private final class Node {
    let name: String
    let watchers = Watchers()
    var session = 0
    var demand: Demand
    var questions: [@Sendable () -> Void] = []
    var lists: [[PathPattern]] = []

    init(_ name: String, bytes: Int) {
      self.name = name
      demand = Demand(node: name, session: "\(name)0", silence: 5000, bytes: bytes)
      watchers.setComplete(false)
    }
  }

  /// Some nodes, and what is under way between them.
  private final class Network {
    let nodes: [Node]
    var now: UInt64 = 1_000_000
    private var random: SeededGenerator
    /// Of 100 messages, how many are lost.
    var loss = 0
    private enum Message {
      case told(DemandMessage)
      case beat(Beat)
    }
    private var inboxes: [[(due: UInt64, Message)]]

    init(_ count: Int, _ seed: UInt64, bytes: Int = DemandTeller.bytes) {
      nodes = (0..<count).map { Node("n\($0)", bytes: bytes) }
      inboxes = nodes.map { _ in [] }
      random = SeededGenerator(seed: seed)
      for node in nodes { node.demand.begin(at: now) }
    }

    func next(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    /// Time passes, 50 ms at a time.
    func step(_ steps: Int) {
      for step in 0..<steps {
        now += 50
        for (index, node) in nodes.enumerated() {
          let due = inboxes[index].prefix { $0.due <= now }
          inboxes[index].removeFirst(due.count)
          for (_, message) in due {
            switch message {
            case .told(let message): node.demand.received(message, node.watchers)
            case .beat(let beat): node.demand.received(beat, at: now)
            }
          }
          let others = nodes.filter { $0 !== node }.map(\.name)
          let questions = node.questions
          node.questions = []
          let messages = node.demand.tick(node.watchers, questions: questions, others: others, at: now)
          for message in messages {
            guard let read = DemandMessage(message.bytes) else { fatalError("not read: \(message)") }
            precondition(read == message)
            for other in nodes.indices where other != index && next(100) >= loss {
              inboxes[other].append((now + 10, .told(read)))
            }
          }
          if step % 3 == 0 {
            var beat = Beat(
              node: node.name, session: "\(node.name)\(node.session)", term: 1, isLeading: false, sequence: 0,
              revision: 0, time: Timestamp(milliseconds: 0))
            node.demand.complete(&beat)
            for other in nodes.indices where other != index { inboxes[other].append((now + 10, .beat(beat))) }
          }
        }
      }
    }

    /// A node begins again as another process, whose clients are gone.
    func restart(_ node: Node) {
      node.session += 1
      for list in node.lists { node.watchers.remove(list) }
      node.lists = []
      node.demand = Demand(node: node.name, session: "\(node.name)\(node.session)", silence: 5000)
      node.demand.begin(at: now)
    }
  }

  @Test(arguments: 0..<60 as Range<UInt64>) func `numbers agree at all nodes once nothing changes`(_ seed: UInt64)
    throws
  {
    let network = Network(3, seed)
    network.loss = [0, 5, 30][network.next(3)]
    let patterns: [PathPattern] = ["a", "a/*", "a/**", "b/c", "**"]
    for round in 0..<60 {
      let node = network.nodes[network.next(3)]
      switch network.next(12) {
      case 0: node.watchers.addDemand(1)
      case 1 where seed % 2 == 0 && round < 50: node.demand.begin(at: network.now)
      case 2..<8:
        let list = (0...network.next(2)).map { _ in patterns[network.next(patterns.count)] }
        node.watchers.add(list)
        node.lists.append(list)
      default:
        guard !node.lists.isEmpty else { break }
        node.watchers.remove(node.lists.remove(at: network.next(node.lists.count)))
      }
      network.step(network.next(12))
    }
    network.loss = 0
    for node in network.nodes { node.watchers.addDemand(1) }
    network.step(60)
    let all = network.nodes.flatMap(\.lists)
    for path in ["a", "a/b", "a/b/c", "b/c", "x"] as [PropertyPath] {
      let count = all.count { $0.contains { $0.matches(path) } }
      for node in network.nodes { #expect(node.watchers.count(path) == count, "seed \(seed), \(node.name), \(path)") }
    }
    for node in network.nodes {
      #expect(Set(node.watchers.present.watched) == Set(all.joined()))
      #expect(node.watchers.ask())
    }
  }

  @Test func `one who asks is answered when all have told, and what was told is forgotten when nobody asks any more`()
    throws
  {
    let network = Network(2, 1)
    let (here, there) = (network.nodes[0], network.nodes[1])
    for number in 0..<5000 { there.watchers.add([try PathPattern("p/\(number)")]) }
    network.step(20)
    #expect(here.watchers.count("p/1") == 0 && !here.watchers.ask())
    let answered = Answer()
    here.questions = [{ answered.come() }]
    network.step(2)
    #expect(!answered.isHere)
    network.step(18)
    #expect(answered.isHere && here.watchers.ask() && here.watchers.count("p/4999") == 1)
    #expect(there.watchers.count("p/1") == 1)
    there.watchers.remove(["p/1"])
    network.step(12)
    #expect(here.watchers.count("p/1") == 0)
    // `ask` is interest, too.
    network.step(Int(Demand.interest / 50) + 20)
    #expect(here.watchers.present.watched.isEmpty && here.demand.generation == 0 && !here.watchers.ask())
  }

  @Test func `a node that does not answer is not waited for, and one that has begun anew tells what there is now`() {
    let network = Network(2, 2)
    let (here, there) = (network.nodes[0], network.nodes[1])
    here.watchers.addDemand(1)
    there.watchers.add(["a"])
    there.lists = [["a"]]
    network.step(30)
    #expect(here.watchers.count("a") == 1)
    network.restart(there)
    network.step(30)
    #expect(here.watchers.count("a") == 0 && here.watchers.ask())
    network.loss = 100
    here.demand.begin(at: network.now)
    let answered = Answer()
    here.questions = [{ answered.come() }]
    network.step(19)
    #expect(!answered.isHere)
    network.step(2)
    #expect(answered.isHere && !here.watchers.ask())
  }

  @Test func `two who want to know much are told, and then nobody is asked again`() throws {
    let network = Network(3, 4)
    for number in 0..<20_000 { network.nodes[2].watchers.add([try PathPattern("p/\(number)")]) }
    network.nodes[0].watchers.addDemand(1)
    network.step(4)
    network.nodes[1].watchers.addDemand(1)
    network.step(60)
    let generations = network.nodes.map(\.demand.generation)
    network.step(100)
    #expect(network.nodes.map(\.demand.generation) == generations && generations[0] <= 2 && generations[1] <= 2)
    #expect(network.nodes[0].watchers.ask() && network.nodes[1].watchers.count("p/19999") == 1)
  }

  @Test func `where there are too many patterns everything counts as watched`() throws {
    let network = Network(2, 3, bytes: 4 << 20)
    let (here, there) = (network.nodes[0], network.nodes[1])
    here.watchers.addDemand(1)
    let long = String(repeating: "x", count: 250)
    func list(_ number: Int) throws -> [PathPattern] {
      try (0..<32).map { try PathPattern("\(long)/\(long)/\(long)/\(number)/\($0)") }
    }
    for number in 0..<200 { there.watchers.add(try list(number)) }
    network.step(30)
    #expect(here.watchers.present.watched == [.all] && here.watchers.count("a") == 1)
    for number in 0..<150 { there.watchers.remove(try list(number)) }
    network.step(30)
    #expect(here.watchers.present.watched.count == 50 * 32 && here.watchers.count("a") == 0)
  }

  @Test(arguments: [
    "", "[]", "{}", #"{"node":"a","session":"s","n":1,"first":1,"whole":true}"#,
    #"{"node":"a","session":"s","n":1,"first":1,"whole":1,"lists":[]}"#,
    #"{"node":"a","session":"s","n":-1,"first":1,"whole":true,"lists":[]}"#,
    #"{"node":"a","session":"s","n":1,"first":1,"whole":true,"lists":[[]]}"#,
    #"{"node":"a","session":"s","n":1,"first":1,"whole":true,"lists":[[1]]}"#,
    #"{"node":"a","session":"s","n":1,"first":1,"whole":true,"lists":[["a",1]]}"#,
    #"{"node":"a","session":"s","n":1,"first":1,"whole":true,"lists":[[1,"a//b"]]}"#,
    #"{"node":"a","session":"s","n":1,"first":1,"whole":true,"lists":[[4294967296,"a"]]}"#,
  ]) func `what is no message is ignored`(_ text: String) { #expect(DemandMessage(Array(text.utf8)) == nil) }
}
