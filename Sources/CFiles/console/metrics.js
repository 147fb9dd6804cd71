// SPDX-License-Identifier: MIT
// The readings of GET /metrics that this page has made, and rates between them.
import { ask, isRefusal } from "./api.js"

const kept = 3600_000
const slow = 10_000
const quick = 2000

export class History {
  static shared = new History()
  readings = []
  problem = null
  onreading = () => {}
  #timer

  /** Reads more often while somebody looks. */
  quicken(isLooking) {
    if (!isLooking) this.onreading = () => {}
    this.#delay = isLooking ? quick : slow
    clearTimeout(this.#timer)
    // Not at once behind another one: over an instant a rate says nothing.
    this.#timer = setTimeout(() => this.#read(), (this.readings.at(-1)?.time ?? 0) + this.#delay - Date.now())
  }

  stop() {
    clearTimeout(this.#timer)
    this.#delay = 0
  }

  #delay = 0
  #isReading = false

  async #read() {
    // Two at a time could be answered in another order.
    if (this.#isReading) return
    this.#isReading = true
    let isTold = true
    if (!document.hidden) {
      try {
        this.readings.push({ time: Date.now(), samples: parse(await (await ask("metrics")).text()) })
        this.problem = null
        while (this.readings[0].time < Date.now() - kept) this.readings.shift()
      } catch (problem) {
        this.problem = problem.status === 404 ? "this server tells no metrics." : problem.message
        isTold = !isRefusal(problem) && problem.status !== 404
      }
      this.onreading()
    }
    this.#isReading = false
    clearTimeout(this.#timer)
    if (isTold && this.#delay > 0) this.#timer = setTimeout(() => this.#read(), this.#delay)
  }

  latest(name) { return this.readings.length > 0 ? sum(this.readings.at(-1), name) : null }

  values(name) { return this.readings.map((reading) => ({ t: reading.time, v: sum(reading, name) })) }

  rates(name) {
    return this.#pairs((before, after) => {
      const difference = sum(after, name) - sum(before, name)
      // A server that has been started anew counts from 0.
      return difference < 0 ? null : difference / ((after.time - before.time) / 1000)
    })
  }

  rate(name) { return this.rates(name).at(-1)?.v ?? null }

  quantiles(name, share) { return this.#pairs((before, after) => quantile(before, after, name, share)) }

  quantile(name, share, format) {
    const value = this.quantiles(name, share).at(-1)?.v
    return value === null || value === undefined ? null : format(value)
  }

  #pairs(read) {
    return this.readings.slice(1).map((after, index) => ({ t: after.time, v: read(this.readings[index], after) }))
  }
}

/** Sums by name, and the buckets of histograms by name and bound, over all labels. */
function parse(text) {
  const samples = new Map()
  for (const [, name, labels, value] of text.matchAll(/^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)/gm)) {
    const bound = /[{,]le="([^"]+)"/.exec(labels)?.[1]
    const key = bound === undefined ? name : `${name} ${bound}`
    samples.set(key, (samples.get(key) ?? 0) + Number(value))
  }
  return samples
}

const sum = ({ samples }, name) => samples.get(name) ?? 0

/** The bound below which a share of what came between two readings lies, by interpolation in its bucket. */
function quantile(before, after, name, share) {
  const buckets = []
  for (const [key, number] of after.samples) {
    if (!key.startsWith(`${name}_bucket `)) continue
    const text = key.slice(name.length + 8)
    buckets.push([text === "+Inf" ? Infinity : Number(text), number - (before.samples.get(key) ?? 0)])
  }
  buckets.sort(([a], [b]) => a - b)
  const all = buckets.at(-1)?.[1] ?? 0
  if (all <= 0) return null
  let [lower, below] = [0, 0]
  for (const [bound, number] of buckets) {
    if (number >= all * share) {
      if (bound === Infinity) return lower
      return lower + (bound - lower) * ((all * share - below) / Math.max(1, number - below))
    }
    ;[lower, below] = [bound, number]
  }
  return lower
}
