// SPDX-License-Identifier: MIT

/// How much of the history that is kept for those who resume the changes of some properties may take: `sensors/** 20%`.
///
/// So what changes often does not push out what others want to resume with.
public struct HistoryShare: Equatable, Sendable {
  /// Why a line is no share: a clause about it.
  package struct Fault: Error, Equatable, Sendable {
    package let reason: String

    package init(reason: String) { self.reason = reason }
  }

  /// The properties whose changes it is about.
  public let pattern: PathPattern
  /// Of a hundred parts of all changes, and of the bytes for them.
  public let percent: Int

  /// Most shares: each commit is compared with them while others wait.
  package static let most = 16

  /// Makes a share of 1 to 99 percent.
  public init(_ pattern: PathPattern, percent: Int) {
    precondition(1...99 ~= percent, "A share is from 1 to 99 percent.")
    self.pattern = pattern
    self.percent = percent
  }

  /// Reads a line: a pattern, and behind it how much.
  package init(_ line: String, limits: PathLimits = PathLimits()) throws(Fault) {
    let words = line.split(separator: " ")
    guard let text = words.last, words.count > 1 else {
      throw Fault(reason: "it should be a pattern and how much it may take, such as 'sensors/** 20%'")
    }
    guard text.last == "%", text.utf8.count <= 3, text.dropLast().allSatisfy({ $0.isASCII && $0.isNumber }),
      let percent = Int(text.dropLast()), 1...99 ~= percent
    else { throw Fault(reason: "'\(text)' is nothing from 1% to 99%") }
    let pattern = line[words[0].startIndex..<words[words.count - 2].endIndex]
    do throws(PathError) {
      self.init(try PathPattern(String(pattern), limits: limits), percent: percent)
    } catch {
      throw Fault(reason: "the pattern '\(pattern)': \(error)")
    }
  }

  /// Why shares cannot be given together; nil when they can.
  package static func fault(of shares: [HistoryShare]) -> String? {
    let sum = shares.reduce(0) { $0 + $1.percent }
    return sum > 99 ? "the shares are \(sum)% together; something has to be left for all else" : nil
  }
}

extension HistoryShare: CustomStringConvertible {
  /// The line.
  public var description: String { "\(pattern) \(percent)%" }
}
