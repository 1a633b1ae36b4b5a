/** What sockets may take: bytes, messages, room beside others, and time at the end. */
import assert from "@std/assert";
import { WebSocket } from "ws";
import { shared, startSimulatedService } from "../support/service.ts";
import { openSocket } from "../support/response_socket.ts";

const service = shared(() => startSimulatedService({ MAX_BODY_BYTES: "100000" }));
const model = "vendor-b/gpt-4.1";
/** `SOCKETS=1000` holds a thousand. */
const sockets = Number(Deno.env.get("SOCKETS") ?? 60);

Deno.test(`${sockets} sockets are held at once; each makes a call, then another`, async () => {
  await using roomy = await startSimulatedService();
  await roomy.admin("credits", "grant", "--usd", "1000");
  const begunMs = performance.now();
  const open = await Promise.all(Array.from({ length: sockets }, () => openSocket(roomy)));
  const openedMs = performance.now();
  const user = crypto.randomUUID();
  const words: string[] = [];
  for (let round = 0; round < 2; round++) {
    // A few at a time, as agents do; the others are held.
    for (let from = 0; from < open.length; from += 20) {
      const some = open.slice(from, from + 20);
      const all = await Promise.all(some.map(async (socket, at) => {
        const input = `[say:${round}-${from + at}]`;
        const events = await socket.ask({ model, input, store: false, safety_identifier: user });
        return events.filter(({ type }) => type === "response.output_text.delta")
          .map(({ delta }) => delta).join("");
      }));
      words.push(...all);
    }
  }
  assert.equal(new Set(words).size, 2 * sockets);
  const rows = await roomy.rows({ user_id: user });
  assert.equal(rows.length, 2 * sockets);
  assert.ok(
    rows.every(({ status, charged_usd }) =>
      status === "completed" && /[1-9]/.test(String(charged_usd))
    ),
  );
  const seconds = (fromMs: number, toMs: number) => ((toMs - fromMs) / 1000).toFixed(1);
  console.log(
    `${open.length} sockets open after ${seconds(begunMs, openedMs)} s, ${rows.length} calls ` +
      `answered, each with a row, ${seconds(openedMs, performance.now())} s later`,
  );
  await Promise.all(open.map((socket) => socket.close()));
});

Deno.test("messages that are too large, binary, or no WebSocket end the socket with their code", async () => {
  const endings: [number, (raw: WebSocket) => void][] = [
    [1009, (raw) => raw.send("x".repeat(100_001))],
    [1003, (raw) => raw.send(new Uint8Array([1, 2, 3]))],
    [1007, (raw) => raw.send(new Uint8Array([0xff, 0xfe]), { binary: false })],
    [1002, (raw) => raw.send("unmasked", { mask: false })],
  ];
  for (const [code, act] of endings) {
    const raw = await openRaw();
    const closed = new Promise<number>((resolve) => raw.on("close", resolve));
    act(raw);
    assert.equal(await closed, code);
  }
});

Deno.test("a request that crosses a close frame is neither run nor charged", async () => {
  const user = crypto.randomUUID();
  const raw = await openRaw();
  const closed = new Promise((resolve) => raw.on("close", resolve));
  // The service closes the socket for the first one, and the caller can't know that yet.
  raw.send(new Uint8Array([1, 2, 3]));
  const input = "[say:for nobody]";
  raw.send(JSON.stringify({ type: "response.create", model, input, safety_identifier: user }));
  await closed;
  // A call of the same connection's account that comes later is recorded later.
  await using socket = await openSocket(service());
  await socket.ask({ model, input: "[say:later]", safety_identifier: user });
  const rows = await service().rows({ user_id: user });
  assert.deepEqual(rows.map(({ status }) => status), ["completed"]);
});

Deno.test("requests that wait are not run once the service has closed the socket", async () => {
  const user = crypto.randomUUID();
  const raw = await openRaw();
  const closed = new Promise((resolve) => raw.on("close", resolve));
  const begun = new Promise((resolve) => raw.once("message", resolve));
  const send = (input: string) =>
    raw.send(
      JSON.stringify({ type: "response.create", model, input, safety_identifier: user }),
    );
  send("[long:20] [drip:20] first");
  send("[say:for nobody]");
  await begun;
  // The caller doesn't answer the close frame for which this is the reason.
  raw.pause();
  raw.send(new Uint8Array([1, 2, 3]));
  await using socket = await openSocket(service());
  const rows = async () => (await service().rows({ user_id: user })).map((row) => row.status);
  while ((await rows()).length === 0) await socket.ask({ model, input: "[say:meanwhile]" });
  await socket.ask({ model, input: "[say:later]", safety_identifier: user });
  assert.deepEqual(await rows(), ["completed", "completed"]);
  raw.resume();
  await closed;
});

