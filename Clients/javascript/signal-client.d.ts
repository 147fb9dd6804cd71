// SPDX-License-Identifier: MIT

/** What JSON can hold. */
export type JSONValue = null | boolean | number | string | JSONValue[] | { [name: string]: JSONValue }

/** Begins to connect to the server at this address (http, https, ws or wss). */
export function connect(url: string | URL, options?: Options): Client

export interface Options {
  /** A token, or a function that gets one: for each connection, and again before its token ends. */
  token?: string | (() => string | Promise<string>)
  /** Milliseconds for the reply to a command, and for the server to say who it is; 10 000. */
  timeout?: number
  /** Milliseconds after which a silent server is asked whether it is there; 20 000. */
  silence?: number
  /** Milliseconds before the second attempt to connect, of which half is random; 500. It doubles with each one. */
  minDelay?: number
  /** The most that it grows to; 30 000. */
  maxDelay?: number
  /** Called with what fails where nobody waits: a token that cannot be had, a property that cannot be held again. */
  onError?: (error: unknown) => void
  /** The class to use where there is no global one. */
  WebSocket?: new (url: string, protocol: string) => WebSocket
}

/** connecting: nothing is known yet. live. stale: it was so when the connection was lost. closed: for good. */
export type State = "connecting" | "live" | "stale" | "closed"

/** connecting and stale likewise; ended: it was cancelled, refused, had all it wanted, or the client is closed. */
export type FeedState = "connecting" | "live" | "stale" | "ended"

/** A condition on a write (§2.1). */
export interface Condition {
  /** The cursor of the property's last change. */
  ifMatch?: string
  /** Only if there is no such property. */
  ifNoneMatch?: "*"
  /** An expression over `path` and `value`. */
  if?: string
}

export interface Timing {
  /** Milliseconds for the reply. */
  timeout?: number
  /** The reply waits until it is durable (§9). */
  sync?: boolean
}

export interface SetOptions extends Condition, Timing {
  /** An equal value is a change, too. */
  always?: boolean
  /** A time to live, such as `60s`. */
  ttl?: string
  /**
   * The property goes when the client goes (§3.6). A set and a merge patch without a condition are made again on each
   * new connection, as they were; a JSON Patch is not.
   */
  hold?: boolean
}

export interface WriteOptions extends Condition, Timing {}

/** What became of a write. */
export interface Written {
  /** The revision after it, as it is given to `ifMatch`. */
  cursor: string
  changed: boolean
  /** When the property ends by itself. */
  expires?: string
}

/** A property as it was at its last change. */
export interface Entry<Value = any> {
  value: Value
  revision: number
  cursor: string
  time: string
  expires?: string
}

/** What one holds is set again on each new connection, unless an operation of the transaction has a condition. */
export type Operation =
  | ({ op: "set"; path: string; value: JSONValue; always?: boolean; ttl?: string; hold?: boolean } & Condition)
  | ({ op: "delete"; path: string } & Condition)
  | ({ op: "define"; path: string; formula: string } & Condition)

/** As in a transaction, but for `hold`: the connection has ended. */
export type DisconnectOperation =
  | ({ op: "set"; path: string; value: JSONValue; always?: boolean; ttl?: string } & Condition)
  | Exclude<Operation, { op: "set" }>
  | { op: "send"; path: string; message?: JSONValue; remember?: boolean }

export interface WatchOptions {
  /** An expression over `path`, `value`, `oldValue`, `op`, `revision` and `time`. */
  where?: string
  /** Whether it is told that a property has left the filter; true. */
  exit?: boolean
  /** Whether events bring the old value, which is known here anyway unless the filter is one of transitions; true. */
  oldValue?: boolean
  /** Whether the present state comes first; true. */
  initial?: boolean
  /** So many events, and then the end. */
  take?: number
  /** Whether values are told at all; true. Without them it tells what is there, and what comes and goes. */
  values?: boolean
  /** The members of events; `path`, `revision` and, unless `values` is false, `value` always come. */
  fields?: ("path" | "value" | "oldValue" | "entered" | "op" | "revision" | "time")[]
  /** The part of each value that is seen (RFC 6901). */
  pointer?: string
  /** Seconds of silence before a bookmark. */
  bookmark?: number
  mode?: "auto" | "all" | "latest"
  /** Events per second and path. */
  maxRate?: number
  /** How small a change of a number is not told: a number, or a share such as `2%`. */
  deadband?: number | string
}

/** What has changed: an event of the protocol (§3.3), or the difference that a snapshot makes. */
export interface Change<Value = any> {
  type: "didSet" | "didDelete" | "didExpire" | "didExit"
  path: string
  value?: Value
  oldValue?: Value
  /** The old value did not match the filter. */
  entered?: true
  /** How the property left the filter. */
  op?: "set" | "delete" | "expire"
  reason?: "ttl" | "disconnect" | "access"
  revision?: number
  time?: string
  expires?: string
  /** More of the same revision follows. */
  more?: boolean
  /** What the server calls the subscription, on the connection that it came over. */
  subscription?: number
  /** For a condition, of what was there when an iteration began. */
  cursor?: string
}

