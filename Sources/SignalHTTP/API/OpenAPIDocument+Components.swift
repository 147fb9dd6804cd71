// SPDX-License-Identifier: MIT

extension OpenAPIDocument {
  /// The components of docs/openapi.yaml, put here by scripts/embed-openapi.sh.
  static let components: StaticString = #"""
    components:
      parameters:
        path:
          name: path
          in: path
          required: true
          description: One to 32 segments joined by "/", which stands as it is; each segment is percent-encoded UTF-8 (§1).
          schema:
            type: string
            minLength: 1
            maxLength: 1024
          example: kitchen/temperature
        pointer:
          name: pointer
          in: query
          description: A JSON Pointer (RFC 6901) to the part that is wanted.
          schema: { type: string }
        since:
          name: since
          in: query
          description: Where the client knows everything up to.
          schema: { $ref: "#/components/schemas/Cursor" }
        until:
          name: until
          in: query
          description: An expression over path and value; the answer comes when it holds.
          schema: { type: string }
          example: value > 20
        wait:
          name: wait
          in: query
          description: How long the answer may be waited for; with since or until.
          schema: { $ref: "#/components/schemas/Duration" }
        always:
          name: always
          in: query
          description: Whether an equal value is a change, too.
          schema: { type: boolean }
        if:
          name: if
          in: query
          description: An expression over path and value that has to hold.
          schema: { type: string }
          example: value == null
        ttl:
          name: ttl
          in: query
          description: The time to live.
          schema: { $ref: "#/components/schemas/Duration" }
        match:
          name: match
          in: query
          description: Patterns; "*" stands for one segment, "**" for any number.
          schema:
            type: array
            maxItems: 32
            items:
              type: string
        where:
          name: where
          in: query
          description: An expression (CEL); what matches.
          schema: { type: string }
          example: value != null
        limit:
          name: limit
          in: query
          schema:
            type: integer
            minimum: 1
            maximum: 1000
        after:
          name: after
          in: query
          description: Begins behind this path.
          schema: { type: string }
        ifMatch:
          name: If-Match
          in: header
          schema: { type: string }
          example: "*"
        ifNoneMatch:
          name: If-None-Match
          in: header
          schema: { type: string }
          example: '"x7k2m9qd.1042"'
        ifModifiedSince:
          name: If-Modified-Since
          in: header
          schema: { type: string }
      headers:
        tag:
          description: The cursor of the property's last change, in quotes.
          schema: { type: string }
        revision:
          description: The cursor that the answer is true for.
          schema: { $ref: "#/components/schemas/Cursor" }
        expires:
          description: When the property ends by itself, if it does.
          schema: { $ref: "#/components/schemas/Time" }
      responses:
        value:
          description: The value, as it was set.
          headers:
            ETag: { $ref: "#/components/headers/tag" }
            Signal-Revision: { $ref: "#/components/headers/revision" }
            Signal-Expires: { $ref: "#/components/headers/expires" }
          content:
            application/json:
              schema: true
        timer:
          description: The timer.
          content:
            application/json:
              schema: { $ref: "#/components/schemas/Timer" }
        status:
          description: The state of the server.
          content:
            application/json:
              schema:
                type: object
                required: [status]
                properties:
                  status:
                    enum: [live, ready, draining]
        problem:
          description: A refusal, with a code of §6.
          content:
            application/problem+json:
              schema: { $ref: "#/components/schemas/Problem" }
      schemas:
        Cursor:
          type: string
          pattern: "^[a-z0-9]{1,8}\\.(0|[1-9][0-9]{0,19})$"
        Duration:
          type: string
          pattern: "^[0-9]{1,6}(ms|s|m|h|d)$"
          example: 10ms
        Time:
          type: string
          format: date-time
        Property:
          type: object
          required: [path, value, revision, time]
          properties:
            path:
              type: string
            value: true
            revision:
              type: integer
            time:
              $ref: "#/components/schemas/Time"
            expires:
              $ref: "#/components/schemas/Time"
            computed:
              type: object
              required: [formula]
              properties:
                formula: { type: string }
                error: { type: string }
        Operation:
          type: object
          required: [op, path]
          properties:
            op:
              enum: [set, delete, define]
            path:
              type: string
            value:
              description: Of a set.
            formula: { type: string }
            always:
              type: boolean
            ttl:
              $ref: "#/components/schemas/Duration"
            ifMatch:
              $ref: "#/components/schemas/Cursor"
            ifNoneMatch:
              const: "*"
            if:
              type: string
        PatchOperation:
          type: object
          required: [op, path]
          properties:
            op:
              enum: [add, remove, replace, move, copy, test]
            path:
              type: string
            from:
              type: string
            value: true
        TimerRequest:
          type: object
          additionalProperties: false
          properties:
            after:
              $ref: "#/components/schemas/Duration"
            at:
              $ref: "#/components/schemas/Time"
            every:
              $ref: "#/components/schemas/Duration"
            message: true
          oneOf:
            - required: [after]
            - required: [at]
            - required: [every]
        Timer:
          type: object
          required: [path, message, next]
          properties:
            path:
              type: string
            after:
              $ref: "#/components/schemas/Duration"
            at:
              $ref: "#/components/schemas/Time"
            every:
              $ref: "#/components/schemas/Duration"
            message: true
            next:
              $ref: "#/components/schemas/Time"
        Problem:
          type: object
          required: [type, status, code, title, detail, temporary]
          properties:
            type:
              const: about:blank
            status:
              type: integer
            code:
              type: string
              pattern: "^[a-z_]+$"
            title:
              type: string
            detail:
              type: string
            temporary:
              type: boolean
            position:
              type: integer
            operation:
              type: integer
            current:
              description: What is there, or null.

    """#
}
