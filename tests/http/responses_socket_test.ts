import assert from "@std/assert";
import { FakeClock } from "../../src/base/clock.ts";
import { mintKey } from "../../src/keys/credential.ts";
import { ResponsesWS } from "openai/resources/responses/ws";
import { startFakeVendor } from "../support/fake_vendor.ts";
import { shared, startSimulatedService, startTestService } from "../support/service.ts";
import { openai } from "../support/service_openai.ts";
import { openSocket } from "../support/response_socket.ts";

const service = shared(() => startSimulatedService());
const model = "vendor-b/gpt-4.1";

const text = (events: readonly Record<string, unknown>[]) =>
  events.filter(({ type }) => type === "response.output_text.delta")
    .map(({ delta }) => delta).join("");

type ResponseEvent = { response: { id: string; status: string; output: unknown[] } };

const idOf = (events: readonly Record<string, unknown>[]) =>
  (events.at(-1) as unknown as ResponseEvent).response.id;

/** The id of the turn before, as an event names it. */
const previousOf = ({ response }: Record<string, unknown>) =>
  response === undefined ? [] : [(response as Record<string, unknown>).previous_response_id];

async function erase(transactionId: string): Promise<void> {
  const { baseUrl, key } = service();
  const deletion = await fetch(`${baseUrl}/api/v1/data`, {
    method: "DELETE",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ transaction_ids: [transactionId], confirm: true }),
  });
  assert.equal((await deletion.json()).deleted_count, 1);
}

Deno.test("the official client's socket: each response.create is a call with its own row and charge", async () => {
  const { baseUrl, key, rows } = service();
  const user = crypto.randomUUID();
  const socket = new ResponsesWS(openai({ baseUrl, key }));
  const done: { type: string; id: string; text: string }[] = [];
  let said = "";
  const asked = ["[say:one]", "[say:two]"];
  const send = () =>
    socket.send({ type: "response.create", model, input: asked.shift()!, safety_identifier: user });
  try {
    const ended = Promise.withResolvers<void>();
    socket.on("error", (error) => ended.reject(error));
    socket.on("event", (event) => {
      if (event.type === "response.output_text.delta") said += event.delta;
      if (event.type !== "response.completed") return;
      done.push({ type: event.type, id: event.response.id, text: said });
      said = "";
      if (asked.length === 0) ended.resolve();
      else send();
    });
    send();
    await ended.promise;
  } finally {
    socket.close();
  }
  assert.deepEqual(done.map((one) => one.text), ["one", "two"]);
  const found = await rows({ user_id: user });
  assert.equal(found.length, 2);
  for (const row of found) {
    assert.equal(row.endpoint, "/chat/v1/responses");
    assert.equal(row.status, "completed");
    assert.equal(row.stream, true);
    assert.match(String(row.charged_usd), /[1-9]/);
  }
  assert.equal(new Set(found.map((row) => row.transaction_id)).size, 2);
});

for (const path of ["/chat/v1", "/vendor-b/v1", "/openai/v1"]) {
  Deno.test(`a socket at ${path}/responses goes on with previous_response_id, stored or not`, async () => {
    const { simulators } = service();
    await using socket = await openSocket(service(), path);
    const named = path === "/chat/v1" ? model : "gpt-4.1";
    for (const store of [true, false]) {
      const word = `word-${crypto.randomUUID()}`;
      const first = await socket.ask({ model: named, store, input: `${word} [say:first]` });
      const { id } = (first.at(-1) as unknown as ResponseEvent).response;
      const input = [{ role: "user", content: "[say:second]" }];
      const second = await socket.ask({ model: named, store, input, previous_response_id: id });
      assert.equal(text(second), "second");
      assert.deepEqual([...new Set(second.flatMap(previousOf))], [id]);
      const sent = JSON.stringify(simulators.requests("vendor-b").at(-1)!.body);
      assert.ok(sent.includes(word), "the vendor gets the first turn");
      assert.ok(sent.includes("first"), "and its answer");
    }
  });
}

