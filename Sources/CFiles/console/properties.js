// SPDX-License-Identifier: MIT
// The properties: as a tree, or those that a pattern and a filter find. What is in sight is subscribed to, and no more.
import { ask, encoded, json, query, watch as follow } from "./api.js"
import { button, count, field, h, line, openDialog, push, replace, settled, submit } from "./dom.js"
import { Levels } from "./levels.js"
import { PropertyPane } from "./property.js"
import { Rows } from "./rows.js"
import { kind, preview } from "./values.js"

/** Rows of which the subscription is one; a subscription has at most 32 patterns. */
const blockSize = 24
/** Changes per second and row that a person can still read. */
const rate = 4
const found = 200
const shown = { maxRate: rate, mode: "latest", oldValue: false, fields: ["path", "value", "revision", "time"] }
const keptValues = 5000

/** The values of the rows in sight, in blocks, so that scrolling gives up and begins few subscriptions. */
class Sight {
  values = new Map()
  #blocks = new Map()

  constructor(changed) { this.changed = changed }

  look = settled(90, (rows, first, end) => {
    const wanted = new Map()
    // From multiples on, so that a block stays what it is while it is scrolled through.
    for (let index = first - (first % blockSize); index < end; index += blockSize) {
      const block = rows.slice(index, index + blockSize).flatMap(({ path }) => path ?? [])
      if (block.length > 0) wanted.set(block.join("\n"), block)
    }
    for (const [key, watch] of this.#blocks) {
      if (wanted.has(key)) continue
      watch.cancel()
      this.#blocks.delete(key)
    }
    if (wanted.size > 0 && this.values.size > keptValues) {
      const inSight = new Set([...wanted.values()].flat())
      for (const path of this.values.keys()) if (!inSight.has(path)) this.values.delete(path)
    }
    for (const [key, block] of wanted) {
      if (this.#blocks.has(key)) continue
      const watch = follow(block, shown)
      this.#blocks.set(key, watch)
      watch.subscribe((_, changes) => {
        this.take(changes)
        if (changes.length > 0) this.changed()
      })
    }
  })

  take(changes) {
    for (const { path, type, value, expires } of changes) {
      if (type === "didSet") this.values.set(path, { value, expires })
      else this.values.delete(path)
    }
  }

  stop() {
    this.look([], 0, 0)
    for (const watch of this.#blocks.values()) watch.cancel()
    this.#blocks.clear()
  }
}

export default class PropertiesView {
  #levels = new Levels()
  #results = null
  #structure = null
  #search = 0

  constructor() {
    this.sight = new Sight(() => this.rows.refresh())
    this.rows = new Rows({
      role: "tree", itemRole: "treeitem", label: "Properties",
      make: makeRow, fill: (element, row) => this.#fill(element, row), seen: (first, end) => this.#seen(first, end),
      act: (row, key, event) => this.#act(row, key, event),
    })
    this.pattern = line({ type: "search", placeholder: "Part of a path, or kitchen/**",
      label: "Pattern of paths", oninput: () => this.#changed() })
    this.where = line({ type: "search", placeholder: "Filter: value > 21.0",
      label: "Filter by an expression", oninput: () => this.#changed() })
    this.mistake = h("pre.mistake", { role: "alert" })
    this.summary = h("p.summary", { role: "status" })
    this.pane = h("section.pane", { label: "Property" })
    this.element = h("div.split",
      h("section.list", { label: "Tree of properties" },
        h("div.searches", this.pattern, this.where,
          button("plus", "New property", () => this.#make(), "primary")),
        this.mistake, this.summary, this.rows.element),
      this.pane)
    this.#levels.onchange = () => this.#show()
  }

  open(path, options) {
    if (!this.#structure) this.#begin()
    const [match, where] = [options.get("match") ?? "", options.get("where") ?? ""]
    if (match !== this.pattern.value || where !== this.where.value) {
      this.pattern.value = match
      this.where.value = where
      this.#find()
    }
    const selected = path || null
    this.element.classList.toggle("has-detail", selected !== null)
    if (selected === this.selected && (selected === null || this.detail)) return
    this.selected = selected
    this.detail?.stop()
    this.detail = selected === null ? null : new PropertyPane(selected)
    replace(this.pane, this.detail?.element ?? this.#nothing())
    this.rows.refresh()
    if (selected !== null && !this.#results && this.#levels.root.children) this.#levels.reveal(selected)
    if (selected !== null && matchMedia("(max-width: 760px)").matches) this.detail.element.querySelector("h2")?.focus()
  }

  get isEdited() { return this.detail?.isEdited }
  mayLeave() { return this.detail.mayLeave() }

  close() {
    this.detail?.stop()
    this.detail = null
    this.rows.stop()
    this.sight.stop()
    this.#structure?.cancel()
    this.#structure = null
    this.#results?.watch?.cancel()
  }

  #nothing() {
    return h("div.empty", h("p", "Choose a property to see its value, its history and who watches it."),
      h("p.muted", "Arrow keys walk through the tree, Enter opens."))
  }

  async #begin() {
    // Only what comes and goes is told of the whole store; values come for the rows in sight.
    this.#structure = follow("**", { where: 'oldValue == null || op != "set"', initial: false, oldValue: false,
      values: false, fields: ["path"], mode: "latest", maxRate: 2 })
    let resets = 0
    this.#structure.subscribe((watch, changes) => {
      for (const { path, type } of changes) {
        this.#levels.take(path, type === "didSet")
        if (type !== "didSet") this.sight.values.delete(path)
      }
      if (watch.resets > resets) this.#levels.reload()
      resets = watch.resets
      if (changes.length > 0) this.#show()
    })
    await this.#structure.ready.catch(() => {})
    await this.#levels.load(this.#levels.root)
    const { children } = this.#levels.root
    // A small tree is seen at once.
    if (children?.length <= 12) for (const child of [...children]) if (child.isFolder) this.#levels.toggle(child)
    if (this.selected) this.#levels.reveal(this.selected)
  }

  #changed = settled(250, () => {
    history.replaceState(null, "", this.#address(this.selected))
    this.#find()
  })

  /** Of a property, beside what is looked for. */
  #address(path) {
    const options = query({ match: this.pattern.value.trim(), where: this.where.value.trim() })
    return `#/properties${path ? `/${encoded(path)}` : ""}${options}`
  }

  async #find() {
    const [match, where, text] = meant(this.pattern.value.trim(), this.where.value.trim())
    const search = (this.#search += 1)
    this.#results?.watch?.cancel()
    this.mistake.textContent = ""
    if (!match && !where) {
      this.#results = null
      return this.#show()
    }
    try {
      let number = null
      if (where) {
        const answer = await json("expressions/explain", { method: "POST", body: { where, match: match || "**" } })
        if (search !== this.#search) return
        if (!answer.valid) return this.#mistaken(answer.text ? `${answer.detail}\n${answer.text}` : answer.detail)
        number = answer.properties?.all ? answer.properties.matching : null
      }
      const results = { match: match || "**", where: where || undefined, text, paths: [], next: undefined, isWhole: false }
      this.#results = results
      if (number !== null && number <= found) this.#watchResults(results)
      else await this.#moreResults(results)
      if (search === this.#search) this.#show()
    } catch (problem) {
      if (search === this.#search) this.#mistaken(problem.detail ?? problem.message)
    }
  }

  #mistaken(text) {
    this.mistake.textContent = text
    this.#results = { paths: [], isWhole: true }
    this.#show()
  }

  /** Few enough to be told of all: what enters and leaves the filter is seen at once. */
  #watchResults(results) {
    results.isWhole = results.isLive = true
    results.watch = follow(results.match, { ...shown, where: results.where })
    results.watch.subscribe((watch, changes) => {
      this.sight.take(changes)
      results.paths = [...watch.keys()].sort()
      if (results === this.#results) this.#show()
    })
  }

  async #moreResults(results) {
    if (results.loading || (results.paths.length > 0 && results.next === undefined)) return
    results.loading = true
    try {
      do {
        const page = await json(`properties${query({ match: results.match, where: results.where, fields: "path",
          limit: 1000, after: results.next })}`)
        results.paths.push(...page.properties.map(({ path }) => path))
        results.next = page.next
        // A page of a rare filter may be empty, and more may follow all the same.
      } while (results.next !== undefined && results.paths.length === 0 && results === this.#results)
    } finally {
      results.loading = false
      results.isWhole = results.next === undefined
    }
    if (results === this.#results) this.#show()
  }

  #show() {
    if (this.#results) {
      const { paths, isWhole, isLive, loading, text } = this.#results
      this.rows.rows = paths.map((path) => ({ path, name: path, depth: 1, isProperty: true, isResult: true }))
      this.summary.textContent = loading ? "Searching …"
        : `${count(paths.length)}${isWhole ? "" : " and more"} found${text ? ` with “${text}” in their paths` : ""}${isLive ? ", live" : ""}`
    } else {
      this.rows.rows = this.#levels.rows
      const { children, next } = this.#levels.root
      const isEmpty = children?.length === 0 && next === undefined
      this.summary.textContent = isEmpty ? "There is nothing yet. Make a property, or set one from a program." : ""
    }
  }

  #seen(first, end) {
    const { rows } = this.rows
    // Those that are found live have a subscription of their own.
    if (this.#results?.isLive) this.sight.look([], 0, 0)
    else this.sight.look(rows, first, end)
    for (const row of rows.slice(first, end)) if (row.isMore && !row.node.loading) this.#levels.load(row.node)
    if (this.#results && end >= rows.length && this.#results.next !== undefined) this.#moreResults(this.#results)
  }

  #fill(element, row, index) {
    const [chevron, name, mark, value] = element.children
    element.style.setProperty("--depth", row.depth - 1)
    element.setAttribute("aria-level", row.depth)
    const isSelected = row.path !== undefined && row.path === this.selected
    element.setAttribute("aria-selected", isSelected)
    if (row.isFolder) element.setAttribute("aria-expanded", row.isOpen === true)
    else element.removeAttribute("aria-expanded")
    const text = row.isMore ? "loading …" : row.problem ? row.problem.message : row.name
    if (name.textContent !== text) name.textContent = text
    name.title = row.path ?? ""
    element.classList.toggle("is-note", row.path === undefined)
    const known = row.path === undefined ? undefined : this.sight.values.get(row.path)
    const shown = known ? preview(known.value) : ""
    if (value.textContent !== shown) {
      const isSame = element.dataset.path === row.path && value.textContent !== ""
      value.textContent = shown
      value.className = `row-value kind-${known ? kind(known.value) : "none"}`
      if (isSame) flash(value)
    }
    element.dataset.path = row.path
    const sign = row.isComputed ? "ƒ" : known?.expires ? "ttl" : ""
    if (mark.textContent !== sign) mark.textContent = sign
    mark.title = row.isComputed ? "Computed" : sign ? "Has a time to live" : ""
    chevron.hidden = !row.isFolder
  }

  #act(row, key, event) {
    if (!row || row.path === undefined) return row?.problem && this.#levels.load(row.node)
    const isChevron = key === "click" && event.target.closest(".row-chevron")
    if (key === "ArrowRight" && row.isFolder) {
      if (row.isOpen) this.rows.show(this.rows.active + 1)
      else this.#levels.toggle(row)
    } else if (key === "ArrowLeft" && !row.isResult) {
      if (row.isOpen && row.isFolder) this.#levels.toggle(row)
      else if (row.parent?.parent) this.rows.show(this.rows.rows.indexOf(row.parent))
    } else if (isChevron || (key === " " && row.isFolder)) this.#levels.toggle(row)
    else if (key === "click" || key === "Enter" || key === " ") {
      // What is both is shown and opened; what is only above others has nothing to show.
      const isProperty = row.isProperty || this.sight.values.has(row.path)
      if (row.isFolder && (!isProperty || !row.isOpen)) this.#levels.toggle(row)
      if (isProperty) this.#go(row.path)
    }
  }

  #go(path) { location.hash = this.#address(path) }

  #make() {
    const path = line({ required: true, placeholder: "kitchen/temperature",
      value: this.selected ? `${this.selected.split("/").slice(0, -1).join("/")}/`.replace(/^\//, "") : "" })
    const text = h("textarea", { rows: 5, spellcheck: false, placeholder: "21.5" })
    const isFormula = h("input", { type: "checkbox" })
    const ttl = line({ placeholder: "none", size: 8 })
    const problem = h("p.problem", { role: "alert" })
    const save = async () => {
      try {
        await ask(`properties/${encoded(path.value.trim())}${query({ ttl: isFormula.checked ? "" : ttl.value.trim() })}`, { method: "PUT",
          body: text.value.trim() || "null", headers: { "If-None-Match": "*",
            "Content-Type": isFormula.checked ? "application/cel" : "application/json" } })
        dialog.close()
        this.#go(path.value.trim())
      } catch (refusal) {
        problem.textContent = refusal.code === "precondition_failed" ? "There is a property at this path already."
          : refusal.message
      }
    }
    const dialog = openDialog("New property", h("form", { onsubmit: save }, field("Path", path),
      field("Value", text, "JSON: a number, true, \"text\", a list, an object"),
      h("div.line", field("Time to live", ttl, "60s, 5m, 2h"),
        h("label.check", isFormula, "computed by a formula")),
      problem,
      h("div.actions", push("Cancel", () => dialog.close()), submit("Create"))))
    path.focus()
  }
}

/** What is no pattern, as * and ** stand for whole segments, is looked for as text. */
function meant(match, where) {
  const stars = match.split("/").filter((name) => name.includes("*"))
  if (!match || (stars.length > 0 && stars.every((name) => name === "*" || name === "**"))) return [match, where]
  const parts = match.split(/[*/]*\*[*/]*/).filter(Boolean)
  const conditions = parts.map((part) => `path.contains(${JSON.stringify(part)})`)
  if (where) conditions.push(`(${where})`)
  return ["**", conditions.join(" && "), parts.join(" … ")]
}

function makeRow() {
  return h("div.row", h("span.row-chevron"), h("span.row-name"),
    h("span.row-mark"), h("span.row-value"))
}

function flash(element) {
  element.classList.remove("is-new")
  // Begins the animation anew.
  requestAnimationFrame(() => element.classList.add("is-new"))
}
