import assert from "@std/assert";
import { Fault } from "../shared/fault.ts";
import { createHeavyWork } from "../base/heavy_work.ts";
import { createValueGate } from "../base/value_gate.ts";
import { webBody } from "./http_request.ts";
import { parseJson, readJson, type UnreadRequest } from "./sent_body.ts";

const encoder = new TextEncoder();

/** A request whose body comes in pieces, with or without an announced length. */
function request(pieces: readonly Uint8Array[], headers: Record<string, string> = {}): Request {
  const body = ReadableStream.from(pieces) as ReadableStream<Uint8Array<ArrayBuffer>>;
  return new Request("http://localhost/", { method: "POST", body, headers });
}

const heavy = () => ({
  work: createHeavyWork({ tooLate: () => new Fault("overloaded") }),
  room: createValueGate(1_500_000),
});

/** What endpoints see of it. */
const sent = (request: Request): UnreadRequest => ({
  header: (name) => request.headers.get(name) ?? undefined,
  signal: request.signal,
  body: webBody(request),
});

const readBody = async (request: Request, maxBytes: number) =>
  (await readJson(sent(request), maxBytes, { heavy: heavy(), who: "one", reading: {} })).text;

const bytes = (text: string) => encoder.encode(text);

async function rejection(promise: Promise<unknown>): Promise<Fault> {
  const thrown = await promise.then(() => undefined, (reason: unknown) => reason);
  if (thrown instanceof Fault) return thrown;
  throw new Error(`expected a fault, got ${thrown}`);
}

Deno.test("a body within the limit is read whole, however its bytes are cut", async () => {
  const text = '{"a":"grüße 🎈"}';
  const all = bytes(text);
  for (let cut = 0; cut <= all.length; cut++) {
    const pieces = [all.slice(0, cut), all.slice(cut)];
    assert.equal(await readBody(request(pieces), all.length), text);
  }
  const announced = { "content-length": String(all.length) };
  assert.equal(await readBody(request([all], announced), all.length), text);
  assert.equal(await readBody(new Request("http://localhost/", { method: "POST" }), 10), "");
});

Deno.test("a body over the limit is 413, announced or not", async () => {
  for (const headers of [{}, { "content-length": "11" }]) {
    const fault = await rejection(readBody(request([bytes("12345678901")], headers), 10));
    assert.equal(fault.code, "request_too_large");
    assert.match(fault.message, /larger than 10 bytes/);
  }
  assert.equal(await readBody(request([bytes("1234567890")]), 10), "1234567890");
});

Deno.test("an endless body is refused as soon as it passes the limit", async () => {
  let sent = 0;
  const endless = new ReadableStream({
    pull(controller) {
      sent += 1000;
      // So that a limit that doesn't hold fails this test in place of filling the memory.
      if (sent > 1_000_000) return controller.close();
      controller.enqueue(new Uint8Array(1000).fill(32));
    },
  });
  const chunked = new Request("http://localhost/", { method: "POST", body: endless });
  assert.equal((await rejection(readBody(chunked, 10_000))).code, "request_too_large");
  assert.ok(sent <= 20_000, `${sent} bytes were read`);
});

Deno.test("a body that breaks off is the caller's 400, not a failure of ours", async () => {
  const broken = new ReadableStream({
    pull: (controller) => controller.error(new TypeError("canary: connection reset")),
  });
  const fault = await rejection(
    readBody(new Request("http://localhost/", { method: "POST", body: broken }), 10),
  );
  assert.equal(fault.code, "invalid_request");
  assert.doesNotMatch(fault.message, /canary/);
});

Deno.test("bytes that are not UTF-8 are a 400", async () => {
  const fault = await rejection(readBody(request([new Uint8Array([0x22, 0xff, 0x22])]), 10));
  assert.equal(fault.code, "invalid_json");
  assert.match(fault.message, /UTF-8/);
});

Deno.test("malformed JSON is 400 and nothing of it is quoted", () => {
  for (const text of ["", "  \n", "{", '{"a": secret}', "secret", '{"a":1,}', "[1 2]"]) {
    let fault: unknown;
    try {
      parseJson(text);
    } catch (thrown) {
      fault = thrown;
    }
    if (!(fault instanceof Fault)) throw new Error(`accepted ${text}`);
    assert.equal(fault.code, "invalid_json");
    assert.doesNotMatch(fault.message, /secret/);
  }
});

