#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// 1000 requests by node's http.Agent, each on a connection whose last response was a stream of events that has ended.
//
//     make run          # in another terminal
//     node Tests/Outside/reuse.mjs [http://127.0.0.1:8080]
//
// Exits with 1 when a request is lost, or when connections were not reused.
import http from "node:http"

const url = new URL(process.argv[2] ?? "http://127.0.0.1:8080")
const count = 1000
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
const sockets = new Set()

function ask(method, path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(new URL(path, url), { method, agent }, response => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", piece => text += piece)
      response.on("end", () => resolve({ status: response.statusCode, text }))
      response.on("error", reject)
    })
    request.on("socket", socket => sockets.add(socket))
    request.on("error", reject)
    request.end(body)
  })
}

function expect(holds, text) { if (!holds) throw new Error(text) }

expect((await ask("PUT", "/properties/reuse", "1")).status < 300, "no property")
const lost = []
for (let number = 0; number < count; number++) {
  try {
    const stream = await ask("GET", "/events?match=reuse&take=1")
    expect(stream.text.includes("that was all"), stream.text)
    // POST, because a lost request of another method may be sent again.
    const answer = await ask("POST", "/signals/reuse", String(number))
    expect(answer.status === 204, answer.status)
  } catch (error) {
    lost.push(String(error))
  }
}
expect((await ask("DELETE", "/properties/reuse")).status === 204, "not deleted")
console.log(`node ${process.version}: ${count} requests behind streams, ${lost.length} lost, ${sockets.size} connections`,
  ...lost.slice(0, 2))
process.exit(lost.length > 0 || sockets.size > 1 ? 1 : 0)
