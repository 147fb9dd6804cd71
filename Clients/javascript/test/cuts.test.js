// SPDX-License-Identifier: MIT
// The client through cuts, silences, kills and restarts of a real server: what it shows must end as the store's state,
// and nothing may be told twice. Every value is set once, so one that is told again is a fault. CUTS and SEED choose.
import assert from "node:assert/strict"
import { test } from "node:test"
import { connect } from "../signal-client.js"
import { Proxy, Server, skip, until } from "./support.js"

const cuts = Number(process.env.CUTS ?? 200)
const seed = Number(process.env.SEED ?? 1)

/** A generator of numbers below 1 (mulberry32). */
function random(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Folds what a watch tells and objects to what cannot be. */
class Record {
  told = new Map()
  seen = new Set()
  count = 0
  faults = []

  constructor(watch, isFiltered = false) {
    this.watch = watch
    watch.subscribe((_, changes) => { for (const change of changes) this.take(change, isFiltered) })
  }

  take({ type, path, value, oldValue }, isFiltered) {
    this.count += 1
    const before = this.told.get(path)
    if (type === "didSet") {
      if (this.seen.has(`${path} ${value}`)) this.faults.push(`${path} was told to be ${value} twice`)
      this.seen.add(`${path} ${value}`)
      this.told.set(path, value)
      const isTorn = !isFiltered && before !== undefined && oldValue !== before
      if (isTorn) this.faults.push(`${path} was ${before}, not ${oldValue}`)
    } else if (!this.told.delete(path)) this.faults.push(`${type} of ${path}, which was not there`)
  }
}

async function survive(keeps, t) {
  const chance = random(seed)
  const below = (limit) => Math.floor(chance() * limit)
  const server = new Server()
  await server.start(keeps)
  const proxy = new Proxy(server)
  const errors = []
  const unhandled = (error) => errors.push(error)
  process.on("unhandledRejection", unhandled)
  const client = connect(await proxy.listen(), {
    minDelay: 5, maxDelay: 40, timeout: 150, silence: 100, onError: unhandled,
  })
  t.after(async () => {
    client.close()
    proxy.close()
    await server.remove()
    process.off("unhandledRejection", unhandled)
  })
  const all = new Record(client.watch("a/**"))
  const odd = new Record(client.watch("a/**", { where: "value % 2 == 1" }), true)
  const paced = client.watch("a/**", { maxRate: 50 })
  const properties = Array.from({ length: 40 }, (_, index) => client.property(`a/${index}`))
  for (const property of properties) property.subscribe(() => {})
  const iterated = new Map()
  const iteration = (async () => {
    for await (const { type, path, value } of client.watch("a/**")) {
      if (type === "didSet") iterated.set(path, value)
      else iterated.delete(path)
    }
  })()
  let next = 0
  let isWriting = true
  const path = () => `a/${below(40)}`
  const writer = (async () => {
    while (isWriting) {
      try {
        if (below(8) === 0) await server.request("DELETE", `/properties/${path()}`)
        else if (below(6) === 0) {
          const paths = new Set(Array.from({ length: 5 }, path))
          const operations = [...paths].map((one) => ({ op: "set", path: one, value: ++next }))
          await server.request("POST", "/transactions", { operations })
        } else await server.request("PUT", `/properties/${path()}`, ++next)
      } catch {
        // The server is being killed, or the property was not there.
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
    }
  })()
  const outcomes = { ok: 0, refused: 0, unsent: 0, unknown: 0 }
  for (let cut = 0; cut < cuts; cut += 1) {
    const value = ++next
    properties[below(40)].set(value, below(2) ? { ifNoneMatch: "*" } : {}).then(
      () => { outcomes.ok += 1 },
      (error) => { outcomes[error.outcome] += 1 })
    await new Promise((resolve) => setTimeout(resolve, below(60)))
    const kind = below(10)
    if (kind < 6) proxy.cut()
    else if (kind === 6) {
      proxy.mute()
      await until(() => client.state !== "live", () => "the silence is noticed")
      proxy.speak()
    } else {
      await server.stop(below(2) ? "SIGKILL" : "SIGTERM")
      await server.start(keeps)
    }
  }
  isWriting = false
  await writer
  await until(() => client.state === "live", () => `${client.state}`)
  const store = await server.values("a/**")
  const matching = Object.fromEntries(Object.entries(store).filter(([, value]) => value % 2 === 1))
  const sorted = (map) => JSON.stringify([...map].sort(([a], [b]) => (a < b ? -1 : 1)))
  const wanted = sorted(Object.entries(store))
  const shown = () => ({
    all: sorted(all.watch), folded: sorted(all.told), paced: sorted(paced), iterated: sorted(iterated),
    properties: sorted(properties.map((one) => [one.path, one.value]).filter(([, value]) => value !== undefined)),
  })
  const isShown = () => Object.values(shown()).every((text) => text === wanted)
  await until(isShown, () => `${wanted}\n${JSON.stringify(shown(), null, 1)}`)
  await until(() => sorted(odd.watch) === sorted(Object.entries(matching)), () => sorted(odd.watch))
  assert.equal(sorted(odd.told), sorted(odd.watch))
  assert.deepEqual(all.faults, [])
  assert.deepEqual(odd.faults, [])
  assert.deepEqual(errors, [])
  t.diagnostic(`${cuts} cuts, ${next} values, ${all.count} changes told, sets ${JSON.stringify(outcomes)}`)
  client.close()
  await iteration
}

test("through cuts and restarts that keep the store", { skip }, (t) => survive(true, t))
test("through cuts and restarts that forget the store", { skip }, (t) => survive(false, t))