Deno.test("an unstored turn or a warm-up that goes on with a stored response keeps all of it", async () => {
  const { simulators } = service();
  for (const next of [{}, { generate: false }]) {
    await using socket = await openSocket(service());
    const word = `word-${crypto.randomUUID()}`;
    const first = await socket.ask({ model, input: `${word} [say:first]` });
    const second = await socket.ask({
      ...{ ...next, model, store: false, previous_response_id: idOf(first), input: "[say:second]" },
    });
    const third = { model, store: false, previous_response_id: idOf(second), input: "[say:third]" };
    const answer = await socket.ask(third);
    assert.equal(text(answer), "third");
    assert.deepEqual([...new Set(second.flatMap(previousOf))], [idOf(first)]);
    assert.deepEqual([...new Set(answer.flatMap(previousOf))], [idOf(second)]);
    const sent = JSON.stringify(simulators.requests("vendor-b").at(-1)!.body);
    const order = [word, "first", "[say:second]", "[say:third]"].map((one) => sent.indexOf(one));
    assert.deepEqual(order, order.toSorted((a, b) => a - b));
    assert.ok(!order.includes(-1), sent);
  }
});

Deno.test("each turn of a socket has the tags of its own lines, which no vendor gets", async () => {
  const { simulators, row, rows } = service();
  for (const store of [true, false]) {
    await using socket = await openSocket(service());
    const tagsOf = async (input: unknown, previous?: string) => {
      const user = crypto.randomUUID();
      const events = await socket.ask({
        ...{ model, store, input, safety_identifier: user },
        ...(previous ? { previous_response_id: previous } : {}),
      });
      const sent = simulators.requests("vendor-b").at(-1)!;
      assert.ok(!JSON.stringify(sent.body).includes("///"), JSON.stringify(sent.body));
      const [{ transaction_id }] = await rows({ user_id: user }) as [Record<string, string>];
      const found = await row(transaction_id!);
      assert.deepEqual((found.request as { input: unknown }).input, input);
      return { id: idOf(events), tags: [found.app, found.flow, found.cohort_id] };
    };
    const first = await tagsOf("/// APP shop\n/// COHORT c-1\n[say:one]");
    assert.deepEqual(first.tags, ["shop", null, "c-1"]);
    const input = [{ role: "user", content: "/// FLOW pay\n/// COHORT c-2\n[say:two]" }];
    const second = await tagsOf(input, first.id);
    assert.deepEqual(second.tags, ["shop", "pay", "c-2"]);
    const third = await tagsOf("[say:three]", second.id);
    assert.deepEqual(third.tags, ["shop", null, "c-1"]);
  }
});

