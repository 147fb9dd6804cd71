// SPDX-License-Identifier: MIT
// Runs the tests. Node before 22 has its WebSocket behind a flag, which the processes of the tests inherit.
import { spawnSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"

const folder = new URL(".", import.meta.url)
const names = readdirSync(folder).filter((name) => name.endsWith(".test.js"))
const files = names.map((name) => fileURLToPath(new URL(name, folder)))
const major = Number(process.versions.node.split(".")[0])
const flags = major < 22 ? ["--experimental-websocket", "--no-warnings"] : []
const test = [...flags, "--test", "--test-concurrency=1", "--test-reporter=spec", ...files]
const { status } = spawnSync(process.execPath, test, { stdio: "inherit" })
process.exit(status ?? 1)
