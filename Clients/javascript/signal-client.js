// SPDX-License-Identifier: MIT
// A client of Signal Server; docs/protocol.md is the contract, and § is its. Types are in signal-client.d.ts.

export function connect(url, options) {
  return new Client(url, options)
}

export class SignalError extends Error {
  constructor(problem, outcome) {
    super(problem.detail ?? problem.code)
    this.name = "SignalError"
    Object.assign(this, problem)
    this.outcome = outcome
  }
}

const defaults = { timeout: 10_000, silence: 20_000, minDelay: 500, maxDelay: 30_000 }
const patternsOfSubscription = 32
const iteratorLimit = 10_000

const same = (a, b) => a === b || (a !== undefined && b !== undefined && JSON.stringify(a) === JSON.stringify(b))
const error = (code, detail, outcome) => new SignalError({ code, detail }, outcome)

/** Without it NaN and the infinities would be sent as null. */
function strict(_, value) {
  if (typeof value !== "number" || isFinite(value)) return value
  throw new TypeError(`there is no ${value} in JSON`)
}

function entry({ value, revision, time, expires }, epoch) {
  return { value, revision, cursor: `${epoch}.${revision}`, time, expires }
}

/** A promise that may be left alone: its rejection counts as handled. */
function quiet(promise) {
  promise.catch(() => {})
  return promise
}

class Listeners extends Set {
  // In a box, as the same one may be given twice.
  listen(fn, ...greeting) {
    const box = [fn]
    this.add(box)
    if (greeting.length > 0) invoke(fn, ...greeting)
    return () => { this.delete(box) }
  }

  call(...values) {
    for (const [fn] of [...this]) invoke(fn, ...values)
  }
}

/** What a program's function throws must not stop the fold. */
function invoke(fn, ...values) {
  try {
    fn?.(...values)
  } catch (thrown) {
    queueMicrotask(() => { throw thrown })
  }
}

/** What a close code asks for: now, later, never, or with another token (§7). */
function advice(code) {
  if (code === 4008) return "now"
  if (code === 4401) return "token"
  const isFinal = [1000, 1002, 1003, 1007, 1008, 1009, 1010].includes(code)
  return isFinal || (code >= 3000 && code < 4000) || code >= 4400 ? "never" : "later"
}

/** One subscription across all connections, and the fold of its events (docs/guide/clients.md). */
class Subscription {
  state = "connecting"
  known = new Map()
  leftOut = 0
  resets = 0
  #taken = 0
  #cursor
  #audience
  #offered
  #snapshot
  #unit

  constructor(command, owner) {
    this.command = command
    this.owner = owner
  }

