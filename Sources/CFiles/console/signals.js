// SPDX-License-Identifier: MIT
// Signals as they are sent, and timers, which send them.
import { ask, encoded, json, live, poll } from "./api.js"
import {
  button, card, clock, complain, confirm, count, field, h, line, push, remark, replace, settled, submit, table, tell, throttled, until,
} from "./dom.js"
import { preview } from "./values.js"

const kept = 300

export default class SignalsView {
  #messages = []
  #isPaused = false
  #feed = null
  #stop
  #number = 0

  constructor() {
    this.pattern = line({ type: "search", value: "**", label: "Pattern of signals",
      oninput: settled(300, () => this.#listen()) })
    this.where = line({ type: "search", placeholder: "message.floor > 2",
      label: "Filter of messages", oninput: settled(300, () => this.#listen()) })
    this.problem = h("pre.mistake", { role: "alert" })
    this.list = h("ol.stream", { tabIndex: 0, label: "Messages, newest first" })
    this.note = h("span.muted")
    this.pause = push("Pause", () => this.#hold(), "", "pause")
    this.timers = h("tbody")
    this.element = h("div.page.is-double", h("h2", "Signals and timers"),
      card("Messages", [this.note, this.pause,
        push("Clear", () => { this.#messages = []; this.#show() }, "", "close")],
      h("div.line", field("Pattern", this.pattern), field("Filter", this.where)), this.problem, this.list),
      h("div.stack", this.#sendForm(), this.#timerForm()),
      card("Timers", null,
        table(["Path", "When", "Fires in", "Message", ""], this.timers)))
  }

  open() {
    if (!this.#feed) this.#listen()
    this.#show()
    this.#stop ??= poll(3000, () => this.#load())
  }

  close() {
    this.#stop()
    this.#feed?.cancel()
  }

  #listen() {
    this.#feed?.cancel()
    this.problem.textContent = ""
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
      // Else it was cancelled here.
      if (feed === this.#feed && feed.error) this.problem.textContent = problem.message
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
    const empty = h("li", h("span.muted", "Nothing has been sent yet."))
    replace(this.list, this.#messages.length === 0 ? empty : this.#messages.map(({ path, message, time, remembered }) =>
      h("li", h("span.muted", clock(time, { precise: true })),
        h("b", path, remembered && [" ", h("span.tag", "kept")]),
        h("span", preview(message)))))
  })

  #sendForm() {
    const path = line({ required: true, placeholder: "doorbell/front" })
    const message = h("textarea", { rows: 2, placeholder: "null", spellcheck: false })
    const isKept = h("input", { type: "checkbox" })
    return h("form.card.form", { label: "Send a message", onsubmit: async () => {
      try {
        await ask(`signals/${encoded(path.value.trim())}${isKept.checked ? "?remember=true" : ""}`,
          { method: "POST", body: message.value.trim() })
        tell("Sent")
      } catch (problem) { complain(problem) }
    } }, h("h3", "Send a message"), field("Signal", path), field("Message", message, "JSON; nothing is null"),
      h("div.line", h("label.check", isKept, "keep it for who comes later"),
        submit("Send")))
  }

  #timerForm() {
    const path = line({ required: true, placeholder: "tea" })
    const kind = h("select", ...[["after", "once, after"], ["every", "again and again, every"], ["at", "once, at"]]
      .map(([value, text]) => h("option", { value }, text)))
    const time = line({ required: true, placeholder: "10s", size: 12 })
    const message = h("textarea", { rows: 1, placeholder: "null", spellcheck: false })
    kind.addEventListener("change", () => {
      time.placeholder = kind.value === "at" ? new Date(Date.now() + 3600_000).toISOString().slice(0, 19) + "Z" : "10s"
    })
    return h("form.card.form", { label: "Set a timer", onsubmit: async () => {
      try {
        // The message as it is written, with all digits.
        const body = `{${JSON.stringify(kind.value)}:${JSON.stringify(time.value.trim())},"message":${message.value.trim() || "null"}}`
        await ask(`timers/${encoded(path.value.trim())}`, { method: "PUT", body })
        tell("Set")
        await this.#load()
      } catch (problem) { complain(problem) }
    } }, h("h3", "Set a timer"), field("Signal", path),
      h("div.line", field("When", kind), field("Time", time)), field("Message", message),
      h("div.actions", submit("Set")))
  }

  async #load() {
    const answer = await json("timers?limit=200")
    const text = JSON.stringify(answer.timers)
    if (text === this.shown) return
    this.shown = text
    replace(this.timers, answer.timers.length === 0
      ? remark("No timer is set.")
      : answer.timers.map((timer) => h("tr", h("td.mono", timer.path),
        h("td", timer.every ? `every ${timer.every}` : timer.after ? `once, after ${timer.after}` : `at ${clock(timer.at)}`),
        h("td.number", until(timer.next)), h("td.mono", preview(timer.message)),
        h("td", button("trash", `Remove ${timer.path}`, () => this.#remove(timer.path), "quiet")))))
  }

  async #remove(path) {
    if (!(await confirm("Remove this timer?", path, "Remove"))) return
    await ask(`timers/${encoded(path)}`, { method: "DELETE" }).then(() => this.#load()).catch(complain)
  }
}
