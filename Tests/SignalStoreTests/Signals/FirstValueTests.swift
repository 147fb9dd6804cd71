// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Signals

/// Runs `body` while another thread is inside of an observer of each of these properties.
private func whileDelivering(_ properties: [Property<Int>], _ body: () -> Void) {
  let inside = DispatchSemaphore(value: 0)
  let goOn = DispatchSemaphore(value: 0)
  let over = DispatchGroup()
  for property in properties {
    over.enter()
    Thread.detachNewThread {
      let isFirst = Box(true)
      let token = property.subscribe(from: .future) { _ in
        // What is set meanwhile is delivered here too, and does not wait.
        guard isFirst.value else { return }
        isFirst.value = false
        inside.signal()
        goOn.wait()
      }
      property.value += 1
      token.cancel()
      over.leave()
    }
    inside.wait()
  }
  body()
  for _ in properties { goOn.signal() }
  over.wait()
}

@Suite struct `The first values of several sources` {
  @Test func `15 combineLatest begins before subscribe returns while others deliver its parts`() {
    let a = Property(0), b = Property(10)
    let log = Log<[Int]>()
    var tokens: [Subscription] = []
    whileDelivering([a, b]) {
      tokens.append(combineLatest(a, b).subscribe { log.add([$0.0, $0.1]) })
      #expect(log.entries == [[1, 11]])
      a.value = 2
      b.value = 12
    }
    // Each was delivered by the thread that was delivering its source.
    #expect(log.entries.count == 3)
    #expect(log.entries.last == [2, 12])
  }

  @Test func `15 it tells all that comes behind the first values, one at a time`() {
    let a = Property(0), b = Property(0)
    let log = Log<Int>()
    var tokens: [Subscription] = []
    whileDelivering([a]) {
      tokens.append(combineLatest(a, b).subscribe { log.add($0.0) })
      tokens.append(combineLatest([a, b]).subscribe { log.add($0[0]) })
      tokens.append(combineLatest(messages: a.erased, b.erased).subscribe { log.add($0.0) })
      tokens.append(a.flatMapLatest { Property($0) }.subscribe { (value: Int) in log.add(value) })
      #expect(log.entries == [1, 1, 1, 1])
      for value in 2...4 { a.value = value }
    }
    #expect(log.entries == [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4])
  }

  @Test func `15 a message of the inner source is not lost while another thread delivers the outer one`() {
    let outer = Property(0), inner = Signal<Int>()
    let log = Log<Int>()
    var token: Subscription?
    whileDelivering([outer]) {
      token = outer.flatMapLatest { _ in inner }.subscribe { log.add($0) }
      inner.send(7)
      #expect(log.entries == [7])
    }
    token?.cancel()
    #expect(inner.observerCount == 0 && outer.observerCount == 0)
  }

  @Test func `15 withLatest knows the last message while another thread delivers it`() {
    let source = Signal<Int>(), other = Property(0)
    let log = Log<[Int]>()
    var token: Subscription?
    whileDelivering([other]) {
      token = source.withLatest(fromMessagesOf: other.erased).subscribe { log.add([$0.0, $0.1]) }
      source.send(7)
      #expect(log.entries == [[7, 1]])
      other.value = 2
    }
    source.send(8)
    #expect(log.entries == [[7, 1], [8, 2]])
    withExtendedLifetime(token) {}
  }

  @Test func `15 what comes while a part begins waits behind the first value`() {
    let a = Property(0)
    let log = Log<Int>()
    let isFirst = Box(true)
    let other = Property(0)
    let told = DispatchSemaphore(value: 0)
    let more = DispatchSemaphore(value: 0)
    let over = DispatchGroup()
    // The thread that is delivering `a` goes on while the first value is on its way.
    let early = a.subscribe(from: .future) { value in
      guard value == 1 else { return }
      told.signal()
      more.wait()
    }
    over.enter()
    Thread.detachNewThread {
      a.value = 1
      over.leave()
    }
    told.wait()
    let slow = a.map { value in
      if isFirst.update({ first in
        defer { first = false }
        return first
      }) {
        a.value = 2
        more.signal()
        // It has delivered everything when it is back; what came for this subscription waits.
        over.wait()
      }
      return value
    }
    let token = combineLatest(other, slow).subscribe { log.add($0.1) }
    #expect(log.entries == [1, 2])
    a.value = 3
    #expect(log.entries == [1, 2, 3])
    withExtendedLifetime((early, token)) {}
  }

  @Test func `15 inside of an observer of a part it begins at once, and an observer itself in its turn`() {
    let a = Property(0), b = Property(0)
    let log = Log<String>()
    let tokens = Box<[Subscription]>([])
    let first = a.subscribe(from: .future) { value in
      guard value == 1 else { return }
      let plain = a.subscribe { log.add("a \($0)") }
      let both = combineLatest(a, b).subscribe { sum in
        log.add("both \(sum.0 + sum.1)")
        if sum.0 == 1, sum.1 == 0 {
          // Not for the combination, so it waits for its turn.
          let nested = a.subscribe { log.add("nested \($0)") }
          tokens.update { $0.append(nested) }
          b.value = 5
        }
      }
      tokens.update { $0 += [plain, both] }
      log.add("end")
    }
    a.value = 1
    #expect(log.entries == ["both 1", "both 6", "end", "a 1", "nested 1"])
    withExtendedLifetime(first) {}
  }

  @Test func `6 it ends with a cancel while the first value is on its way`() {
    final class Held: Sendable {}
    let a = Property(0), b = Property(0)
    weak var held: Held?
    whileDelivering([a]) {
      let object = Held()
      held = object
      let token = combineLatest(a, b).take(first: 1).subscribe { _ in withExtendedLifetime(object) {} }
      token.cancel()
      #expect(b.observerCount == 0)
    }
    #expect(a.observerCount == 0)
    #expect(held == nil)
  }
}
