// SPDX-License-Identifier: MIT
import ArgumentParser
import SignalJournal

/// `signal-server check`: reads everything in the folder of a store, and repairs it.
struct CheckVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Read everything in the folder of a store, and say what is damaged.",
    discussion: """
      Without --repair nothing is changed, and a server may be using the folder; exit status 65 when something is damaged. \
      With --repair no server may: what can be trusted is written anew, what was there is kept in a folder beside it, and \
      what is lost is listed. Clients that have seen something of it are told so: reset, with the reason lost.
      """)

  @Flag(help: "Keep what is sound, and leave out what is not.")
  var repair = false

  @OptionGroup var data: DataOptions

  func run() throws {
    let folder = try data.folder
    guard repair else {
      let check = try Failure.ofStorage { () throws(StorageError) in try FolderCheck(folder) }
      for damage in check.found { Terminal.complain("\(StorageError.damaged(damage))") }
      if check.found.isEmpty { return Terminal.print("\(folder) is sound: \(check.line)") }
      throw Failure(.damaged, "\(folder) is damaged: \(check.line)\(check.losses)")
    }
    let repaired = try Failure.ofStorage { () throws(StorageError) in try FolderRepair(folder) }
    let check = repaired.check
    guard let remains = repaired.remains else { return Terminal.print("\(folder) is sound: \(check.line)") }
    for damage in check.found { Terminal.complain("\(StorageError.damaged(damage))") }
    for path in check.lostPaths { Terminal.complain("the value of \(path) is lost, unless it was set again") }
    Terminal.print("\(folder) is repaired: \(check.line)\(check.losses); what was there is in \(remains)")
  }
}

extension FolderCheck {
  /// Everything that is damaged.
  fileprivate var found: [StorageError.Damage] { damages + historyDamages }

  /// What is sound, for people.
  fileprivate var line: String { "\(properties.counted("property", "properties")), revision \(revision)" }

  /// What is not there any more.
  fileprivate var losses: String {
    guard let lost = lostRevisions else { return "" }
    return lost.count == 1
      ? "; revision \(lost.lowerBound) is lost" : "; revisions \(lost.lowerBound) to \(lost.upperBound) are lost"
  }
}
