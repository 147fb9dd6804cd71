// SPDX-License-Identifier: MIT
import assert from "node:assert/strict"
import { mock, test } from "node:test"
import { connect } from "../signal-client.js"

/** How many connections there are after each of these times, when the first is ended so. */
async function connections(code, reason, ...milliseconds) {
  const sockets = []
  class Socket {
    constructor() { sockets.push(this) }
    close() {}
  }
  // The token is awaited before a connection.
  const settle = async () => { for (let turn = 0; turn < 20; turn++) await null }
  mock.timers.enable({ apis: ["setTimeout"] })
  const client = connect("http://127.0.0.1:1", { WebSocket: Socket, minDelay: 1, maxDelay: 1 })
  try {
    await settle()
    sockets[0].onopen()
    sockets[0].onclose({ code, reason })
    const counts = []
    for (const time of milliseconds) {
      mock.timers.tick(time)
      await settle()
      counts.push(sockets.length)
    }
    return counts
  } finally {
    client.close()
    mock.timers.reset()
  }
}

test("a delay that the server names is the least", async () => {
  assert.deepEqual(await connections(4029, "too much, connect again in 5 s", 4999, 1), [1, 2])
})

test("within an hour", async () => {
  assert.deepEqual(await connections(4029, `too much, connect again in ${"9".repeat(30)} s`, 3599999, 1), [1, 2])
})

test("where none is named there is the client's own", async () => {
  assert.deepEqual(await connections(4029, "too much", 2), [2])
  assert.deepEqual(await connections(1012, "connect again in 5 s", 2), [2])
})
