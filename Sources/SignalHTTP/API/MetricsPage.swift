// SPDX-License-Identifier: MIT
import SignalStore

/// All metrics of a server at one moment, as `docs/metrics.md` lists them.
struct MetricsPage {
  private let tables: [CounterTable]
  private let memory: MemoryBudget?
  private let figures: StoreFigures
  private let limits: StoreLimits
  private let storage: StorageStatus?
  private let activity: StorageActivity?
  private let process = ProcessFigures()
  private let connectionLimit: Int
  private let droppedLogLines: Int
  private let cluster: ClusterStatus?

  init(_ service: LiveService) {
    tables = service.counters.tables
    memory = service.memory
    figures = service.commands.figures
    limits = service.commands.limits
    storage = service.commands.storage
    activity = service.commands.storageActivity
    connectionLimit = service.connectionLimit
    droppedLogLines = service.droppedLogLines?() ?? 0
    cluster = service.cluster?.status
  }

  /// The sum of a counter over all loops.
  private func sum(_ counter: Counter) -> Int { tables.reduce(0) { $0 + $1.counters[counter] } }

  private func sum(_ durations: (LoopCounters) -> DurationCounts) -> DurationCounts {
    tables.reduce(into: DurationCounts()) { $0.add(durations($1.counters)) }
  }

  func write(to text: inout MetricsText) {
    writeConnections(to: &text)
    writeRequests(to: &text)
    writeSubscriptions(to: &text)
    writeStore(to: &text)
    if let storage, let activity { writeJournal(storage, activity, to: &text) }
    if let cluster { write(cluster, to: &text) }
    writeLoops(to: &text)
    writeMemory(to: &text)
    writeProcess(to: &text)
  }

  private func writeConnections(to text: inout MetricsText) {
    text.begin("signal_connections", .gauge, "Open connections by what they speak.")
    text.sample(sum(.httpConnections), ["kind": "http"])
    text.sample(sum(.webSockets), ["kind": "websocket"])
    text.sample(sum(.eventStreams), ["kind": "event_stream"])
    text.write("signal_connections_limit", .gauge, "Connections that there may be.", connectionLimit)
    text.write(
      "signal_connections_accepted_total", .counter, "Connections that were accepted.", sum(.acceptedConnections))
    text.begin("signal_connections_refused_total", .counter, "Connections that were not served.")
    text.sample(sum(.refusedAtLimit), ["reason": "limit"])
    text.sample(sum(.refusedForMemory), ["reason": "memory"])
    text.sample(sum(.refusedWhileDraining), ["reason": "draining"])
    text.sample(sum(.refusedByRate), ["reason": "rate"])
    text.sample(sum(.refusedByProxyProtocol), ["reason": "proxy_protocol"])
    text.sample(sum(.refusedByTLS), ["reason": "tls"])
    text.begin("signal_connections_dropped_total", .counter, "Connections ended because the client did not read.")
    text.sample(sum(.droppedTooSlow), ["reason": "too_slow"])
    text.sample(sum(.droppedAfterSendTimeout), ["reason": "send_timeout"])
    text.sample(sum(.droppedForMemory), ["reason": "memory"])
    text.write("signal_received_bytes_total", .counter, "Bytes received from clients.", sum(.receivedBytes))
    text.write("signal_sent_bytes_total", .counter, "Bytes that sockets took.", sum(.sentBytes))
    text.write("signal_backlog_bytes", .gauge, "Bytes that wait for sockets.", sum(.backlogBytes))
    text.write(
      "signal_connections_blocked", .gauge, "Connections whose socket takes nothing.", sum(.blockedConnections))
  }

  private func writeRequests(to text: inout MetricsText) {
    let kinds = (0..<LiveAPI.routeTemplates.count * 8).map { RequestKind(index: $0) }
    func labels(_ kind: RequestKind) -> (route: String, method: String) {
      (LiveAPI.routeTemplates[kind.route], RequestKind.methods[kind.method])
    }
    var used: [RequestKind] = []
    text.begin("signal_http_requests_total", .counter, "Requests that were answered.")
    for kind in kinds {
      var isUsed = false
      for number in 0..<StatusNumber.count {
        let count = tables.reduce(0) { $0 + $1.counters.requests(kind, status: number) }
        guard count > 0 else { continue }
        isUsed = true
        let status = number == 0 ? "other" : "\(StatusNumber.statuses[number])"
        let (route, method) = labels(kind)
        text.sample(count, ["route": route, "method": method, "status": status])
      }
      if isUsed { used.append(kind) }
    }
    text.begin("signal_http_request_duration_seconds", .histogram, "Time from a request to its answer.")
    for kind in used {
      let durations = sum { $0.requestDurations(kind) }
      guard durations.buckets.contains(where: { $0 > 0 }) else { continue }
      let (route, method) = labels(kind)
      text.sample(durations, ["route": route, "method": method])
    }
    text.write(
      "signal_websocket_messages_received_total", .counter, "Messages of clients on WebSockets.",
      sum(.webSocketMessages))
    text.begin("signal_refusals_total", .counter, "Refused requests and commands by code.")
    var refusals: [String: Int] = [:]
    for table in tables { for (code, number) in table.refusals { refusals[code, default: 0] += number } }
    for (code, number) in refusals.sorted(by: { $0.key < $1.key }) where number > 0 {
      text.sample(number, ["code": code])
    }
  }

