// SPDX-License-Identifier: MIT
// Elements, times and numbers as the console writes them. Text never becomes markup: nothing here parses HTML.

/** An element, as `td.number`; its properties may be left out. */
export function h(what, ...children) {
  const [tag, ...classes] = what.split(".")
  const element = document.createElement(tag)
  if (classes.length > 0) element.className = classes.join(" ")
  const properties = children[0]?.constructor === Object ? children.shift() : {}
  for (const [name, value] of Object.entries(properties)) {
    if (!isThere(value)) continue
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value)
    else if (name === "class") element.className = value
    else if (name === "label") element.setAttribute("aria-label", value)
    else if (name in element && name !== "list" && name !== "form") element[name] = value
    else element.setAttribute(name, value === true ? "" : value)
  }
  element.append(...children.flat(Infinity).filter(isThere))
  return element
}

const shapes = {
  properties: "M4 5h6M4 5v14m0-7h6m-6 7h6M14 5h6m-6 7h6m-6 7h6",
  signals: "M12 12h.01M8.5 15.5a5 5 0 0 1 0-7m7 0a5 5 0 0 1 0 7M5.6 18.4a9 9 0 0 1 0-12.8m12.8 0a9 9 0 0 1 0 12.8",
  expressions: "M8 4c-3 0-2 3-2 5s-1 3-3 3c2 0 3 1 3 3s-1 5 2 5m8-16c3 0 2 3 2 5s1 3 3 3c-2 0-3 1-3 3s1 5-2 5",
  clients: "M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7 9c0-3.5 3-6 7-6s7 2.5 7 6m0-16.7a4 4 0 0 1 0 7.4M18 14.5c2.5.7 4 2.8 4 5.5",
  server: "M4 4h16v7H4zm0 9h16v7H4zm4-5.5h.01M8 16.5h.01",
  back: "m15 6-6 6 6 6", close: "m6 6 12 12M18 6 6 18", plus: "M12 5v14M5 12h14",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  edit: "M4 20h4L19 9l-4-4L4 16zm9-13 4 4", trash: "M5 7h14M10 7V4h4v3m3 0-1 13H8L7 7",
  theme: "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17Zm0-17v17", pause: "M8 5v14m8-14v14", check: "m5 12 5 5L20 7",
  key: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-8 8c0-3.5 3.5-5.5 8-5.5s8 2 8 5.5",
}

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg")
  svg.setAttribute("viewBox", "0 0 24 24")
  svg.setAttribute("aria-hidden", "true")
  svg.setAttribute("class", "icon")
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path")
  path.setAttribute("d", shapes[name])
  svg.append(path)
  return svg
}

/** A button that shows an icon alone; `label` is what it is called. */
export const button = (shape, label, onclick, style = "") =>
  h("button", { class: `button ${style}`, type: "button", title: label, label, onclick }, icon(shape))

export const push = (text, onclick, style = "", shape) =>
  h("button", { class: `button ${style}`, type: "button", onclick }, shape && icon(shape), h("span", text))

export function field(label, input, hint) {
  return h("label.field", h("span", label), input, hint && h("small", hint))
}

/** A line for names, patterns and the like, which no browser shall correct or complete. */
export const line = (properties) => h("input", { spellcheck: false, autocomplete: "off", ...properties })

/** A table that scrolls sideways where there is no room. */
export const table = (names, body, style) => h("div.wide-table", { tabIndex: 0 }, h("table", { class: style },
  h("thead", h("tr", names.map((name) => h("th", { scope: "col" }, name)))), body))

export const remark = (text, style = "muted") => h("tr", h("td", { colSpan: 8, class: style }, text))

export const fact = (name, ...values) => h("div", h("dt", name), h("dd", ...values))

/** Buttons of which one is pressed; `names` are pairs of what each is called and what it stands for. */
export function segments(label, names, pressed, choose) {
  return h("div.segments", { role: "group", label }, names.map(([name, value]) =>
    h("button", { type: "button", "aria-pressed": String(value === pressed), onclick(event) {
      for (const other of event.target.parentNode.children) other.setAttribute("aria-pressed", String(other === event.target))
      choose(value)
    } }, name)))
}

export const isThere = (value) => (value ?? false) !== false

export const replace = (element, ...children) =>
  element.replaceChildren(...children.flat().filter(isThere))

/** Calls at most once in `delay` milliseconds, the last call included. */
export function throttled(delay, fn) {
  let timer = null
  let last = 0
  return (...values) => {
    clearTimeout(timer)
    timer = setTimeout(() => { last = performance.now(); fn(...values) }, Math.max(0, last + delay - performance.now()))
  }
}

export function framed(fn) {
  let frame = 0
  return () => { frame ||= requestAnimationFrame(() => { frame = 0; fn() }) }
}

