// SPDX-License-Identifier: MIT
// The frame: who is there, which view is shown, in which light.
import { ask, isSignedIn, json, live, onRefused, signIn } from "./api.js"
import { button, complain, field, h, icon, line, openDialog, push, replace, submit } from "./dom.js"
import { History } from "./metrics.js"

const views = { properties: "Properties", signals: "Signals", expressions: "Expressions", clients: "Clients", server: "Server" }
/** What is not looked at first is fetched when it is. */
const make = async (name) => new (await import(`./${name}.js`)).default()

// There while the page asks by itself.
let stopState = null
let shown = null
let shownName = null

const main = h("main", { id: "main", tabIndex: -1 })
const state = h("span.state", { role: "status" })
const who = h("button.button.quiet.who", { type: "button", hidden: true, onclick: () => askWho() })
const links = Object.entries(views).map(([name, title]) =>
  h("a", { href: `#/${name}`, "data-view": name }, icon(name), h("span", title)))

document.body.prepend(
  h("a.skip", { href: "#main", onclick(event) { event.preventDefault(); main.focus() } }, "To the content"),
  h("header.top",
    h("a.brand", { href: "#/properties" }, h("img", { src: "console/icon.svg", alt: "", width: 26, height: 26 }),
      h("h1", "Signal Server")),
    state, h("span.grow"), who, button("theme", "Light or dark", turnLight, "quiet")),
  h("nav.views", { label: "Views" }, ...links), main)

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

async function route() {
  if (!stopState) return
  const [path, options] = location.hash.replace(/^#\/?/, "").split("?")
  const [name, ...rest] = path.split("/")
  const wanted = name in views ? name : "properties"
  for (const link of links) {
    if (link.dataset.view === wanted) link.setAttribute("aria-current", "page")
    else link.removeAttribute("aria-current")
  }
  document.title = `${views[wanted]} · Signal Server`
  if (wanted !== shownName) {
    shown?.close()
    shownName = wanted
    shown = null
    const view = await make(wanted).catch(complain)
    if (shownName !== wanted || !view) return
    shown = view
    replace(main, shown.element)
    // The address may be another one by now.
    return route()
  }
  shown?.open(rest.map(decodeURIComponent).join("/"), new URLSearchParams(options ?? ""))
}

addEventListener("hashchange", async ({ newURL, oldURL }) => {
  if (shown?.isEdited) {
    // The address is of what is shown, until that may be left.
    history.pushState(null, "", oldURL)
    if (!(await shown.mayLeave())) return
    history.replaceState(null, "", newURL)
  }
  route()
})
addEventListener("beforeunload", (event) => { if (shown?.isEdited) event.preventDefault() })

/** Ends all that asks by itself. */
function stop() {
  stopState?.()
  stopState = null
  shown?.close()
  shown = shownName = null
  History.shared.stop()
  replace(main)
}

function begin() {
  stop()
  const client = live()
  stopState = client.subscribe((word) => {
    state.dataset.state = word
    state.textContent = { live: "Live", connecting: "Connecting …", stale: "Reconnecting …", closed: "Closed" }[word]
    if (word === "closed" && client.error) {
      const { code, closeCode, message } = client.error
      if (closeCode === 4401 || code === "invalid_token") refuse("The server does not accept the token any more.")
      else if (code === "unauthenticated") askWho(message)
      else complain(client.error)
    }
  })
  // From now on, so that there is something to see when somebody looks.
  History.shared.quicken(false)
  route()
}

async function tellWho() {
  const answer = await ask("auth/me").catch(() => null)
  const auth = (await answer?.json())?.auth
  who.replaceChildren(icon("key"), h("span", auth ? String(auth.id ?? auth.sub ?? auth.kind) : "Sign in"))
  // Only a server that looks at tokens says that its answers vary with them.
  who.hidden = !auth && !/authorization/i.test(answer?.headers.get("Vary") ?? "")
}

/** A token that is not accepted is not sent again: the page goes on as nobody, as far as the server lets it. */
function refuse(reason) {
  if (!stopState) return
  become(undefined)
  start(reason)
}

function become(token, options) {
  signIn(token, options)
  stop()
}

let dialog = null

function askWho(reason) {
  if (dialog) return
  const token = line({ type: "password", required: true,
    placeholder: "sgn_… or eyJ…" })
  const isKept = h("input", { type: "checkbox" })
  const problem = h("p.problem", { role: "alert" }, reason ?? "")
  const enter = async () => {
    const given = token.value.trim()
    try {
      // By itself first: who is signed in stays that until another token is good.
      const { auth } = await json("auth/me", { as: given })
      if (!auth) throw new Error("This server knows no tokens.")
      dialog.close()
      become(given, { isKept: isKept.checked })
      start()
    } catch (refusal) {
      problem.textContent = refusal.message
    }
  }
  const leave = () => { dialog.close(); become(undefined); start() }
  dialog = openDialog("Sign in", h("form", { onsubmit: enter },
      h("p.muted", "Paste a token of this server, or a JSON Web Token of its issuer. It stays in this page."),
      field("Token", token), h("label.check", isKept, "keep it until this tab is closed"), problem,
      h("div.actions", isSignedIn() && push("Sign out", leave),
        push("Cancel", () => dialog.close()), submit("Sign in"))))
  dialog.addEventListener("close", () => { dialog = null })
  token.focus()
}

onRefused(refuse)

/** `reason` is why somebody is asked to sign in whom the server lets in without. */
async function start(reason) {
  // Whoever has to say first who is there is asked before anything connects.
  const problem = await json("properties?limit=1&depth=1&fields=path").catch((problem) => problem)
  if (problem.code === "invalid_token" && isSignedIn()) {
    signIn(undefined)
    return start(problem.message)
  }
  tellWho()
  if (problem.status !== 401) begin()
  if (reason || problem.status === 401) askWho(reason ?? (problem.code === "invalid_token" && problem.message))
}

start()
