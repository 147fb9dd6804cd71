// SPDX-License-Identifier: MIT
// Who is connected, as what, and to what they subscribe.
import { ask, json, query } from "./api.js"
import { ago, button, bytes, complain, confirm, count, h, line, replace, table, tell } from "./dom.js"

const kinds = { http: "HTTP", websocket: "WebSocket", event_stream: "event stream" }
const most = 500

export class ClientsView {
  #connections = []
  #open = new Set()
  #timer

  constructor() {
    this.filter = line({ type: "search", placeholder: "Address, identity, pattern", "aria-label": "Find clients",
      oninput: () => this.#show() })
    this.kind = h("select", { "aria-label": "Kind", onchange: () => this.#show() }, h("option", { value: "" }, "all kinds"),
      ...Object.entries(kinds).map(([value, text]) => h("option", { value }, text)))
    this.note = h("p", { class: "muted", role: "status" })
    this.body = h("tbody")
    this.element = h("div", { class: "page" }, h("h2", null, "Clients"),
      h("section", { class: "card", "aria-label": "Connections" },
        h("div", { class: "card-head" }, this.filter, this.kind, h("span", { class: "grow" }), this.note),
        h("div", { class: "wide-table", tabIndex: 0 }, table(
          ["Client", "Kind", "Identity", "Connected", "Subscriptions", "Gaps", "Waits for it", ""], this.body, "clients"))))
  }

  open() {
    this.#timer ??= setInterval(() => { if (!document.hidden) this.#load() }, 2000)
    this.#load()
  }

  close() { clearInterval(this.#timer) }

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
      clearInterval(this.#timer)
      replace(this.body, h("tr", null, h("td", { colSpan: 8, class: "problem" }, problem.message)))
    }
  }

  #show() {
    const wanted = this.filter.value.trim().toLowerCase()
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
    const toggle = number > 0 && h("button", { class: "link", type: "button", "data-key": `${id}-open`, "aria-expanded": String(isOpen),
      "aria-label": `${number} subscriptions of ${peer}`, onclick: () => {
        if (isOpen) this.#open.delete(id)
        else this.#open.add(id)
        this.#show()
      } }, `${count(number)} ${isOpen ? "▴" : "▾"}`)
    const end = button("close", `Close the connection of ${peer}`, () => this.#end(connection), { class: "quiet" })
    end.dataset.key = `${id}-end`
    const row = h("tr", null,
      h("td", null, h("span", { class: "mono", title: listener }, peer)),
      h("td", null, h("span", { class: `tag${kind === "http" ? "" : " is-good"}` }, kinds[kind] ?? kind)),
      h("td", null, identity ? [identity.id, " ", h("span", { class: "muted" }, identity.kind)] : h("span", { class: "muted" }, "–")),
      h("td", null, ago(since)), h("td", { class: "number" }, toggle || h("span", { class: "muted" }, "–")),
      h("td", { class: "number" }, gaps > 0 ? count(gaps) : h("span", { class: "muted" }, "–")),
      h("td", { class: "number" }, backlog > 0 ? h("span", { class: "tag is-warn" }, bytes(backlog)) : h("span", { class: "muted" }, "–")),
      h("td", null, end))
    return isOpen ? [row, h("tr", null, h("td", { colSpan: 8 }, h("ul", { class: "subscriptions" },
      subscriptions.map(describe), more > 0 && h("li", { class: "muted" }, `and ${count(more)} more`))))] : [row]
  }

  async #end({ id, peer }) {
    if (!(await confirm("Close this connection?", `${peer} is told not to come back by itself.`, "Close it"))) return
    await ask(`server/connections/${id}`, { method: "DELETE" }).then(() => tell("Closed"), complain)
    this.#load()
  }
}

function describe({ match, signals, demand, where, mode, maxRate, gaps, behind }) {
  const what = match ?? signals ?? demand
  return h("li", null,
    signals && h("span", { class: "tag" }, "signals"), demand && h("span", { class: "tag" }, "demand"), " ",
    h("span", { class: "mono" }, what.slice(0, 6).join("  "), what.length > 6 && ` and ${what.length - 6} more`), " ",
    where && h("span", { class: "mono muted" }, `where ${where} `),
    mode && h("span", { class: "tag" }, mode), maxRate && h("span", { class: "tag" }, `${maxRate}/s`),
    gaps > 0 && h("span", { class: "tag" }, `${count(gaps)} gaps`), behind && h("span", { class: "tag is-warn" }, "behind"))
}
