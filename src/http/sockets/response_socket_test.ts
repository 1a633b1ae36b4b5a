import assert from "@std/assert";
import type { FrameChannel } from "../../base/frame_channel.ts";
import { createByteGate } from "../../base/byte_gate.ts";
import { FakeClock } from "../../base/clock.ts";
import { Fault } from "../../shared/fault.ts";
import { ResponseSocket, type ResponseSocketDeps } from "./response_socket.ts";

const soon = () => new Promise((resolve) => setImmediate(resolve));

Deno.test("a socket is read on once the message that waits for memory has come whole", async () => {
  const messages = createByteGate({ capacityBytes: 400_000 });
  // One body at a time may have more than its share: this one, so the socket's message waits.
  const other = messages.open({ key: "other" });
  void other.take(390_000);
  const states: string[] = [];
  const channel: Partial<FrameChannel> = {
    pause: () => states.push("paused"),
    resume: () => states.push("resumed"),
    working: () => {},
  };
  // Its call waits for a turn.
  const deps: Partial<ResponseSocketDeps> = { messages, frontDoor: { enter: () => undefined } };
  const socket = new ResponseSocket(deps as ResponseSocketDeps, {} as never);
  socket.opened(channel as FrameChannel, 1, () => {});
  socket.arrived(60_000);
  socket.arrived(190_000);
  assert.deepEqual(states, ["paused"]);
  socket.message(new Uint8Array(250_000));
  await Promise.resolve();
  assert.deepEqual(states, ["paused", "resumed"]);
  other.release();
});

Deno.test("a request that waits for admission or its rate token is not run once its socket is closing", async () => {
  const asked: string[] = [];
  let begin = () => {};
  let checked = Promise.withResolvers<{ refusal: undefined }>();
  const deps = {
    messages: createByteGate({ capacityBytes: 400_000 }),
    headers: new Map(),
    contexts: { clock: new FakeClock(), newRequestId: () => "r", trustProxy: false },
    frames: {
      *readFrame() {
        yield* [];
        if (asked.length === 0) return { kind: "create" };
        asked.push("run");
        return { kind: "none" };
      },
      error: String,
    },
    frontDoor: {
      enter: (_request: unknown, _call: object, admitted: () => void) => void (begin = admitted),
      ended: () => void asked.push("ended"),
    },
    authenticate: () => {
      asked.push("key");
      return Promise.resolve(undefined);
    },
    rateCheck: () => checked.promise,
    accessLog: () => {},
  };
  for (const closesAt of ["never", "admission", "rate"] as const) {
    const channel = { isClosing: false, working: () => {}, send: () => true };
    const socket = new ResponseSocket(deps as unknown as ResponseSocketDeps, {} as never);
    socket.opened(channel as unknown as FrameChannel, 1, () => {});
    socket.message(new Uint8Array(1));
    channel.isClosing = closesAt === "admission";
    begin();
    await soon();
    channel.isClosing ||= closesAt === "rate";
    checked.resolve({ refusal: undefined });
    await soon();
    checked = Promise.withResolvers();
    const steps = { never: ["key", "run", "ended"], admission: ["ended"], rate: ["key", "ended"] };
    assert.deepEqual(asked.splice(0), steps[closesAt]);
  }
});

/** A socket to which steering frames come, admitted by `authenticate`; and what it sends. */
function openSteered(authenticate: () => Promise<undefined>) {
  const sent: string[] = [];
  const faults: string[] = [];
  const channel: Partial<FrameChannel> = { send: (text) => sent.push(text) > 0 };
  const deps = {
    headers: new Map(),
    contexts: { clock: new FakeClock(), newRequestId: () => "r", trustProxy: false },
    frames: {
      *readFrame() {
        yield* [];
        return { kind: "steer", previousId: "", inputText: "" };
      },
      steerFailed: () => "steered",
      error: (status: number) => String(status),
    },
    authenticate,
    rateCheck: () => Promise.resolve({}),
    onFault: ({ code }: Fault) => faults.push(code),
  };
  const socket = new ResponseSocket(deps as unknown as ResponseSocketDeps, {} as never);
  socket.opened(channel as FrameChannel, 1, () => {});
  return { socket, sent, faults };
}

Deno.test("of frames that act at once sixteen wait for the store, more are refused", async () => {
  const store = Promise.withResolvers<undefined>();
  let asked = 0;
  const { socket, sent } = openSteered(() => (asked++, store.promise));
  for (let at = 0; at < 20; at++) socket.message(new Uint8Array(1));
  assert.deepEqual([sent, asked], [["429", "429", "429", "429"], 16]);
  store.resolve(undefined);
  await soon();
  assert.deepEqual(sent.slice(4), new Array(16).fill("steered"));
  // There is room again.
  socket.message(new Uint8Array(1));
  await soon();
  assert.deepEqual(sent.slice(20), ["steered"]);
});

Deno.test("a frame that acts at once is answered by the error of what admits it", async () => {
  const { socket, sent, faults } = openSteered(() =>
    Promise.reject(new Fault("store_unavailable"))
  );
  // More than may wait: those that failed wait no longer.
  for (let at = 0; at < 20; at++) {
    socket.message(new Uint8Array(1));
    await soon();
  }
  assert.deepEqual([...new Set(sent)], ["503"]);
  assert.deepEqual([sent.length, faults.length], [20, 20]);
});