  private func writeSubscriptions(to text: inout MetricsText) {
    text.begin("signal_subscriptions", .gauge, "Subscriptions.")
    text.sample(sum(.propertySubscriptions), ["topic": "properties"])
    text.sample(sum(.signalSubscriptions), ["topic": "signals"])
    text.sample(sum(.demandSubscriptions), ["topic": "demand"])
    text.write(
      "signal_subscription_groups", .gauge, "Groups of subscriptions that are sent the same bytes.", sum(.groups))
    text.write("signal_deliveries_total", .counter, "Events given to connections.", sum(.deliveries))
    text.begin("signal_delivery_delay_seconds", .histogram, "Time from a commit until it was sent.")
    text.sample(sum { $0.deliveries })
    text.write("signal_gaps_total", .counter, "Gaps told to subscribers.", sum(.gaps))
    text.begin("signal_resets_total", .counter, "Subscriptions that began anew.")
    text.sample(sum(.resetsByAccess), ["reason": "access"])
    text.sample(sum(.resetsByEpoch), ["reason": "epoch"])
    text.sample(sum(.resetsByFuture), ["reason": "future"])
    text.sample(sum(.resetsByHistory), ["reason": "history"])
    text.sample(sum(.resetsByLoss), ["reason": "lost"])
    text.write(
      "signal_filter_evaluations_total", .counter, "Evaluations of filters of subscriptions.", sum(.filterEvaluations))
    text.write(
      "signal_filter_failures_total", .counter, "Evaluations of filters that failed.", sum(.filterFailures))
  }

  private func writeStore(to text: inout MetricsText) {
    text.write("signal_properties", .gauge, "Properties.", figures.properties)
    text.write("signal_commits_total", .counter, "Commits.", Int(clamping: figures.commits))
    text.write("signal_expiries_total", .counter, "Properties whose time to live ended.", figures.expiries)
    text.write("signal_history_changes", .gauge, "Changes kept for clients that resume.", figures.historyChanges)
    text.begin("signal_history_age_seconds", .gauge, "The age of the oldest of these changes.")
    let age = figures.historyBegin.map { max(0, Timestamp.now.milliseconds - $0.milliseconds) } ?? 0
    text.sample(nanoseconds: Int(age) * 1_000_000)
    text.write("signal_timers", .gauge, "Timers.", figures.timers)
    text.write("signal_signals_sent_total", .counter, "Messages of signals.", Int(clamping: figures.messages))
    text.write(
      "signal_signals_remembered", .gauge, "Signals whose last message is kept.", figures.rememberedSignals)
  }

  private func writeJournal(_ storage: StorageStatus, _ activity: StorageActivity, to text: inout MetricsText) {
    text.begin(
      "signal_journal_sync_duration_seconds", .histogram, "Time for a group of records to be written and synced.")
    text.sample(activity.syncs)
    text.write(
      "signal_journal_written_bytes_total", .counter, "Bytes of records that were written.", activity.writtenBytes)
    text.write(
      "signal_journal_records_total", .counter, "Records that were written.", Int(clamping: activity.records))
    text.write(
      "signal_journal_pending_records", .gauge, "Records that are not durable yet.",
      Int(clamping: storage.taken) - Int(clamping: storage.durable))
    text.write("signal_journal_queued_bytes", .gauge, "Bytes that wait to be written.", storage.queuedBytes)
    text.begin("signal_journal_refusing", .gauge, "1 while writes are refused for this reason.")
    for (reason, refusal) in [("full", StorageRefusal.full), ("slow", .slow), ("failed", .failed)] {
      text.sample(storage.refusal == refusal ? 1 : 0, ["reason": reason])
    }
  }