Deno.test("a stored response that goes on with an unstored one of its socket goes with its erasure", async () => {
  const { baseUrl, key, row, rows } = service();
  await using socket = await openSocket(service());
  const [user, later] = [crypto.randomUUID(), crypto.randomUUID()];
  const first = await socket.ask({
    ...{ model, store: false, safety_identifier: user },
    input: "My secret. [say:first]",
  });
  const [{ transaction_id: erased }] = await rows({ user_id: user }) as [Record<string, string>];
  const second = await socket.ask({
    ...{ model, previous_response_id: idOf(first), safety_identifier: later },
    input: [{ role: "user", content: "[say:second]" }],
  });
  const [{ transaction_id: kept }] = await rows({ user_id: later }) as [Record<string, string>];
  await erase(erased!);
  const [refused] = await socket.exchange({
    ...{ type: "response.create", model, previous_response_id: idOf(second), input: "Go on." },
  });
  assert.equal((refused!.error as { code?: string }).code, "previous_response_not_found");
  const stored = await fetch(`${baseUrl}/chat/v1/responses/${idOf(second)}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  assert.equal(stored.status, 404);
  await stored.body?.cancel();
  const { status, request } = await row(kept!);
  assert.equal(status, "completed", "its own row stays");
  // As over HTTP it contains what its frame had.
  assert.deepEqual(request, {
    ...{ model, previous_response_id: idOf(first), safety_identifier: later },
    ...{ input: [{ role: "user", content: "[say:second]" }], stream: true },
  });
});

Deno.test("what continues an erased turn is forgotten, also a warm-up, or a call that was under way", async () => {
  const { simulators, rows } = service();
  for (
    const next of [
      { generate: false, input: [{ role: "developer", content: "Rules" }] },
      { input: [{ role: "user", content: "[say:second] [slow:1000]" }] },
    ]
  ) {
    await using socket = await openSocket(service());
    const user = crypto.randomUUID();
    const unstored = { type: "response.create", model, store: false };
    const first = await socket.ask({
      ...{ ...unstored, safety_identifier: user, input: "My secret. [say:first]" },
    });
    const [erased] = await rows({ user_id: user });
    const asked = simulators.requests("vendor-b").length;
    const ended = socket.ask({ ...unstored, ...next, previous_response_id: idOf(first) });
    if (next.generate === false) await ended;
    else await until(() => simulators.requests("vendor-b").length > asked);
    await erase(String(erased!.transaction_id));
    const goOn = { ...unstored, previous_response_id: idOf(await ended), input: "Go on." };
    const [refused] = await socket.exchange(goOn);
    assert.equal((refused!.error as { code?: string })?.code, "previous_response_not_found");
  }
});

Deno.test("an answer whose user was erased while it was under way is not continued", async () => {
  const { baseUrl, key, simulators } = service();
  await using socket = await openSocket(service());
  const user = crypto.randomUUID();
  const unstored = { type: "response.create", model, store: false };
  const asked = simulators.requests("vendor-b").length;
  const answered = socket.ask({
    ...{ ...unstored, safety_identifier: user, input: "My secret. [say:first] [slow:1000]" },
  });
  await until(() => simulators.requests("vendor-b").length > asked);
  const deletion = await fetch(`${baseUrl}/api/v1/data`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ user_id: user, reason: "asked" }),
  });
  assert.equal((await deletion.json()).status, "ok");
  const previous_response_id = idOf(await answered);
  const [refused] = await socket.exchange({ ...unstored, previous_response_id, input: "Go on." });
  assert.equal((refused!.error as { code?: string })?.code, "previous_response_not_found");
});

Deno.test("a warm-up asks no vendor, costs nothing, and is continued by the next request", async () => {
  const { simulators, rows } = service();
  await using socket = await openSocket(service());
  const user = crypto.randomUUID();
  const asked = simulators.requests("vendor-b").length;
  const warmed = await socket.ask({
    ...{ model, store: false, generate: false, safety_identifier: user },
    input: [{ role: "developer", content: "Rules of the house" }],
  });
  assert.deepEqual(warmed.map(({ type }) => type), ["response.created", "response.completed"]);
  const { response } = warmed.at(-1) as unknown as ResponseEvent;
  assert.deepEqual([response.status, response.output], ["completed", []]);
  assert.equal(simulators.requests("vendor-b").length, asked);
  const events = await socket.ask({
    ...{ model, store: false, safety_identifier: user, previous_response_id: response.id },
    input: [{ role: "user", content: "[say:warm]" }],
  });
  assert.equal(text(events), "warm");
  const sent = JSON.stringify(simulators.requests("vendor-b").at(-1)!.body);
  assert.ok(sent.includes("Rules of the house"));
  const all = await rows({ user_id: user });
  assert.equal(all.length, 1);
  assert.match(
    JSON.stringify(all[0]!.request),
    /Rules of the house.*say:warm/,
    "all of it is there",
  );
});

Deno.test("errors are frames with status, code and parameter, and the socket goes on", async () => {
  await using socket = await openSocket(service());
  const cases: [Record<string, unknown> | string, number, string, string | null][] = [
    ["{", 400, "invalid_json", null],
    ["[1]", 400, "invalid_json", null],
    [{ type: "session.update" }, 400, "invalid_value", "type"],
    [{ type: "response.create", input: "Hi" }, 400, "missing_required_field", "model"],
    [
      { type: "response.create", model: "vendor-b/nothing", input: "Hi" },
      404,
      "model_not_found",
      null,
    ],
    [
      { type: "response.create", model, input: "Hi", previous_response_id: "resp_none" },
      ...[400, "previous_response_not_found", "previous_response_id"] as [number, string, string],
    ],
    [
      { type: "response.create", model, input: "Hi", background: true },
      ...[400, "unsupported_parameter", "background"] as [number, string, string],
    ],
    [{ type: "response.create", model, input: "[error:400]" }, 400, "invalid_request", null],
    [{ type: "response.cancel" }, 404, "response_not_found", "response_id"],
  ];
  for (const [frame, status, code, param] of cases) {
    const [event, ...more] = await socket.exchange(frame);
    const { type, error } = event as { type: string; error: Record<string, unknown> };
    const shown = JSON.stringify(event);
    assert.deepEqual([type, event!.status, error.code], ["error", status, code], shown);
    if (param !== null) assert.equal(error.param, param, shown);
    assert.equal(typeof error.message, "string");
    assert.equal(more.length, 0);
  }
  assert.equal(text(await socket.ask({ model, input: "[say:still here]" })), "still here");
});

Deno.test("a frame that holds too much is refused as the same body over HTTP, also where nobody reads it", async () => {
  const { baseUrl, key } = service();
  await using socket = await openSocket(service());
  const repeated = '"":1,'.repeat(10_001);
  const unread = `"generate":[${"[],".repeat(1_000_000)}0],`;
  for (const members of [repeated, unread]) {
    const body = `{${members}"type":"response.create","model":"${model}","input":"Hi"}`;
    const response = await fetch(`${baseUrl}/chat/v1/responses`, {
      ...{ method: "POST", body },
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    });
    const { error } = await response.json();
    const [event] = await socket.exchange(body);
    assert.deepEqual([event!.status, event!.error], [response.status, error]);
    assert.match(error.message, /more than 1(0,000 members|,000,000 JSON values)/);
  }
});

Deno.test("a second request waits for the first; its stream_id stands in its frames", async () => {
  await using socket = await openSocket(service());
  socket.send({ type: "response.create", model, input: "[long:20] [drip:2] one" });
  socket.send({ type: "response.create", model, input: "[say:two]", stream_id: "lane-2" });
  const first = await socket.answer();
  const second = await socket.answer();
  assert.ok(first.every((event) => event.stream_id === undefined));
  assert.ok(second.every((event) => event.stream_id === "lane-2"));
  assert.equal(text(second), "two");
  assert.equal(
    new Set([...first, ...second].flatMap((e) => (e as never as ResponseEvent).response?.id ?? []))
      .size,
    2,
  );
});

Deno.test("steering is refused in its own words, and the response goes on", async () => {
  await using socket = await openSocket(service());
  socket.send({ type: "response.create", model, input: "[long:50] [drip:5] steer" });
  const created = await socket.until("response.created") as never as ResponseEvent;
  const input = [{ type: "message", role: "user", content: "Faster" }];
  socket.send({ type: "response.steer", previous_response_id: created.response.id, input });
  const failed = await socket.until("response.steer.failed");
  assert.equal((failed.error as { code: string }).code, "steering_not_supported");
  assert.deepEqual(failed.steer, { previous_response_id: created.response.id, input });
  assert.equal((await socket.until("response.completed")).type, "response.completed");
});

for (const ending of ["cancel", "close"] as const) {
  Deno.test(`${ending} in the middle: one row, charged for what the vendor produced`, async () => {
    const { simulators, rows } = service();
    const user = crypto.randomUUID();
    const abortedBefore = simulators.aborted("vendor-b");
    await using socket = await openSocket(service());
    const input = "[long:5000] [drip:5] Talk without end.";
    socket.send({ type: "response.create", model, input, safety_identifier: user });
    const created = await socket.until("response.created") as never as ResponseEvent;
    await socket.until("response.output_text.delta");
    if (ending === "cancel") {
      socket.send({ type: "response.cancel", response_id: created.response.id });
      const cancelled = await socket.until("response.cancelled") as never as ResponseEvent;
      assert.equal(cancelled.response.id, created.response.id);
      assert.equal(text(await socket.ask({ model, input: "[say:next]" })), "next");
    } else {
      await socket.close();
    }
    await until(() => simulators.aborted("vendor-b") > abortedBefore);
    await until(async () => (await rows({ user_id: user })).length > 0);
    const [row, ...more] = await rows({ user_id: user });
    assert.equal(more.length, 0);
    assert.equal(row!.status, "cancelled");
    assert.ok(Number(row!.input_tokens) > 0 && Number(row!.output_tokens) > 0);
    assert.match(String(row!.charged_usd), /[1-9]/);
  });
}

Deno.test("a handshake is checked as any request: key, path, method", async () => {
  const cases: [string, string, number][] = [
    ["/chat/v1/responses", "wrong", 401],
    ["/chat/v1/responses", "", 401],
    ["/nowhere/v1/responses", service().key, 404],
  ];
  for (const [path, key, status] of cases) {
    const answer = await handshake(path, key);
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `), answer.slice(0, 100));
    assert.match(answer, /x-request-id: /i);
    assert.match(answer, /"error":/);
  }
  // Some put a key where a model or an id belongs.
  const misplaced = mintKey(new FakeClock()).value.reveal();
  const answer = await handshake(`/chat/${misplaced}/responses`, service().key);
  assert.match(answer, /No such endpoint: GET \/chat\/\*\*\*\/responses/);
  // Another protocol, and another path, are ordinary requests.
  assert.match(await handshake("/chat/v1/models", service().key), /^HTTP\/1.1 200 /);
  assert.match(await handshake("/chat/v1/responses", service().key, "h2c"), /^HTTP\/1.1 404 /);
});

