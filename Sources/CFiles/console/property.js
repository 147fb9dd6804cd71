// SPDX-License-Identifier: MIT
// One property: its value, what it is made of, how it has changed, and how others get at it.
import { ask, encoded, isRefusal, json, ownWatches, poll, query, watch as follow } from "./api.js"
import { Chart, chip } from "./chart.js"
import {
  ago, button, card, clock, complain, confirm, copy, count, fact, field, h, icon, isThere, line, push, replace, segments, table, tell,
  throttled, until,
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
  #stop
  #mayCount = true
  #others
  #raw
  #stopped = new AbortController()

  constructor(path) {
    this.path = path
    const names = path.split("/")
    const title = h("h2", { tabIndex: -1 }, ...names.map((name, index) =>
      index < names.length - 1 ? [h("span.muted", `${name}/`), h("wbr")] : name))
    this.meta = h("dl.meta")
    this.value = h("div.value")
    this.conflict = h("div")
    this.formula = h("div")
    this.charts = h("section.card", { hidden: true, label: "Chart" })
    this.changes = h("tbody")
    this.tabs = segments("How the value is shown", [["Tree", false], ["Text", true]], false, (isText) => {
      this.#isText = isText
      this.#render()
    })
    this.edits = push("Edit", () => this.#begin(), "", "edit")
    this.element = h("article.property",
      h("header",
        h("a.button.quiet.back", { href: "#/properties", label: "Back to the list" }, icon("back")),
        title,
        h("div.tools", button("copy", "Copy the path", () => copy(path), "quiet"),
          button("trash", "Delete", () => this.#delete(), "quiet"))),
      this.meta,
      card("Value", [this.tabs, this.edits], this.conflict, this.value),
      this.formula, this.charts,
      card("Changes", null, table(["Time", "What", "Value", "Revision"], this.changes, "changes")),
      snippets(path, () => this.#readAny().then(({ text }) => text ?? "null", () => "null")))
    this.#add(path, "")
    this.#load()
  }

  stop() {
    this.#stop?.()
    this.#stopped.abort()
    for (const { cancel } of this.#watches.values()) cancel()
    this.chart?.stop()
  }

  #add(path) {
    if (this.#watches.has(path)) return
    const watch = follow(path, { maxRate: 20, mode: "latest" })
    watch.subscribe((_, changes) => { if (changes.length > 0) this.#receive(path, watch, changes) })
    watch.ready.then(() => {
      if (path !== this.path) return
      if (!watch.entry(path)) this.#render()
      if (!this.#stopped.signal.aborted) this.#stop = poll(5000, () => this.#count())
    }, (problem) => {
      if (!watch.error) return // cancelled here
      if (path === this.path) replace(this.value, h("p.problem", problem.message))
      else complain(problem)
    })
    this.#watches.set(path, { watch, cancel: () => watch.cancel() })
  }

  #receive(path, watch, changes) {
    for (const change of changes) {
      for (const series of this.#series.values()) {
        if (series.path !== path) continue
        series.points.push(pointOf(change, series.pointer))
        if (series.points.length > keptPoints) series.points.splice(0, keptPoints / 4)
      }
      if (path === this.path) this.#changes.unshift(change)
    }
    if (path !== this.path) return this.#feed()
    this.#entry = watch.entry(path) ?? null
    if (typeof this.#entry?.value === "number") this.#askForDigits()
    this.#changes.length = Math.min(this.#changes.length, keptChanges)
    this.#show()
  }

  #show = throttled(200, () => {
    if (this.#stopped.signal.aborted) return
    this.#render()
    this.#doubt()
    this.#tell()
    this.#table()
    this.#draw()
  })

  #doubt = () => {}

  /** What no event tells: all digits, an extended time to live, who watches. */
  async #ask(isCounted) {
    this.#raw = await this.#read(isCounted ? "?watchers=true" : "", this.#stopped.signal)
    if (this.#isExact) this.#render()
    this.#tell()
  }

  get #isExact() { return typeof this.#entry?.value === "number" && this.#raw?.tag === this.#tag }

  async #count() {
    try {
      await this.#ask(this.#mayCount)
    } catch (problem) {
      // Who may not see watchers may see the value.
      if (!isRefusal(problem) || !this.#mayCount || problem.code === "invalid_token") throw problem
      this.#mayCount = false
      await this.#ask()
    }
  }

  /** A number has more digits than events leave of it. */
  #askForDigits = throttled(1000, () => this.#ask().catch(() => {}))

  get #tag() { return this.#entry && `"${this.#entry.cursor}"` }

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

  async #render() {
    if (this.#edit) return this.#warn()
    const entry = this.#entry
    if (!entry) {
      return replace(this.value, h("p.muted",
        this.#changes.length > 0 ? "The property is gone." : "There is no such property."))
    }
    const isScalar = entry.value === null || typeof entry.value !== "object"
    this.tabs.hidden = isScalar
    if (isScalar) {
      const text = this.#isExact ? this.#raw.text : String(entry.value)
      replace(this.value, h("output", { class: `scalar kind-${kind(entry.value)}${text.length > 24 ? " is-long" : ""}` }, text))
    } else if (this.#isText) {
      const raw = await this.#read().catch(complain)
      if (raw && this.#isText && !this.#edit) replace(this.value, h("pre.text", { tabIndex: 0 }, pretty(raw.text)))
    } else replace(this.value, tree(entry.value, this.#open, (pointer) => this.#plot(this.path, pointer)))
  }

  /** The value as it is kept, with all digits, and its tag. */
  async #read(options = "", signal) {
    const answer = await ask(`properties/${encoded(this.path)}${options}`, { signal })
    const { headers } = answer
    const expires = headers.get("Signal-Expires")
    const watchers = headers.get("Signal-Watchers")
    if (watchers) this.#others = Math.max(0, watchers - ownWatches(this.path))
    return { text: await answer.text(), tag: headers.get("ETag"), expires,
      // By the server's clock.
      left: expires && Math.max(1, Math.floor((Date.parse(expires) - Date.parse(headers.get("Date"))) / 1000)) }
  }

  /** As above; `null` where there is no property. */
  #readAny() {
    return this.#read().catch((problem) => {
      if (problem.code !== "not_found") throw problem
      return { text: null, tag: null }
    })
  }

  async #begin() {
    const found = await this.#readAny().catch(complain)
    if (!found) return
    const text = pretty(found.text ?? "null")
    const area = h("textarea.editor", { spellcheck: false, label: "Value as JSON",
      defaultValue: text, rows: Math.min(24, Math.max(3, text.split("\n").length + 1)) })
    const ttl = line({ placeholder: "none", size: 7, defaultValue: found.left ? `${found.left}s` : "" })
    const problem = h("p.problem", { role: "alert" })
    this.#edit = { area, ttl, problem, tag: found.tag, revision: this.#entry?.revision }
    this.edits.hidden = this.tabs.hidden = true
    area.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        event.preventDefault()
        this.mayLeave().then((may) => may && this.#end())
      }
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#save()
    })
    replace(this.value, area, h("div.line", field("Time to live", ttl,
      "From saving on; empty, it stays. A connection that holds it does so no more."),
      h("div.actions", push("Cancel", () => this.#end()),
        push("Save", () => this.#save(), "primary", "check"))), problem)
    area.focus()
  }

  #end() {
    this.#edit = null
    replace(this.conflict)
    this.edits.hidden = false
    this.#render()
    this.edits.focus()
  }

  /** Whether nothing would be lost, or nobody minds. */
  async mayLeave() {
    return !this.isEdited || confirm("Leave without saving?", `What you wrote for ${this.path} would be lost.`, "Leave")
  }

  get isEdited() { return this.#edit && [this.#edit.area, this.#edit.ttl].some((field) => field.value !== field.defaultValue) }

  #warn() {
    if (this.#entry?.revision === this.#edit.revision || this.conflict.childElementCount > 0) return
    replace(this.conflict, h("p.hint", { role: "status" },
      "The value has changed since you began: saving will show you both."))
  }

  async #save() {
    const edit = this.#edit
    const { area, ttl, problem, tag, isSaving } = edit
    // Twice quickly, the second would meet what the first has saved.
    if (isSaving) return
    edit.isSaving = true
    problem.textContent = ""
    try {
      await ask(`properties/${encoded(this.path)}${query({ ttl: ttl.value.trim() })}`, { method: "PUT", body: area.value,
        headers: { "Content-Type": "application/json", ...condition(tag) } })
      tell("Saved")
      if (edit === this.#edit) this.#end()
    } catch (refusal) {
      edit.isSaving = false
      if (edit !== this.#edit) return complain(refusal)
      if (refusal.code === "precondition_failed") return this.#conflict(edit).catch(complain)
      problem.textContent = refusal.message
      if (refusal.code === "bad_json" && refusal.position !== undefined) place(area, refusal.position)
    }
  }

  /** Somebody else was faster: shows both values, overwrites nothing unasked. */
  async #conflict(edit) {
    const { text, tag } = await this.#readAny()
    replace(this.conflict, h("div.conflict", { role: "alert" },
      h("h4", `Somebody else has ${tag ? "set" : "deleted"} it meanwhile`),
      h("div.both",
        h("div", h("h5", "Now on the server"), h("pre.text", tag ? pretty(text) : "deleted")),
        h("div", h("h5", "Yours, not saved"), h("pre.text", edit.area.value))),
      h("div.actions",
        push("Keep theirs", () => this.#end()),
        push("Save mine", () => { edit.tag = tag; replace(this.conflict); this.#save() }, "danger"))))
  }

  async #delete() {
    const [entry, tag] = [this.#entry, this.#tag]
    if (!entry) return
    const hint = h("p.hint", { role: "status", hidden: true }, "It has changed meanwhile: you will be shown both values.")
    this.#doubt = () => { hint.hidden = this.#tag === tag }
    if (!(await confirm("Delete this property?", [this.path, " is ", preview(entry.value), hint], "Delete"))) return
    const remove = (tag) => ask(`properties/${encoded(this.path)}`, { method: "DELETE", headers: condition(tag) })
      .then(() => tell("Deleted"))
    try {
      await remove(tag).catch(async (refusal) => {
        if (refusal.code !== "precondition_failed") throw refusal
        const now = await this.#read()
        if (await confirm("It has changed meanwhile", `You saw ${preview(entry.value)}, now it is ${now.text}.`,
          "Delete it all the same")) await remove(now.tag)
      })
    } catch (problem) { complain(problem) }
  }

  #tell() {
    const entry = this.#entry
    const { text, tag } = this.#raw ?? {}
    const expires = entry && tag === this.#tag ? this.#raw.expires : entry?.expires
    replace(this.meta,
      entry && fact("Changed", ago(entry.time)), entry && fact("Revision", count(entry.revision)),
      expires && fact("Ends in", until(expires)),
      isThere(this.#others) && fact("Others watching", count(this.#others)),
      text !== undefined && entry && fact("Size", sizeOf(text)))
  }

  async #showFormula({ formula, error }) {
    const inputs = h("ul.inputs")
    replace(this.formula, card("Formula", null, h("pre.text", { tabIndex: 0 }, formula),
      error && h("p.problem", error), inputs))
    const answer = await json("expressions/explain", { method: "POST", body: { formula } }).catch(() => null)
    for (const input of answer?.inputs ?? []) {
      const value = await json(`properties/${encoded(input)}`).catch(() => undefined)
      inputs.append(h("li", h("a", { href: `#/properties/${encoded(input)}` }, input), " ",
        h("span", { class: `kind-${kind(value)}` }, value === undefined ? "not there" : preview(value))))
    }
    this.edits.hidden = true
  }

  #table() {
    const names = { didSet: "set", didDelete: "deleted", didExpire: "expired", didExit: "left" }
    const rows = this.#changes.map(({ time, type, value, oldValue, revision }) => ({ time, revision,
      what: names[type], value: type === "didSet" ? value : oldValue }))
    const oldest = rows.at(-1)?.revision ?? Infinity
    for (const [time, value, revision, op] of this.#older) {
      if (rows.length < keptChanges && (revision ?? 0) < oldest) rows.push({ time, value, revision, what: op })
    }
    replace(this.changes, ...rows.slice(0, 100).map(({ time, value, revision, what }) => h("tr",
      h("td", time ? clock(time, { precise: true }) : "–"), h("td", { class: `op-${what}` }, what),
      h("td", { class: `kind-${kind(value)} cell` }, preview(value)),
      h("td.number", revision === undefined ? "–" : count(revision)))))
  }

  #draw() {
    const value = this.#entry?.value
    const pointers = numbers(value)
    if (pointers.length > 0 && this.#series.size === 0 && !this.plotted) {
      this.plotted = true
      this.#plot(this.path, pointers[0])
    }
    if (this.chart) this.#feed()
  }

  #name = ({ path, pointer }) => path === this.path ? pointer || path.slice(path.lastIndexOf("/") + 1) : path + pointer

  #plot(path, pointer) {
    const key = `${path} ${pointer}`
    if (this.#series.has(key)) return
    this.#add(path)
    const entry = this.#watches.get(path).watch.entry(path)
    const changes = path === this.path ? this.#changes.toReversed() : entry ? [{ type: "didSet", ...entry }] : []
    const points = changes.map((change) => pointOf(change, pointer))
    this.#series.set(key, { path, pointer, points, past: [], band: [] })
    this.#layOut()
    this.#loadHistory()
  }

  #layOut() {
    this.charts.hidden = false
    this.chart ??= new Chart({ label: `Chart of ${this.path}`,
      span: () => [Date.now() - this.#seconds * 1000, Date.now()] })
    const others = numbers(this.#entry?.value).filter((pointer) => !this.#series.has(`${this.path} ${pointer}`))
    const add = line({ placeholder: "Add another property", label: "Add another property" })
    const ranges = segments("Span of the chart", spans.filter(([, seconds]) => this.#hasHistory || seconds <= 600),
      this.#seconds, (seconds) => {
        this.#seconds = seconds
        this.#loadHistory()
        this.#feed()
      })
    replace(this.charts, h("div.card-head", h("h3", "Chart"), ranges), this.chart.element,
      h("div.legend",
        ...[...this.#series].map(([key, series], index) => chip(this.#name(series), index,
          this.#series.size > 1 && h("button", { type: "button", label: `Remove ${this.#name(series)}`, onclick: () => {
            this.#series.delete(key)
            this.#layOut()
          } }, "×"))),
        ...others.slice(0, 6).map((pointer) => h("button.chip", { type: "button", onclick: () =>
          this.#plot(this.path, pointer) }, `+ ${pointer}`)),
        h("form", { onsubmit: () => {
          const [path, ...rest] = add.value.trim().split("#")
          if (path) this.#plot(path, rest.join("#"))
        } }, add)))
    this.#feed()
  }

  #feed = throttled(100, () => {
    const isLong = this.#seconds >= 600
    this.chart.series = [...this.#series.values()].map((series) => {
      const { points, past, band } = series
      // The first point is the last change before the page opened; the others were seen.
      const opened = points[1]?.t ?? Infinity
      const isPast = ({ t }) => t < opened
      return { label: this.#name(series), band: isLong ? band.filter(isPast) : [],
        points: isLong ? [...past.filter(isPast), ...points].sort((a, b) => a.t - b.t) : points }
    })
    this.chart.draw()
  })

  async #loadHistory() {
    if (!this.chart) return
    if (this.#hasHistory && this.#seconds >= 600) {
      const length = { 600: 10, 3600: 60, 86_400: 900, 604_800: 3600 }[this.#seconds]
      await Promise.all([...this.#series.values()].map((series) => this.#loadPast(series, length)))
    }
    this.#feed()
  }

  async #loadPast(series, length) {
    const rows = await this.#rowsOf(series, `${length}s`)
    if (!rows) return
    const starts = [...rows.map(([time]) => Date.parse(time)), Date.now()]
    series.past = []
    series.band = []
    for (const [index, [, number, low, high, , , last]] of rows.entries()) {
      const t = starts[index]
      series.past.push({ t, v: typeof last === "number" ? last : null })
      // A change by itself is no bucket, which has an end; without a bucket there was no value.
      if (number === null) continue
      const end = t + length * 1000
      series.band.push({ t, end, low, high })
      if (starts[index + 1] > end) series.past.push({ t: end, v: null })
    }
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
      return raw?.rows.map(([time, value]) => [time, null, , , , , value])
    }
  }
}

/** A change in the chart: a number, or a hole. */
function pointOf({ type, value, time }, pointer) {
  const number = type === "didSet" ? part(value, pointer) : null
  return { t: time ? Date.parse(time) : Date.now(), v: Number.isFinite(number) ? number : null }
}

/** The condition: the tag that was seen, or that there was nothing. */
const condition = (tag) => tag ? { "If-Match": tag } : { "If-None-Match": "*" }

/** Puts the caret at an offset in bytes. */
function place(area, position) {
  const index = new TextDecoder().decode(new TextEncoder().encode(area.value).slice(0, position)).length
  area.focus()
  area.setSelectionRange(index, Math.min(index + 1, area.value.length))
}

