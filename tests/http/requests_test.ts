import assert from "@std/assert";
import { examplesOf } from "../../contracts/examples/mod.ts";
import { adminScope } from "../../contracts/kernel/contract.ts";
import { allContracts } from "../../contracts/mod.ts";
import { type Answer, type Scenario, testScenarios } from "../support/scenarios.ts";
import { shared, startSimulatedService } from "../support/service.ts";

const service = shared(async () => {
  const started = await startSimulatedService({ MAX_BODY_BYTES: "20000" });
  return { ...started, before: started.simulators.requests("vendor-b").length };
});

const chat = "/chat/v1/chat/completions";
const hello = [{ role: "user", content: "hello" }];
const model = "vendor-b/gpt-4.1";
/** Words of a prompt; no error and no log may repeat them. */
const canary = "canary-in-a-prompt";

/** A wrong chat body and what the 400 says. */
interface WrongBody {
  name: string;
  body: unknown;
  code: "invalid_json" | "missing_required_field" | "invalid_value";
  param: string | null;
  message: string | RegExp;
}

const wrongBodies: readonly WrongBody[] = [
  {
    name: "malformed JSON",
    body: `{"model": "${canary}", }`,
    code: "invalid_json",
    param: null,
    message: /^The request body is not valid JSON( \(at character \d+\))?\.$/,
  },
  {
    name: "JSON with something behind it",
    body: `{"model": "${model}"} ${canary}`,
    code: "invalid_json",
    param: null,
    message: /not valid JSON/,
  },
  {
    name: "an empty body",
    body: "",
    code: "invalid_json",
    param: null,
    message: /is empty; expected a JSON object/,
  },
  {
    name: "invalid UTF-8",
    body: bytes('{"model":"', [0xff, 0xfe], '"}'),
    code: "invalid_json",
    param: null,
    message: /not valid UTF-8; expected JSON text that isn't compressed/,
  },
  ...["[]", "null", '"text"', "1"].map((body): WrongBody => ({
    name: `${body} in place of an object`,
    body,
    code: "invalid_value",
    param: null,
    message: /^The request body: expected an object, received /,
  })),
  wrong("model missing", { messages: hello }, "model", /^model: required, expected a string\.$/),
  wrong("model null", { model: null, messages: hello }, "model", /received null/),
  wrong("model empty", { model: "", messages: hello }, "model", /at least 1 character/),
  wrong("model a number", { model: 5, messages: hello }, "model", /a string, received a number/),
  wrong("messages missing", { model }, "messages", /^messages: required, expected an array\.$/),
  wrong("messages empty", { model, messages: [] }, "messages", /at least 1 item/),
  wrong("messages a string", { model, messages: canary }, "messages", /an array, received a str/),
  wrong(
    "a message that is a string",
    { model, messages: [canary] },
    "messages[0]",
    /^messages\[0\]: expected an object, received a string\.$/,
  ),
  wrong(
    "a message without a role",
    { model, messages: [...hello, { content: canary }] },
    "messages[1].role",
    /^messages\[1\]\.role: /,
  ),
  wrong(
    "a wrong role",
    { model, messages: [{ role: "robot", content: canary }] },
    "messages[0].role",
    /'user' or 'assistant'/,
  ),
  wrong("stream a string", { model, messages: hello, stream: "yes" }, "stream", /boolean/),
  wrong(
    "include_usage a number",
    { model, messages: hello, stream: true, stream_options: { include_usage: 1 } },
    "stream_options.include_usage",
    /boolean/,
  ),
  wrong(
    "stream_options an array",
    { model, messages: hello, stream_options: [] },
    "stream_options",
    /an object, received an array/,
  ),
  wrong("max_tokens zero", { model, messages: hello, max_tokens: 0 }, "max_tokens", /at least 1/),
  wrong(
    "max_tokens a half",
    { model, messages: hello, max_tokens: 1.5 },
    "max_tokens",
    /whole number|int/,
  ),
  wrong("n beyond the limit", { model, messages: hello, n: 129 }, "n", /at most 128/),
  wrong("user a number", { model, messages: hello, user: 7 }, "user", /a string/),
  {
    name: "the model twice",
    body:
      `{"model":"${model}","messages":[{"role":"user","content":"x"}],"model":"vendor-g/grok-4.3"}`,
    code: "invalid_value",
    param: "model",
    message: /^model: duplicate field/,
  },
  {
    name: "an unknown field twice",
    body: `{"model":"${model}","messages":[{"role":"user","content":"x"}],"seed":1,"seed":2}`,
    code: "invalid_value",
    param: "seed",
    message: /^seed: duplicate field/,
  },
  {
    name: "a role twice, inside a message",
    body: `{"model":"${model}","messages":[{"role":"user","content":"x","role":"system"}]}`,
    code: "invalid_value",
    param: "messages[0].role",
    message: /^messages\[0\]\.role: duplicate field/,
  },
  wrong(
    "a prompt of tag lines alone",
    { model, messages: [{ role: "user", content: "/// APP shop\n/// FLOW pay\n" }] },
    "messages[0].content",
    /only tag lines/,
  ),
  wrong(
    "a tag that is too long",
    { model, messages: [{ role: "user", content: `/// APP ${"a".repeat(257)}\nhi` }] },
    "messages[0].content",
    /prompt tag APP .*at most 256/,
  ),
];

