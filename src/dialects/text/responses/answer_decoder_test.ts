import assert from "@std/assert";
import type { CanonicalAnswer } from "../../kernel/canonical.ts";
import { foldEvents } from "../../kernel/fold.ts";
import { decodeAnswer } from "./answer_decoder.ts";
import { encodeAnswer } from "./answer_encoder.ts";
import { contextOf } from "../../../../tests/support/responses_fixtures.ts";
import { checkResponseObject } from "../../../../tests/support/grammar/responses_object.ts";
import { finish } from "../../../base/steps.ts";

const message = (text: string, id = "msg_1") => ({
  id,
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
});

function response(fields: Record<string, unknown>) {
  return { id: "resp_1", object: "response", status: "completed", model: "m", ...fields };
}

function decode(json: unknown) {
  return foldEvents(finish(decodeAnswer(json, {})));
}

function answer(fields: Partial<CanonicalAnswer["choices"][number]>): CanonicalAnswer {
  return {
    id: "up-1",
    model: "up-model",
    created: 5,
    choices: [{
      index: 0,
      parts: [],
      logprobs: undefined,
      finish: { reason: "stop", raw: "stop" },
      ...fields,
    }],
    usage: { input: 10, output: 5, cacheRead: 4, cacheWrite: 2, serviceTier: "flex" },
    truncated: false,
  };
}

Deno.test("two messages are two texts in order (pitfall 104)", () => {
  const { choices } = decode(response({ output: [message("one", "a"), message("two", "b")] }));
  assert.deepEqual(choices[0]!.parts.map((part) => part.text), ["one", "two"]);
});

Deno.test("failures in a 200 are errors", () => {
  for (
    const json of [
      { error: { code: "insufficient_quota", message: "x" } },
      response({ status: "failed", error: { code: "server_error", message: "x" } }),
      response({ status: "cancelled", error: null, output: [] }),
      { error: "out of memory" },
      { object: "error", message: "out of memory", code: 500 },
    ]
  ) {
    const [event, ...rest] = finish(decodeAnswer(json, {}));
    assert.equal(event!.type, "error");
    assert.deepEqual(rest, []);
  }
  const [open] = finish(decodeAnswer({ object: "error", message: "out of memory", code: 500 }, {}));
  assert.equal(open?.type === "error" ? open.error.message : undefined, "out of memory");
  const [failed] = finish(
    decodeAnswer({ error: { code: "rate_limit_exceeded", message: "x" } }, {}),
  );
  assert.equal(failed?.type === "error" ? failed.error.status : undefined, 429);
});

Deno.test("a failed response has the usage that its vendor reported, before the error", () => {
  const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
  for (const fields of [{ status: "failed", error: { message: "x" } }, { status: "cancelled" }]) {
    const [reported, error] = finish(decodeAnswer(response({ ...fields, usage }), {}));
    assert.deepEqual(reported, { type: "usage", usage: { input: 3, output: 2, raw: usage } });
    assert.equal(error?.type, "error");
  }
});

Deno.test("anything but a response is refused", () => {
  for (const json of [null, "x", [], {}, { choices: [] }]) {
    assert.throws(() => finish(decodeAnswer(json, {})), { code: "upstream_invalid_response" });
  }
});

Deno.test("a response that is still queued has no finish", () => {
  const { choices } = decode(response({ status: "queued", output: [] }));
  assert.deepEqual(choices, []);
});

Deno.test("ends: completed, by calls, by limit, by filter", () => {
  const call = { type: "function_call", id: "fc", call_id: "c", name: "f", arguments: "{}" };
  const reasonOf = (fields: Record<string, unknown>) =>
    decode(response(fields)).choices[0]!.finish!.reason;
  const limit = (reason: string) => ({ status: "incomplete", incomplete_details: { reason } });
  assert.equal(reasonOf({ output: [message("x")] }), "stop");
  assert.equal(reasonOf({ output: [message("x"), call] }), "tool_calls");
  assert.equal(reasonOf({ output: [call], ...limit("max_output_tokens") }), "length");
  assert.equal(reasonOf({ output: [], ...limit("content_filter") }), "content_filter");
  assert.equal(reasonOf({ output: [{ ...call, status: "incomplete" }] }), "length");
  assert.equal(reasonOf({ output: [message("x")], status: null }), "stop");
});

Deno.test("usage is parted by kind and lifetime, raw kept", () => {
  const usage = {
    input_tokens: 100,
    input_tokens_details: {
      cached_tokens: 30,
      cache_write_tokens: 50,
      cache_write_tokens_details: { ttl_12h_tokens: 20, ttl_30m_tokens: 30 },
    },
    output_tokens: 9,
    output_tokens_details: { reasoning_tokens: 4 },
    total_tokens: 109,
  };
  assert.deepEqual(decode(response({ output: [], usage, service_tier: "default" })).usage, {
    input: 100,
    output: 9,
    cacheRead: 30,
    cacheWrite: 30,
    cacheWriteLong: 20,
    reasoning: 4,
    serviceTier: "default",
    raw: usage,
  });
  assert.equal(decode(response({ output: [], usage: null })).usage, undefined);
});

