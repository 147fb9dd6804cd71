// SPDX-License-Identifier: MIT
// The server of this repository, and a proxy on the way to it that can be cut.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { connect as connectSocket, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

export const binary = process.env.SIGNAL_SERVER
  ?? fileURLToPath(new URL("../../../.build/release/signal-server", import.meta.url))
export const skip = existsSync(binary) ? false : `there is no ${binary}: make build`

export class Server {
  #process
  #folder = mkdtempSync(join(tmpdir(), "signal-client-"))
  url

  /** Starts it, with what it keeps in a folder if `keeps`; other flags may follow. */
  async start(keeps = false, ...flags) {
    const data = keeps ? ["--data-dir", join(this.#folder, "data")] : []
    this.#process = spawn(binary, ["serve", "--port", "0", "--log-level", "error", ...data, ...flags], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    for await (const line of createInterface({ input: this.#process.stdout })) {
      this.url = line.match(/^listening on (.*)$/)?.[1]
      if (this.url) break
    }
    if (!this.url) throw new Error("the server did not start")
  }

  async stop(signal = "SIGTERM") {
    if (this.#process?.exitCode !== null || this.#process.signalCode) return
    const exit = once(this.#process, "exit")
    this.#process.kill(signal)
    await exit
  }

  async remove() {
    await this.stop("SIGKILL")
    rmSync(this.#folder, { recursive: true })
  }

  get port() { return Number(new URL(this.url).port) }

  async request(method, target, body) {
    const answer = await fetch(this.url + target, { method, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${method} ${target}: ${answer.status} ${await answer.text()}`)
    return answer.status === 204 ? null : answer.text().then((text) => (text ? JSON.parse(text) : null))
  }

  /** What the store holds. */
  async values(match) {
    const { properties } = await this.request("GET", `/properties?limit=1000&match=${encodeURIComponent(match)}`)
    return Object.fromEntries(properties.map(({ path, value }) => [path, value]))
  }
}

/** Passes bytes on to where the server listens at that moment. */
export class Proxy {
  #pairs = new Set()
  #listener
  #isMute = false

  constructor(server) {
    this.#listener = createServer((near) => {
      const far = connectSocket(server.port, "127.0.0.1")
      const pair = [near, far]
      this.#pairs.add(pair)
      for (const [from, to] of [[near, far], [far, near]]) {
        from.on("data", (data) => { if (!this.#isMute) to.write(data) })
        from.on("end", () => to.end())
        from.on("error", () => to.destroy())
        from.on("close", () => {
          to.destroy()
          this.#pairs.delete(pair)
        })
      }
    })
  }

  async listen() {
    this.#listener.listen(0, "127.0.0.1")
    await once(this.#listener, "listening")
    return `http://127.0.0.1:${this.#listener.address().port}`
  }

  /** Ends all connections without a word. */
  cut() {
    for (const [near, far] of this.#pairs) {
      near.resetAndDestroy()
      far.resetAndDestroy()
    }
  }

  /** Lets nothing through and says so to nobody, as a line that has broken. */
  mute() { this.#isMute = true }

  speak() {
    this.cut()
    this.#isMute = false
  }

  close() {
    this.#listener.close()
    this.cut()
  }
}

/** Waits until it is so. */
export async function until(condition, what, milliseconds = 10_000) {
  const deadline = Date.now() + milliseconds
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within ${milliseconds} ms: ${what()}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
