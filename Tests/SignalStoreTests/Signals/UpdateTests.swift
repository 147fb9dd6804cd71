// SPDX-License-Identifier: MIT
import Foundation
import Synchronization
import Testing

@testable import Signals

private func text(_ update: ValueUpdate<Int>) -> String {
  switch update {
  case .begin: "begin"
  case .change(let change): "\(change.old) -> \(change.new)"
  case .end: "end"
  }
}

/// Follows the updates of a property.
private func following(_ property: Property<Int>) -> (log: Log<String>, token: Subscription) {
  let log = Log<String>()
  return (log, property.updates.subscribe { log.add(text($0)) })
}

@Suite struct `Updates` {
  @Test func `a set is a beginning, a change and an end`() {
    let property = Property(0)
    let (log, token) = following(property)
    #expect(log.entries == [])
    property.value = 1
    #expect(log.entries == ["begin", "0 -> 1", "end"])
    token.cancel()
    #expect(log.entries.count == 3)
    #expect(property.observerCount == 0)
  }

  @Test func `a transaction is one, and begins before its sets`() {
    let property = Property(0)
    let (log, token) = following(property)
    withTransaction {
      property.value = 1
      #expect(log.entries == ["begin"])
      withTransaction { property.value = 2 }
      property.value = 3
      #expect(log.entries == ["begin"])
    }
    #expect(log.entries == ["begin", "0 -> 3", "end"])
    property.value = 4
    #expect(log.entries.suffix(3) == ["begin", "3 -> 4", "end"])
    token.cancel()
  }

  @Test func `an empty transaction has a beginning and an end`() {
    let property = Property(0)
    let (log, token) = following(property)
    let values = Log<Int>()
    let second = property.subscribe(from: .future) { values.add($0) }
    property.inTransaction { #expect(log.entries == ["begin"]) }
    #expect(log.entries == ["begin", "end"])
    #expect(values.entries == [])
    withTransaction {}
    #expect(log.entries == ["begin", "end"])
    withExtendedLifetime((token, second)) {}
  }

  @Test func `what comes back to its value is no change`() {
    let property = Property(0, skipsEqual: true)
    let (log, token) = following(property)
    withTransaction {
      property.value = 1
      property.value = 0
    }
    #expect(log.entries == ["begin", "end"])
    token.cancel()
  }

  @Test func `who joins a transaction gets its beginning and what changes from then on`() {
    let property = Property(0)
    let joined = Box<(log: Log<String>, token: Subscription)?>(nil)
    withTransaction {
      property.value = 1
      joined.value = following(property)
      #expect(joined.value?.log.entries == ["begin"])
      property.value = 2
    }
    #expect(joined.value?.log.entries == ["begin", "1 -> 2", "end"])
  }

  @Test func `who leaves a transaction gets the change so far and an end`() {
    let property = Property(0)
    let (log, token) = following(property)
    withTransaction {
      property.value = 1
      token.cancel()
      #expect(log.entries == ["begin", "0 -> 1", "end"])
      property.value = 2
    }
    #expect(log.entries == ["begin", "0 -> 1", "end"])
    let (second, empty) = following(property)
    property.inTransaction { empty.cancel() }
    #expect(second.entries == ["begin", "end"])
  }

  @Test func `changes of one who joins a transaction begin with the value of then`() {
    let property = Property(0)
    let log = Log<String>()
    let bag = SubscriptionBag()
    withTransaction {
      property.value = 1
      property.changes.subscribe { log.add("\($0.old) -> \($0.new)") }.stored(in: bag)
      property.value = 2
      property.value = 3
    }
    property.value = 4
    #expect(log.entries == ["1 -> 3", "3 -> 4"])
  }

  @Test func `changes of one who leaves a transaction end with the change so far`() {
    let property = Property(0)
    let log = Log<String>()
    let token = property.changes.subscribe { log.add("\($0.old) -> \($0.new)") }
    let other = property.changes.subscribe { _ in }
    property.value = 1
    withTransaction {
      property.value = 2
      token.cancel()
      #expect(log.entries == ["0 -> 1", "1 -> 2"])
      property.value = 3
    }
    other.cancel()
    #expect(log.entries == ["0 -> 1", "1 -> 2"])
  }

  @Test func `who leaves while it is told gets the end behind that, and nothing else`() {
    let property = Property(0)
    let log = Log<String>()
    let bag = SubscriptionBag()
    property.updates.subscribe { update in
      log.add("(")
      log.add(text(update))
      bag.cancel()
      log.add(")")
    }.stored(in: bag)
    property.value = 1
    #expect(log.entries == ["(", "begin", ")", "(", "end", ")"])
  }

  @Test func `who joins after the last set of a transaction has the value already`() {
    let property = Property(0)
    let log = Log<Int>()
    let future = Log<Int>()
    let bag = SubscriptionBag()
    withTransaction {
      property.value = 1
      property.subscribe { log.add($0) }.stored(in: bag)
      property.subscribe(from: .future) { future.add($0) }.stored(in: bag)
      #expect(log.entries == [1])
    }
    #expect(log.entries == [1])
    #expect(future.entries == [])
    property.value = 2
    #expect(log.entries == [1, 2])
    #expect(future.entries == [2])
  }

  @Test func `transactions of several threads leave every follower with balanced updates`() {
    let property = Property(0)
    let (log, token) = following(property)
    let others = Log<Log<String>>()
    onThreads(4) { thread in
      for n in 0..<500 {
        if thread == 3 {
          let (other, token) = following(property)
          token.cancel()
          others.add(other)
        } else {
          withTransaction {
            property.value = n
            property.value = n + 1
          }
        }
      }
    }
    for log in [log] + others.entries {
      var isOpen = false
      for entry in log.entries {
        switch entry {
        case "begin":
          #expect(!isOpen)
          isOpen = true
        case "end":
          #expect(isOpen)
          isOpen = false
        default: #expect(isOpen)
        }
      }
      #expect(!isOpen)
    }
    token.cancel()
  }
}

@Suite struct `Transactions and bindings` {
  @Test func `a transaction travels through a binding once`() {
    let master = Property(0)
    let slave = Property(0)
    let binding = master.bind(to: slave)
    let (log, token) = following(slave)
    withTransaction { for n in 1...3 { master.value = n } }
    #expect(log.entries == ["begin", "0 -> 3", "end"])
    withExtendedLifetime((binding, token)) {}
  }

