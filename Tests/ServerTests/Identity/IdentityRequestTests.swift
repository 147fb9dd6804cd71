// SPDX-License-Identifier: MIT
import SignalAccess
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("§10 Who is there, over HTTP") struct IdentityRequestTests {
  @Test func `a token says who asks`() throws {
    let server = try TokenServer()
    let token = try server.make("kitchen", claims: #"{"role":"sensor"}"#)
    let me = try server.request("GET", "/auth/me", token)
    #expect(me.status == 200 && me.text == #"{"auth":{"role":"sensor","kind":"token","id":"kitchen"}}"#)
    #expect(me.values("Cache-Control").contains("no-store") && me.value("Vary") == "Authorization")
    #expect(try server.request("GET", "/auth/me").text == #"{"auth":null}"#)
    let read = try server.request("GET", "/properties/a", token)
    #expect(read.status == 200 && read.values("Cache-Control") == ["private", "no-cache"])
    #expect(try server.request("GET", "/properties/a").values("Cache-Control") == ["no-cache"])
  }

  @Test(arguments: ["bearer", "BEARER", "Bearer ", "Bearer  "]) func `the scheme is read as RFC 9110 has it`(
    _ scheme: String
  ) throws {
    let server = try TokenServer()
    let token = try server.make("kitchen")
    let me = try server.request("GET", "/auth/me", fields: [("Authorization", "\(scheme) \(token)")])
    #expect(me.text.contains("kitchen"))
  }

  @Test(arguments: [
    "Bearer", "Bearer ", "Bearer x", "Bearer sgn_first_\(String(repeating: "A", count: 43))", "Bearer a.b.c",
    "Bearer \u{E4}", "Bearer sgn_x y", "Bearer \(String(repeating: "x", count: 10_000))",
  ])
  func `a token that is not accepted is refused, and nothing more is said`(_ value: String) throws {
    let server = try TokenServer()
    let client = try server.server.connect()
    for (method, target) in [
      ("GET", "/properties/a"), ("PUT", "/properties/a"), ("GET", "/auth/me"), ("GET", "/events?match=**"),
    ] {
      let response = try client.request(
        method, target, fields: [("Authorization", value)], body: method == "PUT" ? "2" : nil)
      #expect(response.status == 401 && response.code == "invalid_token")
      #expect(response.value("WWW-Authenticate") == #"Bearer realm="signal", error="invalid_token""#)
      #expect(response.text.contains("The token is unknown, malformed or over"))
    }
    #expect(client.isAlive() && server.server.store.contents["a"] == "1")
  }

  @Test func `other schemes are a proxy's`() throws {
    let server = try TokenServer()
    let fields = [("Authorization", "Basic YTpi")]
    #expect(try server.request("GET", "/auth/me", fields: fields).text == #"{"auth":null}"#)
  }

  @Test func `two fields are refused`() throws {
    let server = try TokenServer()
    let token = try server.make("kitchen")
    let response = try server.request("GET", "/auth/me", token, fields: TokenServer.fields(token))
    #expect(response.status == 400 && response.code == "bad_request")
  }

  @Test func `where it is required, somebody unknown has probes and preflights only`() throws {
    let server = try TokenServer(live: LiveConfiguration(origins: ["https://app.example"])) { $0.required = true }
    let client = try server.server.connect()
    for (method, target) in [
      ("GET", "/properties/a"), ("HEAD", "/properties/a"), ("PUT", "/properties/a"), ("PATCH", "/properties/a"),
      ("DELETE", "/properties/a"), ("GET", "/properties"), ("POST", "/transactions"), ("POST", "/signals/a"),
      ("GET", "/timers"), ("PUT", "/timers/a"), ("GET", "/history/a"), ("POST", "/expressions/explain"),
      ("GET", "/events?match=**"), ("GET", "/openapi.yaml"), ("POST", "/auth/tickets"),
    ] {
      let response = try client.http.request(method, target, body: method.hasPrefix("P") ? Array("2".utf8) : nil)
      #expect(response.status == 401, "\(method) \(target)")
      #expect(response.value("WWW-Authenticate") == #"Bearer realm="signal""#)
      if method != "HEAD" { #expect(response.code == "unauthenticated") }
    }
    #expect(server.server.store.contents == ["a": "1"])
    for target in ["/health/live", "/health/ready", "/auth/me"] {
      #expect(try client.request("GET", target).status == 200)
    }
    // A probe is answered whatever it sends.
    #expect(try client.request("GET", "/health/live", fields: TokenServer.fields("x")).status == 200)
    let preflight = try client.request(
      "OPTIONS", "/properties/a",
      fields: [
        ("Origin", "https://app.example"), ("Access-Control-Request-Method", "PUT"),
        ("Access-Control-Request-Headers", "authorization"),
      ])
    #expect(preflight.status == 204)
    #expect(preflight.value("Access-Control-Allow-Headers")?.contains("authorization") == true)
    let token = try server.make("kitchen")
    #expect(try client.request("PUT", "/properties/a", fields: TokenServer.fields(token), body: "2").status < 300)
  }

  @Test func `a refusal comes before the body`() throws {
    let server = try TokenServer { $0.required = true }
    let client = try server.server.connect(
      sending: "PUT /properties/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n")
    let response = try client.receive()
    #expect(response.status == 401 && response.interim.isEmpty)
  }

  @Test func `a token ends, and what is revoked is not accepted any more`() throws {
    let server = try TokenServer()
    let over = try server.make("over", expires: .inSeconds(-1))
    #expect(try server.request("GET", "/auth/me", over).code == "invalid_token")
    let token = try server.make("kitchen", expires: .inSeconds(3600))
    #expect(try server.request("GET", "/auth/me", token).text.contains(#""expires":""#))
    try server.revoke("kitchen")
    #expect(try server.request("GET", "/auth/me", token).code == "invalid_token")
  }

  @Test func `without tokens and keys the field is not looked at`() throws {
    let server = try TestServer(authenticator: Authenticator())
    let client = try server.connect()
    #expect(try client.request("GET", "/auth/me", fields: TokenServer.fields("x")).text == #"{"auth":null}"#)
    #expect(try client.request("GET", "/auth/me").values("Vary").isEmpty)
    #expect(try client.request("POST", "/auth/tickets").code == "unauthenticated")
    let none = try TestServer().connect()
    #expect(try none.request("GET", "/auth/me", fields: TokenServer.fields("x")).text == #"{"auth":null}"#)
  }

  // MARK: Cookies

  /// The field without which a browser does not show a page what was answered to its cookie (Fetch Standard, "CORS
  /// check").
  @Test func `a page of an origin listed by name may send its cookie and read the answer`() throws {
    let live = LiveConfiguration(origins: ["https://app.example", "*"])
    let server = try TokenServer(live: live) { $0.cookie = "session" }
    let token = try server.make("ann")
    func allows(_ method: String, _ target: String, _ origin: String?, cookie: String? = nil) throws -> Bool {
      var fields = [("Cookie", "session=\(cookie ?? token)")] + (origin.map { [("Origin", $0)] } ?? [])
      if method == "OPTIONS" { fields.append(("Access-Control-Request-Method", "PUT")) }
      let response = try server.request(method, target, fields: fields, body: method == "PUT" ? "2" : nil)
      let values = response.values("Access-Control-Allow-Credentials")
      if !values.isEmpty {
        #expect(values == ["true"] && response.value("Access-Control-Allow-Origin") == "https://app.example")
      }
      #expect(response.values("Vary").contains("Origin"))
      return !values.isEmpty
    }
    for (method, target) in [
      ("GET", "/auth/me"), ("PUT", "/properties/a"), ("GET", "/properties/none"), ("OPTIONS", "/properties/a"),
    ] {
      #expect(try allows(method, target, "https://app.example"), "\(method) \(target)")
      #expect(try !allows(method, target, "https://any.example") && !allows(method, target, nil))
    }
    // Also what refuses the cookie has to be read.
    #expect(try allows("GET", "/auth/me", "https://app.example", cookie: "x"))
    let fields = [("Cookie", "session=\(token)"), ("Origin", "https://app.example")]
    let stream = try EventStreamClient(server.server, query: "match=a", fields: fields)
    #expect(stream.response.status == 200 && stream.response.value("Access-Control-Allow-Credentials") == "true")
  }

  @Test func `where no cookie can say who asks, none is asked for`() throws {
    let server = try TokenServer(live: LiveConfiguration(origins: ["https://app.example"]))
    let fields = [("Origin", "https://app.example")]
    #expect(try server.request("GET", "/auth/me", fields: fields).values("Access-Control-Allow-Credentials").isEmpty)
    try server.change { $0.cookie = "session" }
    #expect(try server.request("GET", "/auth/me", fields: fields).value("Access-Control-Allow-Credentials") == "true")
  }

  @Test func `a cookie counts for own and listed pages only`() throws {
    let live = LiveConfiguration(origins: ["https://app.example", "*"])
    let server = try TokenServer(live: live) { $0.cookie = "session" }
    let token = try server.make("ann")
    func me(_ fields: (String, String)..., cookie: String? = nil) throws -> Bool {
      let fields = fields + [("Cookie", cookie ?? "a=b; session=\(token); c=d")]
      return try server.request("GET", "/auth/me", fields: fields).text.contains(#""id":"ann""#)
    }
    let own = TestTransport.adapted("http://127.0.0.1:\(server.server.port)")
    #expect(try me(("Origin", own)) && me(("Origin", "https://app.example")))
    #expect(try me(("Sec-Fetch-Site", "same-origin")))
    #expect(try me(("Origin", own), cookie: #"session="\#(token)""#))
    // Neither somebody unknown, nor a page that only the asterisk lets in.
    #expect(try !me() && !me(("Origin", "https://evil.example")) && !me(("Origin", "null")))
    #expect(try !me(("Sec-Fetch-Site", "cross-site")) && !me(("Sec-Fetch-Site", "none")))
    #expect(try !me(("Origin", "https://evil.example"), ("Sec-Fetch-Site", "same-origin")))
    for cookie in ["xsession=\(token)", "session", "Session=\(token)", "", ";;"] {
      #expect(try !me(("Origin", own), cookie: cookie))
    }
    let bad = try server.request("GET", "/auth/me", fields: [("Origin", own), ("Cookie", "session=x")])
    #expect(bad.code == "invalid_token")
    #expect(bad.values("Vary") == ["Origin", "Authorization, Cookie"])
  }

  @Test func `without the setting cookies are not looked at`() throws {
    let server = try TokenServer()
    let token = try server.make("ann")
    let me = try server.request(
      "GET", "/auth/me", fields: [("Sec-Fetch-Site", "same-origin"), ("Cookie", "session=\(token)")])
    #expect(me.text == #"{"auth":null}"#)
  }

  // MARK: Tickets

  private func ticket(_ server: TokenServer, _ token: String, origin: String? = nil) throws -> String {
    let fields = origin.map { [("Origin", $0)] } ?? []
    let response = try server.request("POST", "/auth/tickets", token, fields: fields)
    #expect(response.status == 200 && response.values("Cache-Control").contains("no-store"))
    let text = try LiveMessage(response.text)
    #expect(text.names == ["ticket", "expires"])
    return try #require(text.string("ticket"))
  }

  @Test func `a ticket opens one event stream`() throws {
    let server = try TokenServer { $0.required = true }
    let ticket = try ticket(server, server.make("ann"))
    let stream = try EventStreamClient(server.server, query: "match=**&ticket=\(ticket)")
    #expect(stream.response.status == 200)
    for text in [ticket, "", "x"] {
      #expect(try server.request("GET", "/events?match=**&ticket=\(text)").code == "invalid_token")
    }
    #expect(try server.request("GET", "/properties/a?ticket=\(ticket)").code == "unauthenticated")
  }

  @Test func `a ticket is for one origin`() throws {
    let (app, other) = ("https://app.example", "https://other.example")
    let server = try TokenServer(live: LiveConfiguration(origins: [app, other])) { $0.required = true }
    let token = try server.make("ann")
    let own = TestTransport.adapted("http://127.0.0.1:\(server.server.port)")
    func status(_ ticket: String, _ origin: String?) throws -> Int {
      let fields = origin.map { [("Origin", $0)] } ?? []
      return try EventStreamClient(server.server, query: "match=**&ticket=\(ticket)", fields: fields).response.status
    }
    #expect(try status(ticket(server, token, origin: app), app) == 200)
    #expect(try status(ticket(server, token, origin: app), other) == 401)
    #expect(try status(ticket(server, token, origin: app), nil) == 401)
    // A browser names the server's own origin when it posts, and not when it opens a stream.
    #expect(try status(ticket(server, token, origin: own), nil) == 200)
    #expect(try status(ticket(server, token), own) == 200)
  }

  @Test func `a ticket and a token exclude each other, and a revoked one opens nothing`() throws {
    let server = try TokenServer()
    let token = try server.make("ann")
    let first = try ticket(server, token)
    #expect(try server.request("GET", "/events?match=**&ticket=\(first)", token).code == "bad_query")
    let second = try ticket(server, token)
    try server.revoke("ann")
    #expect(try server.request("GET", "/events?match=**&ticket=\(second)").code == "invalid_token")
  }

  @Test func `tickets are worthless after half a minute, and few at a time`() throws {
    let tickets = Tickets()
    let server = try TokenServer()
    let ann = try server.identity("ann")
    let bob = try server.identity("bob")
    let now = Timestamp(milliseconds: 0)
    func redeem(_ text: String, at time: Int64) -> String? {
      tickets.redeem(text.utf8.span, origin: nil, at: Timestamp(milliseconds: time))?.id
    }
    func issue(_ identity: Identity) throws -> String {
      try #require(tickets.issue(for: identity, origin: nil, at: now)).text
    }
    let (last, over) = (try issue(ann), try issue(ann))
    #expect(redeem(last, at: 29_999) == "ann" && redeem(over, at: 30_000) == nil)
    let others = try issue(bob)
    let oldest = try issue(ann)
    for _ in 1..<Tickets.mostOfOne { _ = try issue(ann) }
    let newest = try issue(ann)
    #expect(redeem(oldest, at: 0) == nil && redeem(newest, at: 0) == "ann" && redeem(others, at: 0) == "bob")
  }

  // MARK: Without TLS

  @Test func `a token that is sent to a listener that redirects is refused, and told by its id`() throws {
    let told = Told()
    let configuration = {
      var configuration = ServerConfiguration(
        listeners: [ListenerConfiguration(.tcp(host: "127.0.0.1", port: 0), redirect: "https://live.example")], loops: 1
      )
      configuration.exposedTokenObserver = { id, _ in told.add(id ?? "-") }
      return configuration
    }()
    let server = Server(configuration, store: .forTests())
    try server.start()
    defer { server.shutdown() }
    let token = try #require(Token(id: "kitchen"))
    let client = try HTTPClient(server.endpoints[0])
    for value in ["Bearer \(token.text)", "bearer  \(token.text)", "Bearer a.b.c", "Basic YTpi"] {
      let response = try client.request("GET", "/a", fields: [("Authorization", value)], timeout: LiveClient.patience)
      #expect(response.status == 403 && response.text.contains(#""code":"tls_required""#))
    }
    #expect(told.all == ["kitchen", "kitchen", "-", "-"])
    #expect(try client.request("GET", "/a", timeout: LiveClient.patience).status == 308)
  }

  @Test(arguments: [true, false])
  func `who waits, and is not accepted any more, is told nothing`(isRevoked: Bool) throws {
    let server = try TokenServer { $0.required = true }
    let expires = isRevoked ? nil : Timestamp(milliseconds: Timestamp.now.milliseconds + 200)
    let token = try server.make("ann", expires: expires)
    let waiting = try server.server.connect(
      sending: "GET /properties/a?until=value==2&wait=1m HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n")
    try eventually { server.server.store.commits.observerCount == 1 }
    if isRevoked {
      try server.revoke("ann")
    } else {
      try eventually { try server.request("GET", "/auth/me", token).status == 401 }
    }
    try server.server.store.set("a", "2")
    let answer = try waiting.receive()
    #expect(answer.status == 401 && answer.code == "invalid_token" && answer.value("ETag") == nil)
    #expect(answer.value("WWW-Authenticate")?.contains("invalid_token") == true)
    #expect(waiting.isAlive())
  }
}
