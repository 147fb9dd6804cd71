// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

@Suite struct `RFC 9112 §3 Request line` {
  @Test(arguments: [
    Refusal("GET\r\n", .malformedRequestLine),
    Refusal("GET \r\n", .malformedRequestLine),
    Refusal("GET /\r\n", .malformedRequestLine),
    Refusal("GET / \r\n\r\n", .malformedVersion),
    Refusal("GET  / HTTP/1.1\r\n\r\n", .malformedRequestLine),
    Refusal("GET /  HTTP/1.1\r\n\r\n", .malformedVersion),
    Refusal("GET\t/ HTTP/1.1\r\n\r\n", .malformedMethod),
    Refusal("GET /\tHTTP/1.1\r\n\r\n", .malformedTarget),
    Refusal("GET HTTP/1.1\r\nHost: a\r\n\r\n", .malformedRequestLine),
    Refusal(" GET / HTTP/1.1\r\n\r\n", .malformedMethod),
    Refusal("/ HTTP/1.1\r\n\r\n", .malformedMethod),
    Refusal("GET / a HTTP/1.1\r\n\r\n", .malformedVersion),
    Refusal("GET /a b HTTP/1.1\r\n\r\n", .malformedVersion),
    Refusal("Extra lineGET / HTTP/1.1\r\nHost: a\r\n\r\n", .malformedVersion),
    Refusal("HTTP/1.1 200 OK\r\n\r\n", .malformedMethod),
  ])
  func `the line is method, target and version with single spaces`(row: Refusal) throws { try row.check() }