Deno.test("a revoked key's open socket gets 401, and no more calls", async () => {
  const { createKey, admin, simulators } = service();
  const { key, id } = await createKey();
  await using socket = await openSocket({ ...service(), key });
  assert.equal(text(await socket.ask({ model, input: "[say:yes]" })), "yes");
  await admin("key", "revoke", id);
  const asked = simulators.requests("vendor-b").length;
  const [event] = await socket.exchange({ type: "response.create", model, input: "Hi" });
  assert.equal(event!.status, 401);
  assert.equal(simulators.requests("vendor-b").length, asked);
});

Deno.test("RESPONSES_WEBSOCKET=false answers 426, which clients take for HTTP", async () => {
  await using other = await startSimulatedService({ RESPONSES_WEBSOCKET: "false" });
  const answer = await handshake("/chat/v1/responses", other.key, "websocket", other.baseUrl);
  assert.match(answer, /^HTTP\/1.1 426 /);
  assert.match(answer, /"code":"websocket_unsupported"/);
});

Deno.test("a handshake whose upgrade a proxy took off is answered 426, and a plain GET 404", async () => {
  const get = (headers: Record<string, string>) =>
    service().fetch("/chat/v1/responses", { headers });
  const stripped = await get({ "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" });
  assert.equal(stripped.status, 426);
  assert.equal((await stripped.json()).error.code, "websocket_unsupported");
  const plain = await get({});
  assert.equal(plain.status, 404);
  assert.equal((await plain.json()).error.code, "endpoint_not_found");
});

