// SPDX-License-Identifier: MIT
// JSON as text and as a tree that folds.
import { h, count, bytes } from "./dom.js"

const most = 200

/** One line of a value, for rows. */
export function preview(value) {
  if (value === undefined) return ""
  if (value === null || typeof value !== "object") return typeof value === "string" ? quoted(value, 120) : String(value)
  if (Array.isArray(value)) return `[${value.length === 0 ? "" : `${count(value.length)} items`}]`
  const names = Object.keys(value)
  const shown = names.slice(0, 4).map((name) => `${name}: ${brief(value[name])}`).join(", ")
  return `{${shown}${names.length > 4 ? ", …" : ""}}`
}

const brief = (value) => value === null || typeof value !== "object"
  ? typeof value === "string" ? quoted(value, 24) : String(value) : Array.isArray(value) ? "[…]" : "{…}"

const quoted = (text, length) => JSON.stringify(text.length > length ? `${text.slice(0, length)}…` : text)

export const kind = (value) => value === null ? "null" : Array.isArray(value) ? "object" : typeof value

const tokens = /"(?:[^"\\]|\\.)*"|\{\}|\[\]|[{}[\],:]/g

/** JSON without spaces, as the server has it, with line breaks, in which every digit stays as it is. */
export function pretty(text) {
  let depth = 0
  const line = () => `\n${"  ".repeat(depth)}`
  return text.replace(tokens, (token) => {
    if ("{[".includes(token)) depth += 1
    if ("}]".includes(token)) {
      depth -= 1
      return line() + token
    }
    return token === ":" ? ": " : "{[,".includes(token) ? token + line() : token
  })
}

export const pointerOf = (pointer, name) => `${pointer}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`

/** The part of a value at a JSON Pointer; undefined when there is none. */
export function part(value, pointer) {
  for (const name of pointer.split("/").slice(1)) {
    if (value === null || typeof value !== "object") return undefined
    value = value[name.replaceAll("~1", "/").replaceAll("~0", "~")]
  }
  return value
}

/** The pointers of the numbers in a value, the whole included. */
export function numbers(value, limit = 12) {
  const found = []
  const walk = (part, pointer, depth) => {
    if (found.length >= limit) return
    if (typeof part === "number") found.push(pointer)
    else if (part && typeof part === "object" && depth < 4) {
      for (const [name, child] of Object.entries(part).slice(0, 50)) walk(child, pointerOf(pointer, name), depth + 1)
    }
  }
  walk(value, "", 0)
  return found
}

/** A tree whose branches are made when they are opened. `open` is the set of open pointers, kept between two trees. */
export function tree(value, open, pick) {
  return h("div.json", { role: "tree", label: "The value as a tree" }, branch(value, "", null, open, pick))
}

function branch(value, pointer, name, open, pick) {
  const label = name === null ? null : h("span.json-name", name)
  if (value === null || typeof value !== "object") {
    const leaf = h("span", { class: `kind-${kind(value)}` },
      typeof value === "string" ? JSON.stringify(value) : String(value))
    const chart = typeof value === "number" && pick && pointer !== "" &&
      h("button.link", { type: "button", onclick: () => pick(pointer) }, "chart")
    return h("div.json-line", { role: "treeitem" }, label, leaf, chart)
  }
  const names = Object.keys(value)
  const isArray = Array.isArray(value)
  const summary = `${isArray ? "[" : "{"}${names.length === 0 ? "" : ` ${count(names.length)} `}${isArray ? "]" : "}"}`
  const details = h("details.json-branch", { open: open.has(pointer) }, h("summary", label,
    h("span.json-size", summary)))
  const body = h("div.json-body", { role: "group" })
  const fill = (from) => {
    const end = Math.min(names.length, from + most)
    for (let index = from; index < end; index += 1) {
      body.append(branch(value[names[index]], pointerOf(pointer, names[index]), names[index], open, pick))
    }
    if (end < names.length) {
      body.append(h("button.link", { type: "button", onclick(event) { event.target.remove(); fill(end) } },
        `${count(names.length - end)} more`))
    }
  }
  const opened = () => { if (body.childElementCount === 0) fill(0) }
  if (details.open) opened()
  details.addEventListener("toggle", () => {
    if (details.open) { open.add(pointer); opened() } else open.delete(pointer)
  })
  details.append(body)
  return h("div", { role: "treeitem" }, details)
}

export const sizeOf = (text) => bytes(new TextEncoder().encode(text).length)
