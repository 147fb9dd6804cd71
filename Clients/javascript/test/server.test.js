// SPDX-License-Identifier: MIT
// What the client offers, against a real server.
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, beforeEach, test } from "node:test"
import { connect, SignalError } from "../signal-client.js"
import { binary, Proxy, Server, skip, until } from "./support.js"

const unhandled = []
process.on("unhandledRejection", (error) => unhandled.push(error))
const server = new Server()
let client

before(async () => {
  if (skip) return
  await server.start()
  client = connect(server.url)
})
beforeEach(async () => {
  if (!skip) await server.request("POST", "/transactions", {
    operations: Object.keys(await server.values("**")).map((path) => ({ op: "delete", path })),
  })
})
after(async () => {
  client?.close()
  await server.remove()
  assert.deepEqual(unhandled, [])
})

const refusal = (code, outcome) => (error) =>
  error instanceof SignalError && error.code === code && error.outcome === outcome

test("set, get, patch, define, transaction, delete", { skip }, async () => {
  const written = await client.set("kitchen/temperature", 21.5)
  assert.equal(written.changed, true)
  assert.equal(await client.get("kitchen/temperature"), 21.5)
  assert.equal((await client.entry("kitchen/temperature")).cursor, written.cursor)
  const again = client.set("kitchen/temperature", 1, { ifNoneMatch: "*" })
  await assert.rejects(again, refusal("precondition_failed", "refused"))
  await client.set("kitchen/temperature", 22, { ifMatch: written.cursor })
  await client.patch("kitchen/light", { on: true })
  await client.patch("kitchen/light", [{ op: "replace", path: "/on", value: false }])
  assert.deepEqual(await client.get("kitchen/light"), { on: false })
  await client.define("kitchen/fahrenheit", 'properties["kitchen/temperature"] * 2.0')
  assert.equal(await client.get("kitchen/fahrenheit"), 44)
  const operations = [{ op: "set", path: "a", value: 1 }, { op: "delete", path: "kitchen/light" }]
  assert.equal((await client.transaction(operations)).changed, 2)
  await client.delete("a")
  assert.equal(await client.get("a"), undefined)
  assert.ok((await client.set("short", 1, { ttl: "60s" })).expires)
  assert.equal((await client.request({ type: "ping" })).type, "ok")
  for (const value of [1n, NaN, [{ x: -Infinity }]]) await assert.rejects(client.set("a", value), TypeError)
  await assert.rejects(client.set("a", "x".repeat(2_000_000)), refusal("body_too_large", "unsent"))
  await client.set("a", "x".repeat(1_000_000))
})

test("a watch is a Map, a store and an iterator", { skip }, async () => {
  await client.set("kitchen/a", 1)
  await client.set("kitchen/b", 25)
  const watch = client.watch("kitchen/**", { where: "value > 20" })
  const changes = watch[Symbol.asyncIterator]()
  const first = (await changes.next()).value
  assert.deepEqual([first.type, first.path, first.value], ["didSet", "kitchen/b", 25])
  await server.request("PUT", "/properties/kitchen/a", 30)
  const entered = (await changes.next()).value
  assert.deepEqual([entered.path, entered.entered, entered.oldValue], ["kitchen/a", true, 1])
  await server.request("PUT", "/properties/kitchen/b", 2)
  const left = (await changes.next()).value
  assert.deepEqual([left.type, left.op, left.value], ["didExit", "set", 2])
  assert.deepEqual([...watch], [["kitchen/a", 30]])
  assert.deepEqual([[...watch.keys()], [...watch.values()]], [["kitchen/a"], [30]])
  assert.deepEqual([watch.size, watch.get("kitchen/a"), watch.has("kitchen/b")], [1, 30, false])
  let calls = 0
  const stop = watch.subscribe((map, news) => { calls += news.length === 0 && map === watch })
  assert.equal(calls, 1)
  stop()
  watch.cancel()
  assert.deepEqual(await changes.next(), { value: undefined, done: true })
  await assert.rejects(client.watch("**", { where: "valeu > 20" }).ready, refusal("bad_filter", "refused"))
  await assert.rejects(async () => { for await (const _ of client.watch("a//b")); }, refusal("bad_pattern", "refused"))
})

test("a watch without values", { skip }, async () => {
  await client.set("kitchen/a", 1)
  const asked = []
  class Told extends WebSocket {
    send(text) {
      asked.push(JSON.parse(text))
      super.send(text)
    }
  }
  const other = connect(server.url, { WebSocket: Told })
  const watch = other.watch("kitchen/**", { values: false, fields: ["time"] })
  await watch.ready
  assert.deepEqual(asked.at(-1).fields, ["path", "revision", "time"])
  assert.ok(watch.has("kitchen/a") && watch.entry("kitchen/a").time)
  assert.equal(watch.get("kitchen/a"), undefined)
  await client.set("kitchen/b", 1)
  await client.delete("kitchen/a")
  await until(() => watch.has("kitchen/b") && !watch.has("kitchen/a"), () => [...watch.keys()].join())
  assert.equal(watch.get("kitchen/b"), undefined)
  await other.watch("kitchen/**", { values: false }).ready
  assert.deepEqual(asked.at(-1).fields, ["path", "revision"])
  other.close()
})

