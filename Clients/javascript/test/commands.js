// SPDX-License-Identifier: MIT
// The commands of an adapter for Clients/conformance, for node and for browsers.
import { connect } from "../signal-client.js"

let client
const views = {}
const outcomes = {}
const errors = []

function started(name, promise) {
  promise.then(
    (value) => { outcomes[name] = { ok: value ?? null } },
    (error) => { outcomes[name] = { error: error.code, outcome: error.outcome } })
}

/** A view of what a watch, a property or a listener shows, and of all that it has told. */
function view(feed, show) {
  const told = []
  return { feed, told, show: () => ({ state: feed.state, error: feed.error?.code ?? null, ...show(feed), told }) }
}

/** What the commands of Clients/conformance do; `show` returns what it shows. */
export const commands = {
  connect({ url, token, tokens, ...options }) {
    const remaining = [...(tokens ?? [])]
    // The last one is given again and again.
    const next = () => (remaining.length > 1 ? remaining.shift() : remaining[0])
    const onError = (error) => errors.push(error.code)
    client = connect(url, { ...options, token: tokens ? async () => next() : token, onError })
  },
  watch({ as, match, options }) {
    const show = (watch) => ({ values: Object.fromEntries(watch), leftOut: watch.leftOut })
    const made = view(client.watch(match, options), show)
    made.feed.subscribe((_, changes) => made.told.push(...changes))
    views[as] = made
  },
  property({ as, path }) {
    const made = view(client.property(path), ({ value }) => ({ value }))
    made.stop = made.feed.subscribe((value) => made.told.push({ value }))
    views[as] = made
  },
  listen({ as, match, options }) {
    const made = view(client.listen(match, options), () => ({}))
    made.feed.subscribe((message) => made.told.push(message))
    views[as] = made
  },
  cancel({ view: name }) {
    const { feed, stop } = views[name]
    stop ? stop() : feed.cancel()
  },
  set({ as, view: name, path, value, options }) {
    started(as, name ? views[name].feed.set(value, options) : client.set(path, value, options))
  },
  update({ as, view: name, add }) {
    started(as, views[name].feed.update((value) => (value ?? 0) + add))
  },
  delete({ as, path, options }) { started(as, client.delete(path, options)) },
  get({ as, path }) { started(as, client.get(path)) },
  send({ as, path, message }) { started(as, client.send(path, message)) },
  onDisconnect({ as, operations }) { started(as, client.onDisconnect(operations)) },
  close() { client?.close() },
  show() {
    const shown = Object.fromEntries(Object.entries(views).map(([name, { show }]) => [name, show()]))
    const { state, error } = client
    const { code = null, closeCode } = error ?? {}
    return JSON.stringify({ state, error: code, closeCode, errors, views: shown, outcomes })
  },
}
