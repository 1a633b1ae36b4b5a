import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import { SseSplitter } from "../../../base/sse.ts";
import { Fault } from "../../../shared/fault.ts";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import type { AnswerContext } from "../../kernel/dialect.ts";
import { ArrayReframer } from "./answer/framing.ts";
import { callMark } from "./request/call_mark.ts";
import { generate } from "./mod.ts";

const start: CanonicalEvent = { type: "start", id: "up", model: "gpt-x", created: 1_700_000_000 };
const finished = (reason: "stop" | "length" | "tool_calls"): CanonicalEvent => ({
  type: "finish",
  choice: 0,
  reason,
  raw: reason,
});

Deno.test("text goes out as it comes but for its last character, which has ending and usage with it", () => {
  const [elements] = write([
    start,
    ...block(0, { kind: "text" }, "Good ", "day"),
    finished("length"),
    usage,
  ]);
  assert.deepEqual(elements.map((one) => one.candidates[0]), [
    { content: { role: "model", parts: [{ text: "Good" }] }, index: 0 },
    { content: { role: "model", parts: [{ text: " da" }] }, index: 0 },
    { content: { role: "model", parts: [{ text: "y" }] }, finishReason: "MAX_TOKENS", index: 0 },
  ]);
  // BAML ignores an element without it.
  assert.deepEqual(elements.map(({ usageMetadata }) => usageMetadata), [
    {},
    {},
    { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
  ]);
  for (const element of elements) {
    assert.equal(element.modelVersion, "gpt-x");
    assert.equal(element.responseId, "new");
    assert.equal(element.createTime, "2023-11-14T22:13:20.000Z");
  }
});

Deno.test("parallel calls go out in one element, text and thoughts in their own", () => {
  const call = (id: string) => ({ kind: "tool-call" as const, id, name: "f", custom: false });
  const [elements] = write([
    ...block(0, { kind: "reasoning" }, "hm"),
    ...block(1, call("c1"), "{}"),
    ...block(2, { kind: "text" }, "and"),
    ...block(3, call("c2"), "{}"),
    ...block(4, call("c3"), "{}"),
    finished("tool_calls"),
  ]);
  const said = elements.map(({ candidates }) =>
    candidates[0]!.content.parts.map((part) => {
      const { text, functionCall } = part as { text?: string; functionCall?: { id: string } };
      return text ?? functionCall!.id;
    })
  );
  assert.deepEqual(said, [["h"], ["m"], ["c1"], ["an"], ["d"], ["c2", "c3"]]);
});

Deno.test("a call goes out whole, with STOP at the end", () => {
  const call = { kind: "tool-call" as const, id: "c1", name: "f", custom: false };
  const [elements] = write([...block(0, call, '{"a"', ":1}"), finished("tool_calls")]);
  assert.deepEqual(elements.map(({ candidates }) => candidates[0]), [
    {
      content: {
        role: "model",
        parts: [{
          functionCall: { id: "c1", name: "f", args: { a: 1 } },
          thoughtSignature: callMark("c1"),
        }],
      },
      finishReason: "STOP",
      index: 0,
    },
  ]);
});

Deno.test("arguments that are no JSON end as MALFORMED_FUNCTION_CALL without a part", () => {
  const call = { kind: "tool-call" as const, id: "c1", name: "f", custom: false };
  const endings = (reason: "tool_calls" | "length") => {
    const [elements] = write([...block(0, call, '{"a":'), finished(reason)]);
    assert.equal(elements.length, 1);
    return elements[0]!.candidates[0]!.finishReason;
  };
  assert.equal(endings("tool_calls"), "MALFORMED_FUNCTION_CALL");
  assert.equal(endings("length"), "MAX_TOKENS");
});

Deno.test("no element is without a part, and no part is empty, whatever the answer holds", () => {
  const call = { kind: "tool-call" as const, id: "c1", name: "f", custom: false };
  const media = { kind: "media" as const, media: "image" as const, mimeType: "image/png" };
  const blocks = [
    block(0, { kind: "reasoning" }, "", "th", "ink", ""),
    block(1, { kind: "text" }, "", "a", "", "😀", "\uD83D"),
    block(2, call, "{}"),
    block(3, { ...media, id: undefined }, "aGk="),
    block(4, { kind: "refusal" }, "no"),
    block(5, { kind: "text" }, ""),
  ];
  const random = [[0, 1, 2], [2], [3], [1, 2, 1], [0], [4], [5, 1, 5], [1, 5], [2, 3, 0], [
    0,
    2,
    5,
  ]];
  for (const order of random) {
    const events = order.flatMap((at, place) =>
      blocks[at]!.map((event) => "block" in event ? { ...event, block: place } : event)
    );
    const [elements] = write([start, ...events, finished("stop"), usage]);
    for (const { candidates } of elements) {
      const { parts } = candidates[0]!.content as { parts: { text?: string }[] };
      assert.ok(parts.length > 0, `${order}: an element without parts`);
      assert.ok(parts.every(({ text }) => text !== ""), `${order}: an empty part`);
    }
    const words = elements.flatMap(({ candidates }) => candidates[0]!.content.parts)
      .map((part) => (part as { text?: string }).text ?? "").join("");
    const said = events.map((event) =>
      event.type === "block-delta" && ![2, 3].includes(order[event.block]!) ? event.text : ""
    ).join("");
    assert.equal(words, said, "nothing is lost, nothing changes its place");
  }
  const [nothing] = write([start, ...block(0, { kind: "text" }, ""), finished("stop"), usage]);
  assert.deepEqual(nothing.map(({ candidates }) => candidates[0]!.content.parts), [[]]);
});

Deno.test("probabilities stand beside the text that they are of", () => {
  const token = (token: string) => ({ token, logprob: -1, bytes: null, top: [] });
  const events = block(0, { kind: "text" }, "Good ", "day").map((event): CanonicalEvent =>
    event.type === "block-delta" ? { ...event, logprobs: [token(event.text)] } : event
  );
  const [elements] = write([start, ...events, finished("stop"), usage]);
  assert.deepEqual(
    elements.map(({ candidates: [one] }) => [
      one!.content.parts,
      one!.logprobsResult?.chosenCandidates.map(({ token }) => token),
    ]),
    [[[{ text: "Good " }], ["Good "]], [[{ text: "day" }], ["day"]]],
  );
});

Deno.test("other vendors' signatures never get out, this one's stand on their part", () => {
  const call = { kind: "tool-call" as const, id: "c1", name: "f", custom: false };
  const events = (dialect: "generate" | "messages") =>
    block(0, call, "{}").map((event): CanonicalEvent =>
      event.type === "block-end"
        ? { ...event, opaque: { dialect, kind: "thoughtSignature", value: "s" } }
        : event
    );
  assert.match(write(events("generate"))[1], /"thoughtSignature":"s"/);
  assert.doesNotMatch(write(events("messages"))[1], /"thoughtSignature":"s"/);
});

Deno.test("an array is one JSON value, an event stream ends each event with a blank line", () => {
  const events = [start, ...block(0, { kind: "text" }, "a},{", '\\"'), finished("stop"), usage];
  const [elements, sse] = write(events);
  const [, array] = write(events, { jsonArray: true });
  assert.deepEqual(JSON.parse(array), elements);
  assert.match(array, /^\[\{.*\},\r\n\{.*\}\]$/s);
  assert.equal(sse.split("\r\n\r\n").length, elements.length + 1);
  assert.deepEqual(JSON.parse(write([], { jsonArray: true })[1]).length, 1);
});

Deno.test("a failure is the last element, with the status as a number for the clients", () => {
  const expected = {
    error: {
      code: 503,
      message: "The vendor is overloaded. Retry later.",
      status: "UNAVAILABLE",
      type: "overloaded_error",
      reason: "upstream_overloaded",
    },
  };
  const fault = new Fault("upstream_overloaded");
  const sse = generate.createStreamEncoder(context());
  // The end without a blank line makes the official client throw.
  assert.equal(sse.fail(fault), `data: ${JSON.stringify(expected)}\r\n\r\n: the stream failed`);
  assert.equal(generate.errorFrame(fault), sse.fail(fault));
  const array = generate.createStreamEncoder(context({ jsonArray: true }));
  const before = block(0, { kind: "text" }, "ab").map((event) => array.encode(event)).join("");
  const elements = JSON.parse(before + array.fail(fault));
  assert.deepEqual([elements.length, elements[2]], [3, expected], "what was said is all there");
  const early = generate.createStreamEncoder(context({ jsonArray: true }));
  assert.deepEqual(JSON.parse(early.fail(fault)), [expected]);
});

Deno.test("a vendor's events become an array, each element as the vendor wrote it", () => {
  const bytes = new TextEncoder().encode(
    ': ping\n\ndata: {"big": 12345678901234567890, "t": "😀"}\r\n\r\ndata: {"b": 1.0}\n\n',
  );
  for (let cut = 0; cut <= bytes.length; cut++) {
    const splitter = new SseSplitter({ maxEventBytes: 1000 });
    const events = [
      ...splitter.push(bytes.slice(0, cut)),
      ...splitter.push(bytes.slice(cut)),
      ...splitter.end(),
    ];
    const reframer = new ArrayReframer();
    const text = events.map((event) => reframer.event(event)).join("") + reframer.end();
    assert.equal(text, '[{"big": 12345678901234567890, "t": "😀"},\r\n{"b": 1.0}]');
  }
  assert.equal(new ArrayReframer().end(), "[]");
  const failed = new ArrayReframer().fail(new Fault("upstream_stream_truncated"));
  assert.equal(JSON.parse(failed)[0].error.reason, "upstream_stream_truncated");
});

Deno.test("a caller who asked for one word of a list gets the bare word", () => {
  const body = { generation_config: { response_mime_type: "text/x.enum" } };
  const events = [...block(0, { kind: "text" }, '{"value"', ':"red"}'), finished("stop")];
  const [elements] = write(events, { body });
  const parts = elements.flatMap(({ candidates }) => candidates[0]!.content.parts);
  assert.equal(parts.map((part) => (part as { text: string }).text).join(""), "red");
  const whole = generate.encodeAnswer({
    id: undefined,
    model: undefined,
    created: undefined,
    usage: undefined,
    truncated: false,
    choices: [{
      index: 0,
      parts: [{ kind: "text", text: '{"value":"red"}' }],
      logprobs: undefined,
      finish: { reason: "stop", raw: "stop" },
    }],
  }, context({ body })) as { candidates: Element["candidates"] };
  assert.deepEqual(whole.candidates[0]!.content.parts, [{ text: "red" }]);
});

Deno.test("a refusal ends as SAFETY", () => {
  const [elements] = write([...block(0, { kind: "refusal" }, "no"), finished("stop")]);
  assert.equal(elements.at(-1)!.candidates[0]!.finishReason, "SAFETY");
});

interface Element {
  candidates: {
    content: { parts: unknown[] };
    finishReason?: string;
    index: number;
    logprobsResult?: { chosenCandidates: { token: string }[] };
  }[];
  usageMetadata?: unknown;
  modelVersion: string;
  responseId: string;
  createTime: string;
}

const usage: CanonicalEvent = { type: "usage", usage: { input: 3, output: 4 } };

function block(
  index: number,
  content: Extract<CanonicalEvent, { type: "block-start" }>["content"],
  ...pieces: string[]
): CanonicalEvent[] {
  return [
    { type: "block-start", choice: 0, block: index, content },
    ...pieces.map((text): CanonicalEvent => ({
      type: "block-delta",
      choice: 0,
      block: index,
      text,
    })),
    { type: "block-end", choice: 0, block: index },
  ];
}

/** The elements that a stream of events becomes, and its text. */
function write(
  events: readonly CanonicalEvent[],
  changes: Partial<AnswerContext> = {},
): [Element[], string] {
  const encoder = generate.createStreamEncoder(context(changes));
  const text = events.map((event) => encoder.encode(event)).join("") + encoder.end();
  if (changes.jsonArray) return [JSON.parse(text), text];
  const elements = text.split("\r\n\r\n").filter((one) => one !== "").map((event) => {
    assert.match(event, /^data: \{[^\r\n]*\}$/);
    return JSON.parse(event.slice("data: ".length));
  });
  return [elements, text];
}

function context(changes: Partial<AnswerContext> = {}): AnswerContext {
  return {
    id: (prefix) => `${prefix}new`,
    created: 1_600_000_000,
    model: "asked",
    request: finish(generate.decodeRequest({
      model: "asked",
      stream: true,
      contents: [{ parts: [{ text: "x" }] }],
    })),
    body: {},
    showUsage: true,
    inputTokens: 0,
    ...changes,
  };
}
