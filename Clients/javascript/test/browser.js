// SPDX-License-Identifier: MIT
// Drives the client in Chromium for Clients/conformance, as adapter.js does in node. CHROMIUM names the program.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"

const root = new URL("..", import.meta.url)
const page = `<!doctype html><link rel="icon" href="data:,"><script type="module">
import { commands } from "./test/commands.js"
window.commands = commands
</script>`

const files = createServer(({ url }, response) => {
  response.setHeader("Content-Type", url === "/" ? "text/html" : "text/javascript")
  response.end(url === "/" ? page : readFileSync(new URL(`.${url}`, root)))
}).listen(0, "127.0.0.1")
await once(files, "listening")

const folder = mkdtempSync(join(tmpdir(), "signal-browser-"))
// A page of another origin could not read why a server refuses it; this one stands for a page of the server's own.
const chromium = spawn(process.env.CHROMIUM ?? "chromium", ["--headless=new", "--no-sandbox", "--disable-gpu",
  "--disable-dev-shm-usage", "--disable-web-security", "--disable-features=LocalNetworkAccessChecks",
  "--remote-debugging-port=0", `--user-data-dir=${folder}`, "about:blank"], { stdio: ["ignore", "ignore", "pipe"] })
const ended = once(chromium, "exit")
let port
for await (const line of createInterface({ input: chromium.stderr })) {
  port = line.match(/listening on ws:\/\/127\.0\.0\.1:(\d+)\//)?.[1]
  if (port) break
}
chromium.stderr.resume()

const target = `http://127.0.0.1:${port}/json/new?http://127.0.0.1:${files.address().port}/`
const { webSocketDebuggerUrl } = await (await fetch(target, { method: "PUT" })).json()
const tools = new WebSocket(webSocketDebuggerUrl)
const replies = new Map()
let lastId = 0
tools.onmessage = ({ data }) => {
  const { id, result } = JSON.parse(data)
  replies.get(id)?.(result)
}
await new Promise((resolve) => { tools.onopen = resolve })

/** The value of an expression on the page. */
async function evaluate(expression) {
  const id = (lastId += 1)
  const reply = new Promise((resolve) => replies.set(id, resolve))
  tools.send(JSON.stringify({ id, method: "Runtime.evaluate", params: { expression, returnByValue: true } }))
  const { result, exceptionDetails } = await reply
  replies.delete(id)
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
  return result.value
}

while (!(await evaluate("window.commands !== undefined"))) await new Promise((resolve) => setTimeout(resolve, 20))
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line)
  const shown = await evaluate(`commands[${JSON.stringify(command.do)}](${line})`)
  if (command.do === "show") console.log(shown)
}
tools.close()
files.close()
chromium.kill("SIGKILL")
await ended
try {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 100 })
} catch {
  // A process of Chromium that has not ended yet still writes there; the folder is of the temporary ones.
}
process.exit(0)
