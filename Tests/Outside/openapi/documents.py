# SPDX-License-Identifier: MIT
"""Checks what a server serves of its own interface, and the transcripts, with validators that others wrote.

Usage: documents.py ADDRESS ROOT, the address of a server and the root of the source.
"""

import json
import pathlib
import re
import sys
import urllib.request

import jsonschema
import openapi_spec_validator
import yaml

address, root = sys.argv[1], pathlib.Path(sys.argv[2])
faults = []


def fetch(name, media_type):
    with urllib.request.urlopen(f"{address}/{name}", timeout=10) as answer:
        text = answer.read()
        if answer.headers["Content-Type"] != media_type:
            faults.append(f"{name} is {answer.headers['Content-Type']}")
    head = urllib.request.Request(f"{address}/{name}", method="HEAD")
    with urllib.request.urlopen(head, timeout=10) as answer:
        if int(answer.headers["Content-Length"]) != len(text):
            faults.append(f"HEAD of {name} has another length")
    if text != (root / "Sources/SignalHTTP/API" / name).read_bytes():
        faults.append(f"{name} is not that of the source")
    return text


openapi = yaml.safe_load(fetch("openapi.yaml", "application/yaml"))
openapi_spec_validator.validate(openapi)
schema = json.loads(fetch("messages.schema.json", "application/schema+json"))
jsonschema.Draft7Validator.check_schema(schema)
asyncapi = yaml.safe_load(fetch("asyncapi.yaml", "application/yaml"))

# MARK: AsyncAPI 3.0.0

# The fields that the objects of the specification have which occur in the document: its JSON Schema allows no others.
fields = {
    "AsyncAPI": "asyncapi id info servers defaultContentType channels operations components",
    "Info": "title version description termsOfService contact license tags externalDocs",
    "License": "name url",
    "Server": "host protocol protocolVersion pathname description title summary variables security tags externalDocs "
    "bindings",
    "Channel": "address messages title summary description servers parameters tags externalDocs bindings",
    "Channel Bindings": "http ws kafka anypointmq amqp amqp1 mqtt nats jms sns solace sqs stomp redis mercure ibmmq "
    "googlepubsub pulsar",
    "WebSockets Channel Binding": "method query headers bindingVersion",
    "Operation": "action channel title summary description security tags externalDocs bindings traits messages reply",
    "Operation Reply": "address channel messages",
    "Components": "schemas servers channels operations messages securitySchemes serverVariables parameters "
    "correlationIds replies replyAddresses externalDocs tags operationTraits messageTraits serverBindings "
    "channelBindings operationBindings messageBindings",
    "Message": "headers payload correlationId contentType name title summary description tags externalDocs bindings "
    "examples traits",
    "Multi Format Schema": "schemaFormat schema",
}


def holds(kind, value, place, *required):
    allowed = fields[kind].split()
    for name in value:
        if name not in allowed and not re.fullmatch(r"x-[\w\d.\-_]+", name):
            faults.append(f"asyncapi.yaml: {place} has {name}, which a {kind} Object has not")
    for name in required:
        if name not in value:
            faults.append(f"asyncapi.yaml: {place} has no {name}")


def find(reference):
    """What a $ref of asyncapi.yaml leads to."""
    name, pointer = reference.split("#")
    document = {"": asyncapi, "messages.schema.json": schema}[name]
    for step in pointer.split("/")[1:]:
        document = document[step.replace("~1", "/").replace("~0", "~")]
    return document


def references(value, place):
    if isinstance(value, dict):
        if "$ref" in value:
            try:
                find(value["$ref"])
            except KeyError:
                faults.append(f"asyncapi.yaml: {place} refers to {value['$ref']}, which is not there")
        for name, part in value.items():
            references(part, f"{place}.{name}")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            references(part, f"{place}[{index}]")


holds("AsyncAPI", asyncapi, "the document", "asyncapi", "info")
if asyncapi["asyncapi"] != "3.0.0":
    faults.append("asyncapi.yaml: another version")
holds("Info", asyncapi["info"], "info", "title", "version")
holds("License", asyncapi["info"]["license"], "info.license", "name")
for name, server in asyncapi["servers"].items():
    holds("Server", server, name, "host", "protocol")
for name, channel in asyncapi["channels"].items():
    holds("Channel", channel, name)
    holds("Channel Bindings", channel["bindings"], f"the bindings of {name}")
    binding = channel["bindings"]["ws"]
    holds("WebSockets Channel Binding", binding, f"the binding of {name}")
    if binding.get("method") not in ("GET", "POST") or binding["query"].get("type") != "object":
        faults.append("asyncapi.yaml: the binding is not as it is defined")
for name, operation in asyncapi["operations"].items():
    holds("Operation", operation, name, "action", "channel")
    if operation["action"] not in ("send", "receive"):
        faults.append(f"asyncapi.yaml: {name} does {operation['action']}")
    parts = [operation]
    if "reply" in operation:
        holds("Operation Reply", operation["reply"], f"the reply of {name}")
        parts.append(operation["reply"])
    for part in parts:
        own = part["channel"]["$ref"] + "/messages/"
        for message in part["messages"]:
            # They must be those of the operation's channel, by reference.
            if list(message) != ["$ref"] or not message["$ref"].startswith(own):
                faults.append(f"asyncapi.yaml: {name} has a message that is not of its channel: {message}")
holds("Components", asyncapi["components"], "components")
for name, message in asyncapi["components"]["messages"].items():
    holds("Message", message, name)
    holds("Multi Format Schema", message["payload"], f"the payload of {name}", "schemaFormat", "schema")
    if message["payload"]["schemaFormat"] != "application/schema+json;version=draft-07":
        faults.append(f"asyncapi.yaml: the schema of {name} has another format than messages.schema.json")
references(asyncapi, "asyncapi.yaml")

# MARK: Transcripts

validators = {
    kind: jsonschema.Draft7Validator({"$ref": f"#/definitions/{kind}", "definitions": schema["definitions"]})
    for kind in ("command", "message")
}
refusals_of_form = {"bad_message", "unknown_type", "unknown_member", "bad_duration", "bad_cursor", "bad_pointer"}


def filled(text):
    text = text.replace("$epoch", "x7k2m9qd").replace('"$time"', '"2026-01-02T03:04:05.678Z"')
    return json.loads(text.replace('"limits":"$any"', '"limits":{}').replace('"in":"$any"', '"in":0'))


messages = commands = 0
for transcript in sorted((root / "Tests/ServerTests/Transcripts").glob("*.txt")):
    lines = [line for line in transcript.read_text().splitlines() if line and not line.startswith("#")]
    for index, line in enumerate(lines):
        step = re.match(r"\s*(?:\w*)(→|←|⋮) (\{.*)", line)
        if not step:
            continue
        value = filled(step[2])
        if step[1] == "→":
            answer = re.match(r"\s*(?:\w*)← (\{.*)", lines[index + 1]) if index + 1 < len(lines) else None
            code = (filled(answer[1]).get("error") or {}).get("code") if answer else None
            if answer and validators["command"].is_valid(value) == (code in refusals_of_form):
                faults.append(f"{transcript.name}: the schema and the server differ over {step[2]}")
            commands += 1
        else:
            for error in validators["message"].iter_errors(value):
                faults.append(f"{transcript.name}: {step[2]}: {error.message[:200]}")
            messages += 1
if messages < 50 or commands < 30:
    faults.append("the transcripts were not read")

for fault in faults:
    print(fault, file=sys.stderr)
print(f"openapi: {messages} messages and {commands} commands of the transcripts, {len(faults)} faults in the documents")
sys.exit(1 if faults else 0)
