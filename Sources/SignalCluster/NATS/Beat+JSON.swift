// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalStore

/// Beats as they are sent: an object of JSON.
extension Beat {
  var bytes: [UInt8] {
    var text: [UInt8] = []
    text.append(literal: #"{"node":"#)
    text.appendJSON(node)
    text.append(literal: #","session":"#)
    text.appendJSON(session)
    text.append(literal: #","age":"#)
    text.appendJSON(age)
    text.append(literal: #","term":"#)
    text.appendJSON(term)
    text.append(literal: isLeading ? #","leads":true"# : #","leads":false"#)
    if !canLead { text.append(literal: #","edge":true"#) }
    if isResigning { text.append(literal: #","resigns":true"#) }
    text.append(literal: #","sequence":"#)
    text.appendJSON(sequence)
    text.append(literal: #","revision":"#)
    text.appendJSON(revision.number)
    if let link {
      text.append(literal: #","link":"#)
      text.appendJSON(link.text)
    }
    if known > 0 {
      text.append(literal: #","known":"#)
      text.appendJSON(known)
    }
    text.append(literal: #","holders":"#)
    text.appendJSON(holders)
    if demand > 0 {
      text.append(literal: #","demand":"#)
      text.appendJSON(demand)
    }
    if told > 0 {
      text.append(literal: #","told":"#)
      text.appendJSON(told)
    }
    text.append(literal: #","connections":"#)
    text.appendJSON(connections)
    text.append(literal: #","time":"#)
    text.append(contentsOf: String(time.milliseconds).utf8)
    text.append(literal: #","v":"#)
    text.appendJSON(version)
    text.append(UInt8(ascii: "}"))
    return text
  }

  /// Reads a beat; nil when it is none.
  init?(_ bytes: [UInt8]) {
    guard let reader = MessageReader(bytes[...]), let node = reader.text("node"),
      let session = reader.text("session"), let term = reader.number("term"),
      let sequence = reader.number("sequence"), let revision = reader.number("revision"),
      let version = reader.number("v"), let time = reader.member("time").flatMap({ reader.tree.int64($0) })
    else { return nil }
    self.init(
      node: node, session: session, age: reader.number("age") ?? 0, term: term,
      isLeading: reader.flag("leads") ?? false,
      isResigning: reader.flag("resigns") ?? false, canLead: !(reader.flag("edge") ?? false), sequence: sequence,
      revision: Revision(revision),
      link: reader.text("link").flatMap { ChainLink($0) }, known: reader.number("known") ?? 0,
      holders: reader.number("holders") ?? 0, demand: reader.number("demand") ?? 0, told: reader.number("told") ?? 0,
      connections: reader.number("connections") ?? 0, time: Timestamp(milliseconds: time), version: version)
  }
}