Deno.test("a field that stands twice in a body is refused by every operation", async () => {
  let operations = 0;
  const { fetch, key, createKey } = service();
  const { key: adminKey } = await createKey("--scope", adminScope);
  for (const contract of allContracts()) {
    const [example] = Object.values(examplesOf(contract).requests ?? {});
    const [first] = Object.entries(example ?? {});
    const path = contract.path.replace("{model}", "gpt-5-mini");
    // What a path names otherwise is looked for before the body is read.
    if (contract.body === undefined || first === undefined || path.includes("{")) continue;
    const [name, value] = first;
    const answer = await fetch(path, {
      method: contract.method.toUpperCase(),
      headers: {
        authorization: `Bearer ${contract.scope === adminScope ? adminKey : key}`,
        "content-type": "application/json",
      },
      body: JSON.stringify(example).replace(/\}$/, `,"${name}":${JSON.stringify(value)}}`),
    });
    const text = await answer.text();
    assert.equal(answer.status, 400, contract.operationId);
    assert.ok(text.includes(`${name}: duplicate field`), `${contract.operationId}: ${text}`);
    operations++;
  }
  assert.ok(operations > 50, `${operations}`);
});

testScenarios(service, [
  ...wrongBodies.map(({ name, body, code, param, message }): Scenario => ({
    name: `400 for ${name}`,
    path: chat,
    body,
    status: 400,
    error: { type: "invalid_request_error", code, param, message },
    unexpected: [canary],
    answerHeaders: { "x-transaction-id": null },
  })),
  ...["/vendor-a", "/openai", "/vendor-f", "/xai"].map((family): Scenario => ({
    name: `400 on ${family} too, where the model needs no provider`,
    path: `${family}/v1/chat/completions`,
    body: { messages: hello },
    status: 400,
    error: {
      type: "invalid_request_error",
      code: "missing_required_field",
      param: "model",
      message: /^model: required/,
    },
  })),
  {
    name: "a body without a content type is read as JSON",
    path: chat,
    headers: { "content-type": "text/plain" },
    body: JSON.stringify({ model, messages: hello }),
    status: 200,
    answerHeaders: { "content-type": /^application\/json/, "x-transaction-id": /^\S{36}$/ },
  },
  {
    name: "a form where JSON is expected is 400 and says so",
    path: chat,
    headers: { "content-type": "multipart/form-data; boundary=b" },
    body: new Uint8Array([...new TextEncoder().encode("--b\r\n\r\n"), 0xff, 0xd8]),
    status: 400,
    error: {
      type: "invalid_request_error",
      code: "invalid_json",
      param: "Content-Type",
      message: /^Content-Type: expected application\/json, not a form\.$/,
    },
  },
  {
    name: "X-Session-ID beyond 256 characters is 400 and named",
    path: chat,
    headers: { "x-session-id": "s".repeat(257) },
    body: { model, messages: hello },
    status: 400,
    error: {
      type: "invalid_request_error",
      code: "invalid_value",
      param: "X-Session-ID",
      message: /at most 256/,
    },
  },
  {
    name: "a body beyond MAX_BODY_BYTES is 413",
    path: chat,
    body: { model, messages: [{ role: "user", content: canary.repeat(1200) }] },
    status: 413,
    error: {
      type: "invalid_request_error",
      code: "request_too_large",
      message: "The request body is larger than 20000 bytes.",
    },
    unexpected: [canary],
  },
  {
    name: "a body in chunks beyond MAX_BODY_BYTES is 413 as well",
    path: chat,
    body: chunks(5, 5000),
    status: 413,
    error: { type: "invalid_request_error", code: "request_too_large" },
  },
  {
    name: "a body of exactly MAX_BODY_BYTES is taken",
    path: chat,
    body: exactly(20_000),
    status: 200,
    check: ({ json }: Answer) =>
      assert.equal((json as { object: string }).object, "chat.completion"),
  },
]);

Deno.test("an invalid request reaches no vendor, makes no row and is not logged as an error", async () => {
  const { simulators, before, rows, log, post } = service();
  const calls = () => simulators.requests("vendor-b").length;
  const [calledBefore, rowsBefore] = [calls(), (await rows()).length];
  for (const { body } of wrongBodies) await (await post(chat, body)).body?.cancel();
  assert.equal(calls(), calledBefore);
  assert.equal((await rows()).length, rowsBefore);
  assert.ok(calledBefore > before, "the good calls did reach the vendor");
  // That the machine was busy is nothing about the request.
  const lines = log.filter((line) => !line.includes("the event loop was blocked")).join("\n");
  assert.doesNotMatch(lines, / (warn|error) /);
  assert.ok(!lines.includes(canary));
});

function wrong(
  name: string,
  body: unknown,
  param: string,
  message: RegExp,
): WrongBody {
  const code = /required/.test(message.source) || / missing$/.test(name) || / without /.test(name)
    ? "missing_required_field" as const
    : "invalid_value" as const;
  return { name, body, code, param, message };
}

function bytes(...pieces: (string | number[])[]): Uint8Array {
  return new Uint8Array(
    pieces.flatMap((piece) => [
      ...(typeof piece === "string" ? new TextEncoder().encode(piece) : piece),
    ]),
  );
}

function chunks(count: number, size: number): ReadableStream<Uint8Array> {
  let left = count;
  return new ReadableStream({
    pull(controller) {
      if (left-- > 0) controller.enqueue(new Uint8Array(size).fill(0x20));
      else controller.close();
    },
  });
}

function exactly(size: number): string {
  const text = JSON.stringify({ model, messages: [{ role: "user", content: "" }] });
  return text.replace('""', `"${"a".repeat(size - text.length)}"`);
}