interface Feed<Item> extends AsyncIterable<Item> {
  readonly state: FeedState
  /** Why it has ended, if by no choice of this side. */
  readonly error: Error | null
  /** Resolves when it is first live, or has had all it wanted; rejects when it is refused, or ends before. */
  readonly ready: Promise<void>
  cancel(): void
  [Symbol.asyncIterator](): AsyncGenerator<Item, void, void>
}

/** A live read-only Map of what matches, from path to value. It changes at revisions only. */
export interface Watch<Value = any> extends Feed<Change<Value>> {
  /** Events that the server left out, because of a pace or because they were not taken. */
  readonly leftOut: number
  /** How often the server had to begin anew, because it could not tell what was missed; each time who subscribes is called. */
  readonly resets: number
  readonly size: number
  has(path: string): boolean
  get(path: string): Value | undefined
  entry(path: string): Entry<Value> | undefined
  keys(): IterableIterator<string>
  values(): IterableIterator<Value>
  entries(): IterableIterator<[string, Value]>
  forEach(fn: (value: Value, path: string, watch: this) => void): void
  [Symbol.iterator](): IterableIterator<[string, Value]>
  /** Calls `fn` at once, and then with the changes of each revision; returns what stops that. */
  subscribe(fn: (watch: this, changes: Change<Value>[]) => void): () => void
}

export interface Message<Value = any> {
  path: string
  message: Value
  time: string
  /** It was sent before, and kept. */
  remembered?: true
  type: "signal"
  /** What the server calls the subscription, on the connection that it came over. */
  subscription: number
}

/** Messages of signals. */
export interface Listener<Value = any> extends Feed<Message<Value>> {
  subscribe(fn: (message: Message<Value>) => void): () => void
}

/** One property. It is known while somebody subscribes to it. */
export interface Property<Value = any> {
  readonly path: string
  /** What was set here last, unless refused, or else what the server says; undefined when there is none. */
  readonly value: Value | undefined
  /** The cursor of its last change. */
  readonly cursor: string | undefined
  readonly state: FeedState
  /** Why the last write, or the subscription, was refused. */
  readonly error: Error | null
  /** Calls `fn` with the value, at once and whenever it changes; returns what stops that. A store of Svelte. */
  subscribe(fn: (value: Value | undefined) => void): () => void
  /** Shown at once, and taken back if it is refused. */
  set(value: Value, options?: SetOptions): Promise<Written>
  delete(options?: WriteOptions): Promise<Written>
  /** Sets what `change` makes of the value, again if somebody else was faster. */
  update(change: (value: Value | undefined) => Value): Promise<Written>
}

export interface Client {
  readonly state: State
  /** Why the client is closed, if by no choice of this side. */
  readonly error: Error | null
  /** Calls `fn` with the state, at once and whenever it changes; returns what stops that. */
  subscribe(fn: (state: State) => void): () => void
  /** The property at a path; the same object, while it is in use. */
  property<Value = any>(path: string): Property<Value>
  watch<Value = any>(match: string | string[], options?: WatchOptions): Watch<Value>
  /** Messages of the signals that match. What is sent while there is no connection is gone. */
  listen<Value = any>(match: string | string[], options?: { where?: string; initial?: boolean }): Listener<Value>
  get<Value = any>(path: string): Promise<Value | undefined>
  entry<Value = any>(path: string): Promise<Entry<Value> | undefined>
  /** A number that JSON does not have, such as NaN, is a TypeError, here and in all that is sent. */
  set(path: string, value: JSONValue, options?: SetOptions): Promise<Written>
  delete(path: string, options?: WriteOptions): Promise<Written>
  /** An array is a JSON Patch (RFC 6902), anything else a merge patch (RFC 7396). */
  patch(path: string, patch: JSONValue, options?: SetOptions): Promise<Written>
  /** Makes it a computed property (§2.1). */
  define(path: string, formula: string, options?: WriteOptions): Promise<Written>
  /** All or nothing, one revision; `changed` is how many properties have. */
  transaction(operations: Operation[], options?: Timing): Promise<{ cursor: string; changed: number }>
  /** Sends a message through a signal (§2.9). */
  send(path: string, message?: JSONValue, options?: Timing & { remember?: boolean }): Promise<void>
  /** What the server does when the connection ends (§3.6); registered again on each new one, until it is replaced. */
  onDisconnect(operations: DisconnectOperation[]): Promise<void>
  /** Any command of §3, without its id; its reply. */
  request(command: { type: string; timeout?: number; [member: string]: unknown }): Promise<any>
  close(): void
}

export class SignalError extends Error {
  /** As in §6, or `timeout`, `disconnected`, `closed`, `too_slow`. */
  code: string
  /** refused: nothing has changed. unsent: it never got there. unknown: it may have been carried out. */
  outcome?: "refused" | "unsent" | "unknown"
  status?: number
  title?: string
  detail?: string
  temporary?: boolean
  position?: number
  operation?: number
  /** What is there, when a condition has failed. */
  current?: { value: any; revision: number; time: string; expires?: string } | null
  /** With which code the server has closed for good. */
  closeCode?: number
}