  @Suite struct `§3.1 Method` {
    @Test(arguments: ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"])
    func `a registered method is recognised`(name: String) throws {
      let target = name == "CONNECT" ? "a:1" : "/"
      try withHead("\(name) \(target) HTTP/1.1\r\nHost: a\r\n\r\n") { head in
        #expect(head.method.name == name)
        #expect(head.knownMethod != nil && head.method == HTTPMethod(name))
      }
    }

    @Test(arguments: ["get", "Get", "GETS", "GE", "G", "PUSH", "MKCOL", "A!#$%&'*+-.^_`|~9", "BASELINE-CONTROL"])
    func `any other token is a method, with its case`(name: String) throws {
      let head = try parsed("\(name) / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(head.method == name)
      try withHead("\(name) / HTTP/1.1\r\nHost: a\r\n\r\n") { #expect($0.knownMethod == nil) }
    }

    @Test(arguments: [
      "G(T", "G,T", "G/T", "G:T", "G;T", "G<T", "G=T", "G?T", "G@T", "G[T", "G\\T", "G{T", "G\"T", "GÉT",
    ])
    func `a method that is not a token is refused at its first wrong byte`(name: String) throws {
      #expect(try outcome("\(name) / HTTP/1.1\r\n\r\n") == .refused(.malformedMethod))
      #expect(headOutcome(of: [Array(name.utf8.prefix(2))]) == .refused(.malformedMethod))
    }

    @Test func `a method is bounded, and refused before it ends`() throws {
      let longest = String(repeating: "A", count: 32)
      #expect(try parsed("\(longest) / HTTP/1.1\r\nHost: a\r\n\r\n").method == longest)
      #expect(try outcome(longest + "A") == .refused(.methodTooLong))
      #expect(HTTPParseError.methodTooLong.status == .badRequest)
    }
  }

  @Suite struct `§3.2 Request target` {
    @Test func `a target is bounded, and refused before it ends`() throws {
      var limits = HTTPLimits()
      limits.targetBytes = 20
      let longest = "/" + String(repeating: "a", count: 19)
      #expect(try parsed("GET \(longest) HTTP/1.1\r\nHost: a\r\n\r\n", limits: limits).path == longest)
      #expect(try outcome("GET \(longest)a", limits: limits) == .refused(.targetTooLong))
      #expect(HTTPParseError.targetTooLong.status.code == 414)
    }

    @Test(
      arguments: [
        // Fragments and characters that no URI has.
        "/a#b", "/#", "/a?b#c", "/a\"b", "/a?\"", "/a<b", "/a>b", "/a\\b", "/a{b", "/a}b", "/a`b", "\\", "/\\..\\etc",
        // What looks like another form.
        "a", "*a", "**", "a/b", "?a", "#", ":", "://a/", "//", "http:", "http:/", "http:/a", "http://", "http:///a",
        "http://?a", "http//a/", "htp://a/", "ftp://a/", "ws://a/", "file:///etc/passwd", "javascript:alert(1)",
        // Hosts that are none.
        "http://user@a/", "http://user:pass@a/", "http://@a/", "http://a:b/", "http://a:70000/", "http://a b/",
        "http://a:1:2/", "http://[::1/", "http://[::g]/", "http://[]/", "http://[::1]x/", "http://a,b/", "http://a%41/",
        "http://é/", "http://a/#b", "http://a#b", "http://a\\b/",
      ].filter { $0 != "//" && $0 != "http://a b/" })
    func `a target of no form, or with a character that does not belong there, is refused`(target: String) throws {
      #expect(try outcome("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n") == .refused(.malformedTarget))
    }

    @Test(arguments: ["/a%00b", "/a%0Ab", "/%0d%0aX:y", "/%1f", "/%7F"])
    func `an encoded control character is kept as it came`(target: String) throws {
      #expect(try parsed("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n").path == target)
      #expect(try parsed("GET http://a\(target) HTTP/1.1\r\nHost: a\r\n\r\n").path == target)
    }

    @Test(arguments: ["/%", "/%4", "/%4g", "/%g4", "/a%", "/a?%", "/a?b=%zz", "/a?%2", "/%%41", "/% 41", "/%u0041"])
    func `a percent sign needs two digits behind it`(target: String) throws {
      let outcome = try outcome("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
      let isCut = target.contains(" ")
      #expect(outcome == .refused(isCut ? .malformedVersion : .malformedPercentEncoding))
    }

    @Test(arguments: Array(0x80...0xFF)) func `bytes beyond ASCII are refused at once`(byte: UInt8) throws {
      #expect(try outcome(Array("GET /a".utf8) + [byte]) == .refused(.malformedTarget))
    }

    @Test func `overlong UTF-8 is refused`() throws {
      #expect(try outcome(Array("GET /".utf8) + [0xC0, 0xAF]) == .refused(.malformedTarget))
    }

    @Suite struct `Host` {
      @Test(arguments: [
        "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHosts: a\r\n\r\n", "GET http://a/ HTTP/1.1\r\n\r\n",
      ])
      func `a request of HTTP 1.1 without Host is refused`(text: String) throws {
        #expect(try outcome(text) == .refused(.missingHost))
      }

      @Test func `a request of HTTP 1.0 may be without`() throws {
        let head = try parsed("GET / HTTP/1.0\r\n\r\n")
        #expect(head.host == "" && head.port == nil)
      }

      @Test(arguments: ["1.0", "1.1"]) func `two of them are refused, be they equal or not`(version: String) throws {
        for other in ["a", "b"] {
          let text = "GET / HTTP/\(version)\r\nHost: a\r\nX: y\r\nhOST: \(other)\r\n\r\n"
          #expect(try outcome(text) == .refused(.repeatedHost))
        }
      }

      @Test(
        arguments: [
          "", " ", "\t", "a b", "a,b", "a, b", "a;b", "user@a", "user:pw@a", "a/", "a/path", "/a", "a?b", "a#b",
          "http://a",
          "a:", "a:b", "a:-1", "a:+1", "a:65536", "a:123456", "a:1 2", "a:80:80", ":80", ":", "a\\b", "a\"b", "<a>",
          "a&b",
          "a=b", "a!b", "a$b", "(a)", "a*b", "%41", "a%2Eb", "é", "[", "]", "[]", "[::1", "::1", "[::1]a", "[::1]:a",
          "[1.2.3.4]", "[::1%25eth0]", "[v1.a]", "[::g]", "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]", "[1::2::3]",
          "[12345::]", "[:1]", "[1:]", "[:::]", "[1:2:3:4:5:6:7::8]", "[::1.2.3]", "[::1.2.3.4.5]", "[::256.1.1.1]",
          "[::01.2.3.4]", "[::1.2.3.4:5]", "[1:2:3:4:5:6:7:1.2.3.4]", "[::1.2.3.]", "[::.1.2.3]",
        ].filter { $0 != "a:" })
      func `one that is not a host with an optional port is refused`(host: String) throws {
        #expect(try outcome("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n") == .refused(.malformedHost))
        #expect(try outcome("GET / HTTP/1.0\r\nHost: \(host)\r\n\r\n") == .refused(.malformedHost))
      }

      @Test(
        arguments: [
          ("a", "a", nil), ("A.example.COM", "A.example.COM", nil), ("a:80", "a", 80), ("a:0", "a", 0),
          ("a:", "a", nil),
          ("a:65535", "a", 65535), ("127.0.0.1:8080", "127.0.0.1", 8080), ("[::1]", "[::1]", nil),
          ("[::1]:80", "[::1]", 80), ("[::]", "[::]", nil), ("[1:2:3:4:5:6:7:8]:9", "[1:2:3:4:5:6:7:8]", 9),
          ("[::ffff:1.2.3.4]", "[::ffff:1.2.3.4]", nil), ("[1:2:3:4:5:6:1.2.3.4]", "[1:2:3:4:5:6:1.2.3.4]", nil),
          ("[1::8]", "[1::8]", nil), ("[1:2:3:4:5:6:7::]", "[1:2:3:4:5:6:7::]", nil),
          ("[fe80::ABCD]", "[fe80::ABCD]", nil), ("[::0.0.0.0]", "[::0.0.0.0]", nil),
          ("home_0.a-b~c", "home_0.a-b~c", nil),
          ("a.", "a.", nil), ("1", "1", nil),
        ] as [(String, String, UInt16?)])
      func `one that is, is taken apart`(text: String, host: String, port: UInt16?) throws {
        let head = try parsed("GET / HTTP/1.1\r\nHost: \(text)\r\n\r\n")
        #expect(head.host == host && head.port == port)
      }
    }

    @Suite struct `§3.2.1 Origin form` {
      @Test(
        arguments: [
          ("/", "/", nil), ("/a/b", "/a/b", nil), ("/?", "/", ""), ("/a?b=c&d", "/a", "b=c&d"), ("/a??b?", "/a", "?b?"),
          ("/a%20b?c%20d", "/a%20b", "c%20d"), ("/properties/a/**?x", "/properties/a/**", "x"),
          ("//a//b", "//a//b", nil),
          ("/../.", "/../.", nil), ("/a:b@c;d=e,f!$&'()*+~-._", "/a:b@c;d=e,f!$&'()*+~-._", nil),
          ("/[0]^|", "/[0]^|", nil), ("/%2F%c3%a9", "/%2F%c3%a9", nil),
          (
            "/a?where=value>20&x=<[]{}|\\^`", "/a",
            "where=value>20&x=<[]{}|\\^`"
          ), ("/a?b=%0A%00", "/a", "b=%0A%00"), ("/a?http://b/", "/a", "http://b/"),
          ("/http://b/", "/http://b/", nil), ("/a?match=kitchen/**", "/a", "match=kitchen/**"),
        ] as [(String, String, String?)])
      func `path and query are told apart and kept as they came`(target: String, path: String, query: String?) throws {
        let head = try parsed("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(head.form == .origin && head.target == target && head.path == path && head.query == query)
      }

      @Test func `a path is found whatever its length`() throws {
        for length in 0..<40 {
          let path = "/" + String(repeating: "a", count: length)
          #expect(try parsed("GET \(path)?q HTTP/1.1\r\nHost: a\r\n\r\n").path == path)
          #expect(try parsed("GET \(path)%41_~! HTTP/1.1\r\nHost: a\r\n\r\n").path == path + "%41_~!")
        }
      }
    }

    @Suite struct `§3.2.2 Absolute form` {
      @Test(
        arguments: [
          ("http://b/c?d", "b", nil, "/c", "d"), ("http://b:81/", "b", 81, "/", nil), ("http://b", "b", nil, "/", nil),
          ("http://b?d", "b", nil, "/", "d"), ("HTTP://b/", "b", nil, "/", nil),
          ("http://[::1]:8/x", "[::1]", 8, "/x", nil), ("http://b/c/http://d/", "b", nil, "/c/http://d/", nil),
          ("http://b:/", "b", nil, "/", nil), ("http://b:81?q", "b", 81, "/", "q"),
        ] as [(String, String, UInt16?, String, String?)])
      func `the host of the target takes precedence over Host`(
        target: String, host: String, port: UInt16?, path: String, query: String?
      ) throws {
        let head = try parsed("GET \(target) HTTP/1.1\r\nHost: a:9\r\n\r\n")
        #expect(head.form == .absolute && head.target == target)
        #expect(head.host == host && head.port == port && head.path == path && head.query == query)
      }

      @Test(arguments: ["https://a/", "HTTPS://a:80/b", "https://a"])
      func `a secured target is refused on a connection without TLS (RFC 9110 §7.4)`(target: String) throws {
        #expect(try outcome("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n") == .refused(.securedTarget))
        #expect(HTTPParseError.securedTarget.status.code == 421)
      }

      @Test func `a malformed Host beside it is refused all the same`() throws {
        #expect(try outcome("GET http://b/ HTTP/1.1\r\nHost: a,c\r\n\r\n") == .refused(.malformedHost))
        #expect(try outcome("GET http://b/ HTTP/1.1\r\nHost: b\r\nHost: b\r\n\r\n") == .refused(.repeatedHost))
      }
    }

    @Suite struct `§3.2.3 Authority form` {
      @Test func `CONNECT takes a host with a port`() throws {
        let head = try parsed("CONNECT b:443 HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(head.form == .authority && head.host == "b" && head.port == 443 && head.path == "" && head.query == nil)
      }

      @Test(arguments: [
        "b", "b:", "/", "*", "http://b/", "http://b:80", "b:443/", "b:443?c", "u@b:1", ":1", "b:x", "b,c:1",
      ])
      func `CONNECT takes nothing else`(target: String) throws {
        #expect(try outcome("CONNECT \(target) HTTP/1.1\r\nHost: a\r\n\r\n") == .refused(.malformedTarget))
      }

      @Test func `no other method takes it`() throws {
        #expect(try outcome("GET b:443 HTTP/1.1\r\nHost: a\r\n\r\n") == .refused(.malformedTarget))
      }
    }

    @Suite struct `§3.2.4 Asterisk form` {
      @Test func `OPTIONS takes an asterisk for the server as a whole`() throws {
        let head = try parsed("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(head.form == .asterisk && head.path == "" && head.host == "a")
      }

      @Test func `OPTIONS of an absolute target without path and query means the same`() throws {
        let head = try parsed("OPTIONS http://b:81 HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(head.form == .asterisk && head.path == "" && head.host == "b" && head.port == 81)
        #expect(try parsed("OPTIONS http://b/ HTTP/1.1\r\nHost: a\r\n\r\n").form == .absolute)
        #expect(try parsed("OPTIONS http://b?c HTTP/1.1\r\nHost: a\r\n\r\n").path == "/")
      }

      @Test(arguments: ["GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "PATCH", "options"])
      func `no other method takes it`(method: String) throws {
        #expect(try outcome("\(method) * HTTP/1.1\r\nHost: a\r\n\r\n") == .refused(.malformedTarget))
      }
    }
  }
}
