#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the manual page signal-server(1) of a program: what its argument parser says of itself, as roff (man(7)).

    scripts/manual.py .build/release/signal-server > signal-server.1

Nothing is written here that the help says: verbs, options and their texts all come from the program, so that the page is
always that of the program it comes with.
"""

import datetime
import json
import os
import subprocess
import sys

SECTIONS = [
    ("FILES", [
        ("/etc/signal-server.yaml", "The settings of the service that the package installs, and their reference."),
        ("/var/lib/signal-server", "Where that service keeps its store."),
        ("/var/log/signal-server", "Where that service may keep an audit log, audit.file."),
    ]),
    ("ENVIRONMENT", [
        ("SIGNAL_...", "Each setting: http.head-bytes is SIGNAL_HTTP_HEAD_BYTES."),
        ("SIGNAL_CONFIG", "The settings file."),
        ("SIGNAL_SERVER, SIGNAL_TOKEN, SIGNAL_TOKEN_FILE, SIGNAL_CA, SIGNAL_CERT, SIGNAL_KEY",
         "What client verbs have options for: the server, and how to prove who is there."),
        ("NOTIFY_SOCKET", "The service manager to notify, see sd_notify(3)."),
        ("NO_COLOR", "If it is not empty, there are no colours."),
    ]),
]


def escape(text):
    """Text as roff takes it: no command at the beginning of a line, and hyphens that can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = text.replace("^", "\\(ha").replace("~", "\\(ti")
    return "".join(character if ord(character) < 0x7F else f"\\[u{ord(character):04X}]" for character in text)


def line(text):
    """One line of text."""
    text = escape(text)
    return "\\&" + text if text[:1] in (".", "\\(aq") or text.startswith("\\(aq") else text


def paragraphs(text):
    """Text of the help: paragraphs, and lines that are indented or follow each other, which stay as they are."""
    out = []
    for block in text.strip("\n").split("\n\n"):
        lines = block.split("\n")
        if len(lines) == 1 and not block.startswith(" "):
            out += [".PP", line(block)]
        else:
            out += [".PP", ".nf", *map(line, lines), ".fi"]
    return out


def name(argument):
    """How an option or an operand is written."""
    if argument["kind"] == "positional":
        text = f"\\fI{escape(argument['valueName'])}\\fR"
        return text + " ..." if argument["isRepeating"] else text
    names = [("-" if one["kind"] == "short" else "--") + one["name"] for one in argument["names"]]
    text = ", ".join(f"\\fB{escape(one)}\\fR" for one in names)
    return f"{text} \\fI{escape(argument['valueName'])}\\fR" if argument["kind"] == "option" else text


def shown(command):
    """The arguments that stand in its help, without those that every verb has."""
    own = {"version", "help"}
    return [argument for argument in command.get("arguments", [])
            if argument["shouldDisplay"] and argument["valueName"] not in own]


def synopsis(path, command):
    """One line: the words of the command, whether it has options, and its operands."""
    parts = [f"\\fB{escape(' '.join(path))}\\fR"]
    arguments = shown(command)
    if any(argument["kind"] != "positional" for argument in arguments):
        parts.append("[\\fIoption\\fR ...]")
    for argument in arguments:
        if argument["kind"] == "positional":
            parts.append(f"[{name(argument)}]" if argument["isOptional"] else name(argument))
    return " ".join(parts)


def options(arguments):
    """Each argument with its text; forms of one flag that exclude each other stand together."""
    out, index = [], 0
    while index < len(arguments):
        first = arguments[index]
        same = [first]
        while index + 1 < len(arguments) and first["kind"] == "flag" and arguments[index + 1]["kind"] == "flag" \
                and arguments[index + 1].get("abstract") == first.get("abstract"):
            index += 1
            same.append(arguments[index])
        index += 1
        out += [".TP", ", ".join(map(name, same))]
        text = first.get("abstract", "")
        if first["kind"] == "option" and first.get("defaultValue"):
            text += f" (default: {first['defaultValue']})"
        out.append(line(" ".join(text.split())))
    return out


def verb(path, command, common):
    """The section of a verb, and of the verbs below it."""
    out = [f".SS {escape(' '.join(path[1:]))}", synopsis(path, command)]
    if command.get("aliases"):
        out += [".PP", "Also: " + ", ".join(f"\\fB{escape(alias)}\\fR" for alias in command["aliases"])]
    out += [".PP", line(command["abstract"])]
    out += paragraphs(command.get("discussion", ""))  if command.get("discussion") else []
    arguments = shown(command)
    out += options([argument for argument in arguments if key(argument) not in common])
    if any(key(argument) in common for argument in arguments):
        out += [".PP", "It takes the client options, too."]
    for below in command.get("subcommands", []):
        if below["shouldDisplay"] and below["commandName"] != "help":
            out += verb(path + [below["commandName"]], below, common)
    return out


def key(argument):
    return (argument["kind"], argument["valueName"], argument.get("abstract", ""))


def page(root, version, date):
    verbs = [command for command in root["subcommands"]
             if command["shouldDisplay"] and command["commandName"] != "help"]
    # The verb that asks whether a server is there has no options but those of all clients.
    client = shown(next(command for command in verbs if command["commandName"] == "health"))
    common = {key(argument) for argument in client}
    program = root["commandName"]
    out = [
        '.\\" Made by scripts/manual.py of what the program says of itself.',
        f'.TH {program.upper()} 1 {date} "{program} {version}" "User Commands"',
        ".SH NAME", f"{escape(program)} \\- {escape(root['abstract'][0].lower() + root['abstract'][1:].rstrip('.'))}",
        ".SH SYNOPSIS", f"\\fB{escape(program)}\\fR [\\fIverb\\fR] [\\fIargument\\fR ...]",
        ".SH DESCRIPTION", line(root["abstract"]),
        ".PP", f"Without a verb it is \\fB{escape(root['defaultSubcommand'])}\\fR. Each verb explains itself with "
        "\\fB\\-\\-help\\fR.",
        ".SH VERBS",
    ]
    for command in verbs:
        out += verb([program, command["commandName"]], command, common)
    out += [".SH CLIENT OPTIONS", "Of all verbs that talk to a server.", *options(client)]
    for title, entries in SECTIONS:
        out += [f".SH {title}"]
        for term, text in entries:
            out += [".TP", f"\\fB{escape(term)}\\fR", line(text)]
    out += [".SH EXIT STATUS", line(root["discussion"].removeprefix("Exit status: "))]
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: manual.py PROGRAM > signal-server.1")
    program = sys.argv[1]

    def ask(option):
        return subprocess.run([program, option], check=True, capture_output=True, text=True).stdout

    moment = os.environ.get("SOURCE_DATE_EPOCH")
    date = datetime.datetime.fromtimestamp(int(moment), datetime.timezone.utc) if moment else datetime.datetime.now()
    text = page(json.loads(ask("--experimental-dump-help"))["command"], ask("--version").strip(), date.date().isoformat())
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