Deno.test("a whole answer echoes the settings and fills in the defaults that hold", () => {
  const context = contextOf({
    instructions: "Be",
    temperature: 0,
    tools: [{ type: "function", name: "f" }],
    reasoning: { effort: "low" },
    metadata: { k: "v" },
    previous_response_id: "resp_0",
  });
  const whole = encodeAnswer(
    answer({ parts: [{ kind: "text", text: "hello" }] }),
    context,
  ) as Record<string, unknown>;
  checkResponseObject(whole);
  assert.deepEqual(whole, {
    id: "resp_1",
    object: "response",
    created_at: 1_700_000_000,
    completed_at: 1_700_000_007,
    status: "completed",
    background: false,
    error: null,
    frequency_penalty: 0,
    presence_penalty: 0,
    incomplete_details: null,
    instructions: "Be",
    max_output_tokens: null,
    max_tool_calls: null,
    model: "up-model",
    output: [{
      id: "msg_2",
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "hello", annotations: [], logprobs: [] }],
    }],
    parallel_tool_calls: true,
    previous_response_id: "resp_0",
    prompt_cache_key: null,
    reasoning: { effort: "low", summary: null },
    safety_identifier: null,
    service_tier: "flex",
    store: true,
    temperature: 0,
    text: { format: { type: "text" }, verbosity: "medium" },
    tool_choice: "auto",
    tools: [{ type: "function", name: "f", description: null, parameters: null, strict: false }],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 15,
    },
    user: null,
    metadata: { k: "v" },
    access_programs: null,
  });
});

Deno.test("a refusal is a refusal part, not text (pitfall 107)", () => {
  const whole = encodeAnswer(answer({ parts: [{ kind: "refusal", text: "no" }] }), contextOf());
  const { output } = whole as { output: { content: unknown[] }[] };
  assert.deepEqual(output[0]!.content, [{ type: "refusal", refusal: "no" }]);
});

Deno.test("reasoning, message and calls are items in order; empty is one empty message", () => {
  const typesOf = (parts: CanonicalAnswer["choices"][number]["parts"]) =>
    (encodeAnswer(answer({ parts }), contextOf()) as { output: { type: string }[] }).output
      .map((item) => item.type);
  assert.deepEqual(
    typesOf([
      { kind: "reasoning", text: "r" },
      { kind: "text", text: "t" },
      { kind: "tool-call", id: "a", name: "f", custom: false, text: "{}" },
      { kind: "tool-call", id: "b", name: "f", custom: true, text: "x" },
    ]),
    ["reasoning", "message", "function_call", "custom_tool_call"],
  );
  assert.deepEqual(typesOf([]), ["message"]);
  assert.deepEqual(typesOf([{ kind: "reasoning", text: "r" }]), ["reasoning", "message"]);
  assert.deepEqual(
    typesOf([{ kind: "tool-call", id: "a", name: "f", custom: false, text: "" }]),
    ["function_call"],
  );
});

Deno.test("a picture is an image_generation_call both ways", () => {
  const parts: CanonicalAnswer["choices"][number]["parts"] = [{
    kind: "media",
    media: "image",
    mimeType: "image/webp",
    id: "ig_1",
    text: "AAAA",
  }];
  const whole = encodeAnswer(answer({ parts }), contextOf());
  assert.deepEqual(decode(whole).choices[0]!.parts, parts);
});

Deno.test("a folded answer is written under the vendor's own id, the same each time", () => {
  const folded = { ...answer({ parts: [{ kind: "text", text: "x" }] }), id: "resp_up1" };
  const first = encodeAnswer(folded) as Record<string, unknown>;
  assert.deepEqual(first, encodeAnswer(folded));
  assert.equal(first.id, "resp_up1");
  assert.equal(first.created_at, 5);
  checkResponseObject(first);
  const { usage: _, ...bare } = folded;
  const cut = {
    ...bare,
    usage: undefined,
    choices: [{ ...folded.choices[0]!, finish: undefined }],
  };
  const written = encodeAnswer(cut) as Record<string, unknown>;
  assert.equal(written.status, "incomplete");
  assert.equal(written.usage, null);
});

Deno.test("many log-probabilities are read in steps, with the text, the sources and the end as ever", () => {
  const logprobs = Array.from({ length: 2_000 }, (_, at) => (
    { token: "a", logprob: -at, bytes: [97], top_logprobs: [] }
  ));
  const item = message("hi");
  const annotations = [{
    type: "url_citation",
    url: "u",
    title: "t",
    start_index: 0,
    end_index: 2,
  }];
  const json = (list: unknown[]) =>
    response({
      output: [{ ...item, content: [{ ...item.content[0], annotations, logprobs: list }] }],
    });
  assert.equal([...decodeAnswer(json(logprobs), {})].length, 4);
  const [few] = decode(json(logprobs.slice(0, 1))).choices;
  const [many] = decode(json(logprobs)).choices;
  assert.deepEqual({ ...many, logprobs: many!.logprobs!.slice(0, 1) }, few);
  assert.deepEqual(
    many!.logprobs!.map(({ logprob }) => logprob),
    logprobs.map((one) => one.logprob),
  );
});
