// SPDX-License-Identifier: MIT

extension LoopCounters {
  /// Counts events that are given to so many subscriptions.
  func count(_ events: FrameBlock.Events, for receivers: Int) {
    add(.deliveries, events.count &* receivers)
    if events.gaps > 0 { add(.gaps, events.gaps &* receivers) }
  }
}

extension Topic {
  /// The number of subscriptions.
  var counter: Counter {
    switch self {
    case .properties: .propertySubscriptions
    case .signals: .signalSubscriptions
    }
  }
}

extension ResetReason {
  /// The number of subscriptions that began anew for this reason.
  var counter: Counter {
    switch self {
    case .access: .resetsByAccess
    case .epoch: .resetsByEpoch
    case .future: .resetsByFuture
    case .history: .resetsByHistory
    case .lost: .resetsByLoss
    }
  }
}
