// SPDX-License-Identifier: MIT
// Signals as they are sent, and timers, which send them.
import { ask, encoded, json, live } from "./api.js"
import {
  button, clock, complain, confirm, count, field, h, line, replace, settled, table, tell, throttled, until,
} from "./dom.js"
import { preview } from "./values.js"

const kept = 300

export class SignalsView {
  #messages = []
  #isPaused = false
  #feed = null
  #timer
  #number = 0

  constructor() {
    this.pattern = line({ type: "search", value: "**", "aria-label": "Pattern of signals",
      oninput: settled(300, () => this.#listen()) })
    this.where = line({ type: "search", placeholder: "message.floor > 2",
      "aria-label": "Filter of messages", oninput: settled(300, () => this.#listen()) })
    this.problem = h("pre", { class: "mistake", role: "alert", hidden: true })
    this.list = h("ol", { class: "stream", tabIndex: 0, "aria-label": "Messages, newest first" })
    this.note = h("span", { class: "muted" })
    this.pause = button("pause", "", () => this.#hold(), { text: "Pause" })
    this.timers = h("tbody")
    this.element = h("div", { class: "page is-double" }, h("h2", null, "Signals and timers"),
      h("section", { class: "card", "aria-label": "Messages" },
        h("div", { class: "card-head" }, h("h3", null, "Messages"), this.note, this.pause,
          button("close", "", () => { this.#messages = []; this.#show() }, { text: "Clear" })),
        h("div", { class: "line" }, field("Pattern", this.pattern), field("Filter", this.where)), this.problem,
        this.list),
      h("div", { class: "stack" }, this.#sendForm(), this.#timerForm()),
      h("section", { class: "card is-wide", "aria-label": "Timers" }, h("div", { class: "card-head" }, h("h3", null, "Timers")),
        h("div", { class: "wide-table", tabIndex: 0 }, table(["Path", "When", "Fires in", "Message", ""], this.timers))))
  }

  open() {
    if (!this.#feed) this.#listen()
    this.#show()
    this.#timer ??= setInterval(() => { if (!document.hidden) this.#load() }, 3000)
    this.#load()
  }

  close() {
    clearInterval(this.#timer)
    this.#feed?.cancel()
  }

  #listen() {
    this.#feed?.cancel()
    this.problem.hidden = true
    const feed = live().listen(this.pattern.value.trim() || "**", { where: this.where.value.trim() || undefined })
    this.#feed = feed
    feed.subscribe((message) => {
      this.#number += 1
      if (this.#isPaused) return this.#show()
      this.#messages.unshift(message)
      this.#messages.length = Math.min(this.#messages.length, kept)
      this.#show()
    })
    feed.ready.catch((problem) => {
      if (feed !== this.#feed) return
      this.problem.hidden = false
      this.problem.textContent = problem.message
    })
  }

  #hold() {
    this.#isPaused = !this.#isPaused
    this.pause.querySelector("span").textContent = this.#isPaused ? "Go on" : "Pause"
    this.pause.setAttribute("aria-pressed", String(this.#isPaused))
  }

  #show = throttled(150, () => {
    this.note.textContent = this.#number > 0 ? `${count(this.#number)} since this page was opened` : ""
    if (this.#isPaused && this.list.childElementCount > 0) return
    const empty = h("li", null, h("span", { class: "muted" }, "Nothing has been sent yet."))
    replace(this.list, this.#messages.length === 0 ? empty : this.#messages.map(({ path, message, time, remembered }) =>
      h("li", null, h("span", { class: "muted" }, clock(time, { precise: true })),
        h("b", null, path, remembered && [" ", h("span", { class: "tag" }, "kept")]),
        h("span", null, preview(message)))))
  })

  #sendForm() {
    const path = line({ required: true, placeholder: "doorbell/front" })
    const message = h("textarea", { rows: 2, placeholder: "null", spellcheck: false })
    const isKept = h("input", { type: "checkbox" })
    return h("form", { class: "card form", "aria-label": "Send a message", onsubmit: async (event) => {
      event.preventDefault()
      try {
        await ask(`signals/${encoded(path.value.trim())}${isKept.checked ? "?remember=true" : ""}`,
          { method: "POST", body: message.value.trim() })
        tell("Sent")
      } catch (problem) { complain(problem) }
    } }, h("h3", null, "Send a message"), field("Signal", path), field("Message", message, "JSON; nothing is null"),
      h("div", { class: "line" }, h("label", { class: "check" }, isKept, "keep it for who comes later"),
        h("button", { class: "button primary", type: "submit" }, "Send")))
  }

  #timerForm() {
    const path = line({ required: true, placeholder: "tea" })
    const kind = h("select", null, ...[["after", "once, after"], ["every", "again and again, every"], ["at", "once, at"]]
      .map(([value, text]) => h("option", { value }, text)))
    const time = line({ required: true, placeholder: "10s", size: 12 })
    const message = h("textarea", { rows: 1, placeholder: "null", spellcheck: false })
    kind.addEventListener("change", () => {
      time.placeholder = kind.value === "at" ? new Date(Date.now() + 3600_000).toISOString().slice(0, 19) + "Z" : "10s"
    })
    return h("form", { class: "card form", "aria-label": "Set a timer", onsubmit: async (event) => {
      event.preventDefault()
      try {
        const text = message.value.trim()
        const body = { [kind.value]: time.value.trim(), ...(text ? { message: JSON.parse(text) } : {}) }
        await ask(`timers/${encoded(path.value.trim())}`, { method: "PUT", body })
        tell("Set")
        this.#load()
      } catch (problem) { complain(problem) }
    } }, h("h3", null, "Set a timer"), field("Signal", path),
      h("div", { class: "line" }, field("When", kind), field("Time", time)), field("Message", message),
      h("div", { class: "actions" }, h("button", { class: "button primary", type: "submit" }, "Set")))
  }

  async #load() {
    const answer = await json("timers?limit=200").catch((problem) => ({ problem }))
    if (answer.problem) return
    const text = JSON.stringify(answer.timers)
    if (text === this.shown) return
    this.shown = text
    replace(this.timers, answer.timers.length === 0
      ? h("tr", null, h("td", { colSpan: 5, class: "muted" }, "No timer is set."))
      : answer.timers.map((timer) => h("tr", null, h("td", { class: "mono" }, timer.path),
        h("td", null, timer.every ? `every ${timer.every}` : timer.after ? `once, after ${timer.after}` : `at ${clock(timer.at)}`),
        h("td", { class: "number" }, until(timer.next)), h("td", { class: "mono" }, preview(timer.message)),
        h("td", null, button("trash", `Remove ${timer.path}`, () => this.#remove(timer.path), { class: "quiet" })))))
  }

  async #remove(path) {
    if (!(await confirm("Remove this timer?", path, "Remove"))) return
    await ask(`timers/${encoded(path)}`, { method: "DELETE" }).catch(complain)
    this.#load()
  }
}
