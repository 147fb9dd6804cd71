// SPDX-License-Identifier: MIT
// The library in-process, without a server: a thermometer sets a property, and whoever watches is told.
import JSON
import SignalStore

@main struct Thermometer {
  static func main() throws {
    let store = PropertyStore()
    try store.set("kitchen/temperature", JSONText(20))

    let watching = store.subscribe(match: ["*/temperature"]) { event in
      switch event {
      case .snapshot(let property): print("\(property.path) is \(property.value)")
      case .live(let revision): print("live since revision \(revision)")
      case .change(let change, _):
        guard let new = change.new else { return print("\(change.path) is gone") }
        print("\(change.path): \(change.old?.value.description ?? "nothing") → \(new.value)")
      }
    }
    for degrees in 21...23 { try store.set("kitchen/temperature", JSONText(degrees)) }
    try store.delete("kitchen/temperature")
    watching.cancel()
  }
}