test("a watch tells of resets, also where it knows of nothing", { skip }, async () => {
  const first = new Server()
  await first.start()
  const proxy = new Proxy(first)
  const other = connect(await proxy.listen(), { minDelay: 50, maxDelay: 100 })
  const watch = other.watch("**", { initial: false })
  await watch.ready
  const seen = []
  watch.subscribe(({ resets }, changes) => { seen.push([resets, changes.length]) })
  assert.deepEqual(seen, [[0, 0]])
  await first.stop("SIGKILL")
  await first.start()
  await until(() => seen.length > 1, () => other.state)
  assert.deepEqual(seen, [[0, 0], [1, 0]])
  other.close()
  proxy.close()
  await first.remove()
})

test("who iterates slowly gets the newest of each path", { skip }, async () => {
  const changes = client.watch("count")[Symbol.asyncIterator]()
  for (let number = 0; number < 12_000; number += 500) {
    await Promise.all(Array.from({ length: 500 }, (_, index) => client.set("count", number + index)))
  }
  const seen = []
  do seen.push((await changes.next()).value)
  while (seen.at(-1).value !== 11_999)
  assert.ok(seen.length < 12_000)
  for (const [index, { oldValue }] of seen.slice(1).entries()) assert.equal(oldValue, seen[index].value)
})

test("properties share subscriptions, and show what is set at once", { skip }, async () => {
  const properties = Array.from({ length: 70 }, (_, index) => client.property(`p/${index}`))
  const shown = []
  for (const [index, property] of properties.entries()) property.subscribe((value) => { shown[index] = value })
  assert.equal(client.property("p/3"), properties[3])
  properties[69].set("x")
  assert.equal(shown[69], "x")
  await until(() => properties.every(({ state }) => state === "live"), () => "all are live")
  assert.equal(properties[0].value, undefined)
  await Promise.all(Array.from({ length: 20 }, () => properties[1].update((value) => (value ?? 0) + 1)))
  await until(() => shown[1] === 20, () => `${shown[1]}`)
  const refused = properties[1].set(99, { if: "value == 0" })
  assert.equal(shown[1], 99)
  await assert.rejects(refused, refusal("precondition_failed", "refused"))
  assert.equal(shown[1], 20)
  // Nobody awaits this one, and it is no unhandled rejection.
  properties[1].set(99, { if: "value == 0" })
  await until(() => properties[1].error, () => "the refusal is known")
  const bad = client.property("a//b")
  const good = client.property("good")
  bad.subscribe(() => {})
  good.subscribe(() => {})
  await client.set("good", 1)
  await until(() => good.value === 1 && bad.error?.code === "bad_pattern", () => `${good.value} ${bad.error}`)
})

test("what a listener throws is its own", { skip }, async (t) => {
  const later = []
  t.mock.method(globalThis, "queueMicrotask", (fn) => later.push(fn))
  const property = client.property("thrown")
  property.subscribe((value) => { if (value === 1) throw new Error("of the program") })
  const seen = []
  property.subscribe((value) => seen.push(value))
  later.shift()()
  await client.set("thrown", 1)
  await until(() => seen.at(-1) === 1, () => `${seen}`)
  const thrown = later.filter((fn) => {
    try {
      fn()
    } catch (error) {
      return error.message === "of the program"
    }
  })
  assert.equal(thrown.length, 1)
})

test("signals", { skip }, async () => {
  const listener = client.listen("doorbell/**")
  const messages = listener[Symbol.asyncIterator]()
  await listener.ready
  await client.send("doorbell/front", { floor: 3 })
  assert.deepEqual((await messages.next()).value.message, { floor: 3 })
  await client.send("doorbell/back", null, { remember: true })
  for await (const { path, message, remembered } of client.listen("doorbell/**")) {
    assert.deepEqual([path, message, remembered], ["doorbell/back", null, true])
    break
  }
})

test("presence", { skip }, async () => {
  const watch = client.watch("presence/*")
  await watch.ready
  const ann = connect(server.url)
  await ann.set("presence/ann", "here", { hold: true })
  await ann.onDisconnect([{ op: "set", path: "presence/last", value: "ann" }])
  await until(() => watch.has("presence/ann"), () => "ann is here")
  ann.close()
  assert.equal(ann.state, "closed")
  await assert.rejects(ann.get("a"), refusal("closed", "unsent"))
  const isGone = () => !watch.has("presence/ann") && watch.get("presence/last") === "ann"
  await until(isGone, () => JSON.stringify([...watch]))
})