  /** Nothing, when it has had all it wanted and only its `end` was lost. */
  begin() {
    this.#unit = []
    this.#snapshot = null
    const take = this.command.take && this.command.take - this.#taken
    if (take === 0 && this.#taken) return
    return { ...this.command, type: "subscribe", take, since: this.#cursor, audience: this.#cursor && this.#audience }
  }

  granted({ audience, recovered }) {
    this.#offered = audience
    if (recovered === undefined && this.command.initial !== false) this.#snapshot = new Map()
  }

  turn(state, reason) {
    if (this.state === state || this.state === "ended") return
    this.state = state
    this.owner.turned(reason)
  }

  receive(event, epoch) {
    switch (event.type) {
      case "didSet":
        if (this.#snapshot) {
          this.#snapshot.set(event.path, event)
          break
        }
      // falls through
      case "didDelete":
      case "didExpire":
      case "didExit":
        this.#unit.push(event)
        if (!event.more) this.#finish(event.revision, epoch)
        break
      case "gap":
        this.leftOut += event.count
        if (!event.more) this.#finish(event.to, epoch)
        break
      case "reset":
        this.#offered = event.audience ?? this.#offered
        this.resets += 1
        this.#snapshot = new Map()
        this.#unit = []
        break
      case "live":
        this.#replace(epoch, true)
        this.#reach(event.revision, epoch)
        this.turn("live")
        break
      case "bookmark":
        this.#reach(event.revision, epoch)
        break
      case "signal":
        this.owner.deliver([event])
        break
      case "end":
        this.#replace(epoch, false)
        this.#finish(event.revision, epoch)
        this.turn("ended")
    }
  }

  /** A snapshot takes the place of what is known; one that `take` has cut says nothing of what it does not hold. */
  #replace(epoch, isWhole) {
    const snapshot = this.#snapshot
    if (!snapshot) return
    this.#snapshot = null
    this.#taken += snapshot.size
    const changes = []
    for (const event of snapshot.values()) {
      const before = this.known.get(event.path)
      this.known.set(event.path, entry(event, epoch))
      if (!before || !same(before.value, event.value)) changes.push({ ...event, oldValue: before?.value })
    }
    for (const [path, { value }] of isWhole ? this.known : []) {
      if (snapshot.has(path)) continue
      this.known.delete(path)
      changes.push({ type: this.command.where ? "didExit" : "didDelete", path, oldValue: value })
    }
    if (changes.length > 0 || this.resets > 0) this.owner.deliver(changes)
  }

  #finish(revision, epoch) {
    this.#taken += this.#unit.length
    const changes = []
    for (const event of this.#unit) {
      const before = this.known.get(event.path)
      if (event.type === "didSet") this.known.set(event.path, entry(event, epoch))
      // The end of what was not shown is news only to a filter.
      else if (!this.known.delete(event.path) && (!this.command.where || event.type === "didExit")) continue
      changes.push({ oldValue: before?.value, ...event })
    }
    this.#unit = []
    if (changes.length > 0) this.owner.deliver(changes)
    this.#reach(revision, epoch)
  }

  #reach(revision, epoch) {
    // Signals have no cursor, nor has an `end` within a snapshot.
    if (this.command.match && revision !== undefined) {
      this.#cursor = `${epoch}.${revision}`
      this.#audience = this.#offered
    }
    this.owner.reached?.(revision, epoch)
  }
}

class Feed {
  error = null
  #listeners = new Listeners()
  #queues = new Set()
  #link

  constructor(link, command) {
    this.#link = link
    let settle
    this.ready = quiet(new Promise((resolve, reject) => { settle = { resolve, reject } }))
    this.subscription = new Subscription(command, {
      deliver: (changes) => {
        for (const queue of this.#queues) this.#extend(queue, changes)
        this.notify(this.#listeners, changes)
      },
      turned: (reason) => {
        this.error = reason ?? null
        // Null is the end that this side has asked for.
        if (reason === undefined) settle.resolve()
        else settle.reject(reason ?? error("closed", "it ended before it was live"))
        for (const queue of this.#queues) queue.wake?.()
      },
    })
    link.add(this.subscription)
  }

  get state() { return this.subscription.state }

  subscribe(fn) {
    return this.#listeners.listen(fn, ...this.greeting())
  }

  cancel() {
    this.#link.remove(this.subscription)
  }

  [Symbol.asyncIterator]() {
    const queue = { changes: this.present(), limit: iteratorLimit }
    this.#queues.add(queue)
    return this.#iterate(queue)
  }

  async *#iterate(queue) {
    try {
      for (;;) {
        for (const change of queue.changes.splice(0)) yield change
        if (queue.changes.length > 0) continue
        if (queue.error ?? this.error) throw queue.error ?? this.error
        if (this.state === "ended") return
        await new Promise((resolve) => { queue.wake = resolve })
      }
    } finally {
      this.#queues.delete(queue)
    }
  }

  #extend(queue, changes) {
    queue.changes.push(...changes)
    if (queue.changes.length > queue.limit) this.shorten(queue)
    queue.wake?.()
  }
}

class Watch extends Feed {
  get leftOut() { return this.subscription.leftOut }
  get resets() { return this.subscription.resets }
  get size() { return this.subscription.known.size }
  has(path) { return this.subscription.known.has(path) }
  get(path) { return this.entry(path)?.value }
  entry(path) { return this.subscription.known.get(path) }
  keys() { return this.subscription.known.keys() }
  *values() { for (const [, value] of this) yield value }
  *entries() { for (const [path, { value }] of this.subscription.known) yield [path, value] }
  [Symbol.iterator]() { return this.entries() }
  forEach(fn) { for (const [path, value] of this) fn(value, path, this) }

