// SPDX-License-Identifier: MIT
// The server: what it is, how busy it is, and with which settings. Rates are those of GET /metrics, between two readings.
import { json, poll } from "./api.js"
import { Chart, chip } from "./chart.js"
import { ago, bytes, card, count, duration, h, line, remark, replace, segments, short, table } from "./dom.js"
import { History } from "./metrics.js"

const spans = [["5 min", 300], ["1 h", 3600]]

export default class ServerView {
  #seconds = 300
  #stop
  #charts = []

  constructor() {
    this.tiles = h("dl.tiles")
    this.note = h("p.muted", { hidden: true })
    this.ranges = segments("Span of the charts", spans, 300, (seconds) => {
      this.#seconds = seconds
      this.#draw()
    })
    this.charts = h("div.charts")
    this.find = line({ type: "search", placeholder: "Find a setting", label: "Find a setting",
      oninput: () => this.#showSettings() })
    this.changed = h("input", { type: "checkbox", onchange: () => this.#showSettings() })
    this.settings = h("tbody")
    this.element = h("div.page", h("h2", "Server"), this.tiles,
      h("div.line", this.note, h("span.grow"), this.ranges), this.charts,
      card("Settings", [this.find, h("label.check", this.changed, "only those that were set")],
        table(["Setting", "Value", "Source"], this.settings)))
  }

  open() {
    if (this.#stop) return
    History.shared.onreading = () => this.#draw()
    History.shared.quicken(true)
    this.#stop = poll(2000, () => this.#load())
    this.#loadSettings()
    this.#makeCharts()
  }

  close() {
    this.#stop()
    History.shared.quicken(false)
    for (const { chart } of this.#charts) chart.stop()
  }

  async #load() {
    const state = await json("server").catch((problem) => {
      replace(this.tiles, h("div.tile", h("dt", "Not told"), h("dd",
        h("small", problem.message))))
      throw problem
    })
    const now = History.shared
    const tile = (name, value, note) => h("div.tile", h("dt", name), h("dd", value,
      note && h("small", note)))
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
    const add = (title, method, series, format = short) => {
      const chart = new Chart({ label: title, height: 170, format, isLive: false,
        span: () => [Date.now() - this.#seconds * 1000, Date.now()] })
      const labels = Object.keys(series)
      this.#charts.push({ chart, method, series })
      this.charts.append(h("section.card", { label: title }, h("h3", title), chart.element,
        labels.length > 1 && h("div.legend", labels.map((label, index) => chip(label, index)))))
    }
    const shares = (name) => ({ half: [name, 0.5], "99 %": [name, 0.99] })
    add("Requests, changes and deliveries per second", "rates", { requests: "signal_http_requests_total",
      commits: "signal_commits_total", deliveries: "signal_deliveries_total" })
    add("From commit to send", "quantiles", shares("signal_delivery_delay_seconds"), duration)
    add("Answers to requests", "quantiles", shares("signal_http_request_duration_seconds"), duration)
    add("Bytes per second", "rates", { sent: "signal_sent_bytes_total", received: "signal_received_bytes_total" }, bytes)
    add("Loops: share of the time in turns", "rates", { busy: "signal_loop_busy_seconds_total" },
      (share) => `${Math.round(share * 100)} %`)
    add("Memory", "values", { resident: "process_resident_memory_bytes" }, bytes)
    add("Refusals, gaps and resets per second", "rates", { refusals: "signal_refusals_total", gaps: "signal_gaps_total",
      resets: "signal_resets_total" })
    add("Connections and subscriptions", "values", { connections: "signal_connections", subscriptions: "signal_subscriptions" })
    this.#draw()
  }

  #draw() {
    const history = History.shared
    this.note.hidden = history.problem === null
    this.note.textContent = history.problem === null ? "" : `No charts: ${history.problem}`
    this.charts.hidden = this.ranges.hidden = history.problem !== null
    for (const { chart, method, series } of this.#charts) {
      chart.series = Object.entries(series).map(([label, of]) => ({ label, points: history[method](...[of].flat()) }))
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
    if (this.settingsProblem) return replace(this.settings, remark(this.settingsProblem.message, "problem"))
    const wanted = this.find.value.trim().toLowerCase()
    const list = (this.all ?? []).filter(({ name, value, summary, source }) => (!this.changed.checked || source !== "default")
      && `${name} ${value} ${summary}`.toLowerCase().includes(wanted))
    replace(this.settings, ...(list.length === 0
      ? [remark(this.all?.length === 0 ? "This program tells none." : "None is like that.")]
      : list.map(({ name, value, source, summary, pending }) => h("tr",
        h("td", h("div.mono", name), h("div.muted", summary)),
        h("td.mono", value, pending && h("div.hint", `from the next start on: ${pending}`)),
        h("td", h("span", { class: `tag${source === "default" ? "" : " is-good"}` }, source))))))
  }
}
