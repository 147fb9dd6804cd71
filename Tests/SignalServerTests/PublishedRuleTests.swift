// SPDX-License-Identifier: MIT
import SignalAccess
import Testing

@testable import signal_server

/// What the documents of the Firebase Realtime Database and of Cloud Firestore show with their rules, said with ours: each
/// example with what it allows and what it refuses.
struct PublishedRule: Sendable, CustomTestStringConvertible {
  let name: String
  let rules: String
  let table: String

  var testDescription: String { name }
}

@Suite("Rules that others publish") struct PublishedRuleTests {
  @Test(arguments: PublishedRule.realtimeDatabase + PublishedRule.firestore)
  func `what they allow is allowed, and what they refuse is refused`(_ example: PublishedRule) throws {
    let policy = try policy("access:\n  rules:\n" + example.rules)
    let table = try AccessTable(example.table)
    #expect(table.rows.contains { !$0.can.isEmpty } && table.rows.contains { !$0.cannot.isEmpty })
    let failures = table.failures(policy)
    #expect(failures.isEmpty, "\(failures.map { "\($0.line): \($0.text)" }.joined(separator: "\n"))")
  }
}

extension PublishedRule {
  /// Examples of the Realtime Database: `auth.uid` is `auth.sub`, `data` is `oldValue`, `newData` is `value`.
  static let realtimeDatabase =
    [
      PublishedRule(
        name: "RTDB: for those who are signed in",
        rules: """
              - match: "**"
                read: auth != null
                write: auth != null
          """,
        table: """
          - as: {sub: ann}
            can: [watch **, get a, set a 1, delete a]
          - as: null
            cannot: [watch **, get a, set a 1, delete a]
          """),
      PublishedRule(
        name: "RTDB: content of its owner alone",
        rules: """
              - match: "users/{uid}/**"
                read: auth.sub == uid
                write: auth.sub == uid
          """,
        table: """
          - as: {sub: ann}
            can: [get users/ann/name, watch users/ann/**, set users/ann/name "Ann", delete users/ann/name]
            cannot: [get users/bob/name, watch users/bob/**, set users/bob/name "Ann", delete users/bob/name]
          - as: null
            cannot: [get users/ann/name, set users/ann/name "x"]
          """),
      PublishedRule(
        name: "RTDB: read by all, written by its owner",
        rules: """
              - match: "users/{uid}/**"
                read: 'true'
                write: auth.sub == uid
          """,
        table: """
          - as: null
            can: [watch users/*/**, get users/ann/name]
            cannot: [set users/ann/name "x", delete users/ann/name]
          - as: {sub: ann}
            can: [set users/ann/name "Ann"]
            cannot: [set users/bob/name "Bob"]
          """),
      PublishedRule(
        name: "RTDB: a verified mail address, a provider",
        rules: """
              - match: "staff/**"
                read: auth.email_verified == true && auth.email.endsWith("@example.com")
              - match: "google/**"
                read: auth.firebase.sign_in_provider == "google.com"
          """,
        table: """
          - as: {sub: ann, email: ann@example.com, email_verified: true, firebase: {sign_in_provider: google.com}}
            can: [watch staff/**, watch google/**]
          - as: {sub: bob, email: bob@example.com, email_verified: false, firebase: {sign_in_provider: password}}
            cannot: [watch staff/**, watch google/**]
          - as: {sub: eve, email: eve@example.com.evil.example, email_verified: true}
            cannot: [watch staff/**, watch google/**]
          """),
      PublishedRule(
        name: "RTDB: a custom claim",
        rules: """
              - match: "adminContent/**"
                read: auth.admin == true
                write: auth.admin == true
          """,
        table: """
          - as: {sub: ann, admin: true}
            can: [watch adminContent/**, set adminContent/a 1]
          - as: {sub: bob, admin: "true"}
            cannot: [watch adminContent/**, set adminContent/a 1]
          - as: {sub: cid}
            cannot: [watch adminContent/**, set adminContent/a 1]
          """),
      PublishedRule(
        name: "RTDB: a text of less than 100 characters",
        rules: """
              - match: foo
                set: 'true'
                validate: type(value) == string && size(value) < 100
          """,
        table: """
          - as: null
            can: [set foo "short"]
            cannot:
              - set foo 1
              - set foo {"a":"short"}
              - set foo "\(String(repeating: "x", count: 100))"
          """),
      PublishedRule(
        name: "RTDB: made or deleted, never changed",
        rules: """
              - match: "once/*"
                set: '!exists'
                delete: exists
          """,
        table: """
          - as: null
            given: {once/1: 1}
            can: [delete once/1, set once/2 1]
            cannot: [set once/1 2, delete once/2]
          """),
      PublishedRule(
        name: "RTDB: written where something else says so",
        rules: """
              - match: "articles/*"
                with: {open: "settings/open", lock: "locks/{auth.sub}"}
                set: open == true && lock == null
          """,
        table: """
          - as: {sub: ann}
            given: {settings/open: true}
            can: [set articles/1 1]
          - as: {sub: ann}
            given: {settings/open: true, locks/ann: 1}
            cannot: [set articles/1 1]
          - as: {sub: ann}
            given: {settings/open: false}
            cannot: [set articles/1 1]
          """),
    ] + [chat, growing, recent]

