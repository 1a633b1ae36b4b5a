import assert from "@std/assert";
import net from "node:net";
import type { CrowdOrder } from "../../tests/support/busy_crowd_worker.ts";
import { takeEachTurn } from "./accept_turn.ts";
import { listen } from "./accept_target.ts";

const connections = 400;
const newcomers = 30;
/** More than the runtime reads from before it takes a newcomer. */
const ready = 300;
/** Turns of the loop in which all of the crowd was read; newcomers are answered after three. */
const turns = 10;

Deno.test("newcomers are taken in beside more busy connections than the runtime reads in a turn", async () => {
  const open = new Set<net.Socket>();
  let reads = 0;
  let isTurnSeen = false;
  const sent = new Int32Array(new SharedArrayBuffer(8));
  // However slow the machine is: no turn begins before so many have something to read again.
  const awaitReady = () => {
    isTurnSeen = false;
    const untilMs = performance.now() + 1_000;
    while (Atomics.load(sent, 0) - reads < ready && performance.now() < untilMs) {
      Atomics.wait(sent, 1, 0, 1);
    }
  };
  const server = net.createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket)).on("error", () => {});
    socket.on("data", () => {
      reads++;
      socket.write("fine");
      if (isTurnSeen || open.size <= ready) return;
      isTurnSeen = true;
      setImmediate(awaitReady);
    });
  });
  await listen(server, { host: "127.0.0.1", port: 0 });
  const stop = takeEachTurn(server);
  const worker = new Worker(
    new URL("../../tests/support/busy_crowd_worker.ts", import.meta.url),
    { type: "module" },
  );
  const { port } = server.address() as net.AddressInfo;
  const order: CrowdOrder = { port, connections, newcomers, sent };
  const heard = () =>
    new Promise<unknown>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
    });
  worker.postMessage(order);
  assert.equal(await heard(), "asked");
  // By what was read, not by the clock: the machine may be busy with other tests.
  const until = reads + turns * connections;
  while (reads < until) await new Promise((resolve) => setTimeout(resolve, 10));
  worker.postMessage("over");
  const answered = await heard();
  worker.terminate();
  stop();
  for (const socket of open) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
  // Without it hardly one is.
  assert.equal(answered, newcomers);
});
