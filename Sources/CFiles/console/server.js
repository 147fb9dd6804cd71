// SPDX-License-Identifier: MIT
// The server: what it is, how busy it is, and with which settings. Rates are those of GET /metrics, between two readings.
import { json } from "./api.js"
import { Chart, chip } from "./chart.js"
import { ago, bytes, count, duration, h, line, replace, segments, short, table } from "./dom.js"
import { History } from "./metrics.js"

const spans = [["5 min", 300], ["1 h", 3600]]

export class ServerView {
  #seconds = 300
  #timer
  #charts = []

  constructor() {
    this.tiles = h("dl", { class: "tiles" })
    this.note = h("p", { class: "muted", hidden: true })
    this.ranges = segments("Span of the charts", spans, 300, (seconds) => {
      this.#seconds = seconds
      this.#draw()
    })
    this.charts = h("div", { class: "charts" })
    this.find = line({ type: "search", placeholder: "Find a setting", "aria-label": "Find a setting",
      oninput: () => this.#showSettings() })
    this.changed = h("input", { type: "checkbox", onchange: () => this.#showSettings() })
    this.settings = h("tbody")
    this.element = h("div", { class: "page" }, h("h2", null, "Server"), this.tiles,
      h("div", { class: "line" }, this.note, h("span", { class: "grow" }), this.ranges), this.charts,
      h("section", { class: "card", "aria-label": "Settings" },
        h("div", { class: "card-head" }, h("h3", null, "Settings"), this.find,
          h("label", { class: "check" }, this.changed, "only those that were set")),
        h("div", { class: "wide-table", tabIndex: 0 }, table(["Setting", "Value", "Source"], this.settings))))
  }

  open() {
    if (this.#timer) return
    History.shared.onreading = () => this.#draw()
    History.shared.quicken(true)
    this.#timer = setInterval(() => { if (!document.hidden) this.#load() }, 2000)
    this.#load()
    this.#loadSettings()
    this.#makeCharts()
  }

  close() {
    clearInterval(this.#timer)
    History.shared.quicken(false)
    for (const { chart } of this.#charts) chart.stop()
  }

  async #load() {
    const state = await json("server").catch((problem) => ({ problem }))
    if (state.problem) {
      return replace(this.tiles, h("div", { class: "tile" }, h("dt", null, "Not told"), h("dd", null,
        h("small", null, state.problem.message))))
    }
    const now = History.shared
    const tile = (name, value, note) => h("div", { class: "tile" }, h("dt", null, name), h("dd", null, value,
      note && h("small", null, note)))
    const rate = (title, name, note) => now.rate(name) !== null && tile(title, `${short(now.rate(name))}\u2009/s`, note)
    const delay = (share) => now.quantile("signal_delivery_delay_seconds", share, duration)
    replace(this.tiles,
      tile("Properties", count(state.properties), `cursor ${state.cursor}`),
      tile("Connections", count(state.connections), `${count(state.loops)} loops`),
      rate("Changes", "signal_commits_total", "commits"), rate("Deliveries", "signal_deliveries_total", "events to clients"),
      delay(0.5) && tile("Commit to send", delay(0.5), `99 %: ${delay(0.99)}`),
      now.problem === null && tile("History", short(now.latest("signal_history_changes") ?? NaN), "changes kept"),
      state.memory ? tile("Memory", bytes(state.memory.inUse), `of ${bytes(state.memory.limit)}`)
        : tile("Memory", bytes(now.latest("process_resident_memory_bytes") ?? 0)),
      state.storage ? tile("Storage", state.storage, state.queued > 0 ? `${bytes(state.queued)} wait` : "all is on disk")
        : tile("Storage", "none", "kept in memory only"),
      tile("Version", state.version, ["started ", ago(state.started)]))
  }

  #makeCharts() {
    if (this.#charts.length > 0) return
    const add = (title, list, format = short) => {
      const chart = new Chart({ label: title, height: 170, format, isLive: false,
        span: () => [Date.now() - this.#seconds * 1000, Date.now()] })
      this.#charts.push({ chart, list })
      this.charts.append(h("section", { class: "card", "aria-label": title }, h("h3", null, title), chart.element,
        list.length > 1 && h("div", { class: "legend" }, list.map(([label], index) => chip(label, index)))))
    }
    const rate = (name) => (history) => history.rates(name)
    const quantile = (name, share) => (history) => history.quantiles(name, share)
    add("Requests, changes and deliveries per second", [["requests", rate("signal_http_requests_total")],
      ["commits", rate("signal_commits_total")], ["deliveries", rate("signal_deliveries_total")]])
    add("From commit to send", [["half", quantile("signal_delivery_delay_seconds", 0.5)],
      ["99 %", quantile("signal_delivery_delay_seconds", 0.99)]], duration)
    add("Answers to requests", [["half", quantile("signal_http_request_duration_seconds", 0.5)],
      ["99 %", quantile("signal_http_request_duration_seconds", 0.99)]], duration)
    add("Bytes per second", [["sent", rate("signal_sent_bytes_total")], ["received", rate("signal_received_bytes_total")]], bytes)
    add("Loops: share of the time in turns", [["busy", rate("signal_loop_busy_seconds_total")]],
      (share) => `${Math.round(share * 100)} %`)
    add("Memory", [["resident", (history) => history.values("process_resident_memory_bytes")]], bytes)
    add("Refusals, gaps and resets per second", [["refusals", rate("signal_refusals_total")], ["gaps", rate("signal_gaps_total")],
      ["resets", rate("signal_resets_total")]])
    add("Connections and subscriptions", [["connections", (history) => history.values("signal_connections")],
      ["subscriptions", (history) => history.values("signal_subscriptions")]])
    this.#draw()
  }

  #draw() {
    const history = History.shared
    this.note.hidden = history.problem === null
    this.note.textContent = history.problem === null ? "" : `No charts: ${history.problem}`
    this.charts.hidden = this.ranges.hidden = history.problem !== null
    for (const { chart, list } of this.#charts) {
      chart.series = list.map(([label, read]) => ({ label, points: read(history) }))
      chart.draw()
    }
  }

  async #loadSettings() {
    const answer = await json("server/settings").catch((problem) => ({ problem }))
    this.all = answer.settings ?? []
    this.settingsProblem = answer.problem
    this.#showSettings()
  }

  #showSettings() {
    if (this.settingsProblem) return replace(this.settings, h("tr", null, h("td", { colSpan: 3, class: "problem" },
      this.settingsProblem.message)))
    const wanted = this.find.value.trim().toLowerCase()
    const list = (this.all ?? []).filter(({ name, value, summary, source }) => (!this.changed.checked || source !== "default")
      && `${name} ${value} ${summary}`.toLowerCase().includes(wanted))
    replace(this.settings, ...(list.length === 0
      ? [h("tr", null, h("td", { colSpan: 3, class: "muted" }, this.all?.length === 0 ? "This program tells none." : "None is like that."))]
      : list.map(({ name, value, source, summary, pending }) => h("tr", null,
        h("td", null, h("div", { class: "mono" }, name), h("div", { class: "muted" }, summary)),
        h("td", { class: "mono" }, value, pending && h("div", { class: "hint" }, `from the next start on: ${pending}`)),
        h("td", null, h("span", { class: `tag${source === "default" ? "" : " is-good"}` }, source))))))
  }
}