/** Calls when nothing has been asked for `delay` milliseconds. */
export function settled(delay, fn) {
  let timer = null
  return (...values) => {
    clearTimeout(timer)
    timer = setTimeout(fn, delay, ...values)
  }
}

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 })

/** With a thin space between groups, as a comma is a decimal point to many. */
export const count = (number) => grouped.format(number).replaceAll(",", "\u2009")

export function short(number) {
  if (!Number.isFinite(number)) return "–"
  const size = Math.abs(number)
  if (size >= 1e9) return `${trim(number / 1e9)}\u2009G`
  if (size >= 1e6) return `${trim(number / 1e6)}\u2009M`
  if (size >= 1e4) return `${trim(number / 1e3)}\u2009k`
  return size >= 100 || Number.isInteger(number) ? count(number) : trim(number)
}

const trim = (number) => String(Number(number.toPrecision(3)))

export function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"]
  let unit = 0
  for (; number >= 1024 && unit < units.length - 1; unit += 1) number /= 1024
  return `${number < 10 && unit > 0 ? number.toFixed(1) : Math.round(number)}\u2009${units[unit]}`
}

export function duration(seconds) {
  if (seconds > 0 && seconds < 1) return seconds < 1e-3 ? `${trim(seconds * 1e6)}\u2009µs` : `${trim(seconds * 1e3)}\u2009ms`
  const [size, unit] = [[86_400, "d"], [3600, "h"], [60, "min"]].find(([size]) => seconds >= 2 * size) ?? [1, "s"]
  return `${Math.max(0, Math.floor(seconds / size))}\u2009${unit}`
}

/** The date and the time of day, here. */
const local = (date) => new Date(date - date.getTimezoneOffset() * 60_000).toISOString().split("T")

/** The time of day, with the date when that is another one. */
export function clock(time, { precise = false } = {}) {
  const [day, rest] = local(new Date(time))
  return `${day === local(new Date())[0] ? "" : `${day} `}${rest.slice(0, precise ? 12 : 8)}`
}

/** An element that says how long ago a time is, and keeps saying it while it is shown. */
export const ago = (time) => ticker(time, (seconds) => seconds > -1 ? "now" : `${duration(-seconds)} ago`)

export const until = (time) => ticker(time, (seconds) =>
  seconds <= 0 ? "now" : seconds < 120 ? `${Math.ceil(seconds)}\u2009s` : duration(seconds))

function ticker(time, text) {
  const element = h("time", { datetime: time, title: clock(time, { precise: true }) })
  const tell = () => { element.textContent = text((Date.parse(time) - Date.now()) / 1000) }
  tell()
  ticking.set(element, tell)
  return element
}

const ticking = new Map()
setInterval(() => {
  for (const [element, tell] of ticking) {
    if (!element.isConnected) ticking.delete(element)
    else if (!document.hidden) tell()
  }
}, 1000)

// What forms hold is sent by scripts alone.
addEventListener("submit", (event) => event.preventDefault())

const notices = h("div.notices", { role: "status", "aria-live": "polite" })
document.body.append(notices)

/** Tells something that needs no answer; problems stay until they are dismissed. */
export function tell(text, { isProblem = false } = {}) {
  const dismiss = () => notice.remove()
  const notice = h("div", { class: `notice${isProblem ? " is-problem" : ""}` },
    h("span", text), button("close", "Dismiss", dismiss, "quiet"))
  notices.append(notice)
  while (notices.children.length > 4) notices.firstChild.remove()
  setTimeout(dismiss, isProblem ? 15_000 : 3500)
}

export const complain = (problem) => tell(problem?.detail ?? problem?.message ?? String(problem), { isProblem: true })

export const submit = (text) => h("button.button.primary", { type: "submit" }, text)

export const card = (title, head, ...children) =>
  h("section.card", { label: title }, h("div.card-head", h("h3", title), head), ...children)

/** Shows a dialog; when it is closed, it is gone. */
export function openDialog(title, ...children) {
  const dialog = h("dialog.dialog", { label: title, onclose: () => dialog.remove() }, h("h2", title), ...children)
  document.body.append(dialog)
  dialog.showModal()
  return dialog
}

export function confirm(title, text, yes) {
  return new Promise((resolve) => {
    const dialog = openDialog(title, h("div", text),
      h("div.actions",
        push("Cancel", () => dialog.close()),
        push(yes, () => { resolve(true); dialog.close() }, "danger")))
    dialog.addEventListener("close", () => resolve(false))
    // What is asked about is no longer shown.
    addEventListener("hashchange", () => dialog.close(), { once: true })
  })
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text)
    tell("Copied")
  } catch {
    tell("The browser does not let this page copy: select the text instead", { isProblem: true })
  }
}