  private func write(_ cluster: ClusterStatus, to text: inout MetricsText) {
    text.write("signal_cluster_leader", .gauge, "1 while this node decides changes.", cluster.role == "leading" ? 1 : 0)
    text.write("signal_cluster_term", .gauge, "The term, which grows with each leader.", Int(clamping: cluster.term))
    text.write(
      "signal_cluster_revision", .gauge, "The revision that this node shows.", Int(clamping: cluster.revision.number))
    text.begin("signal_cluster_lag_seconds", .gauge, "Time since the node had all that is known to exist.")
    text.sample(nanoseconds: Int(cluster.lag * 1000) * 1_000_000)
    text.begin("signal_cluster_commit_seconds", .histogram, "Time until the engine has confirmed a record.")
    text.sample(cluster.commits)
    text.begin("signal_cluster_batch_operations", .summary, "Changes in the records that this node has written.")
    text.sample(sum: cluster.batchEntries, count: cluster.batches)
    text.write(
      "signal_cluster_stale_records_total", .counter, "Records of the log that did not count.",
      Int(clamping: cluster.staleRecords))
    text.write(
      "signal_cluster_gaps_total", .counter, "Records that were read because they did not come by themselves.",
      Int(clamping: cluster.gaps))
    text.write(
      "signal_cluster_takeovers_total", .counter, "How often this node began to lead.", Int(clamping: cluster.takeovers)
    )
    text.write(
      "signal_cluster_diverged_total", .counter, "Whether the log was found to differ from that of the others.",
      cluster.hasDiverged ? 1 : 0)
    text.begin("signal_cluster_clock_skew_seconds", .gauge, "By how much the clock is ahead of the leader's.")
    text.sample(milliseconds: cluster.clockSkew)
    text.write(
      "signal_cluster_open_commands", .gauge, "Commands that wait for the node that decides.", cluster.openCommands)
  }

  private func writeLoops(to text: inout MetricsText) {
    text.write("signal_loops", .gauge, "Event loops.", tables.count)
    text.begin("signal_loop_busy_seconds_total", .counter, "Time that a loop has spent in turns.")
    for (index, table) in tables.enumerated() {
      text.sample(nanoseconds: table.counters.busyTime, ["loop": "\(index)"])
    }
    text.begin("signal_loop_turn_duration_seconds", .histogram, "Time of a turn of a loop.")
    text.sample(sum { $0.turns })
  }

  private func writeMemory(to text: inout MetricsText) {
    let used: KeyValuePairs<String, Int?> = [
      "process": process.residentBytes, "properties": figures.propertyBytes, "history": figures.historyBytes,
      "remembered": figures.rememberedBytes, "queue": activity == nil ? nil : storage?.queuedBytes,
      "requests": memory?.requests.inUse, "connections": memory?.connections.inUse,
      "subscriptions": memory?.subscriptions.inUse,
    ]
    let most: KeyValuePairs<String, Int?> = [
      "process": memory?.gauge.limit, "properties": limits.propertyBytes, "history": limits.historyBytes,
      "remembered": limits.rememberedBytes, "queue": activity?.queueLimit, "requests": memory?.requests.limit,
      "connections": memory?.connections.limit, "subscriptions": memory?.subscriptions.limit,
    ]
    text.begin("signal_memory_used_bytes", .gauge, "Memory by the accounts of the setting memory.")
    for (account, bytes) in used { if let bytes { text.sample(bytes, ["account": account]) } }
    text.begin("signal_memory_limit_bytes", .gauge, "What each account may have.")
    for (account, bytes) in most { if let bytes, bytes < .max { text.sample(bytes, ["account": account]) } }
  }

  private func writeProcess(to text: inout MetricsText) {
    text.write(
      "signal_log_lines_dropped_total", .counter, "Lines of the log that could not be written.", droppedLogLines)
    text.begin("signal_build_info", .info, "The version of the server.")
    text.sample(1, ["version": Server.version])
    text.begin("process_cpu_seconds_total", .counter, "Processor time of user and system.")
    text.sample(nanoseconds: process.processorTime)
    text.write("process_resident_memory_bytes", .gauge, "Memory that is resident.", process.residentBytes)
    text.write("process_virtual_memory_bytes", .gauge, "Address space.", process.virtualBytes)
    text.write("process_open_fds", .gauge, "Open descriptors.", process.openDescriptors)
    text.write("process_max_fds", .gauge, "Descriptors that there may be.", process.mostDescriptors)
    if let start = process.start {
      text.begin("process_start_time_seconds", .gauge, "When the process began, since 1970.")
      text.sample(nanoseconds: Int(start) * 1_000_000)
    }
  }
}
