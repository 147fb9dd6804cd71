// SPDX-License-Identifier: MIT
// One property: its value, what it is made of, how it has changed, and how others get at it.
import { ask, encoded, json, live, query } from "./api.js"
import { Chart, chip } from "./chart.js"
import {
  ago, button, clock, complain, confirm, copy, count, field, h, icon, line, replace, segments, table, tell, throttled, until,
} from "./dom.js"
import { snippets } from "./snippets.js"
import { kind, numbers, part, pretty, preview, sizeOf, tree } from "./values.js"

const keptChanges = 200
const keptPoints = 20_000
const spans = [["1 min", 60], ["10 min", 600], ["1 h", 3600], ["24 h", 86_400], ["7 d", 604_800]]

export class PropertyPane {
  #watches = new Map()
  #open = new Set([""])
  #isText = false
  #entry = null
  #edit = null
  #changes = []
  #series = new Map()
  #seconds = 60
  #history = null
  #timers = []
  #stopped = new AbortController()

  constructor(path) {
    this.path = path
    const names = path.split("/")
    const title = h("h2", { tabIndex: -1 }, ...names.map((name, index) =>
      index < names.length - 1 ? [h("span", { class: "muted" }, `${name}/`), h("wbr")] : name))
    this.meta = h("dl", { class: "meta" })
    this.value = h("div", { class: "value" })
    this.conflict = h("div")
    this.formula = h("div")
    this.charts = h("section", { class: "card", hidden: true, "aria-label": "Chart" })
    this.changes = h("tbody")
    this.tabs = segments("How the value is shown", [["Tree", false], ["Text", true]], false, (isText) => {
      this.#isText = isText
      this.#render()
    })
    this.edits = button("edit", "", () => this.#begin(), { text: "Edit" })
    this.element = h("article", { class: "property" },
      h("header", null,
        h("a", { class: "button quiet back", href: "#/properties", "aria-label": "Back to the list" }, icon("back")),
        title,
        h("div", { class: "tools" }, button("copy", "Copy the path", () => copy(path), { class: "quiet" }),
          button("trash", "Delete", () => this.#delete(), { class: "quiet" }))),
      this.meta,
      h("section", { class: "card", "aria-label": "Value" },
        h("div", { class: "card-head" }, h("h3", null, "Value"), this.tabs, this.edits), this.conflict, this.value),
      this.formula, this.charts,
      h("section", { class: "card", "aria-label": "Changes" }, h("div", { class: "card-head" }, h("h3", null, "Changes")),
        h("div", { class: "scroll", tabIndex: 0 }, table(["Time", "What", "Value", "Revision"], this.changes, "changes"))),
      snippets(path, () => this.#entry?.value))
    this.#add(path, "")
    this.#timers.push(setInterval(() => { if (!document.hidden) this.#ask() }, 5000))
    this.#load()
  }

  stop() {
    for (const timer of this.#timers) clearInterval(timer)
    this.#stopped.abort()
    for (const { cancel } of this.#watches.values()) cancel()
    this.chart?.stop()
  }

  // MARK: What comes

  #add(path) {
    if (this.#watches.has(path)) return
    const watch = live().watch(path, { maxRate: 20, mode: "latest" })
    watch.subscribe((_, changes) => { if (changes.length > 0) this.#receive(path, watch, changes) })
    watch.ready.then(() => {
      if (path !== this.path) return
      if (!watch.entry(path)) this.#render()
      this.#ask()
    }, (problem) => {
      if (path === this.path) replace(this.value, h("p", { class: "problem" }, problem.message))
      else complain(problem)
    })
    this.#watches.set(path, { watch, cancel: () => watch.cancel() })
  }

  #receive(path, watch, changes) {
    for (const change of changes) {
      const time = Date.parse(change.time ?? new Date().toISOString())
      for (const series of this.#series.values()) {
        if (series.path !== path) continue
        const value = change.type === "didSet" ? part(change.value, series.pointer) : undefined
        series.points.push({ t: time, v: typeof value === "number" && Number.isFinite(value) ? value : null })
        if (series.points.length > keptPoints) series.points.splice(0, keptPoints / 4)
      }
      if (path === this.path) this.#changes.unshift(change)
    }
    if (path !== this.path) return this.chart?.draw()
    this.#entry = watch.entry(path) ?? null
    this.#changes.length = Math.min(this.#changes.length, keptChanges)
    this.#show()
  }

  #show = throttled(200, () => {
    if (this.#stopped.signal.aborted) return
    this.#render()
    this.#tell()
    this.#table()
    this.#draw()
  })

  /** What no event tells: who watches, and a time to live that has been extended. */
  async #ask() {
    try {
      const answer = await ask(`properties/${encoded(this.path)}?watchers=true`, { signal: this.#stopped.signal })
      this.raw = await answer.text()
      this.watchers = Number(answer.headers.get("Signal-Watchers"))
      this.expires = answer.headers.get("Signal-Expires")
      this.#tell()
    } catch (problem) {
      if (problem.code === "forbidden") this.watchers = undefined
    }
  }

  async #load() {
    const { signal } = this.#stopped
    const answer = await json(`properties${query({ match: this.path, limit: 1 })}`, { signal }).catch(() => null)
    const computed = answer?.properties[0]?.computed
    if (computed) this.#showFormula(computed)
    const raw = await json(`history/${encoded(this.path)}${query({ from: "-24h", limit: 100 })}`, { signal })
      .catch((problem) => ({ problem }))
    if (raw.problem?.name === "AbortError") return
    this.#hasHistory = !["no_history", "not_found", "forbidden"].includes(raw.problem?.code)
    if (raw.rows) this.#older = raw.rows.reverse()
    this.#table()
    if (this.#hasHistory) this.#seconds = 600
    if (this.chart) this.#layOut()
    this.#loadHistory()
    this.#draw()
  }

  #hasHistory = false
  #older = []

  // MARK: Value

  async #render() {
    if (this.#edit) return this.#warn()
    const entry = this.#entry
    if (!entry) {
      return replace(this.value, h("p", { class: "muted" },
        this.#changes.length > 0 ? "The property is gone." : "There is no such property."))
    }
    const isScalar = entry.value === null || typeof entry.value !== "object"
    this.tabs.hidden = isScalar
    if (isScalar) {
      const text = typeof entry.value === "string" ? entry.value : String(entry.value)
      replace(this.value, h("output", { class: `scalar kind-${kind(entry.value)}${text.length > 24 ? " is-long" : ""}` }, text))
    } else if (this.#isText) {
      const raw = await this.#read().catch(complain)
      if (raw && this.#isText && !this.#edit) replace(this.value, h("pre", { class: "text", tabIndex: 0 }, pretty(raw.text)))
    } else replace(this.value, tree(entry.value, this.#open, (pointer) => this.#plot(this.path, pointer)))
  }

  /** The value as it is kept, with all digits, and its tag. */
  async #read() {
    const answer = await ask(`properties/${encoded(this.path)}`)
    const text = await answer.text()
    return { text, tag: answer.headers.get("ETag") }
  }

  async #begin() {
    let found = { text: "null", tag: null }
    try {
      found = await this.#read()
    } catch (problem) {
      if (problem.code !== "not_found") return complain(problem)
    }
    const area = h("textarea", { class: "editor", spellcheck: false, "aria-label": "Value as JSON",
      value: pretty(found.text), rows: Math.min(24, Math.max(3, pretty(found.text).split("\n").length + 1)) })
    const ttl = line({ placeholder: "none", size: 7 })
    const problem = h("p", { class: "problem", role: "alert", hidden: true })
    this.#edit = { area, ttl, problem, tag: found.tag, revision: this.#entry?.revision }
    this.edits.hidden = this.tabs.hidden = true
    area.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#end()
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#save()
    })
    replace(this.value, area, h("div", { class: "line" }, field("Time to live", ttl),
      h("div", { class: "actions" }, button(null, "", () => this.#end(), { text: "Cancel" }),
        button("check", "", () => this.#save(), { text: "Save", class: "primary" }))), problem)
    area.focus()
  }

  #end() {
    this.#edit = null
    replace(this.conflict)
    this.edits.hidden = false
    this.#render()
    this.edits.focus()
  }

  #warn() {
    if (this.#entry?.revision === this.#edit.revision || this.conflict.childElementCount > 0) return
    replace(this.conflict, h("p", { class: "hint", role: "status" },
      "The value has changed since you began: saving will show you both."))
  }

  async #save(tag = this.#edit.tag) {
    const { area, ttl, problem } = this.#edit
    problem.hidden = true
    try {
      await ask(`properties/${encoded(this.path)}${query({ ttl: ttl.value.trim() })}`, { method: "PUT", body: area.value,
        headers: { "Content-Type": "application/json", ...condition(tag) } })
      this.#end()
      tell("Saved")
    } catch (refusal) {
      if (refusal.code === "precondition_failed") return this.#conflict(refusal.current, area.value)
      problem.hidden = false
      problem.textContent = refusal.message
      if (refusal.code === "bad_json" && refusal.position !== undefined) place(area, refusal.position)
    }
  }

  /** Somebody else was faster: both values, and nothing is overwritten without being asked for. */
  #conflict(current, mine) {
    const tag = current ? `"${this.#epoch}.${current.revision}"` : null
    const theirs = current ? JSON.stringify(current.value, null, 2) : "deleted"
    replace(this.conflict, h("div", { class: "conflict", role: "alert" },
      h("h4", null, current ? "Somebody else has set it meanwhile" : "Somebody else has deleted it meanwhile"),
      h("div", { class: "both" },
        h("div", null, h("h5", null, "Now on the server", current && [" · ", ago(current.time)]), h("pre", null, theirs)),
        h("div", null, h("h5", null, "Yours, not saved"), h("pre", null, mine))),
      h("div", { class: "actions" },
        button(null, "", () => this.#end(), { text: "Keep theirs" }),
        button(null, "", () => { this.#edit.tag = tag; replace(this.conflict); this.#save() },
          { text: "Save mine", class: "danger" }))))
  }

  get #epoch() { return this.#entry?.cursor.split(".")[0] ?? this.lastEpoch }

  async #delete() {
    const entry = this.#entry
    if (!entry || !(await confirm("Delete this property?", this.path, "Delete"))) return
    this.lastEpoch = entry.cursor.split(".")[0]
    try {
      await ask(`properties/${encoded(this.path)}`, { method: "DELETE", headers: condition(`"${entry.cursor}"`) })
      tell("Deleted")
    } catch (refusal) {
      if (refusal.code !== "precondition_failed") return complain(refusal)
      const { current } = refusal
      if (await confirm("It has changed meanwhile",
        `You saw ${preview(entry.value)}, now it is ${preview(current?.value)}.`, "Delete it all the same")) {
        await ask(`properties/${encoded(this.path)}`, { method: "DELETE",
          headers: condition(`"${this.lastEpoch}.${current.revision}"`) }).then(() => tell("Deleted"), complain)
      }
    }
  }

  #tell() {
    const entry = this.#entry
    const row = (name, ...values) => h("div", null, h("dt", null, name), h("dd", null, ...values))
    const expires = entry?.expires && this.expires ? this.expires : entry?.expires ?? (entry && this.expires)
    replace(this.meta,
      entry && row("Changed", ago(entry.time)), entry && row("Revision", count(entry.revision)),
      expires && row("Ends in", until(expires)),
      this.watchers !== undefined && row("Watched by", count(this.watchers)),
      this.raw !== undefined && entry && row("Size", sizeOf(this.raw)))
  }

  async #showFormula({ formula, error }) {
    const inputs = h("ul", { class: "inputs" })
    replace(this.formula, h("section", { class: "card", "aria-label": "Formula" },
      h("div", { class: "card-head" }, h("h3", null, "Formula")), h("pre", { class: "text", tabIndex: 0 }, formula),
      error && h("p", { class: "problem" }, error), inputs))
    const answer = await json("expressions/explain", { method: "POST", body: { formula } }).catch(() => null)
    for (const input of answer?.inputs ?? []) {
      const value = await json(`properties/${encoded(input)}`).catch(() => undefined)
      inputs.append(h("li", null, h("a", { href: `#/properties/${encoded(input)}` }, input), " ",
        h("span", { class: `kind-${kind(value)}` }, value === undefined ? "not there" : preview(value))))
    }
    this.edits.hidden = true
  }

  // MARK: Changes

  #table() {
    const names = { didSet: "set", didDelete: "deleted", didExpire: "expired", didExit: "left" }
    const rows = this.#changes.map(({ time, type, value, oldValue, revision }) => ({ time, revision,
      what: names[type], value: type === "didSet" ? value : oldValue }))
    const oldest = rows.at(-1)?.revision ?? Infinity
    for (const [time, value, revision, op] of this.#older) {
      if (rows.length < keptChanges && (revision ?? 0) < oldest) rows.push({ time, value, revision, what: op })
    }
    replace(this.changes, ...rows.slice(0, 100).map(({ time, value, revision, what }) => h("tr", null,
      h("td", null, time ? clock(time, { precise: true }) : "–"), h("td", { class: `op-${what}` }, what),
      h("td", { class: `kind-${kind(value)} cell` }, preview(value)),
      h("td", { class: "number" }, revision === undefined ? "–" : count(revision)))))
  }

  // MARK: Chart

  #draw() {
    const value = this.#entry?.value
    const pointers = numbers(value)
    if (pointers.length > 0 && this.#series.size === 0 && !this.plotted) {
      this.plotted = true
      this.#plot(this.path, pointers[0])
    }
    this.chart?.draw()
  }

  #name = ({ path, pointer }) => path === this.path ? pointer || path.slice(path.lastIndexOf("/") + 1) : path + pointer

  #plot(path, pointer) {
    const key = `${path} ${pointer}`
    if (this.#series.has(key)) return
    const series = { path, pointer, points: [], past: null }
    this.#series.set(key, series)
    this.#add(path)
    const entry = this.#watches.get(path).watch.entry(path)
    if (path === this.path) {
      for (const { type, value, time } of [...this.#changes].reverse()) {
        const number = type === "didSet" ? part(value, pointer) : null
        series.points.push({ t: Date.parse(time), v: typeof number === "number" ? number : null })
      }
    } else if (entry) series.points.push({ t: Date.parse(entry.time), v: part(entry.value, pointer) ?? null })
    this.#layOut()
    if (this.#seconds >= 3600) this.#loadHistory()
  }

  #layOut() {
    this.charts.hidden = false
    this.chart ??= new Chart({ label: `Chart of ${this.path}`,
      span: () => [Date.now() - this.#seconds * 1000, Date.now()] })
    const others = numbers(this.#entry?.value).filter((pointer) => !this.#series.has(`${this.path} ${pointer}`))
    const add = line({ placeholder: "Add another property", "aria-label": "Add another property" })
    const ranges = segments("Span of the chart", spans.filter(([, seconds]) => this.#hasHistory || seconds <= 600),
      this.#seconds, (seconds) => {
        this.#seconds = seconds
        this.#loadHistory()
        this.#feed()
      })
    replace(this.charts, h("div", { class: "card-head" }, h("h3", null, "Chart"), ranges), this.chart.element,
      h("div", { class: "legend" },
        ...[...this.#series].map(([key, series], index) => chip(this.#name(series), index,
          this.#series.size > 1 && h("button", { type: "button", "aria-label": `Remove ${this.#name(series)}`, onclick: () => {
            this.#series.delete(key)
            this.#layOut()
          } }, "×"))),
        ...others.slice(0, 6).map((pointer) => h("button", { type: "button", class: "chip", onclick: () =>
          this.#plot(this.path, pointer) }, `+ ${pointer}`)),
        h("form", { onsubmit: (event) => {
          event.preventDefault()
          const [path, ...rest] = add.value.trim().split("#")
          if (path) this.#plot(path, rest.join("#"))
        } }, add)))
    this.#feed()
  }

  #feed() {
    this.chart.series = [...this.#series.values()].map((series) => {
      const first = series.points[0]?.t ?? Infinity
      const past = this.#seconds >= 600 && series.past ? series.past.filter(({ t }) => t < first) : []
      const points = [...past, ...series.points]
      return { label: this.#name(series), band: this.#seconds >= 600 ? series.band?.filter(({ t }) => t < first) : null,
        get points() { return past.length > 0 ? points : series.points } }
    })
    this.chart.draw()
  }

  async #loadHistory() {
    if (!this.#hasHistory || this.#seconds < 600) return this.chart && this.#feed()
    const step = { 600: "10s", 3600: "1m", 86_400: "15m", 604_800: "1h" }[this.#seconds]
    for (const series of this.#series.values()) {
      const rows = await this.#rowsOf(series, step)
      if (!rows) continue
      series.past = rows.map(([time, , , , , , last]) => ({ t: Date.parse(time), v: typeof last === "number" ? last : null }))
      series.band = rows.map(([time, , low, high]) => ({ t: Date.parse(time), low, high }))
    }
    if (this.chart) this.#feed()
  }

  async #rowsOf({ path, pointer }, step) {
    const target = `history/${encoded(path)}`
    const { signal } = this.#stopped
    const from = `-${this.#seconds}s`
    try {
      return (await json(`${target}${query({ from, step, pointer, limit: 2000 })}`, { signal })).rows
    } catch {
      // Only longer buckets are kept, or only the changes themselves.
      const raw = await json(`${target}${query({ from, pointer, limit: 10_000 })}`, { signal }).catch(() => null)
      return raw?.rows.map(([time, value]) => [time, 0, value, value, value, value, value])
    }
  }
}

/** The field of a condition: the tag that was seen, or that there was nothing. */
const condition = (tag) => tag ? { "If-Match": tag } : { "If-None-Match": "*" }

/** Puts the caret at an offset in bytes. */
function place(area, position) {
  const index = new TextDecoder().decode(new TextEncoder().encode(area.value).slice(0, position)).length
  area.focus()
  area.setSelectionRange(index, Math.min(index + 1, area.value.length))
}

