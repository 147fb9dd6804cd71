// SPDX-License-Identifier: MIT
// The frame: who is there, which view is shown, in which light.
import { ask, isSignedIn, json, live, onSignInNeeded, signIn } from "./api.js"
import { button, complain, field, h, icon, line, replace } from "./dom.js"
import { History } from "./metrics.js"
import { PropertiesView } from "./properties.js"

// What is not looked at first is fetched when it is.
const views = {
  properties: { title: "Properties", make: async () => new PropertiesView() },
  signals: { title: "Signals", make: async () => new (await import("./signals.js")).SignalsView() },
  expressions: { title: "Expressions", make: async () => new (await import("./expressions.js")).ExpressionsView() },
  clients: { title: "Clients", make: async () => new (await import("./clients.js")).ClientsView() },
  server: { title: "Server", make: async () => new (await import("./server.js")).ServerView() },
}

let shown = null
let shownName = null

const main = h("main", { id: "main", tabIndex: -1 })
const state = h("span", { class: "state", role: "status" })
const who = h("button", { class: "button quiet who", type: "button", hidden: true, onclick: () => askWho() })
const links = Object.entries(views).map(([name, { title }]) =>
  h("a", { href: `#/${name}`, "data-view": name }, icon(name), h("span", null, title)))

document.body.prepend(
  h("a", { class: "skip", href: "#main", onclick(event) { event.preventDefault(); main.focus() } }, "To the content"),
  h("header", { class: "top" },
    h("a", { class: "brand", href: "#/properties" }, h("img", { src: "console/icon.svg", alt: "", width: 26, height: 26 }),
      h("h1", null, "Signal Server")),
    state, h("span", { class: "grow" }), who, button("theme", "Light or dark", turnLight, { class: "quiet" })),
  h("nav", { class: "views", "aria-label": "Views" }, ...links), main)

// MARK: Light

const dark = matchMedia("(prefers-color-scheme: dark)")
const chosen = () => localStorage.getItem("signal-console-theme")
const shine = () => { document.documentElement.dataset.theme = chosen() ?? (dark.matches ? "dark" : "light") }

function turnLight() {
  const other = document.documentElement.dataset.theme === "dark" ? "light" : "dark"
  localStorage.setItem("signal-console-theme", other)
  shine()
}

dark.addEventListener("change", shine)
shine()

// MARK: Views

async function route() {
  const [path, options] = location.hash.replace(/^#\/?/, "").split("?")
  const [name, ...rest] = path.split("/")
  const wanted = name in views ? name : "properties"
  for (const link of links) {
    if (link.dataset.view === wanted) link.setAttribute("aria-current", "page")
    else link.removeAttribute("aria-current")
  }
  document.title = `${views[wanted].title} · Signal Server`
  if (wanted !== shownName) {
    shown?.close()
    shownName = wanted
    shown = null
    const view = await views[wanted].make().catch(complain)
    if (shownName !== wanted || !view) return
    shown = view
    replace(main, shown.element)
  }
  shown?.open(rest.map(decodeURIComponent).join("/"), new URLSearchParams(options ?? ""))
}

addEventListener("hashchange", route)

// MARK: Who is there

let stopState = null

function begin() {
  stopState?.()
  const client = live()
  stopState = client.subscribe((word) => {
    state.dataset.state = word
    state.textContent = { live: "Live", connecting: "Connecting …", stale: "Reconnecting …", closed: "Closed" }[word]
    if (word === "closed" && client.error) {
      if (["unauthenticated", "invalid_token"].includes(client.error.code)) askWho(client.error.message)
      else complain(client.error)
    }
  })
  shown?.close()
  shown = shownName = null
  // From now on, so that there is something to see when somebody looks.
  History.shared.quicken(false)
  route()
}

async function tellWho() {
  const answer = await ask("auth/me").catch(() => null)
  const auth = (await answer?.json())?.auth
  who.replaceChildren(icon("key"), h("span", null, auth ? String(auth.id ?? auth.sub ?? auth.kind) : "Sign in"))
  // Only a server that looks at tokens says that its answers vary with them.
  who.hidden = !auth && !/authorization/i.test(answer?.headers.get("Vary") ?? "")
}

let dialog = null

function askWho(reason) {
  if (dialog) return
  const token = line({ type: "password", required: true,
    placeholder: "sgn_… or eyJ…" })
  const isKept = h("input", { type: "checkbox" })
  const problem = h("p", { class: "problem", role: "alert", hidden: !reason }, reason ?? "")
  const enter = async (event) => {
    event.preventDefault()
    signIn(token.value.trim(), { isKept: isKept.checked })
    try {
      const { auth } = await json("auth/me")
      if (!auth) throw new Error("This server knows no tokens.")
      dialog.close()
      tellWho()
      begin()
    } catch (refusal) {
      signIn(undefined)
      problem.hidden = false
      problem.textContent = refusal.message
    }
  }
  const leave = () => { signIn(undefined); dialog.close(); tellWho(); begin() }
  dialog = h("dialog", { class: "dialog", "aria-label": "Sign in", onclose() { dialog.remove(); dialog = null } },
    h("form", { onsubmit: enter }, h("h2", null, "Sign in"),
      h("p", { class: "muted" }, "Paste a token of this server, or a JSON Web Token of its issuer. It stays in this page."),
      field("Token", token), h("label", { class: "check" }, isKept, "keep it until this tab is closed"), problem,
      h("div", { class: "actions" }, isSignedIn() && button(null, "", leave, { text: "Sign out" }),
        button(null, "", () => dialog.close(), { text: "Cancel" }),
        h("button", { class: "button primary", type: "submit" }, "Sign in"))))
  document.body.append(dialog)
  dialog.showModal()
  token.focus()
}

onSignInNeeded(() => askWho())

async function start() {
  tellWho()
  try {
    // Whoever has to say first who is there is asked before anything connects.
    await json("properties?limit=1&depth=1&fields=path")
  } catch (problem) {
    if (problem.status === 401) return
  }
  begin()
}

start()