  private static let chat = PublishedRule(
    name: "RTDB: a chat with members, whose messages have a time that has been",
    rules: """
          - match: "rooms/*/name"
            read: 'true'
          - match: "members/*/{uid}"
            set: auth.sub == uid
            validate: size(value.name) > 0 && size(value.name) < 50
          - match: "messages/{room}/*"
            with: {member: "members/{room}/{auth.sub}"}
            read: member != null
            set: member != null
            validate: value.user == auth.sub && size(value.text) > 0 && timestamp(value.time) <= now
      """,
    table: """
      - as: {sub: ann}
        now: 2026-01-02T00:00:00Z
        given:
          members/1/ann: {name: Ann}
        can:
          - get rooms/1/name
          - watch messages/1/*
          - set members/2/ann {"name":"Ann"}
          - set messages/1/a {"user":"ann","text":"hi","time":"2026-01-02T00:00:00Z"}
        cannot:
          - watch messages/2/**
          - set members/2/bob {"name":"Bob"}
          - set members/2/ann {"name":""}
          - set messages/2/a {"user":"ann","text":"hi","time":"2026-01-01T00:00:00Z"}
          - set messages/1/a {"user":"bob","text":"hi","time":"2026-01-01T00:00:00Z"}
          - set messages/1/a {"user":"ann","text":"","time":"2026-01-01T00:00:00Z"}
          - set messages/1/a {"user":"ann","text":"hi","time":"2026-01-03T00:00:00Z"}
          - set messages/1/a {"user":"ann","text":"hi"}
      - as: null
        can: [get rooms/1/name]
        cannot: [watch messages/1/**]
      """)

  private static let growing = PublishedRule(
    name: "RTDB: a number that only grows by one",
    rules: """
          - match: "votes/*"
            set: 'auth != null && (exists ? value == oldValue + 1 : value == 1)'
      """,
    table: """
      - as: {sub: ann}
        given: {votes/1: 4}
        can: [set votes/1 5, set votes/2 1]
        cannot: [set votes/1 4, set votes/1 6, set votes/1 "5", set votes/2 2, delete votes/1]
      - as: null
        cannot: [set votes/2 1]
      """)

  private static let recent = PublishedRule(
    name: "RTDB: of the last ten minutes",
    rules: """
          - match: "posts/*"
            get: timestamp(value.time) > now - duration("10m")
      """,
    table: """
      - as: null
        now: 2026-01-02T00:10:00Z
        given:
          posts/old: {time: "2026-01-02T00:00:00Z"}
          posts/new: {time: "2026-01-02T00:00:01Z"}
        can: [get posts/new]
        cannot: [get posts/old, get posts/none]
      """)

