// SPDX-License-Identifier: MIT
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { test } from "node:test"
import { fileURLToPath } from "node:url"

const file = (name) => fileURLToPath(new URL(name, import.meta.url))

test("conformance", async (t) => {
  const flags = process.execArgv.filter((flag) => !flag.startsWith("--test"))
  const command = [file("../../conformance/play.py"), "--", process.execPath, ...flags, file("adapter.js")]
  const play = spawn("python3", command, { stdio: ["ignore", "pipe", "inherit"] })
  const started = await Promise.race([once(play, "spawn").then(() => true), once(play, "error").then(() => false)])
  if (!started) return t.skip("python3, which plays the server, is missing")
  const ended = once(play, "close")
  for await (const line of createInterface({ input: play.stdout })) {
    const [, fault, name] = line.match(/^(not )?ok (.*?)(: step .*)?$/) ?? []
    if (name) await t.test(name, () => assert.ok(!fault, line))
  }
  assert.deepEqual(await ended, [0, null])
})
