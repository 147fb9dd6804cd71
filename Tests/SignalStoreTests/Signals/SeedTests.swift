// SPDX-License-Identifier: MIT
import Testing

@testable import Signals

/// What the introductions of the five libraries show, written with this one: the articles "Coming from …" refer to it.
@Suite struct `Coming from SwiftySignals` {
  private final class Label: Sendable {
    let shown = Log<String>()
    func show(_ text: String) { shown.add(text) }
  }

  @Test func `a property shows itself in a view as long as that lives`() {
    let title = Property("untitled")
    var label: Label? = Label()
    let shown = label!.shown
    title.subscribe(boundTo: label!) { label, text in label.show(text) }
    title.value = "first"
    label = nil
    title.value = "second"
    #expect(shown.entries == ["untitled", "first"])
    #expect(title.observerCount == 0)
  }

  @Test func `signals are mapped, filtered and tapped on the way`() {
    let signal = Signal<Int>()
    let log = Log<String>()
    let token = signal.filter { $0 > 100 }.tap { log.add("then \($0)") }.map { "\($0)" }.subscribe { log.add($0) }
    for n in [2, 3, 101] { signal.send(n) }
    #expect(log.entries == ["then 101", "101"])
    token.cancel()
  }

  @Test func `a timer is started and fires once`() {
    let clock = ManualClock()
    let timer = OnceTimer(clock: clock)
    let log = Log<Duration>()
    let token = timer.fired.subscribe { log.add(clock.now) }
    timer.start(after: .seconds(1))
    clock.advance(to: .seconds(5))
    #expect(log.entries == [.seconds(1)])
    token.cancel()
  }
}

@Suite struct `Coming from Uber Signals` {
  private struct Failure: Error {}
  private final class Controller: Sendable {
    let received = Log<String>()
  }

  @Test func `a network answer is sent to whoever observes`() {
    let onResult = Signal<(data: [UInt8]?, error: (any Error)?)>(remembersLast: true)
    let controller = Controller()
    onResult.subscribe(boundTo: controller) { controller, result in
      controller.received.add(result.error == nil ? "\(result.data ?? [])" : "error")
    }
    onResult.send(([1, 2], nil))
    onResult.send((nil, Failure()))
    #expect(controller.received.entries == ["[1, 2]", "error"])
    onResult.removeObservers(of: controller)
    onResult.send(([3], nil))
    #expect(controller.received.entries.count == 2)
  }

  @Test func `one observer gets it once more, or for the last time`() {
    let signal = Signal<Int>(remembersLast: true)
    let log = Log<Int>()
    let token = signal.subscribe { log.add($0) }
    #expect(!token.replay())
    signal.send(1)
    #expect(token.replay())
    token.endAfterNext()
    signal.send(2)
    signal.send(3)
    #expect(log.entries == [1, 1, 2])
  }
}

@Suite struct `Coming from Flow` {
  @Test func `a button is enabled when both fields are filled`() {
    let username = Property("")
    let password = Property("")
    let isEnabled = Property(true)
    let enabled = Log<Bool>()
    let bag = SubscriptionBag()
    isEnabled.subscribe(from: .future) { enabled.add($0) }.stored(in: bag)
    combineLatest(username, password).map { $0.count > 2 && $1.count > 7 }.distinct()
      .subscribe { isEnabled.value = $0 }.stored(in: bag)
    username.value = "someone"
    password.value = "secret"
    password.value = "very secret"
    #expect(enabled.entries == [false, true])
    bag.cancel()
    password.value = ""
    #expect(isEnabled.value)
  }

  @Test func `a signal ends with what was asked for`() async throws {
    let login = FiniteSignal<String>()
    let messages = login.messages()
    var iterator = messages.makeAsyncIterator()
    login.send("user")
    login.end()
    #expect(try await iterator.next() == "user")
    #expect(try await iterator.next() == nil)
  }

  @Test func `a delegate answers`() {
    let shouldClose = Delegate<String, Bool>()
    let token = shouldClose.set { $0.isEmpty }
    #expect(shouldClose.call("text") == false)
    token.cancel()
    #expect(shouldClose.call("text") == nil)
  }
}

@Suite struct `Coming from GlueKit` {
  private struct Project: Sendable, Equatable {
    var name: String
    var isActive = true
  }

  @Test func `a field of the current project is followed and written through`() {
    let projects = [Property(Project(name: "a")), Property(Project(name: "b"))]
    let selected = Property(0)
    let name: WritableProperty<String> = selected.flatMapLatest(writable: { projects[$0][\.name] })
    let label = name.map { "Project \($0)" }
    let log = Log<String>()
    let connection = label.subscribe { log.add($0) }
    selected.value = 1
    name.value = "c"
    projects[0].value.name = "unseen"
    #expect(log.entries == ["Project a", "Project b", "Project c"])
    #expect(projects[1].value.name == "c")
    connection.cancel()
  }

  @Test func `several properties change as one`() {
    let width = Property(2)
    let height = Property(3)
    let area = combineLatest(width, height).map { $0 * $1 }
    let log = Log<Int>()
    let connection = area.subscribe { log.add($0) }
    withTransaction {
      width.value = 4
      height.value = 5
    }
    #expect(log.entries == [6, 20])
    connection.cancel()
  }
}

@Suite struct `Coming from Meerkat` {
  private protocol Named: Sendable { var name: String { get } }

  private final class Person: Named, TopicOwner {
    let nameDidChange = Topic<Person, (sender: any Named, message: Void)>()
    private let stored: Property<String>
    init(_ name: String) { stored = Property(name) }
    var name: String {
      get { stored.value }
      set {
        stored.value = newValue
        send(\.nameDidChange, (), from: self)
      }
    }
  }

  private final class Window: Sendable {
    let titles = Log<String>()
  }

  @Test func `observers of a hub get who sent it, and are removed with themselves`() {
    let person = Person("old")
    let window = Window()
    let other = Window()
    for observer in [window, other] {
      person.nameDidChange.subscribe(boundTo: observer) { window, change in window.titles.add(change.sender.name) }
    }
    person.name = "new"
    person.nameDidChange.removeObservers(of: window)
    person.name = "newer"
    #expect(window.titles.entries == ["new"])
    #expect(other.titles.entries == ["new", "newer"])
    #expect(person.nameDidChange.observerCount == 1)
  }
}
