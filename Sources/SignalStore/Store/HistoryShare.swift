// SPDX-License-Identifier: MIT

/// The share of the history kept for resuming that the changes of some properties may use: `sensors/** 20%`.
///
/// So properties that change often do not push out the changes that others need to resume.
public struct HistoryShare: Equatable, Sendable {
  /// The properties whose changes it covers.
  public let pattern: PathPattern
  /// The percentage of all changes, and of the bytes for them.
  public let percent: Int

  /// Maximum number of shares: each commit is compared with them while others wait.
  package static let most = 16

  /// Makes a share of 1 to 99 percent.
  public init(_ pattern: PathPattern, percent: Int) {
    precondition(1...99 ~= percent, "A share is from 1 to 99 percent.")
    self.pattern = pattern
    self.percent = percent
  }

  /// Parses a line: a pattern, followed by a percentage.
  package init(_ line: String, limits: PathLimits = PathLimits()) throws(RuleFault) {
    let words = line.split(separator: " ")
    guard let text = words.last, words.count > 1 else {
      throw RuleFault(reason: "it should be a pattern and how much it may take, such as 'sensors/** 20%'")
    }
    guard text.last == "%", text.utf8.count <= 3, text.dropLast().allSatisfy({ $0.isASCII && $0.isNumber }),
      let percent = Int(text.dropLast()), 1...99 ~= percent
    else { throw RuleFault(reason: "'\(text)' is nothing from 1% to 99%") }
    let pattern = line[words[0].startIndex..<words[words.count - 2].endIndex]
    self.init(try PathPattern(ofRule: pattern, limits: limits), percent: percent)
  }

  /// The reason these shares cannot be combined; nil when they can.
  package static func fault(of shares: [HistoryShare]) -> String? {
    let sum = shares.reduce(0) { $0 + $1.percent }
    return sum > 99 ? "the shares are \(sum)% together; something has to be left for all else" : nil
  }
}

extension HistoryShare: CustomStringConvertible {
  /// The share as a line.
  public var description: String { "\(pattern) \(percent)%" }
}
