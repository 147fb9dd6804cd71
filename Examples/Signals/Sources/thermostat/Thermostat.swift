// SPDX-License-Identifier: MIT
// Properties that follow others: a heater that is on while it is too cold, and a log of what it does.
import Signals

struct Settings: Sendable {
  var wanted = 20.0
  var isOn = true
}

@main struct Thermostat {
  static func main() {
    let settings = Property(Settings())
    let measured = Property(21.0)
    let heater = Property(false)
    let bag = SubscriptionBag()

    combineLatest(settings, measured).map { $0.isOn && $1 < $0.wanted }.distinct().bind(to: heater).stored(in: bag)
    heater.changes.subscribe { print("heater:", $0.old ? "on" : "off", "→", $0.new ? "on" : "off") }.stored(in: bag)

    measured.value = 18  // heater: off → on
    settings[\.wanted].value = 17  // heater: on → off
    withTransaction {  // one step, so the heater stays off
      settings[\.wanted].value = 22
      measured.value = 23
    }
    print(heater)  // Property<Bool>(false), 2 observers
  }
}
