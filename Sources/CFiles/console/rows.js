// SPDX-License-Identifier: MIT
// A list of any length of which only the rows in sight are in the document.
import { framed, h } from "./dom.js"

export class Rows {
  #rows = []
  #shown = new Map()
  #spare = []
  #height = 30
  active = 0

  /**
   * `make()` makes an element, `fill(element, row, index)` shows a row in it, `seen(first, end)` is told which are in sight,
   * `act(row, event)` what is to be done with the active one.
   */
  constructor({ role, itemRole, label, make, fill, seen, act }) {
    Object.assign(this, { make, fill, seen, act, itemRole })
    this.space = h("div.rows-space", { role: "presentation" })
    this.element = h("div.rows", { role, tabIndex: 0, label,
      onscroll: () => this.refresh(), onkeydown: (event) => this.#press(event) }, this.space)
    this.#observer.observe(this.element)
  }

  #observer = new ResizeObserver(() => this.refresh())

  stop() { this.#observer.disconnect() }

  get rows() { return this.#rows }
  set rows(rows) {
    this.#rows = rows
    this.active = Math.min(this.active, Math.max(0, rows.length - 1))
    this.refresh()
  }

  refresh = framed(() => this.#draw())

  #draw() {
    const { element } = this
    const style = getComputedStyle(element)
    this.#height = parseFloat(style.getPropertyValue("--row")) || 30
    const total = `${this.#rows.length * this.#height}px`
    if (this.space.style.height !== total) this.space.style.height = total
    const first = Math.max(0, Math.floor(element.scrollTop / this.#height) - 4)
    const end = Math.min(this.#rows.length, Math.ceil((element.scrollTop + element.clientHeight) / this.#height) + 4)
    for (const [index, row] of this.#shown) {
      if (index >= first && index < end) continue
      this.#shown.delete(index)
      row.hidden = true
      this.#spare.push(row)
    }
    for (let index = first; index < end; index += 1) {
      let row = this.#shown.get(index)
      if (!row) {
        row = this.#spare.pop()
        if (!row) {
          row = this.make()
          row.id = `row-${rowNumber += 1}`
          row.setAttribute("role", this.itemRole)
          row.addEventListener("click", (event) => {
            this.active = Number(row.dataset.index)
            this.refresh()
            this.act(this.#rows[this.active], "click", event)
          })
          this.space.append(row)
        }
        row.hidden = false
        this.#shown.set(index, row)
        row.style.transform = `translateY(${index * this.#height}px)`
        row.dataset.index = index
      }
      row.classList.toggle("is-active", index === this.active)
      this.fill(row, this.#rows[index], index)
    }
    const active = this.#shown.get(this.active)
    if (active) element.setAttribute("aria-activedescendant", active.id)
    else element.removeAttribute("aria-activedescendant")
    this.seen(first, end)
  }

  show(index) {
    this.active = Math.max(0, Math.min(index, this.#rows.length - 1))
    const { element } = this
    const top = this.active * this.#height
    element.scrollTop = Math.max(top + this.#height - element.clientHeight, Math.min(top, element.scrollTop))
    this.refresh()
  }

  #press(event) {
    if (event.target !== this.element || event.altKey || event.ctrlKey || event.metaKey) return
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.#height) - 1)
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }
    const row = this.#rows[this.active]
    if (event.key in steps) this.show(this.active + steps[event.key])
    else if (row && ["Enter", " ", "ArrowLeft", "ArrowRight"].includes(event.key)) this.act(row, event.key, event)
    else return
    event.preventDefault()
  }
}

let rowNumber = 0
