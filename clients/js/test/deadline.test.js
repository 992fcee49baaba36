/** One deadline for a whole exchange, against real servers that drip: never silent for long, and never done. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { mock, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { TransportError } from "../src/index.js";
import { Transport } from "../src/transport.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");
const realTimeout = setTimeout;
const pause = (milliseconds) => new Promise((resolve) => realTimeout(resolve, milliseconds));

/** A server that begins its answer as given, and goes on by a byte every 10 milliseconds. */
async function dripping(begin) {
  const server = createServer((socket) => {
    socket.on("error", () => {}); // the device has left, as it should
    socket.once("data", () => {
      socket.write(begin);
      const timer = setInterval(() => socket.write("x"), 10);
      socket.once("close", () => clearInterval(timer));
    });
    server.emit("reached", once(socket, "close"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

for (const [why, begin] of [
  ["body", "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n"],
  ["body without a length", "HTTP/1.1 200 OK\r\n\r\n"],
  ["chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffff\r\n"],
  ["header", "HTTP/1.1 200 OK\r\nx-more: "],
]) {
  // The garbage that is collected is the way from the signal to the request: node's fetch keeps it by a weak reference only.
  test(`a dripping ${why} ends at the deadline, and the connection with it`, { timeout: 30_000 }, async () => {
    const server = await dripping(begin);
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      let settled = false;
      const reached = once(server, "reached");
      const asked = new Transport(`http://127.0.0.1:${server.address().port}`).request("GET", "/v1/tasks");
      const refused = assert
        .rejects(asked, (error) => error instanceof TransportError && error.cause.name === "TimeoutError")
        .finally(() => (settled = true));
      const [left] = await reached;
      for (let i = 0; i < 5; i++) {
        await pause(20);
        collectGarbage();
      }
      mock.timers.tick(9_999);
      await pause(20);
      assert.equal(settled, false);
      mock.timers.tick(1);
      await refused;
      await left;
    } finally {
      mock.timers.reset();
      server.close();
    }
  });
}

test("an answer in time leaves no timer behind", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    let signal = null;
    const fetch = async (_, options) => {
      signal = options.signal;
      return new Response("whole");
    };
    assert.equal(new TextDecoder().decode((await new Transport("https://collector.example", fetch).request("GET", "/")).body), "whole");
    mock.timers.tick(20_000);
    assert.equal(signal.aborted, false);
  } finally {
    mock.timers.reset();
  }
});
