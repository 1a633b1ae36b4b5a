import assert from "@std/assert";
import type { FrameChannel } from "../../base/frame_channel.ts";
import { createByteGate } from "../../base/byte_gate.ts";
import { FakeClock } from "../../base/clock.ts";
import { Fault } from "../../shared/fault.ts";
import { responses } from "../../dialects/text/responses/mod.ts";
import type { HttpRequest } from "../http_request.ts";
import { createSocketTurns } from "./socket_turns.ts";
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

Deno.test("an unstored turn goes on from the summary of the one before it, and without one from all", async () => {
  const bodies: { input: Record<string, unknown>[]; previous_response_id?: string }[] = [];
  const outputs: object[][] = [[], [], [], []];
  const deps = {
    messages: createByteGate({ capacityBytes: 400_000 }),
    headers: new Map(),
    contexts: { clock: new FakeClock(), newRequestId: () => "r", trustProxy: false },
    frames: responses.socket,
    frontDoor: {},
    turns: createSocketTurns({ maxChars: 1e6, isErased: () => false }),
    authenticate: () => Promise.resolve(undefined),
    rateCheck: () => Promise.resolve({}),
    accessLog: () => {},
    found: {
      async endpoint({ body }: HttpRequest) {
        const sent = JSON.parse(new TextDecoder().decode(await body.whole()));
        const answer = { id: `resp_${bodies.push(sent)}`, status: "completed" };
        const output = outputs[bodies.length - 1];
        return { status: 200, headers: {}, body: JSON.stringify({ ...answer, output }) };
      },
    },
  };
  const sent: string[] = [];
  const channel = { isClosing: false, working() {}, send: (text: string) => sent.push(text) > 0 };
  const socket = new ResponseSocket(deps as unknown as ResponseSocketDeps, {} as never);
  socket.opened(channel as unknown as FrameChannel, 1, () => {});
  const user = (content: string) => ({ role: "user", content });
  const ask = async (previous_response_id: string | undefined, ...input: object[]) => {
    const frame = {
      type: "response.create",
      model: "m",
      store: false,
      previous_response_id,
      input,
    };
    socket.message(new TextEncoder().encode(JSON.stringify(frame)));
    for (let turns = 0; turns < 5; turns++) await soon();
    const { input: asked, previous_response_id: stored } = bodies.at(-1)!;
    return [stored, asked.map(({ type, content }) => content ?? type)];
  };
  const trigger = { type: "compaction_trigger" };
  outputs[2] = [{ type: "compaction", encrypted_content: "x" }];
  // The vendor of the second turn wrote no summary.
  assert.deepEqual(await ask("resp_stored", user("1")), ["resp_stored", ["1"]]);
  assert.deepEqual(await ask("resp_1", trigger), ["resp_stored", ["1", "compaction_trigger"]]);
  assert.deepEqual(await ask("resp_2", user("2"), trigger), [
    ...["resp_stored", ["1", "2", "compaction_trigger"]],
  ]);
  assert.deepEqual(await ask("resp_3", user("3")), [undefined, ["compaction", "3"]]);
  assert.ok(sent.every((text) => !text.includes('"error"')), sent.join());
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
