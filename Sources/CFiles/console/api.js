// SPDX-License-Identifier: MIT
// What the console asks of the server: requests by fetch, everything live by the client that anybody can use.
import { connect } from "../client.js"

/** Where the server is, also behind a proxy that serves it below a path. */
export const base = new URL("../", import.meta.url)

const tokenName = "signal-console-token"
let token = sessionStorage.getItem(tokenName) ?? undefined
let client = null
let refused

export class Problem extends Error {
  constructor(members, status) {
    super(members.detail ?? members.title ?? `status ${status}`)
    Object.assign(this, members, { status })
    if (members.code === "bad_json") this.detail = this.message += '; for text, write "…"'
  }
}

/** Called when the server does not accept who this page says it is: asking on would count as guessing. */
export function onRefused(fn) { refused = fn }

/** Sends a request, with the page's token or with `as`; answers that are no success are thrown as `Problem`. */
export async function ask(path, { method = "GET", body, headers = {}, signal, as = token } = {}) {
  let answer
  try {
    answer = await fetch(new URL(path, base), {
      method, signal, cache: "no-store",
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
      headers: { ...headers, ...(as ? { Authorization: `Bearer ${as}` } : {}) },
    })
  } catch (thrown) {
    if (thrown.name === "AbortError") throw thrown
    throw new Problem({ code: "unreachable", detail: "The server cannot be reached." }, 0)
  }
  if (answer.ok || answer.status === 304) return answer
  const members = await answer.json().catch(() => ({}))
  if (members.code === "invalid_token" && as === token) refused(members.detail)
  throw new Problem(members, answer.status)
}

/** Whether asking again would be refused again, and noted as a refusal each time. */
export const isRefusal = ({ status }) => status === 401 || status === 403

/** Calls now and again while the page is seen, until the server refuses it; returns what ends it. */
export function poll(delay, fn) {
  const turn = () => { if (!document.hidden) fn().catch((problem) => { if (isRefusal(problem)) clearInterval(timer) }) }
  const timer = setInterval(turn, delay)
  turn()
  return () => clearInterval(timer)
}

export const json = async (path, options) => (await ask(path, options)).json()

export function live() {
  client ??= connect(base, { token })
  return client
}

const watches = new Set()

export function watch(match, options) {
  for (const made of watches) if (made.state === "ended") watches.delete(made)
  const made = live().watch(match, options)
  watches.add(made)
  return made
}

/** How many subscriptions of this page match a path. */
export const ownWatches = (path) => [...watches].filter(({ state, subscription }) => state === "live" &&
  subscription.command.match.some((pattern) => expression(pattern).test(`/${path}`))).length

const segment = { "*": "/[^/]+", "**": "(/[^/]+)*" }
const expression = (pattern) => new RegExp(`^${pattern.split("/").map((name) =>
  segment[name] ?? `/${name.replace(/\W/g, "\\$&")}`).join("")}$`)

/** From now on the page is somebody else; undefined is nobody. */
export function signIn(next, { isKept = false } = {}) {
  token = next
  if (next && isKept) sessionStorage.setItem(tokenName, next)
  else sessionStorage.removeItem(tokenName)
  client?.close()
  client = null
}

export const isSignedIn = () => token !== undefined

export const encoded = (path) => path.split("/").map(encodeURIComponent).join("/")
export const query = (members) => {
  const text = new URLSearchParams(Object.entries(members).filter(([, value]) => value !== undefined && value !== ""))
  return text.size > 0 ? `?${text}` : ""
}

