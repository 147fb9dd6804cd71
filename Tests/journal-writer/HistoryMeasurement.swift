// SPDX-License-Identifier: MIT

import Dispatch
import Glibc
import JSON
import SignalJournal
import SignalStore
import Synchronization

/// What a history costs: a day of changes of some sensors, ten a second of each, and questions about that day.
///
///     journal-writer FOLDER history SENSORS      with a history
///     journal-writer FOLDER plain SENSORS        the same without one, to be subtracted
enum HistoryMeasurement {
  private static let start: Int64 = 1_767_225_600_000
  private static let day: Int64 = 86_400_000
  private static let interval: Int64 = 100

  static func run(_ folder: String, keeps: Bool, sensors: Int) throws {
    var journal = JournalLimits(sync: .interval(.milliseconds(100)))
    journal.queueBytes = 256 << 20
    let rules = keeps ? [try HistoryRule("s/** raw 100y, 1m 100y")] : []
    let configuration = StorageConfiguration(
      folder: folder, journal: journal, history: HistoryConfiguration(rules: rules))
    let storage = try Recovery(configuration).start()
    let paths = try (0..<sensors).map { try PropertyPath("s/\($0)") }
    var values = [StoredValue?](repeating: nil, count: sensors)
    var (revision, state): (UInt64, UInt64) = (0, 1)
    let began = processorTime()
    for time in stride(from: start, to: start + day, by: Int64.Stride(interval)) {
      for index in 0..<sensors {
        while storage.journal.isFull { usleep(1000) }
        revision += 1
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let value = try JSONText(validating: "\(200 + state >> 58).\(state >> 33 & 7)")
        let new = StoredValue(
          path: paths[index], value: value, revision: Revision(revision),
          time: Timestamp(milliseconds: time + Int64(index) * interval / Int64(sensors)))
        storage.journal.append(.commit(Commit(Change(set: new, replacing: values[index]))))
        values[index] = new
      }
    }
    while storage.journal.durable < storage.journal.position { usleep(1000) }
    if let source = storage.history {
      // Until all of it has been taken over, what is measured is that.
      let query = SeriesQuery(paths[0], from: .behind(Revision(revision)), now: .now, limit: 1)
      while answer(source, query)?.through != Revision(revision) {}
      try ask(source, paths)
    }
    if let error = storage.close() { throw error }
    let used = processorTime() - began
    print("\(revision) changes, \(used / Double(revision) * 1e6) µs of processor each")
    print("\(Double(size(folder + "/history.sqlite")) / Double(revision)) bytes of history.sqlite each")
  }

  /// The day by 15 minutes, by 10 s and change by change.
  private static func ask(_ source: any SeriesSource, _ paths: [PropertyPath]) throws {
    for (name, step, limit) in [("15m of 1m", 900_000, 1000), ("10s of raw", 10_000, 10_000), ("raw", nil, 10_000)]
      as [(String, Int64?, Int)]
    {
      var times: [Double] = []
      for path in (paths + paths) {
        let query = SeriesQuery(
          path, from: .time(Timestamp(milliseconds: start)), to: .time(Timestamp(milliseconds: start + day)),
          now: Timestamp(milliseconds: start + day), step: step, limit: limit)
        let began = DispatchTime.now().uptimeNanoseconds
        _ = answer(source, query)
        times.append(Double(DispatchTime.now().uptimeNanoseconds - began) / 1e6)
      }
      times.sort()
      print("\(name): \(times[times.count / 2]) ms, at most \(times[times.count - 1]) ms")
    }
  }

  private static func answer(_ source: any SeriesSource, _ query: SeriesQuery) -> SeriesPage? {
    let found = Found()
    source.answer(query, unless: { false }) { result in
      if case .success(let page) = result { found.page.withLock { $0 = page } }
      found.isThere.signal()
    }
    found.isThere.wait()
    return found.page.withLock { $0 }
  }

  /// An answer on its way from another thread.
  private final class Found: Sendable {
    let page = Mutex<SeriesPage?>(nil)
    let isThere = DispatchSemaphore(value: 0)
  }

  private static func processorTime() -> Double {
    var time = timespec()
    // The pointer is that of the local variable.
    _ = unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static func size(_ path: String) -> Int {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
  }
}