async function handshake(
  path: string,
  key: string,
  protocol = "websocket",
  at = service().baseUrl,
) {
  const { hostname, port } = new URL(at);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const lines = [
    `GET ${path} HTTP/1.1`,
    ...["host: x", "connection: Upgrade", `upgrade: ${protocol}`, "sec-websocket-version: 13"],
    ...["sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==", `authorization: Bearer ${key}`],
  ];
  await connection.write(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`));
  const buffer = new Uint8Array(64 * 1024);
  const length = await connection.read(buffer);
  connection.close();
  return new TextDecoder().decode(buffer.subarray(0, length ?? 0));
}

/** Waits for a condition for as long as a standing machine may need. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 3_000; tries++) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("it did not come about");
}

Deno.test("the last event comes also where its blank line is missing, and a stream's end mark never", async () => {
  const ends = ["", "\n", "\n\ndata: [DONE]\n\n", "\n\n"];
  const left = [...ends];
  const response = { id: "resp_of_vendor", object: "response", model: "gpt-4.1", output: [] };
  await using vendor = await startFakeVendor((exchange) => {
    const begun = { ...response, status: "in_progress" };
    const usage = { input_tokens: 5, output_tokens: 0, total_tokens: 5 };
    const events = [
      { type: "response.created", sequence_number: 0, response: begun },
      {
        ...{ type: "response.completed", sequence_number: 1 },
        response: { ...response, status: "completed", usage },
      },
    ];
    const text = events.map((event) => `data: ${JSON.stringify(event)}`).join("\n\n");
    return exchange.stream([text + left.shift()]);
  });
  await using own = await startTestService({
    database: "any",
    env: { VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: "k" },
  });
  await using socket = await openSocket(own);
  // All at once: one that never ended would be seen in the events of the next.
  for (const _ of ends) socket.send({ type: "response.create", model, input: "Hi" });
  for (const end of ends) {
    const types = (await socket.answer()).map(({ type }) => type);
    assert.deepEqual(types, ["response.created", "response.completed"], JSON.stringify(end));
  }
});
