// SPDX-License-Identifier: MIT
// How a program gets at what is shown: lines to paste.
import { base, encoded } from "./api.js"
import { copy, h, push, segments } from "./dom.js"

const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`
const server = () => base.href.replace(/\/$/, "")

const kinds = {
  curl: (path, value) => `# the value
curl ${shell(`${server()}/properties/${encoded(path)}`)}
# set it
curl -X PUT ${shell(`${server()}/properties/${encoded(path)}`)} -d ${shell(value)}
# every change, as it comes
curl -N ${shell(`${server()}/events?match=${encodeURIComponent(path)}`)}`,
  watch: (path, value) => `signal-server watch --server ${server()} ${shell(path)}
signal-server set --server ${server()} ${shell(path)} ${shell(value)}`,
  JavaScript: (path, value) => `import { connect } from ${JSON.stringify(`${server()}/client.js`)}

const client = connect(${JSON.stringify(server())})
const property = client.property(${JSON.stringify(path)})
property.subscribe((value) => console.log(value))
await property.set(${value})`,
}

/** A card with the lines for a property; `value()` resolves to the JSON of the present one. */
export function snippets(path, value) {
  let chosen = "curl"
  const text = h("pre.text", { tabIndex: 0, label: "Lines to copy" })
  const show = async () => { text.textContent = kinds[chosen](path, await value()) }
  const tabs = segments("Language", Object.keys(kinds).map((name) => [name, name]), chosen, (name) => { chosen = name; show() })
  return h("details.card", { ontoggle: show }, h("summary.card-head", h("h3", "Copy as …")),
    h("div.line", tabs, push("Copy", () => copy(text.textContent), "", "copy")), text)
}
