// SPDX-License-Identifier: MIT

extension OpenAPIDocument {
  /// The head and the paths of properties of docs/openapi.yaml, put here by scripts/embed-openapi.sh.
  static let properties: StaticString = #"""
    openapi: 3.1.0
    info:
      title: Signal Server
      version: "1"
      summary: JSON values addressed by path, set over HTTP, pushed to everyone who watches.
      description: >-
        The HTTP interface of docs/protocol.md, which is normative; section numbers are those of that text. Server-sent events
        and the live protocol over WebSocket begin at /events.
      license:
        name: MIT
        identifier: MIT
    servers:
      - url: http://localhost:8080
    tags:
      - name: properties
      - name: signals
      - name: timers
      - name: events
      - name: server
    paths:
      /properties/{path}:
        parameters:
          - $ref: "#/components/parameters/path"
        get:
          tags: [properties]
          operationId: getProperty
          summary: The value, or a part of it; with since or until, as soon as it has changed (§2.1).
          parameters:
            - $ref: "#/components/parameters/pointer"
            - $ref: "#/components/parameters/since"
            - $ref: "#/components/parameters/until"
            - $ref: "#/components/parameters/wait"
            - $ref: "#/components/parameters/ifMatch"
            - $ref: "#/components/parameters/ifNoneMatch"
            - $ref: "#/components/parameters/ifModifiedSince"
          responses:
            "200": { $ref: "#/components/responses/value" }
            "304":
              description: It has not changed, or the wait is over.
            "400": { $ref: "#/components/responses/problem" }
            "404": { $ref: "#/components/responses/problem" }
            "412": { $ref: "#/components/responses/problem" }
            "414": { $ref: "#/components/responses/problem" }
            "431": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/problem" }
        head:
          tags: [properties]
          operationId: headProperty
          summary: As GET, without the value.
          parameters:
            - $ref: "#/components/parameters/pointer"
            - $ref: "#/components/parameters/since"
            - $ref: "#/components/parameters/until"
            - $ref: "#/components/parameters/wait"
            - $ref: "#/components/parameters/ifMatch"
            - $ref: "#/components/parameters/ifNoneMatch"
            - $ref: "#/components/parameters/ifModifiedSince"
          responses:
            "200":
              description: The property is there.
            "304":
              description: It has not changed, or the wait is over.
            "400": { description: As GET. }
            "404": { description: As GET. }
            "412": { description: As GET. }
            "414": { description: As GET. }
            "431": { description: As GET. }
            "503": { description: As GET. }
        put:
          tags: [properties]
          operationId: putProperty
          summary: Sets the value (§2.1).
          parameters:
            - $ref: "#/components/parameters/always"
            - $ref: "#/components/parameters/if"
            - $ref: "#/components/parameters/ttl"
            - $ref: "#/components/parameters/ifMatch"
            - $ref: "#/components/parameters/ifNoneMatch"
          requestBody:
            required: true
            description: Any JSON value, whatever the Content-Type; application/cel is the formula of a computed property.
            content:
              application/json:
                schema: true
              application/cel:
                schema: { type: string }
          responses:
            "201":
              description: The property is new.
              headers:
                Location:
                  schema: { type: string }
                Signal-Revision: { $ref: "#/components/headers/revision" }
                Signal-Expires: { $ref: "#/components/headers/expires" }
            "204":
              description: The value is set.
              headers:
                Signal-Revision: { $ref: "#/components/headers/revision" }
                Signal-Expires: { $ref: "#/components/headers/expires" }
            "400": { $ref: "#/components/responses/problem" }
            "403": { $ref: "#/components/responses/problem" }
            "408": { $ref: "#/components/responses/problem" }
            "409": { $ref: "#/components/responses/problem" }
            "412": { $ref: "#/components/responses/problem" }
            "413": { $ref: "#/components/responses/problem" }
            "414": { $ref: "#/components/responses/problem" }
            "415": { $ref: "#/components/responses/problem" }
            "417": { $ref: "#/components/responses/problem" }
            "431": { $ref: "#/components/responses/problem" }
            "501": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/problem" }
            "507": { $ref: "#/components/responses/problem" }
        patch:
          tags: [properties]
          operationId: patchProperty
          summary: Sets the value to what a patch makes of it (§2.1).
          parameters:
            - $ref: "#/components/parameters/always"
            - $ref: "#/components/parameters/if"
            - $ref: "#/components/parameters/ttl"
            - $ref: "#/components/parameters/ifMatch"
            - $ref: "#/components/parameters/ifNoneMatch"
          requestBody:
            required: true
            content:
              application/merge-patch+json:
                schema: true
              application/json-patch+json:
                schema:
                  type: array
                  items:
                    $ref: "#/components/schemas/PatchOperation"
          responses:
            "201":
              description: A merge patch has made the property.
              headers:
                Location:
                  schema: { type: string }
                ETag: { $ref: "#/components/headers/tag" }
                Signal-Revision: { $ref: "#/components/headers/revision" }
            "204":
              description: The value is set.
              headers:
                ETag: { $ref: "#/components/headers/tag" }
                Signal-Revision: { $ref: "#/components/headers/revision" }
            "400": { $ref: "#/components/responses/problem" }
            "403": { $ref: "#/components/responses/problem" }
            "404": { $ref: "#/components/responses/problem" }
            "408": { $ref: "#/components/responses/problem" }
            "409": { $ref: "#/components/responses/problem" }
            "412": { $ref: "#/components/responses/problem" }
            "413": { $ref: "#/components/responses/problem" }
            "414": { $ref: "#/components/responses/problem" }
            "415": { $ref: "#/components/responses/problem" }
            "417": { $ref: "#/components/responses/problem" }
            "431": { $ref: "#/components/responses/problem" }
            "501": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/problem" }
            "507": { $ref: "#/components/responses/problem" }
        delete:
          tags: [properties]
          operationId: deleteProperty
          summary: Deletes the property (§2.1).
          parameters:
            - $ref: "#/components/parameters/if"
            - $ref: "#/components/parameters/ifMatch"
            - $ref: "#/components/parameters/ifNoneMatch"
          responses:
            "204":
              description: It is gone.
              headers:
                Signal-Revision: { $ref: "#/components/headers/revision" }
            "400": { $ref: "#/components/responses/problem" }
            "403": { $ref: "#/components/responses/problem" }
            "404": { $ref: "#/components/responses/problem" }
            "412": { $ref: "#/components/responses/problem" }
            "414": { $ref: "#/components/responses/problem" }
            "431": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/problem" }
      /properties:
        get:
          tags: [properties]
          operationId: listProperties
          summary: The properties in path order, page by page (§2.2).
          parameters:
            - $ref: "#/components/parameters/match"
            - $ref: "#/components/parameters/where"
            - $ref: "#/components/parameters/limit"
            - $ref: "#/components/parameters/after"
          responses:
            "200":
              description: A page.
              headers:
                Signal-Revision: { $ref: "#/components/headers/revision" }
                Signal-Next:
                  description: With NDJSON, where the next page begins, percent-encoded.
                  schema: { type: string }
              content:
                application/json:
                  schema:
                    type: object
                    required: [cursor, properties]
                    properties:
                      cursor:
                        $ref: "#/components/schemas/Cursor"
                      properties:
                        type: array
                        items:
                          $ref: "#/components/schemas/Property"
                      next:
                        type: string
                application/x-ndjson:
                  schema: { type: string }
            "400": { $ref: "#/components/responses/problem" }
            "406": { $ref: "#/components/responses/problem" }
            "414": { $ref: "#/components/responses/problem" }
            "431": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/problem" }
        head:
          tags: [properties]
          operationId: headProperties
          summary: As GET, without the page.
          parameters:
            - $ref: "#/components/parameters/match"
            - $ref: "#/components/parameters/where"
            - $ref: "#/components/parameters/limit"
            - $ref: "#/components/parameters/after"
          responses:
            "200":
              description: There is a page.
            "400": { description: As GET. }
            "406": { description: As GET. }
            "414": { description: As GET. }
            "431": { description: As GET. }
            "503": { description: As GET. }
      /transactions:
        post:
          tags: [properties]
          operationId: transact
          summary: Carries out all operations as one change, or none (§2.3).
          requestBody:
            required: true
            content:
              application/json:
                schema:
                  type: object
                  required: [operations]
                  additionalProperties: false
                  properties:
                    operations:
                      type: array
                      maxItems: 1000
                      items:
                        $ref: "#/components/schemas/Operation"
          responses:
            "200":
              description: All are carried out.
              headers:
                Signal-Revision: { $ref: "#/components/headers/revision" }
              content:
                application/json:
                  schema:
                    type: object
                    required: [revision, changed]
                    properties:
                      revision:
                        $ref: "#/components/schemas/Cursor"
                      changed:
                        type: integer
            "400": { $ref: "#/components/responses/problem" }
            "403": { $ref: "#/components/responses/problem" }
            "408": { $ref: "#/components/responses/problem" }
            "409": { $ref: "#/components/responses/problem" }
            "412": { $ref: "#/components/responses/problem" }
            "413": { $ref: "#/components/responses/problem" }
            "414": { $ref: "#/components/responses/problem" }
            "415": { $ref: "#/components/responses/problem" }
            "417": { $ref: "#/components/responses/problem" }
            "431": { $ref: "#/components/responses/problem" }
            "501": { $ref: "#/components/responses/problem" }
            "503": { $ref: "#/components/responses/problem" }
            "507": { $ref: "#/components/responses/problem" }

    """#
}