  @Test func `a binding made inside a transaction takes part in it`() {
    let master = Property(0)
    let slave = Property(9)
    let (log, token) = following(slave)
    let bag = SubscriptionBag()
    withTransaction {
      master.value = 1
      master.bind(to: slave).stored(in: bag)
      #expect(slave.value == 1)
      #expect(log.entries == ["begin"])
    }
    #expect(log.entries == ["begin", "9 -> 1", "end"])
    master.value = 2
    #expect(slave.value == 2)
    token.cancel()
  }

  @Test func `a combination of a property and what is bound to it is told once`() {
    let master = Property(0)
    let slave = Property(0)
    let binding = master.bind(to: slave)
    let log = Log<[Int]>()
    let token = combineLatest(master, slave).subscribe(from: .future) { log.add([$0, $1]) }
    withTransaction { master.value = 1 }
    #expect(log.entries == [[1, 1]])
    withExtendedLifetime((binding, token)) {}
  }
}

@Suite struct `Transactions and what follows from them` {
  @Test func `a property that is bound begins with the transaction and is told once by two sources`() {
    let (a, b, slave) = (Property(0), Property(0), Property(0))
    let bag = SubscriptionBag()
    a.bind(to: slave).stored(in: bag)
    b.bind(to: slave).stored(in: bag)
    let (log, token) = following(slave)
    withTransaction {
      a.value = 1
      #expect(log.entries == ["begin"])
      b.value = 2
    }
    #expect(log.entries == ["begin", "0 -> 2", "end"])
    log.clear()
    a.inTransaction { #expect(log.entries == ["begin"]) }
    #expect(log.entries == ["begin", "end"])
    token.cancel()
  }

  @Test func `both sides of a binding are one transaction`() {
    let (left, right) = (Property(0), Property(0))
    let binding = left.bindBothWays(with: right)
    let (leftLog, leftToken) = following(left)
    let (rightLog, rightToken) = following(right)
    withTransaction {
      left.value = 1
      left.value = 2
    }
    #expect(leftLog.entries == ["begin", "0 -> 2", "end"])
    #expect(rightLog.entries == ["begin", "0 -> 2", "end"])
    withTransaction { right.value = 3 }
    #expect(leftLog.entries.suffix(3) == ["begin", "2 -> 3", "end"])
    withExtendedLifetime((binding, leftToken, rightToken)) {}
  }

  @Test func `a chain of bindings and combinations is told once`() {
    let (a, b) = (Property(1), Property(1))
    let sum = Property(0)
    let log = Log<Int>()
    let outer = Log<[Int]>()
    let bag = SubscriptionBag()
    combineLatest(a, b).map { $0 + $1 }.bind(to: sum).stored(in: bag)
    sum.subscribe(from: .future) { log.add($0) }.stored(in: bag)
    combineLatest(a, sum).subscribe(from: .future) { outer.add([$0, $1]) }.stored(in: bag)
    withTransaction {
      a.value = 2
      b.value = 3
    }
    #expect(log.entries == [5])
    #expect(outer.entries.last == [2, 5])
  }

  @Test func `a switched property is told once, with the last source and its last value`() {
    let inner = [Property("a"), Property("b")]
    let index = Property(0)
    let log = Log<String>()
    let token = index.flatMapLatest { inner[$0] }.subscribe { log.add($0) }
    withTransaction {
      inner[0].value = "unheard"
      index.value = 1
      inner[1].value = "c"
    }
    #expect(log.entries == ["a", "c"])
    withTransaction {
      inner[1].value = "d"
      inner[1].value = "e"
    }
    #expect(log.entries == ["a", "c", "e"])
    inner[1].value = "f"
    #expect(log.entries == ["a", "c", "e", "f"])
    token.cancel()
    #expect(inner.allSatisfy { $0.observerCount == 0 } && index.observerCount == 0)
  }

  @Test func `a combination over a switched property is told once`() {
    let inner = [Property(1), Property(10)]
    let index = Property(0)
    let log = Log<[Int]>()
    let chosen = index.flatMapLatest { inner[$0] }
    let token = combineLatest(index, chosen, inner[1]).subscribe(from: .future) { log.add([$0, $1, $2]) }
    withTransaction {
      index.value = 1
      inner[1].value = 11
    }
    #expect(log.entries == [[1, 11, 11]])
    token.cancel()
  }

  @Test func `a task that is started inside is not part of the transaction`() async {
    let property = Property(0)
    let log = Log<Int>()
    let token = property.subscribe(from: .future) { log.add($0) }
    let gate = Property(false)
    let task = withTransaction {
      Task {
        for await isOpen in gate.values() where isOpen { break }
        // Another transaction is open now, so those who set look for one.
        withTransaction { property.value = 1 }
        property.value = 2
      }
    }
    let other = Box<Task<Void, Never>?>(nil)
    withTransaction {
      gate.value = true
      other.value = task
    }
    await task.value
    #expect(log.entries == [1, 2])
    token.cancel()
  }

  @Test func `more properties than one looks through are told once each`() {
    let properties = (0..<40).map { Property($0) }
    let log = Log<Int>()
    let bag = SubscriptionBag()
    for property in properties { property.subscribe(from: .future) { log.add($0) }.stored(in: bag) }
    withTransaction {
      for _ in 0..<3 { for property in properties { property.update { $0 += 100 } } }
    }
    #expect(log.entries == (0..<40).map { $0 + 300 })
  }
}

@Suite struct `Transactions and combinations` {
  @Test func `a combination of combinations is told once, whatever comes first`() {
    let a = Property(1)
    let b = Property(1)
    let sum = combineLatest(a, b).map { $0 + $1 }
    let log = Log<[Int]>()
    // The outer ones hear of `a` before the inner ones do.
    let token = combineLatest(a, combineLatest(b, sum).map { $0 * $1 }).subscribe(from: .future) { log.add([$0, $1]) }
    withTransaction {
      a.value = 2
      b.value = 3
    }
    #expect(log.entries == [[2, 15]])
    token.cancel()
  }

