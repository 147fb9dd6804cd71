// SPDX-License-Identifier: MIT
// Who is connected, as what, and to what they subscribe.
import { ask, json, live, poll, query } from "./api.js"
import { ago, button, bytes, complain, confirm, count, h, line, remark, replace, table, tell } from "./dom.js"

const kinds = { http: "HTTP", websocket: "WebSocket", event_stream: "event stream" }
const most = 500
/** By it this page finds its own connection: nobody sends it. */
const mark = `console/${Math.random()}`
const hostOf = ({ peer }) => peer.replace(/:\d+$/, "")

export default class ClientsView {
  #connections = []
  #open = new Set()
  #stop
  #own

  constructor() {
    this.filter = line({ type: "search", placeholder: "Address, identity, pattern", label: "Find clients",
      oninput: () => this.#show() })
    this.kind = h("select", { label: "Kind", onchange: () => this.#show() }, h("option", { value: "" }, "all kinds"),
      ...Object.entries(kinds).map(([value, text]) => h("option", { value }, text)))
    this.note = h("p.muted", { role: "status" })
    this.body = h("tbody")
    this.element = h("div.page", h("h2", "Clients"),
      h("section.card", { label: "Connections" },
        h("div.card-head", this.filter, this.kind, h("span.grow"), this.note),
        table(["Client", "Kind", "Identity", "Connected", "Subscriptions", "Gaps", "Waits for it", ""], this.body, "clients")))
  }

  open() {
    this.#own ??= live().listen(mark)
    this.#stop ??= poll(2000, () => this.#load())
  }

  close() {
    this.#own.cancel()
    this.#stop()
  }

  async #load() {
    try {
      const list = []
      let after
      do {
        const page = await json(`server/connections${query({ limit: 200, after })}`)
        list.push(...page.connections)
        after = page.next
      } while (after && list.length < most)
      this.isWhole = !after
      this.#connections = list
      this.#show()
    } catch (problem) {
      replace(this.body, remark(problem.message, "problem"))
      throw problem
    }
  }

  #show() {
    const wanted = this.filter.value.trim().toLowerCase()
    this.own = this.#connections.find(({ subscriptions }) => subscriptions?.some(({ signals }) => signals?.[0] === mark))
    const shown = this.#connections.filter((connection) => (!this.kind.value || connection.kind === this.kind.value)
      && (!wanted || JSON.stringify(connection).toLowerCase().includes(wanted)))
    this.note.textContent = `${count(shown.length)} of ${count(this.#connections.length)}${this.isWhole ? "" : " and more"}`
    const focused = this.body.contains(document.activeElement) && document.activeElement.dataset.key
    replace(this.body, ...shown.flatMap((connection) => this.#rows(connection)))
    if (focused) this.body.querySelector(`[data-key="${focused}"]`)?.focus()
  }

  #rows(connection) {
    const { id, kind, peer, listener, identity, since, backlog, subscriptions = [], more = 0 } = connection
    const isOpen = this.#open.has(id)
    const gaps = subscriptions.reduce((sum, subscription) => sum + subscription.gaps, 0)
    const number = subscriptions.length + more
    const toggle = number > 0 && h("button.link", { type: "button", "data-key": `${id}-open`, "aria-expanded": String(isOpen),
      label: `${number} subscriptions of ${peer}`, onclick: () => {
        if (isOpen) this.#open.delete(id)
        else this.#open.add(id)
        this.#show()
      } }, `${count(number)} ${isOpen ? "▴" : "▾"}`)
    const end = button("close", `Close the connection of ${peer}`, () => this.#end(connection), "quiet")
    end.dataset.key = `${id}-end`
    const none = h("span.muted", "–")
    const cell = (name, value) => h("td.number", { "data-name": name }, value || none.cloneNode(true))
    const row = h("tr",
      h("td", h("span.mono", { title: listener }, peer), " ", this.own && hostOf(this.own) === hostOf(connection) &&
        h("span.tag", connection === this.own ? "this page" : "same address")),
      h("td", h("span", { class: `tag${kind === "http" ? "" : " is-good"}` }, kinds[kind] ?? kind)),
      h("td", identity ? [identity.id, " ", h("span.muted", identity.kind)] : none),
      cell("Connected", ago(since)), cell("Subscriptions", toggle),
      cell("Gaps", gaps > 0 && count(gaps)),
      cell("Waits for it", backlog > 0 && h("span.tag.is-warn", bytes(backlog))),
      h("td", end))
    return isOpen ? [row, remark(h("ul.subscriptions", subscriptions.map(describe),
      more > 0 && h("li.muted", `and ${count(more)} more`)), "")] : [row]
  }

  async #end({ id, peer }) {
    if (!(await confirm("Close this connection?", `${peer} is told not to come back by itself.`, "Close it"))) return
    await ask(`server/connections/${id}`, { method: "DELETE" }).then(() => tell("Closed")).catch(complain)
    this.#load().catch(() => {})
  }
}

function describe({ match, signals, demand, where, mode, maxRate, gaps, behind }) {
  const what = match ?? signals ?? demand
  return h("li",
    signals && h("span.tag", "signals"), demand && h("span.tag", "demand"), " ",
    h("span.mono", what.slice(0, 6).join("  "), what.length > 6 && ` and ${what.length - 6} more`), " ",
    where && h("span.mono.muted", `where ${where} `),
    mode && h("span.tag", mode), maxRate && h("span.tag", `${maxRate}/s`),
    gaps > 0 && h("span.tag", `${count(gaps)} gaps`), behind && h("span.tag.is-warn", "behind"))
}
