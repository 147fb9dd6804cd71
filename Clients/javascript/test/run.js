// SPDX-License-Identifier: MIT
// Runs the tests. Node before 22 has its WebSocket behind a flag, which the processes of the tests inherit.
import { spawnSync } from "node:child_process"
import { readdirSync } from "node:fs"

const folder = new URL(".", import.meta.url)
const files = readdirSync(folder).filter((name) => name.endsWith(".test.js")).map((name) => new URL(name, folder).pathname)
const major = Number(process.versions.node.split(".")[0])
const flags = major < 22 ? ["--experimental-websocket", "--no-warnings"] : []
const { status } = spawnSync(process.execPath, [...flags, "--test", "--test-concurrency=1", ...files], { stdio: "inherit" })
process.exit(status ?? 1)
