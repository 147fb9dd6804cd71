// SPDX-License-Identifier: MIT
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { gzipSync } from "node:zlib"

const source = readFileSync(new URL("../signal-client.js", import.meta.url))

test("the module is at most 8 KiB, compressed", () => {
  assert.ok(gzipSync(source, { level: 9 }).length <= 8192)
})

test("the module needs no other", () => {
  assert.doesNotMatch(source.toString(), /^\s*import\b|\bimport\(|\brequire\(/m)
})
