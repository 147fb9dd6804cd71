// SPDX-License-Identifier: MIT
// Signals between actors, in the Swift 6 language mode and without a single unchecked annotation: a sensor actor sets a
// property, the main actor and a recording actor observe it, each with closures that use what belongs to it.
import SignalStore

/// Owns what it measures and lets others read it.
actor Sensor {
  private let stored = Property(20.0)
  nonisolated var temperature: DerivedProperty<Double> { stored.readOnly }

  func measure(_ values: [Double]) { for value in values { stored.value = value } }
}

/// Collects values in state of its own.
actor Recorder {
  private var values: [Double] = []
  private var subscription: Subscription?

  func record(_ source: DerivedProperty<Double>) {
    // The closure is not Sendable and needs not be: it runs on this actor.
    subscription = source.subscribe(isolation: self) { self.values.append($0) }
  }

  func finish() -> [Double] {
    subscription = nil
    return values
  }
}

@MainActor final class Display {
  private(set) var shown: [String] = []
  private var subscription: Subscription?

  func show(_ source: DerivedProperty<Double>) {
    subscription = source.map { "\($0) °C" }.subscribe(isolation: #isolation) { self.shown.append($0) }
  }
}

@main struct Actors {
  @MainActor static func main() async {
    let sensor = Sensor()
    let recorder = Recorder()
    let display = Display()
    display.show(sensor.temperature)
    await recorder.record(sensor.temperature)

    async let highest = sensor.temperature.values(buffering: .all).first { $0 >= 23 }
    await sensor.measure([21, 22, 23])

    // Each arrives on its actor in its own time, in the order in which it was set.
    while display.shown.count < 4 { await Task.yield() }
    print("display:", display.shown.joined(separator: ", "))
    print("highest:", await highest ?? .nan)
    while await recorder.count < 4 { await Task.yield() }
    print("recorder:", await recorder.finish())
  }
}

extension Recorder {
  var count: Int { values.count }
}