test("what merge patches and transactions hold is there again", { skip }, async (t) => {
  const proxy = new Proxy(server)
  const other = connect(await proxy.listen(), { minDelay: 50, maxDelay: 100 })
  t.after(() => {
    other.close()
    proxy.close()
  })
  await other.patch("h/merge", { on: true }, { hold: true, timeout: 5000 })
  await other.set("h/patch", [1])
  await other.patch("h/patch", [{ op: "add", path: "/-", value: 2 }], { hold: true })
  const set = (path, more) => ({ op: "set", path, value: 1, hold: true, ...more })
  await other.transaction([set("h/one"), set("h/two", { always: true }), set("h/stays", { hold: false })])
  await other.transaction([set("h/lock", { ifNoneMatch: "*" }), set("h/locked")])
  const before = { "h/lock": 1, "h/locked": 1, "h/patch": [1, 2] }
  const after = { "h/merge": { on: true }, "h/one": 1, "h/stays": 1, "h/two": 1 }
  assert.deepEqual(await server.values("h/*"), { ...before, ...after })
  const kinds = []
  const watch = client.watch("h/merge")
  await watch.ready
  watch.subscribe((_, changes) => kinds.push(...changes.map(({ type }) => type)))
  proxy.cut()
  await until(() => kinds.length === 2, () => kinds.join())
  assert.deepEqual(kinds, ["didExpire", "didSet"])
  // Answered behind what is held.
  await other.get("h")
  assert.deepEqual(await server.values("h/*"), after)
})

test("a client that is closed for good", { skip }, async () => {
  const other = connect(server.url)
  const paths = ["closed/a", "closed/b"]
  await Promise.all(paths.map((path) => other.set(path, 1)))
  const seen = []
  const properties = paths.map((path) => other.property(path))
  for (const property of properties) property.subscribe((value) => seen.push(value))
  const watch = other.watch("closed/*")
  await watch.ready
  await until(() => properties.every(({ state }) => state === "live"), () => `${seen}`)
  const { connections } = await server.request("GET", "/server/connections")
  const isWatched = ({ match }) => match?.includes("closed/*")
  const { id } = connections.find(({ subscriptions }) => subscriptions?.some(isWatched))
  await server.request("DELETE", `/server/connections/${id}`)
  await until(() => other.state === "closed", () => other.state)
  await new Promise(setImmediate)
  assert.deepEqual(seen, [undefined, undefined, 1, 1])
  for (const { state, error } of [...properties, watch]) assert.deepEqual([state, error], ["ended", other.error])
  assert.deepEqual([properties.map(({ value }) => value), [...watch.values()]], [[1, 1], [1, 1]])
  await assert.rejects(other.watch("**").ready, other.error)
  await assert.rejects(async () => { for await (const _ of other.watch("**")); }, other.error)
  await assert.rejects(other.get("a"), { code: "closed", message: other.error.message })
  const late = other.property("closed/c")
  late.subscribe(() => {})
  await until(() => late.state === "ended", () => late.state)
  assert.equal(late.error, other.error)
})

test("a watch that ends before it is live is never ready", { skip }, async () => {
  const other = connect(server.url)
  const cancelled = other.watch("**")
  cancelled.cancel()
  const closed = other.watch("**")
  other.close()
  for (const watch of [cancelled, closed, other.watch("**")]) {
    await assert.rejects(watch.ready, { code: "closed" })
    assert.equal(watch.state, "ended")
  }
  assert.deepEqual([cancelled.error, closed.error], [null, null])
})

test("a store of Svelte, and the same value until it changes", { skip }, async () => {
  const property = client.property("ui/x")
  const values = []
  const stop = property.subscribe((value) => values.push(value))
  assert.deepEqual(values, [undefined])
  // What useSyncExternalStore asks for: the same snapshot as long as nothing has changed.
  await property.set({ on: true })
  await until(() => property.value?.on, () => "it is set")
  assert.equal(property.value, property.value)
  stop()
  await property.set({ on: false })
  assert.equal(values.length, 2)
})

test("tokens", { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "signal-client-"))
  const file = join(folder, "tokens.json")
  const token = (verb, ...rest) =>
    execFileSync(binary, ["token", verb, "--file", file, ...rest], { stdio: "pipe" }).toString().trim()
  const first = token("create", "--id", "bob")
  const remaining = ["ann", "ann-later"].map((id) => token("create", "--id", id))
  const guarded = new Server()
  await guarded.start(false, "--auth-tokens", file, "--auth-required", "true")
  t.after(async () => {
    await guarded.remove()
    rmSync(folder, { recursive: true })
  })
  const bob = connect(guarded.url, { token: first })
  await bob.set("a", 1)
  token("revoke", "bob")
  await until(() => bob.state === "closed", () => bob.state)
  assert.equal(bob.error.closeCode, 4401)
  const ann = connect(guarded.url, { token: async () => remaining.shift() })
  assert.equal(await ann.get("a"), 1)
  token("revoke", "ann")
  await until(() => remaining.length === 0, () => "another token is asked for")
  assert.equal(await ann.get("a"), 1)
  ann.close()
  const nobody = connect(guarded.url)
  await until(() => nobody.state === "closed", () => nobody.state)
  assert.equal(nobody.error.closeCode, 4401)
})