  /// Examples of Cloud Firestore: `request.auth.uid` is `auth.sub`, `resource.data` is the value that is there and
  /// `request.resource.data` the one that would be.
  static let firestore = [
    PublishedRule(
      name: "Firestore: a user's own document",
      rules: """
            - match: "users/{userId}"
              read: auth.sub == userId
              set: auth.sub == userId
              delete: auth.sub == userId
        """,
      table: """
        - as: {sub: ann}
          can: [read users/ann, set users/ann 1, delete users/ann]
          cannot: [read users/bob, set users/bob 1, get users/ann/more, watch users/bob/*]
        """),
    PublishedRule(
      name: "Firestore: rules do not reach further down, unless they say so",
      rules: """
            - match: "cities/{city}"
              read: auth != null
            - match: "spots/{document=**}"
              read: auth != null
        """,
      table: """
        - as: {sub: ann}
          can: [get cities/SF, watch cities/*, get spots/a/b/c, watch spots/**]
          cannot: [get cities/SF/landmarks/bridge]
        """),
    PublishedRule(
      name: "Firestore: rules that overlap allow together",
      rules: """
            - match: "cities/*"
              read: 'false'
            - match: "cities/**"
              read: 'true'
        """,
      table: """
        - as: null
          can: [get cities/SF, watch cities/**]
          cannot: [set cities/SF 1]
        """),
    PublishedRule(
      name: "Firestore: reading in parts: one, many, making, changing",
      rules: """
            - match: "cities/*"
              get: 'true'
              list: auth != null
              set: 'exists ? auth.role == "editor" : auth != null'
              delete: auth.role == "admin"
        """,
      table: """
        - as: null
          can: [get cities/SF]
          cannot: [list cities/*, set cities/LA 1]
        - as: {sub: ann}
          given: {cities/SF: 1}
          can: [list cities/*, set cities/LA 1]
          cannot: [set cities/SF 2, delete cities/SF]
        - as: {sub: eve, role: editor}
          given: {cities/SF: 1}
          can: [set cities/SF 2]
          cannot: [delete cities/SF]
        - as: {sub: ada, role: admin}
          can: [delete cities/SF]
        """),
    PublishedRule(
      name: "Firestore: an attribute of the document",
      rules: """
            - match: "cities/*"
              read: value.visibility == "public"
        """,
      table: """
        - as: null
          given:
            cities/SF: {visibility: public}
            cities/LA: {visibility: private}
            cities/NY: {}
          can: [get cities/SF, list cities/SF, watch cities/SF]
          cannot: [get cities/LA, list cities/LA, watch cities/LA, get cities/NY, get cities/none]
        """),
    PublishedRule(
      name: "Firestore: what a value has to be, and what has to stay",
      rules: """
            - match: "cities/*"
              set: 'exists ? value.population > 0 && value.name == oldValue.name : value.population > 0'
        """,
      table: """
        - as: null
          given:
            cities/SF: {name: San Francisco, population: 800000}
          can:
            - set cities/SF {"name":"San Francisco","population":800001}
            - set cities/LA {"name":"Los Angeles","population":1}
          cannot:
            - set cities/SF {"name":"Frisco","population":800001}
            - set cities/SF {"name":"San Francisco","population":0}
            - set cities/LA {"name":"Los Angeles","population":-1}
            - set cities/LA {"name":"Los Angeles"}
        """),
    PublishedRule(
      name: "Firestore: only some members, and some of them required",
      rules: """
            - match: "restaurants/*"
              set: auth != null
              validate: >-
        """.replacing(
          " >-", with: #" value.all(k, k in ["name", "city", "stars"]) && has(value.name) && has(value.city)"#),
      table: """
        - as: {sub: ann}
          can:
            - set restaurants/1 {"name":"Lo","city":"SF"}
            - set restaurants/1 {"name":"Lo","city":"SF","stars":5}
          cannot:
            - set restaurants/1 {"name":"Lo"}
            - set restaurants/1 {"name":"Lo","city":"SF","owner":"ann"}
            - set restaurants/1 1
        """),
    PublishedRule(
      name: "Firestore: members that cannot be changed",
      rules: """
            - match: "reviews/*"
              set: auth != null && (!exists || ["author", "place"].all(k, value[k] == oldValue[k]))
        """,
      table: """
        - as: {sub: ann}
          given:
            reviews/1: {author: ann, place: SF, stars: 3}
          can:
            - set reviews/1 {"author":"ann","place":"SF","stars":4}
            - set reviews/2 {"author":"ann","place":"LA","stars":4}
          cannot:
            - set reviews/1 {"author":"ann","place":"LA","stars":4}
            - set reviews/1 {"author":"bob","place":"SF","stars":4}
            - set reviews/1 {"author":"ann","stars":4}
        """),
    PublishedRule(
      name: "Firestore: types",
      rules: """
            - match: "scores/*"
              set: 'true'
              validate: type(value.score) == int && type(value.name) == string && type(value.tags) == list
        """,
      table: """
        - as: null
          can: [ 'set scores/1 {"score":7,"name":"a","tags":[]}' ]
          cannot:
            - set scores/1 {"score":7.5,"name":"a","tags":[]}
            - set scores/1 {"score":7,"name":1,"tags":[]}
            - set scores/1 {"score":7,"name":"a","tags":{}}
        """),
    PublishedRule(
      name: "Firestore: a role that another document says",
      rules: """
            - match: "users/*"
              get: 'false'
            - match: "cities/**"
              with: {user: "users/{auth.sub}"}
              read: user != null
              write: user.role == "admin"
        """,
      table: """
        - as: {sub: ada}
          given:
            users/ada: {role: admin}
          can: [watch cities/**, set cities/SF 1, delete cities/SF]
          cannot: [get users/ada, 'set users/ada {"role":"king"}']
        - as: {sub: ann}
          given:
            users/ann: {role: reader}
          can: [watch cities/**]
          cannot: [set cities/SF 1, delete cities/SF]
        - as: {sub: eve}
          cannot: [watch cities/**, set cities/SF 1]
        """),
    PublishedRule(
      name: "Firestore: roles in the document itself",
      rules: """
            - match: "stories/{story}"
              get: auth.sub in value.roles && value.roles[auth.sub] in ["owner", "writer", "commenter", "reader"]
              set: >-
              delete: oldValue.roles[auth.sub] == "owner"
            - match: "stories/{story}/comments/*"
              with: {doc: "stories/{story}"}
              read: doc.roles[auth.sub] in ["owner", "writer", "commenter", "reader"]
              set: doc.roles[auth.sub] in ["owner", "writer", "commenter"] && value.user == auth.sub
        """.replacing(
          " >-",
          with:
            #" '!exists ? value.roles[auth.sub] == "owner" : oldValue.roles[auth.sub] in ["owner", "writer"] && (value.roles == oldValue.roles || oldValue.roles[auth.sub] == "owner")'"#
        ),
      table: """
        - as: {sub: ann}
          given:
            stories/1: {title: Tale, roles: {ann: owner, bob: writer, cid: reader}}
          can:
            - get stories/1
            - delete stories/1
            - set stories/1 {"title":"New","roles":{"ann":"owner"}}
            - set stories/2 {"title":"Mine","roles":{"ann":"owner"}}
            - set stories/1/comments/1 {"user":"ann"}
          cannot:
            - set stories/2 {"title":"Mine","roles":{"bob":"owner"}}
            - set stories/1/comments/1 {"user":"bob"}
        - as: {sub: bob}
          given:
            stories/1: {title: Tale, roles: {ann: owner, bob: writer, cid: reader}}
          can:
            - set stories/1 {"title":"Better","roles":{"ann":"owner","bob":"writer","cid":"reader"}}
            - watch stories/1/comments/*
          cannot:
            - set stories/1 {"title":"Mine","roles":{"bob":"owner"}}
            - delete stories/1
        - as: {sub: cid}
          given:
            stories/1: {title: Tale, roles: {ann: owner, bob: writer, cid: reader}}
          can: [get stories/1, watch stories/1/comments/*]
          cannot:
            - set stories/1 {"title":"Tale","roles":{"ann":"owner","bob":"writer","cid":"reader"}}
            - set stories/1/comments/1 {"user":"cid"}
        - as: {sub: eve}
          given:
            stories/1: {title: Tale, roles: {ann: owner}}
          cannot: [get stories/1, watch stories/1/comments/*]
        """),
    PublishedRule(
      name: "Firestore: members of a group",
      rules: """
            - match: "groups/{group}/docs/**"
              with: {group_: "groups/{group}"}
              read: auth.sub in group_.members
              write: auth.sub in group_.members && group_.open
        """,
      table: """
        - as: {sub: ann}
          given:
            groups/1: {members: [ann], open: true}
            groups/2: {members: [ann], open: false}
            groups/3: {members: [bob], open: true}
          can: [watch groups/1/docs/**, set groups/1/docs/a 1, watch groups/2/docs/**]
          cannot: [set groups/2/docs/a 1, watch groups/3/docs/**, set groups/3/docs/a 1, watch groups/4/docs/**]
        """),
    PublishedRule(
      name: "Firestore: until a day",
      rules: """
            - match: "**"
              read: now < timestamp("2026-02-01T00:00:00Z")
        """,
      table: """
        - as: null
          now: 2026-01-31T23:59:59Z
          given: {a: 1}
          can: [get a, watch a]
        - as: null
          now: 2026-02-01T00:00:00Z
          given: {a: 1}
          cannot: [get a, watch a]
        """),
    PublishedRule(
      name: "Firestore: a time of making that is now, and not again too soon",
      rules: """
            - match: "posts/*"
              set: '!exists || now > timestamp(oldValue.at) + duration("5s")'
              validate: timestamp(value.at) == now
        """,
      table: """
        - as: null
          now: 2026-01-02T00:00:10Z
          given:
            posts/early: {at: "2026-01-02T00:00:00Z"}
            posts/late: {at: "2026-01-02T00:00:06Z"}
          can:
            - set posts/new {"at":"2026-01-02T00:00:10Z"}
            - set posts/early {"at":"2026-01-02T00:00:10Z"}
          cannot:
            - set posts/new {"at":"2026-01-02T00:00:09Z"}
            - set posts/new {"at":"now"}
            - set posts/late {"at":"2026-01-02T00:00:10Z"}
        """),
  ]
}
