import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { Label } from "../../demo/simulators.ts";
import { dialectNames, rawRequest } from "../matrix/raw_calls.ts";
import { shared, startSimulatedService } from "../support/service.ts";

const service = shared(() => startSimulatedService());

interface Case {
  label: Label;
  model: string;
  dialect: DialectName;
  stream: boolean;
}

/** Each dialect where it goes through as it is and where it is translated. */
const cases: readonly Case[] = dialectNames.flatMap((dialect) =>
  [
    { label: "vendor-b", model: "gpt-4.1" },
    { label: "vendor-c", model: "claude-haiku-4-5" },
    { label: "vendor-d", model: "gemini-3.8-flash" },
  ].flatMap(({ label, model }) =>
    [false, true].map((stream) => ({ label: label as Label, model, dialect, stream }))
  )
);

function modelCalls(label: Label): number {
  return service().simulators.requests(label).filter(({ method }) => method === "POST").length;
}

async function balance(): Promise<number> {
  const { json } = await service().admin("credits", "show");
  return Number((json as { balance_usd: string }).balance_usd);
}

interface Repeat extends Case {
  requestId: string;
  prompt?: string;
  headers?: Record<string, string>;
}

async function send(repeat: Repeat) {
  const { label, model, dialect, stream, requestId, prompt = "Say hello. [slow:50]" } = repeat;
  const { path, body } = rawRequest(dialect, { model: `${label}/${model}`, prompt, stream });
  const answer = await service().post(path, body, {
    "x-request-id": requestId,
    ...repeat.headers,
  });
  return {
    status: answer.status,
    replay: answer.headers.get("x-idempotent-replay"),
    transaction: answer.headers.get("x-transaction-id"),
    type: answer.headers.get("content-type"),
    // A stream that is cut ends in order, with an error event.
    text: await answer.text(),
  };
}

/** Several identical requests; fails unless they were one call and one charge. Gives the charge. */
async function oneOf(repeat: Repeat): Promise<number> {
  const [called, had] = [modelCalls(repeat.label), await balance()];
  const answers = await Promise.all([1, 2, 3].map(() => send(repeat)));
  answers.push(await send(repeat));
  assert.deepEqual(answers.map(({ status }) => status), [200, 200, 200, 200], answers[0]!.text);
  assert.equal(modelCalls(repeat.label) - called, 1, "one vendor call");
  assert.deepEqual(answers.map(({ replay }) => replay).sort(), [null, "true", "true", "true"]);
  assert.equal(new Set(answers.map(({ text, type }) => `${type} ${text}`)).size, 1);
  assert.equal(new Set(answers.map(({ transaction }) => transaction)).size, 1);
  const rows = await service().rows({ request_id: repeat.requestId, status: "completed" });
  assert.equal(rows.length, 1, "one record");
  const charged = had - await balance();
  assert.ok(Math.abs(charged - Number(rows[0]!.charged_usd)) < 1e-9, "the ledger has it once");
  return charged;
}

for (const one of cases) {
  const { dialect, label, stream } = one;
  const form = stream ? "streamed" : "whole";
  Deno.test(`repeats in ${dialect} to ${label}, ${form}, are one call and one charge`, async () => {
    const charged = await oneOf({ ...one, requestId: `${dialect}-${label}-${form}` });
    assert.ok(charged > 0);
  });
}

const chat: Case = { label: "vendor-b", model: "gpt-4.1", dialect: "chat", stream: false };

Deno.test("repeats with a vendor key of the caller's own are one call, and charge nothing", async () => {
  const { apiKey } = service().simulators.vendors["vendor-b"];
  const headers = { authorization: `Bearer ${service().key};${apiKey}` };
  for (const stream of [false, true]) {
    assert.equal(await oneOf({ ...chat, stream, headers, requestId: `dual-${stream}` }), 0);
  }
});

Deno.test("after an error or a cut the id is free, and the next answer is kept", async () => {
  const failing: readonly (Partial<Repeat> & { status: number })[] = [
    { prompt: "[error:400]", status: 400 },
    { prompt: "[error:401]", status: 502 },
    { prompt: "[cut]", stream: true, status: 200 },
    { prompt: "[midstream-error]", stream: true, status: 200 },
  ];
  for (const { status, ...more } of failing) {
    const requestId = `fails-${more.prompt}`;
    const called = modelCalls("vendor-b");
    const one = { ...chat, ...more, requestId };
    for (const attempt of [1, 2]) {
      const answer = await send(one);
      assert.deepEqual([answer.status, answer.replay], [status, null]);
      assert.equal(modelCalls("vendor-b") - called, attempt, `${more.prompt} is asked again`);
    }
    // The client corrects its request and keeps its id.
    await oneOf({ ...one, prompt: `Good again after ${status}. [slow:20]`, requestId });
  }
});

Deno.test("an id that can't be used is refused by its header's name, and nothing is done", async () => {
  const asked = {
    "/chat/v1/chat/completions": {
      model: "vendor-b/gpt-4.1",
      messages: [{ role: "user", content: "Hello." }],
    },
    "/chat/v1/responses": { model: "vendor-b/gpt-4.1", input: "Hello.", background: true },
    "/imagen/v1/generate": { provider: "vendor-b", prompt: "A door" },
    "/api/v1/data": { user_id: "nobody", reason: "test" },
  };
  const [called, had] = [modelCalls("vendor-b"), await balance()];
  for (const [path, body] of Object.entries(asked)) {
    for (const name of ["X-Request-ID", "Idempotency-Key"]) {
      for (const id of ["invoice 17", "x".repeat(201), "é"]) {
        const answer = await service().post(path, body, { [name]: id });
        const { error } = await answer.json();
        assert.deepEqual([answer.status, error.code], [400, "invalid_value"], `${path} ${id}`);
        assert.equal(
          error.message,
          `${name}: expected 1 to 200 characters of ASCII, without spaces.`,
        );
      }
    }
  }
  assert.deepEqual([modelCalls("vendor-b"), await balance()], [called, had]);
});

Deno.test("where X-Request-ID is empty, Idempotency-Key names the repeat", async () => {
  const headers = { "idempotency-key": "behind-an-empty-one" };
  const answers = [];
  for (let time = 0; time < 2; time++) {
    answers.push(await send({ ...chat, requestId: "", headers }));
  }
  assert.deepEqual(answers.map(({ replay }) => replay), [null, "true"]);
});

Deno.test("an id is one account's, one endpoint's and one method's own", async () => {
  const first = await send({ ...chat, requestId: "shared" });
  assert.equal(first.replay, null);
  await service().admin("account", "create", "--name", "other");
  await service().admin("credits", "grant", "--usd", "1", "--account", "other");
  const { key } = await service().createKey("--account", "other");
  const others = { headers: { authorization: `Bearer ${key}` }, requestId: "shared" };
  assert.equal((await send({ ...chat, ...others })).replay, null);
  assert.equal((await send({ ...chat, dialect: "messages", requestId: "shared" })).replay, null);
  assert.equal((await send({ ...chat, requestId: "shared" })).replay, "true");
});
