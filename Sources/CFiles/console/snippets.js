// SPDX-License-Identifier: MIT
// How a program gets at what is shown: lines to paste.
import { base, encoded } from "./api.js"
import { button, copy, h, segments } from "./dom.js"

const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`
const server = () => base.href.replace(/\/$/, "")

const kinds = {
  curl: (path, value) => `# the value
curl ${shell(`${server()}/properties/${encoded(path)}`)}
# set it
curl -X PUT ${shell(`${server()}/properties/${encoded(path)}`)} -d ${shell(JSON.stringify(value ?? null))}
# every change, as it comes
curl -N ${shell(`${server()}/events?match=${encodeURIComponent(path)}`)}`,
  watch: (path, value) => `signal-server watch --server ${server()} ${shell(path)}
signal-server set --server ${server()} ${shell(path)} ${shell(JSON.stringify(value ?? null))}`,
  JavaScript: (path, value) => `import { connect } from ${JSON.stringify(`${server()}/client.js`)}

const client = connect(${JSON.stringify(server())})
const property = client.property(${JSON.stringify(path)})
property.subscribe((value) => console.log(value))
await property.set(${JSON.stringify(value ?? null)})`,
}

/** A card with the lines for a property; `value()` is the present one. */
export function snippets(path, value) {
  let chosen = "curl"
  const text = h("pre", { class: "text", tabIndex: 0, "aria-label": "Lines to copy" })
  const show = () => { text.textContent = kinds[chosen](path, value()) }
  const tabs = segments("Language", Object.keys(kinds).map((name) => [name, name]), chosen, (name) => { chosen = name; show() })
  return h("details", { class: "card", ontoggle: show }, h("summary", { class: "card-head" }, h("h3", null, "Copy as …")),
    h("div", { class: "line" }, tabs, button("copy", "", () => copy(text.textContent), { text: "Copy" })), text)
}