  greeting() { return [this, []] }
  notify(listeners, changes) { listeners.call(this, changes) }
  present() { return [...this.subscription.known].map(([path, entry]) => ({ type: "didSet", path, ...entry })) }

  shorten(queue) {
    const newest = new Map()
    for (const change of queue.changes) {
      const { oldValue } = newest.get(change.path) ?? change
      newest.delete(change.path)
      newest.set(change.path, { ...change, oldValue })
    }
    queue.changes = [...newest.values()]
    queue.limit = Math.max(iteratorLimit, 2 * newest.size)
  }
}

class Listener extends Feed {
  greeting() { return [] }
  notify(listeners, messages) { for (const message of messages) listeners.call(message) }
  present() { return [] }

  shorten(queue) {
    queue.changes = []
    queue.error ??= error("too_slow", "messages came faster than they were taken")
  }
}

class Property {
  error = null
  #link
  #listeners = new Listeners()
  #pending = []
  #confirmed = null
  #group = null
  #shown

  constructor(link, path) {
    this.#link = link
    this.path = path
  }

  get value() { return (this.#pending.at(-1) ?? this.#confirmed ?? this.#known)?.value }
  get cursor() { return this.#known?.cursor }
  get state() { return this.#group?.subscription.state ?? "connecting" }
  get #known() { return this.#group?.subscription.known.get(this.path) }

  subscribe(fn) {
    if (this.#listeners.size === 0) this.#link.join(this)
    const stop = this.#listeners.listen(fn, this.value)
    return () => {
      stop()
      if (this.#listeners.size > 0 || !this.#group) return
      this.#group.members.delete(this.path)
      if (this.#group.members.size === 0) this.#link.remove(this.#group.subscription)
      this.#group = this.#confirmed = null
      this.#shown = this.value
    }
  }

  set(value, options) {
    return this.#write(value, this.#link.client.set(this.path, value, options))
  }

  delete(options) {
    return this.#write(undefined, this.#link.client.delete(this.path, options))
  }

  async update(change) {
    const { client } = this.#link
    let current = this.state === "live" ? this.#known : await client.entry(this.path)
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.set(change(current?.value), current ? { ifMatch: current.cursor } : { ifNoneMatch: "*" })
      } catch (refusal) {
        if (refusal.code !== "precondition_failed" || tries === 100) throw refusal
        current = refusal.current && this.#link.entry(refusal.current)
      }
    }
  }

  #write(value, promise) {
    const write = { value }
    this.#pending.push(write)
    this.#notify()
    const settle = (refusal) => {
      this.#pending.splice(this.#pending.indexOf(write), 1)
      this.error = refusal
      this.#notify()
    }
    return quiet(promise.then(
      (reply) => {
        // A reply is ahead of its event, and earlier events may still come.
        if (this.#group && !this.#group.has(reply.cursor)) this.#confirmed = { value, cursor: reply.cursor }
        settle(null)
        return reply
      },
      (refusal) => {
        settle(refusal)
        throw refusal
      }))
  }

  #notify() {
    const { value } = this
    if (same(value, this.#shown)) return
    this.#shown = value
    this.#listeners.call(value)
  }

  get isWanted() { return this.#listeners.size > 0 && !this.#group }
  joined(group) { this.#group = group }
  refused(reason) {
    this.error = reason
    this.#confirmed = null
    this.#notify()
  }
  reached(epoch) {
    const cursor = this.#confirmed?.cursor
    if (cursor && (!cursor.startsWith(`${epoch}.`) || this.#group.has(cursor))) this.#confirmed = null
    this.#notify()
  }
}

class Group {
  #epoch
  #revision = -1

  constructor(properties, refused) {
    this.members = new Map(properties.map((property) => [property.path, property]))
    const fields = ["path", "value", "revision", "time"]
    this.subscription = new Subscription({ match: [...this.members.keys()], fields }, this)
    this.refused = refused
    for (const property of properties) property.joined(this)
  }

  deliver() {}

  turned(reason) {
    for (const property of reason ? this.members.values() : []) this.refused(property, reason)
  }

  reached(revision, epoch) {
    this.#epoch = epoch
    this.#revision = revision
    for (const property of this.members.values()) property.reached(epoch)
  }

  has(cursor) {
    const [epoch, revision] = cursor.split(".")
    return epoch === this.#epoch && revision <= this.#revision
  }
}

class Client {
  error = null
  #url
  #options
  #socket = null
  #isReady = false
  #shownState = "connecting"
  #listeners = new Listeners()
  #attempts = 0
  #openedAt
  #heardAt = 0
  #timers = new Set()
  #epoch
  #messageBytes = Infinity
  #nextId = 1
  #waiting = new Set()
  #sent = new Map()
  #subscriptions = new Set()
  #byId = new Map()
  #properties = new Map()
  #joining = []
  #held = new Map()
  #link = {
    client: this,
    add: (subscription) => this.#add(subscription),
    remove: (subscription) => this.#remove(subscription),
    join: (property) => this.#join(property),
    entry: (current) => entry(current, this.#epoch),
  }

  constructor(url, options) {
    this.#options = { WebSocket: globalThis.WebSocket, ...defaults, ...options }
    if (!this.#options.WebSocket) throw new TypeError("there is no WebSocket: pass one in the options")
    this.#url = new URL(url, globalThis.location?.href)
    this.#url.protocol = this.#url.protocol.replace("http", "ws")
    this.#url.pathname = this.#url.pathname.replace(/(\/events)?\/?$/, "/events")
    this.#url.searchParams.set("batch", "true")
    globalThis.addEventListener?.("online", this.#reconnect)
    this.#open()
  }

  get state() {
    if (this.#shownState === "closed") return "closed"
    const isLive = this.#isReady && ![...this.#subscriptions].some(({ state }) => state === "stale")
    return isLive ? "live" : this.#epoch ? "stale" : "connecting"
  }

  subscribe(fn) {
    return this.#listeners.listen(fn, this.state)
  }

  property(path) {
    let property = this.#properties.get(path)?.deref()
    if (!property) this.#properties.set(path, new WeakRef(property = new Property(this.#link, path)))
    return property
  }

  watch(match, { mode, maxRate, deadband, values = true, fields = values ? undefined : [], ...members } = {}) {
    return new Watch(this.#link, {
      ...members,
      match: [match].flat(),
      delivery: (mode ?? maxRate ?? deadband) === undefined ? undefined : { mode, maxRate, deadband },
      // Without these an event cannot be folded.
      fields: fields && [...new Set(["path", ...(values ? ["value"] : []), "revision", ...fields])],
    })
  }

  listen(signals, { where, initial } = {}) {
    return new Listener(this.#link, { signals: [signals].flat(), where, initial })
  }

  async get(path) {
    return (await this.entry(path))?.value
  }

  async entry(path) {
    try {
      return entry(await this.request({ type: "get", path }), this.#epoch)
    } catch (refusal) {
      if (refusal.code === "not_found") return undefined
      throw refusal
    }
  }

  set(path, value, options) {
    return this.#write({ ...options, type: "set", path, value })
  }

  delete(path, options) {
    return this.#write({ ...options, type: "delete", path })
  }

  patch(path, patch, options) {
    return this.#write({ ...options, type: "patch", path, [Array.isArray(patch) ? "operations" : "merge"]: patch })
  }

  define(path, formula, options) {
    return this.#write({ ...options, type: "define", path, formula })
  }

  transaction(operations, options) {
    return this.#write({ ...options, type: "transaction", operations })
  }

  send(path, message, options) {
    return quiet(this.request({ ...options, type: "send", path, message }).then(() => {}))
  }

  onDisconnect(operations) {
    const command = { type: "onDisconnect", operations }
    return quiet(this.request(command).then(() => { this.#hold(command, operations.length > 0) }))
  }

  request({ timeout = this.#options.timeout, ...command }) {
    let timer
    return quiet(new Promise((resolve, reject) => {
      if (this.#shownState === "closed") return reject(this.#closed)
      const pending = { command, text: JSON.stringify(command, strict), resolve, reject }
      timer = setTimeout(() => {
        this.#waiting.delete(pending)
        this.#sent.delete(pending.id)
        reject(error("timeout", `no reply to ${command.type} in ${timeout} ms`, pending.id ? "unknown" : "unsent"))
      }, timeout)
      if (this.#isReady) this.#transmit(pending)
      else this.#waiting.add(pending)
    }).finally(() => clearTimeout(timer)))
  }

  close() {
    const socket = this.#socket
    this.#end(null)
    socket?.close(1000)
  }

  async #open() {
    // Stands for the socket until there is one, so a close is noticed.
    let socket = (this.#socket = { close() {} })
    let token
    try {
      token = await this.#token()
    } catch (thrown) {
      invoke(this.#options.onError, thrown)
      if (socket === this.#socket) this.#lost(1006)
      return
    }
    if (socket !== this.#socket) return
    try {
      socket = this.#socket = new this.#options.WebSocket(this.#url.href, "signal.v1.json")
    } catch (thrown) {
      return this.#end(thrown)
    }
    this.#listenForSilence()
    let hello
    let isProven = !token
    let isOpen = false
    const begin = () => { if (hello && isProven) this.#begin(hello) }
    const isCurrent = () => socket === this.#socket
    socket.onopen = () => {
      isOpen = true
      if (!isProven && isCurrent()) this.#prove(token, () => begin((isProven = true)))
    }
    socket.onmessage = ({ data }) => {
      this.#heardAt = Date.now()
      for (const line of data.split("\n")) {
        if (!isCurrent()) return
        const message = JSON.parse(line)
        if (message.type === "hello") begin((hello = message))
        else this.#receive(message)
      }
    }
    // In node 20 no close follows where none was open.
    socket.onerror = () => { if (isCurrent() && !isOpen) this.#lost(1006) }
    socket.onclose = ({ code, reason }) => { if (isCurrent()) this.#lost(code, reason) }
  }

  get #isRenewable() { return typeof this.#options.token === "function" }

  async #token() {
    return this.#isRenewable ? this.#options.token() : this.#options.token
  }

  #prove(token, resolve) {
    this.#transmit({
      command: { type: "auth", token },
      resolve,
      reject: (refusal) => {
        if (refusal.outcome !== "refused") return
        invoke(this.#options.onError, refusal)
        // Who somebody is, is said once for a connection; a better token may follow.
        if (refusal.code === "identity_mismatch") this.#abandon(4008)
        else if (!this.#isReady) this.#abandon(this.#isRenewable || refusal.temporary ? 1006 : 4401, refusal)
      },
    })
  }

  /** At half of what is left: no loop where tokens are short, and a failure has another chance. */
  #renew(seconds) {
    const socket = this.#socket
    if (!this.#isRenewable) return
    this.#later(seconds * 500, async () => {
      try {
        const token = await this.#token()
        if (socket === this.#socket) this.#prove(token, () => {})
      } catch (thrown) {
        invoke(this.#options.onError, thrown)
        if (seconds > 1 && socket === this.#socket) this.#renew(seconds / 2)
      }
    })
  }

  #later(milliseconds, fn) {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      fn()
    }, milliseconds)
    this.#timers.add(timer)
  }

  #begin({ epoch, limits }) {
    this.#epoch = epoch
    this.#messageBytes = limits.messageBytes
    this.#openedAt = Date.now()
    this.#isReady = true
    for (const command of this.#held.values()) this.#repeat(command)
    for (const subscription of this.#subscriptions) this.#request(subscription)
    for (const pending of this.#waiting) this.#transmit(pending)
    this.#waiting.clear()
    this.#turn()
  }

  /** A broken line is silent: after some silence the server is asked, and has some time to answer. */
  #listenForSilence(isAsked) {
    const isLast = isAsked || !this.#isReady
    const since = Date.now()
    this.#later(isLast ? this.#options.timeout : this.#options.silence, () => {
      if (this.#heardAt >= since) return this.#listenForSilence()
      if (isLast) return this.#abandon(1006)
      this.#repeat({ type: "ping" })
      this.#listenForSilence(true)
    })
  }

  #abandon(code, reason) {
    const socket = this.#socket
    this.#lost(code, reason)
    socket.close()
  }

  #lost(code, reason) {
    const wasReady = this.#isReady
    this.#disconnect()
    let what = advice(code)
    if (what === "token" && !this.#isRenewable) what = "never"
    if (what === "never") {
      const detail = `closed with ${code} ${reason ?? ""}`
      return this.#end(reason instanceof Error ? reason : new SignalError({ code: "closed", detail, closeCode: code }))
    }
    if (wasReady && Date.now() - this.#openedAt > 5000) this.#attempts = 0
    const { minDelay, maxDelay } = this.#options
    const delay = Math.min(maxDelay, minDelay * 2 ** this.#attempts) * (0.5 + Math.random() / 2)
    const isNow = !this.#attempts++ && (what === "now" || (what === "token" && wasReady))
    const named = code === 4029 ? 1000 * /\d+/.exec(reason) : 0
    this.#later(isNow ? 0 : Math.max(delay, Math.min(named, 3600000)), this.#reconnect)
    if (!this.#epoch && code === 1006) this.#askWhy()
    this.#turn()
  }

  /** A browser does not say why an upgrade was refused; the answer to a request does. */
  async #askWhy() {
    try {
      const answer = await fetch(this.#url.href.replace("ws", "http"), { method: "POST" })
      const problem = await answer.json()
      const isServed = [401, 405, 429].includes(answer.status) || answer.status >= 500
      if (problem.code && !isServed && !this.#epoch) this.#end(new SignalError(problem, "refused"))
    } catch {
      // Nobody there, or nothing that the page may read: try again.
    }
  }

  #reconnect = () => {
    if (!this.#socket && this.#shownState !== "closed") this.#open()
  }

  #disconnect() {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    this.#socket = null
    this.#isReady = false
    this.#byId.clear()
    const sent = [...this.#sent.values()]
    this.#sent.clear()
    for (const { command, reject } of sent) {
      reject(error("disconnected", `the connection ended before the reply to ${command.type}`, "unknown"))
    }
    for (const subscription of this.#subscriptions) if (subscription.state === "live") subscription.turn("stale")
  }

  #end(reason) {
    if (this.#shownState === "closed") return
    this.error = reason
    this.#disconnect()
    this.#shownState = "closed"
    globalThis.removeEventListener?.("online", this.#reconnect)
    for (const { reject } of this.#waiting) reject(this.#closed)
    this.#waiting.clear()
    for (const subscription of this.#subscriptions) subscription.turn("ended", reason)
    this.#subscriptions.clear()
    this.#listeners.call("closed")
  }

  get #closed() { return error("closed", this.error?.message ?? "the client is closed", "unsent") }

  #turn() {
    if (this.state === this.#shownState) return
    this.#shownState = this.state
    this.#listeners.call(this.state)
  }

  #transmit(pending) {
    const text = `{"id":${this.#nextId},${(pending.text ?? JSON.stringify(pending.command)).slice(1)}`
    const limit = this.#messageBytes
    // The server would end the connection over it.
    if (text.length * 3 > limit && new TextEncoder().encode(text).length > limit) {
      return pending.reject(error("body_too_large", `the server takes ${limit} bytes`, "unsent"))
    }
    pending.id = this.#nextId
    this.#nextId += 1
    this.#sent.set(pending.id, pending)
    this.#socket.send(text)
  }

  /** For each new connection, until another command of its path succeeds; `onDisconnect` has none. */
  #hold(command, isKept) {
    this.#held.delete(command.path)
    if (isKept) this.#held.set(command.path, command)
  }

  #repeat(command) {
    const reject = (refusal) => {
      if (refusal.outcome !== "refused") return
      invoke(this.#options.onError, refusal)
      const again = () => { if (this.#held.get(command.path) === command) this.#repeat(command) }
      if (refusal.temporary) this.#later(this.#options.timeout, again)
    }
    this.#transmit({ command, resolve() {}, reject })
  }

  #receive(message) {
    const pending = this.#sent.get(message.id)
    const subscription = this.#byId.get(message.subscription)
    if (pending) {
      this.#sent.delete(message.id)
      if (message.type === "ok") pending.resolve(message)
      else pending.reject(new SignalError(message.error, "refused"))
    } else if (message.type === "authExpires") {
      this.#renew(message.in)
    } else if (subscription) {
      subscription.receive(message, this.#epoch)
      if (message.type === "end") {
        this.#byId.delete(message.subscription)
        this.#subscriptions.delete(subscription)
      }
      if (message.type === "live") this.#turn()
    }
  }

  #write(command) {
    return quiet(this.request(command).then(({ revision, changed, expires }) => {
      const writes = command.path ? [command] : command.operations.map(({ op, ...write }) => ({ ...write, type: op }))
      // Under a condition it may be another's when a new connection begins; a JSON Patch may not fit any more.
      const isKept = !writes.some((write) => write.if || write.ifMatch || write.ifNoneMatch || write.operations)
      for (const write of writes) this.#hold({ ...write, timeout: undefined }, isKept && write.hold)
      return { cursor: `${this.#epoch}.${revision}`, changed, expires }
    }))
  }

  #add(subscription) {
    if (this.#shownState === "closed") return subscription.turn("ended", this.error ?? this.#closed)
    this.#subscriptions.add(subscription)
    if (this.#isReady) this.#request(subscription)
  }

  #request(subscription) {
    const command = subscription.begin()
    if (!command) return this.#remove(subscription)
    this.#transmit({
      command,
      resolve: (reply) => {
        if (!this.#subscriptions.has(subscription)) return this.#unsubscribe(reply)
        this.#byId.set(reply.subscription, subscription)
        subscription.granted(reply)
      },
      reject: (refusal) => {
        if (refusal.outcome === "unknown" || !this.#subscriptions.has(subscription)) return
        if (refusal.temporary) {
          return this.#later(this.#options.timeout, () => {
            if (this.#subscriptions.has(subscription)) this.#request(subscription)
          })
        }
        this.#subscriptions.delete(subscription)
        subscription.turn("ended", refusal)
        this.#turn()
      },
    })
  }

  #unsubscribe({ subscription }) {
    this.#repeat({ type: "unsubscribe", subscription })
  }

  #remove(subscription) {
    if (!this.#subscriptions.delete(subscription)) return
    subscription.turn("ended", null)
    for (const [id, other] of this.#byId) {
      if (other !== subscription) continue
      this.#byId.delete(id)
      this.#unsubscribe({ subscription: id })
    }
    this.#turn()
  }

  #join(property) {
    if (this.#joining.push(property) > 1) return
    queueMicrotask(() => {
      const wanted = [...new Set(this.#joining.splice(0))].filter(({ isWanted }) => isWanted)
      while (wanted.length > 0) this.#gather(wanted.splice(0, patternsOfSubscription))
    })
  }

  #gather(properties) {
    const group = new Group(properties, (property, reason) => {
      if (this.#shownState === "closed" || properties.length === 1) property.refused(reason)
      // One of them is at fault, and the others shall not suffer.
      else this.#gather([property])
    })
    this.#add(group.subscription)
  }
}