Deno.test("sixteen requests wait for the one under way, more are refused, and all of those are answered", async () => {
  await using socket = await openSocket(service());
  const input = (at: number) => at === 0 ? "[long:60] [drip:5] first" : `[say:${at}]`;
  for (let at = 0; at < 20; at++) {
    socket.send({ type: "response.create", model, input: input(at) });
  }
  const endings: string[] = [];
  for (let at = 0; at < 20; at++) {
    const { type, status } = (await socket.answer()).at(-1)!;
    endings.push(type === "error" ? String(status) : String(type));
  }
  assert.deepEqual(endings.filter((one) => one === "429").length, 3);
  assert.deepEqual(endings.filter((one) => one === "response.completed").length, 17);
});

Deno.test("small requests wait up to 256 KiB together, more are refused", async () => {
  const raw = await openRaw();
  const endings = { cancelled: 0, completed: 0, refused: 0 };
  const ended = new Promise<void>((resolve) =>
    raw.on("message", (data: Uint8Array) => {
      const { type, status } = JSON.parse(String(data));
      if (type === "response.cancelled") endings.cancelled++;
      if (type === "response.completed") endings.completed++;
      if (type === "error" && status === 429) endings.refused++;
      if (endings.cancelled + endings.completed + endings.refused === 6) resolve();
    })
  );
  const send = (input: string) =>
    raw.send(JSON.stringify({ type: "response.create", model, input }));
  send("[hang]");
  for (let at = 0; at < 5; at++) send(`[say:${at}] ${"x".repeat(90_000)}`);
  // By now all of them wait or are refused.
  raw.send(JSON.stringify({ type: "response.cancel" }));
  await ended;
  assert.deepEqual(endings, { cancelled: 1, completed: 2, refused: 3 });
  raw.close();
});

Deno.test("a ping is answered in the middle of a response, and frames in pieces are one message", async () => {
  const raw = await openRaw();
  const pong = new Promise<string>((resolve) =>
    raw.on("pong", (data: Uint8Array) => resolve(String(data)))
  );
  const ended = new Promise<void>((resolve) =>
    raw.on("message", (data: Uint8Array) => {
      if (JSON.parse(String(data)).type === "response.completed") resolve();
    })
  );
  const text = JSON.stringify({
    type: "response.create",
    model,
    input: "[long:40] [drip:5] Hello",
  });
  for (let at = 0; at < text.length; at += 10) {
    raw.send(text.slice(at, at + 10), { fin: at + 10 >= text.length });
  }
  raw.ping("are you there");
  assert.equal(await pong, "are you there");
  await ended;
  raw.close();
});

Deno.test("an account has a quarter of the connections for its sockets; a closed one makes room", async () => {
  await using small = await startSimulatedService({ CONNECTIONS_MAX: "80" });
  const open = await Promise.all(Array.from({ length: 20 }, () => openSocket(small)));
  await assert.rejects(openSocket(small), /429/);
  await open.pop()!.close();
  let again: Awaited<ReturnType<typeof openSocket>> | undefined;
  for (let tries = 0; again === undefined && tries < 3_000; tries++) {
    again = await openSocket(small).catch(() => undefined);
    if (again === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await Promise.all([...open, again!].map((socket) => socket.close()));
});

Deno.test("a stopping service closes idle sockets with 1001, and answers what is under way first", async () => {
  const leaving = await startSimulatedService();
  try {
    const idle = await openSocket(leaving);
    const busy = await openSocket(leaving);
    busy.send({ type: "response.create", model, input: "[long:100] [drip:5] To the end" });
    await busy.until("response.output_text.delta");
    const stopped = leaving.stop();
    assert.equal(await idle.closed, 1001);
    assert.equal((await busy.until("response.completed")).type, "response.completed");
    assert.equal(await busy.closed, 1001);
    await stopped;
  } finally {
    await leaving.stop();
  }
});

async function openRaw(): Promise<WebSocket> {
  const { baseUrl, key } = service();
  const raw = new WebSocket(`${baseUrl.replace(/^http/, "ws")}/chat/v1/responses`, {
    headers: { authorization: `Bearer ${key}` },
    perMessageDeflate: false,
  });
  await new Promise((resolve, reject) => {
    raw.on("open", resolve);
    raw.on("error", reject);
  });
  return raw;
}
