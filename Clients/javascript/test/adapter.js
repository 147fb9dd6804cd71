// SPDX-License-Identifier: MIT
// Drives the client for Clients/conformance: a line of JSON on the standard input for each command.
import { createInterface } from "node:readline"
import { commands } from "./commands.js"

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line)
  const shown = commands[command.do](command)
  if (shown) console.log(shown)
}
commands.close()
