// SPDX-License-Identifier: MIT
// The display of a thermometer in another process: it shows what a server has, and turns the heater on and off there.
//
//   signal-server serve &
//   swift run display http://127.0.0.1:8080 &
//   signal-server set kitchen/temperature 17
import SignalClient
import SignalStore
import Signals

@main struct Display {
  static func main() async throws {
    let store = try RemoteStore(CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8080")
    let temperature = store.property("kitchen/temperature", as: Double.self)
    let heater = store.property("kitchen/heater", as: Bool.self)
    let bag = SubscriptionBag()
    store.state.subscribe { print("the server is \($0)") }.stored(in: bag)
    heater.subscribe { print("heater: \($0.map { $0 ? "on" : "off" } ?? "unknown")") }.stored(in: bag)
    // The same operators as on a property of this process; the heater is set there, for everybody.
    temperature.compactMap { $0 }.map { $0 < 20 }.distinct().subscribe { heater.value = $0 }.stored(in: bag)
    for await degrees in temperature.values() { print(degrees.map { "\($0) °C" } ?? "no temperature") }
  }
}
