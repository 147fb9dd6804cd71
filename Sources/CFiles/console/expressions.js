// SPDX-License-Identifier: MIT
// A place to try expressions: what the server makes of them, what they cost, and what they find.
import { encoded, json, query } from "./api.js"
import { count, fact, field, h, line, replace, segments, settled } from "./dom.js"
import { kind, preview } from "./values.js"

const examples = {
  where: ["value > 21.0", 'path.startsWith("kitchen/") && value != null', "has(value.level) && value.level > 50",
    "oldValue != null && value > oldValue * 1.1"],
  formula: ['properties["kitchen/temperature"] * 1.8 + 32.0', 'properties[?"grid/power"].orValue(0) > 2000'],
}

export default class ExpressionsView {
  #kind = "where"
  #number = 0

  constructor() {
    this.text = h("textarea", { rows: 4, spellcheck: false, label: "Expression", oninput: () => this.#changed() })
    this.match = line({ value: "**", oninput: () => this.#changed() })
    this.matchField = field("Try it on", this.match, "a pattern of paths")
    this.tabs = segments("What it is", [["Filter", "where"], ["Formula", "formula"]], "where", (name) => this.#as(name))
    this.samples = h("div.legend")
    this.verdict = h("section.card.verdict", { label: "What the server makes of it", "aria-live": "polite" })
    this.element = h("div.page.is-double", h("h2", "Expressions"),
      h("section.card.form", { label: "The expression" }, h("div.card-head", h("h3", "Expression"),
        this.tabs), this.text, this.samples, this.matchField), this.verdict)
    this.text.value = examples.where[0]
    this.#as("where")
  }

  open() { this.#explain() }
  close() {}

  #as(name) {
    const isNew = name !== this.#kind
    this.#kind = name
    this.matchField.hidden = name === "formula"
    replace(this.samples, ...examples[name].map((text) => h("button.chip", { type: "button", onclick: () => {
      this.text.value = text
      this.#explain()
    } }, text)))
    if (isNew) {
      this.text.value = examples[name][0]
      this.#explain()
    }
  }

  #changed = settled(200, () => this.#explain())

  async #explain() {
    const text = this.text.value
    const number = (this.#number += 1)
    if (!text.trim()) return replace(this.verdict, h("p.muted", "Nothing yet."))
    const match = this.match.value.trim() || "**"
    try {
      const answer = await json("expressions/explain", { method: "POST",
        body: this.#kind === "where" ? { where: text, match } : { formula: text } })
      if (number !== this.#number) return
      replace(this.verdict, ...(answer.valid ? this.#valid(answer) : this.#invalid(answer)))
      if (answer.valid && this.#kind === "where" && answer.properties?.matching > 0) this.#find(text, match, number)
    } catch (problem) {
      if (number === this.#number) replace(this.verdict, h("p.problem", problem.message))
    }
  }

  #invalid({ detail, text }) {
    return [h("div.line", h("h3", "It is wrong"), h("span.tag.is-bad", "not valid")),
      h("pre.mistake", text ? `${detail}\n\n${text}` : detail)]
  }

  #valid(answer) {
    const { type, cost, kind: what, indexed, properties, warnings, variables, inputs, value, failure } = answer
    const kinds = { state: "a state: who stops matching is told to have left", transition: "a transition: single changes",
      formula: "the value of a computed property" }
    return [
      h("div.line", h("h3", "It is right"), h("span.tag.is-good", type)),
      h("dl.meta", fact("Describes", kinds[what] ?? what), fact("Costs up to", `${count(cost)} steps`),
        variables?.length > 0 && fact("Uses", variables.join(", "))),
      indexed?.length > 0 && h("p", h("span.tag.is-good", "indexed"), " ",
        h("span.mono", indexed.join(", ")), h("span.muted", ": other changes cost nothing")),
      ...(warnings ?? []).map(({ detail, text }) => h("pre.hint.mono", `${detail}\n${text}`)),
      properties && h("p", h("b", count(properties.matching)), ` of ${count(properties.examined)}`,
        properties.all ? "" : " that were looked at", " match",
        properties.failed > 0 && h("span.problem", `; it fails on ${count(properties.failed)}`)),
      properties?.failure && h("pre.mistake", properties.failure),
      inputs && h("p", "Reads ", ...inputs.flatMap((path, index) => [index > 0 && ", ",
        h("a.mono", { href: `#/properties/${encoded(path)}` }, path)])),
      value !== undefined && h("p", "Is now ", h("b", { class: `mono kind-${kind(value)}` }, preview(value))),
      failure && h("pre.mistake", failure),
      this.results = h("ul.inputs"),
    ].filter(Boolean)
  }

  async #find(where, match, number) {
    const page = await json(`properties${query({ where, match, limit: 12 })}`).catch(() => null)
    if (!page || number !== this.#number) return
    replace(this.results, ...page.properties.map(({ path, value }) => h("li",
      h("a", { href: `#/properties/${encoded(path)}` }, path), " ", h("span", { class: `kind-${kind(value)}` }, preview(value)))))
  }
}