Deno.test("the error has the position of the mistake", () => {
  assert.throws(() => parseJson('{"a":1,}'), /not valid JSON \(at character 7\)/);
  assert.throws(() => parseJson("   "), /is empty; expected a JSON object/);
});

Deno.test("any JSON value is parsed; what it must be is the contract's business", () => {
  assert.deepEqual(parseJson('{"a":[1.0,null]}'), { a: [1, null] });
  assert.equal(parseJson("3"), 3);
});

Deno.test("a body that holds much is parsed in steps, and is the same", async () => {
  const value = { list: Array.from({ length: 50_000 }, (_, index) => ({ index, text: "a,]" })) };
  const places = heavy();
  const text = JSON.stringify(value);
  const body = await readJson(sent(request([bytes(text)])), 10_000_000, {
    heavy: places,
    who: "one",
    reading: {},
  });
  assert.ok(places.room.inside > 100_000, "its values have room");
  assert.deepEqual(await body.value(), value);
  assert.equal(await body.step(() => 7), 7);
  body.release?.();
  assert.equal(places.room.inside, 0);
  const cut = await readJson(sent(request([bytes(`${text.slice(0, -2)}}`)])), 10_000_000, {
    heavy: heavy(),
    who: "one",
    reading: {},
  })
    .catch((thrown) => thrown);
  assert.equal(cut.code, "invalid_json");
  await rested();
});

/** Heavy work rests as long as it took, at most 250 ms: its timers end within the test. */
function rested(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 300));
}

Deno.test("a body that holds too much is refused as soon as that is known", async () => {
  const refusals = [
    ["[", "[],", "request_too_large", /more than 1,000,000 JSON values/],
    ["", "[", "invalid_value", /deeper than 128 levels/],
    ['{"a":{', '"b":1,', "invalid_value", /more than 10,000 members/],
    ['{"a":', " \n", "invalid_value", /white space or a number of more than 100,000 characters/],
    ['{"a":', "10", "invalid_value", /white space or a number of more than 100,000 characters/],
  ] as const;
  for (const [begin, more, code, says] of refusals) {
    let sent = 0;
    const endless = new ReadableStream({
      pull(controller) {
        controller.enqueue(bytes(sent++ === 0 ? begin : more.repeat(10_000)));
        if (sent > 2000) controller.close();
      },
    });
    const sending = new Request("http://localhost/", { method: "POST", body: endless });
    const fault = await rejection(readBody(sending, 100_000_000));
    assert.equal(fault.code, code);
    assert.match(fault.message, says);
    assert.ok(sent < 200, `${sent} pieces were taken`);
  }
  await rested();
});

Deno.test("a name twice in an object is refused by its path, in a heavy body too", async () => {
  const config = '"config":{"limit":65536,"li\\u006dit":1}';
  const many = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ index })));
  const long = JSON.stringify("x".repeat(3_000_000));
  for (const rest of ["1", many, long]) {
    for (const text of [`{"rest":${rest},${config}}`, `{${config},"rest":${rest}}`]) {
      const body = await readJson(sent(request([bytes(text)])), 10_000_000, {
        ...{ heavy: heavy(), who: "one", reading: {} },
      });
      const fault = await rejection((async () => await body.value())());
      assert.deepEqual([fault.code, fault.param], ["invalid_value", "config.limit"]);
      body.release?.();
    }
    const once = await readJson(sent(request([bytes(`{"rest":${rest}}`)])), 10_000_000, {
      ...{ heavy: heavy(), who: "one", reading: {} },
    });
    assert.deepEqual(Object.keys(await once.value() as object), ["rest"]);
    once.release?.();
  }
  await rested();
});

Deno.test("a body with many long ids is refused by the path of one, in a heavy body too", async () => {
  const calls = Array(11).fill({ id: "x".repeat(16_001), arguments: "x".repeat(16_001) });
  for (const text of ["", "x".repeat(1_100_000)]) {
    const read = async (sending: unknown) => {
      const limits = { heavy: heavy(), who: "one", reading: {} };
      const body = await readJson(
        sent(request([bytes(JSON.stringify(sending))])),
        2_000_000,
        limits,
      );
      try {
        return await body.value();
      } finally {
        body.release?.();
      }
    };
    assert.equal((await rejection(read({ text, calls }))).param, "calls[10].id");
    const few = { text, calls: calls.slice(1) };
    assert.deepEqual(await read(few), few);
  }
  await rested();
});
