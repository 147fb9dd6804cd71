// SPDX-License-Identifier: MIT
// Two clients of a server in other processes or threads: how long a set in one takes to be told in the other, and how many
// sets a second one sends without waiting for each.
import Dispatch
import JSON
import SignalClient
import SignalStore
import Signals
import Synchronization

@main struct RemoteBenchmark {
  static func main() async throws {
    let url = CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8080"
    let (a, b) = (try RemoteStore(url), try RemoteStore(url))
    try await latency(a, b)
    try await rate(a, b)
  }

  /// One set at a time.
  private static func latency(_ a: RemoteStore, _ b: RemoteStore) async throws {
    let (here, there) = (
      a.property("bench/latency", as: Int.self), b.property("bench/latency", as: Int.self)
    )
    try await here.set(0)
    for await value in there.values() where value == 0 { break }
    let waiting = Mutex<CheckedContinuation<UInt64, Never>?>(nil)
    let subscription = there.subscribe(from: .future) { _ in
      let now = DispatchTime.now().uptimeNanoseconds
      waiting.withLock { $0.take() }?.resume(returning: now)
    }
    var samples: [Double] = []
    for n in 1...20_000 {
      var begun: UInt64 = 0
      let at = await withCheckedContinuation { continuation in
        waiting.withLock { $0 = continuation }
        begun = DispatchTime.now().uptimeNanoseconds
        here.value = n
      }
      samples.append(Double(at - begun) / 1000)
    }
    subscription.cancel()
    samples.sort()
    func share(_ part: Double) -> Int { Int(samples[Int(Double(samples.count - 1) * part)]) }
    print("set to didSet, \(samples.count) sets: p50 \(share(0.5)) µs, p90 \(share(0.9)) µs, p99 \(share(0.99)) µs")
  }

  /// Sets of a hundred properties, ten thousand on their way at most; the other client is told all of them.
  private static func rate(_ a: RemoteStore, _ b: RemoteStore) async throws {
    let properties = try (0..<100).map { a.property(try PropertyPath("bench/rate/\($0)"), as: Int.self) }
    let count = Atomic<Int>(0)
    let watch = b.watch(["bench/rate/**"]) { changes in count.add(changes.count, ordering: .relaxed) }
    try await watch.ready()
    let (total, window) = (500_000, 10_000)
    let begun = DispatchTime.now().uptimeNanoseconds
    for n in 1...total {
      if n.isMultiple(of: window) {
        try await properties[n % 100].set(n)
      } else {
        properties[n % 100].value = n
      }
    }
    let set = Double(DispatchTime.now().uptimeNanoseconds - begun) / 1e9
    while watch[properties[0].path]?.value.description != "\(total)" { await Task.yield() }
    let told = Double(DispatchTime.now().uptimeNanoseconds - begun) / 1e9
    print(
      "\(total) sets, answered: \(Int(Double(total) / set)) per second; with the last one told: \(Int(Double(total) / told))"
    )
    print("told to the other client: \(count.load(ordering: .relaxed)) changes, \(watch.leftOut) left out")
  }
}