  @Test func `a combination is told once also while another thread delivers one of the properties`() {
    for first in [true, false] {
      let a = Property(0)
      let b = Property(0)
      let log = Log<[Int]>()
      let entered = DispatchSemaphore(value: 0)
      let committed = DispatchSemaphore(value: 0)
      let bag = SubscriptionBag()
      (first ? a : b).subscribe(from: .future) { value in
        if value == 1 {
          entered.signal()
          committed.wait()
        }
      }.stored(in: bag)
      combineLatest(a, b).subscribe(from: .future) { log.add([$0, $1]) }.stored(in: bag)
      onThreads(2) { thread in
        if thread == 0 {
          (first ? a : b).value = 1
        } else {
          entered.wait()
          withTransaction {
            a.value = 7
            b.value = 8
          }
          committed.signal()
        }
      }
      #expect(log.entries == [first ? [1, 0] : [0, 1], [7, 8]])
      #expect(Transaction.openCount.load(ordering: .relaxed) >= 0)
    }
  }

  @Test func `a transaction whose message is given up still ends`() {
    let a = Property(0, pending: .latest)
    let b = Property(0)
    let log = Log<[Int]>()
    let bag = SubscriptionBag()
    a.subscribe(from: .future) { value in
      guard value == 1 else { return }
      withTransaction {
        a.value = 2
        b.value = 2
      }
      // Takes the place of the 2, which has not been told.
      a.value = 3
    }.stored(in: bag)
    combineLatest(a, b).subscribe(from: .future) { log.add([$0, $1]) }.stored(in: bag)
    a.value = 1
    #expect(log.entries.last == [3, 2])
    log.clear()
    withTransaction {
      a.value = 4
      b.value = 4
    }
    #expect(log.entries == [[4, 4]])
  }

  @Test func `any number of writable sources are set at once`() {
    let a = Property(1)
    let b = Property("x")
    let c = Property(true)
    let d = Property(0.5)
    let all = combine(a, b, c, d)
    let log = Log<String>()
    let token = all.subscribe(from: .future) { log.add("\($0.0)\($0.1)\($0.2)\($0.3)") }
    all.value = (2, "y", false, 1.5)
    #expect(log.entries == ["2yfalse1.5"])
    #expect(a.value == 2 && b.value == "y" && !c.value && d.value == 1.5)
    all.modify { $0.0 += 1 }
    #expect(a.value == 3)
    token.cancel()
  }
}
