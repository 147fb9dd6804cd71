// SPDX-License-Identifier: MIT

extension OpenAPIDocument {
  /// The other paths of docs/openapi.yaml, put here by scripts/embed-openapi.sh.
  static let paths: StaticString = #"""
      /events:
        get:
          tags: [events]
          operationId: getEvents
          summary: Server-sent events (§5); with an upgrade to WebSocket, the live protocol (§3).
          parameters:
            - $ref: "#/components/parameters/match"
            - name: signals
              in: query
              description: Patterns of signals, instead of match.
              schema:
                type: array
                items:
                  type: string
            - $ref: "#/components/parameters/where"
            - name: initial
              in: query
              schema: { type: boolean }
            - $ref: "#/components/parameters/since"
            - name: exit
              in: query
              schema: { type: boolean }
            - name: oldValue
              in: query
              schema: { type: boolean }
            - name: mode
              in: query
              schema: { enum: [auto, all, latest] }
            - name: maxRate
              in: query
              schema: { type: number }
            - name: deadband
              in: query
              schema: { type: string }
            - name: take
              in: query
              schema: { type: integer }
            - name: fields
              in: query
              schema: { type: string }
            - name: pointer
              in: query
              schema: { type: string }
            - name: bookmark
              in: query
              schema: { type: number }
            - name: batch
              in: query
              schema: { type: boolean }
            - name: Last-Event-ID
              in: header
              schema: { $ref: "#/components/schemas/Cursor" }
          responses:
            "101":
              description: The connection is a WebSocket from here on.
            "200":
              description: A stream of events, without an end.
              content:
                text/event-stream:
                  schema: { type: string }
            "400": { $ref: "#/components/responses/problem" }
            "403": { $ref: "#/components/responses/problem" }
            "406": { $ref: "#/components/responses/problem" }
            "414": { $ref: "#/components/responses/problem" }
            "426": { $ref: "#/components/responses/problem" }
            "431": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/problem" }
      /signals/{path}:
        parameters:
          - $ref: "#/components/parameters/path"
        post:
          tags: [signals]
          operationId: sendSignal
          summary: Sends a message to whoever subscribes to the signal (§2.9).
          parameters:
            - name: remember
              in: query
              description: Whether the message is kept until the next one.
              schema: { type: boolean }
          requestBody:
            required: false
            description: Any JSON value; nothing is null.
            content:
              application/json:
                schema: true
          responses:
            "204":
              description: It is sent.
            "400": { $ref: "#/components/responses/problem" }
            "403": { $ref: "#/components/responses/problem" }
            "408": { $ref: "#/components/responses/problem" }
            "413": { $ref: "#/components/responses/problem" }
            "414": { $ref: "#/components/responses/problem" }
            "415": { $ref: "#/components/responses/problem" }
            "417": { $ref: "#/components/responses/problem" }
            "431": { $ref: "#/components/responses/problem" }
            "501": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/problem" }
            "507": { $ref: "#/components/responses/problem" }
      /timers/{path}:
        parameters:
          - $ref: "#/components/parameters/path"
        get:
          tags: [timers]
          operationId: getTimer
          summary: The timer, and when it fires next (§2.10).
          responses:
            "200": { $ref: "#/components/responses/timer" }
            "400": { $ref: "#/components/responses/problem" }
            "404": { $ref: "#/components/responses/problem" }
            "414": { $ref: "#/components/responses/problem" }
            "431": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/problem" }
        head:
          tags: [timers]
          operationId: headTimer
          summary: As GET, without the timer.
          responses:
            "200":
              description: The timer is there.
            "400": { description: As GET. }
            "404": { description: As GET. }
            "414": { description: As GET. }
            "431": { description: As GET. }
            "503": { description: As GET. }
        put:
          tags: [timers]
          operationId: putTimer
          summary: Sets a timer, or changes it while it runs (§2.10).
          requestBody:
            required: true
            content:
              application/json:
                schema: { $ref: "#/components/schemas/TimerRequest" }
          responses:
            "200": { $ref: "#/components/responses/timer" }
            "201": { $ref: "#/components/responses/timer" }
            "400": { $ref: "#/components/responses/problem" }
            "403": { $ref: "#/components/responses/problem" }
            "408": { $ref: "#/components/responses/problem" }
            "413": { $ref: "#/components/responses/problem" }
            "414": { $ref: "#/components/responses/problem" }
            "415": { $ref: "#/components/responses/problem" }
            "417": { $ref: "#/components/responses/problem" }
            "431": { $ref: "#/components/responses/problem" }
            "501": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/problem" }
            "507": { $ref: "#/components/responses/problem" }
        delete:
          tags: [timers]
          operationId: deleteTimer
          summary: Removes the timer.
          responses:
            "204":
              description: It is gone.
            "400": { $ref: "#/components/responses/problem" }
            "403": { $ref: "#/components/responses/problem" }
            "404": { $ref: "#/components/responses/problem" }
            "414": { $ref: "#/components/responses/problem" }
            "431": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/problem" }
      /timers:
        get:
          tags: [timers]
          operationId: listTimers
          summary: The timers in path order, page by page (§2.10).
          parameters:
            - $ref: "#/components/parameters/match"
            - $ref: "#/components/parameters/limit"
            - $ref: "#/components/parameters/after"
          responses:
            "200":
              description: A page.
              content:
                application/json:
                  schema:
                    type: object
                    required: [timers]
                    properties:
                      timers:
                        type: array
                        items:
                          $ref: "#/components/schemas/Timer"
                      next:
                        type: string
            "400": { $ref: "#/components/responses/problem" }
            "414": { $ref: "#/components/responses/problem" }
            "431": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/problem" }
        head:
          tags: [timers]
          operationId: headTimers
          summary: As GET, without the page.
          parameters:
            - $ref: "#/components/parameters/match"
            - $ref: "#/components/parameters/limit"
            - $ref: "#/components/parameters/after"
          responses:
            "200":
              description: There is a page.
            "400": { description: As GET. }
            "414": { description: As GET. }
            "431": { description: As GET. }
            "503": { description: As GET. }
      /expressions/explain:
        post:
          tags: [server]
          operationId: explain
          summary: What an expression means to the server (§2.8).
          requestBody:
            required: true
            content:
              application/json:
                schema:
                  type: object
                  additionalProperties: false
                  properties:
                    where: { type: string }
                    match:
                      oneOf:
                        - type: string
                        - type: array
                          items: { type: string }
                    formula: { type: string }
          responses:
            "200":
              description: What there is to say, also of an expression that is wrong.
              content:
                application/json:
                  schema:
                    type: object
                    required: [valid]
                    properties:
                      valid: { type: boolean }
            "400": { $ref: "#/components/responses/problem" }
            "403": { $ref: "#/components/responses/problem" }
            "408": { $ref: "#/components/responses/problem" }
            "413": { $ref: "#/components/responses/problem" }
            "414": { $ref: "#/components/responses/problem" }
            "415": { $ref: "#/components/responses/problem" }
            "417": { $ref: "#/components/responses/problem" }
            "431": { $ref: "#/components/responses/problem" }
            "501": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/problem" }
      /health/live:
        get:
          tags: [server]
          operationId: getLive
          summary: Whether the process serves (§2.5).
          responses:
            "200": { $ref: "#/components/responses/status" }
            "400": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/problem" }
        head:
          tags: [server]
          operationId: headLive
          summary: As GET, without the body.
          responses:
            "200":
              description: It does.
            "400": { description: As GET. }
            "503": { description: As GET. }
      /health/ready:
        get:
          tags: [server]
          operationId: getReady
          summary: Whether the server takes new work (§2.5).
          responses:
            "200": { $ref: "#/components/responses/status" }
            "400": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/status" }
        head:
          tags: [server]
          operationId: headReady
          summary: As GET, without the body.
          responses:
            "200":
              description: It does.
            "400": { description: As GET. }
            "503":
              description: It does not.
      /openapi.yaml:
        get:
          tags: [server]
          operationId: getOpenAPI
          summary: This document.
          responses:
            "200":
              description: It.
              content:
                application/yaml:
                  schema: { type: object }
            "400": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/problem" }
        head:
          tags: [server]
          operationId: headOpenAPI
          summary: As GET, without the document.
          responses:
            "200":
              description: It is there.
            "400": { description: As GET. }
            "503": { description: As GET. }

    """#
}
