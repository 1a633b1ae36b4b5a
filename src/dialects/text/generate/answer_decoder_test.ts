/** Answers of generate vendors: pitfalls D (67–80) and 119 of protocols/pitfalls.md, by number. */
import assert from "@std/assert";
import { Fault } from "../../../shared/fault.ts";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import { foldEvents } from "../../kernel/fold.ts";
import { decodeAnswer } from "./answer_decoder.ts";
import { createStreamDecoder } from "./stream_decoder.ts";
import { finish } from "../../../base/steps.ts";

Deno.test("STOP after a function call is tool_calls, in a later element too (67)", () => {
  const [whole] = both([
    { candidates: [candidate([{ functionCall: { name: "f", args: { a: 1 } } }])] },
    { candidates: [candidate([{ text: "" }], "STOP")] },
  ]);
  assert.deepEqual(whole.choices[0]!.finish, { reason: "tool_calls", raw: "STOP" });
  assert.deepEqual(whole.choices[0]!.parts, [
    { kind: "tool-call", id: "", name: "f", custom: false, text: '{"a":1}' },
  ]);
});

Deno.test("text and two calls in one element are three blocks, each call its own (68, 79)", () => {
  const call = { functionCall: { name: "f" } };
  const [whole] = both([{ candidates: [candidate([{ text: "so" }, call, call], "STOP")] }]);
  assert.deepEqual(whole.choices[0]!.parts.map(({ kind, text }) => [kind, text]), [
    ["text", "so"],
    ["tool-call", "{}"],
    ["tool-call", "{}"],
  ]);
});

Deno.test("thoughts count beside the visible output; absent is not zero (69, 70)", () => {
  const usage = (usageMetadata: unknown) =>
    both([{ candidates: [candidate([{ text: "x" }], "STOP")], usageMetadata }])[0].usage;
  const raw = { promptTokenCount: 20, candidatesTokenCount: 151, thoughtsTokenCount: 382 };
  assert.deepEqual(usage(raw), { input: 20, output: 533, reasoning: 382, raw });
  const prompt = { promptTokenCount: 20, toolUsePromptTokenCount: 5, cachedContentTokenCount: 0 };
  const unreported = "output";
  assert.deepEqual(usage(prompt), { input: 25, output: 0, cacheRead: 0, unreported, raw: prompt });
  const sum = { ...prompt, thoughtsTokenCount: 7, totalTokenCount: 40 };
  assert.deepEqual(usage(sum), { input: 25, output: 15, cacheRead: 0, reasoning: 7, raw: sum });
  const thoughts = { thoughtsTokenCount: 7, totalTokenCount: 10 };
  assert.deepEqual(usage(thoughts), { input: 3, output: 7, reasoning: 7, raw: thoughts });
  assert.equal(usage({ trafficType: "ON_DEMAND" }), undefined);
  const cached = { candidatesTokenCount: 1, cachedContentTokenCount: 9 };
  const read = { input: 9, output: 1, cacheRead: 9, unreported: "input", raw: cached };
  assert.deepEqual(usage(cached), read);
});

Deno.test("audio and image tokens are distinguished", () => {
  const usageMetadata = {
    promptTokenCount: 100,
    candidatesTokenCount: 40,
    cachedContentTokenCount: 30,
    promptTokensDetails: [
      { modality: "TEXT", tokenCount: 20 },
      { modality: "AUDIO", tokenCount: 50 },
      { modality: "IMAGE", tokenCount: 30 },
    ],
    cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 30 }],
    candidatesTokensDetails: [{ modality: "AUDIO", tokenCount: 40 }],
  };
  const [{ usage }] = both([{ candidates: [candidate([], "STOP")], usageMetadata }]);
  const { raw: _, ...counted } = usage!;
  assert.deepEqual(counted, {
    input: 100,
    output: 40,
    cacheRead: 30,
    audioInput: 50,
    cachedAudioInput: 30,
    imageInput: 30,
    audioOutput: 40,
  });
});

Deno.test("a filter that stops an answer in its middle may blame the prompt", () => {
  const elements = [
    { candidates: [candidate([{ text: "Hel" }])] },
    { promptFeedback: { blockReason: "PROHIBITED_CONTENT" } },
  ];
  const [choice] = both(elements)[0].choices;
  assert.deepEqual([choice?.parts[0]?.text, choice?.finish?.reason], ["Hel", "content_filter"]);
});

Deno.test("content without parts is an empty answer that says why (71)", () => {
  for (const content of [undefined, {}, { role: "model" }]) {
    const [whole] = both([{ candidates: [{ content, finishReason: "MAX_TOKENS" }] }]);
    assert.deepEqual(whole.choices, [{
      index: 0,
      parts: [],
      logprobs: undefined,
      finish: { reason: "length", raw: "MAX_TOKENS" },
    }]);
  }
});

Deno.test("a blocked prompt is a filtered empty answer; UNSPECIFIED blocks nothing (72)", () => {
  const [whole] = both([{ promptFeedback: { blockReason: "SAFETY" } }]);
  assert.deepEqual(whole.choices[0]!.finish, { reason: "content_filter", raw: "SAFETY" });
  const unblocked = { promptFeedback: { blockReason: "BLOCK_REASON_UNSPECIFIED" } };
  assert.throws(() => finish(decodeAnswer(unblocked)), Fault);
  assert.equal(stream([unblocked]).complete, false);
});

Deno.test("an invalid call without content is an error, with content an ordinary end (73)", () => {
  const finishReason = "MALFORMED_FUNCTION_CALL";
  const thought = { text: "hm", thought: true };
  for (const parts of [[], [thought]]) {
    const element = { candidates: [{ ...candidate(parts, finishReason), finishMessage: "bad" }] };
    const whole = finish(decodeAnswer(element)).at(-1);
    assert.equal(whole?.type === "error" && whole.error.type, "upstream_invalid_tool_call");
    const streamed = stream([element]);
    assert.ok(streamed.events.some(({ type }) => type === "error"));
    assert.equal(streamed.complete, false);
  }
  const [partial] = both([{ candidates: [candidate([{ text: "I will" }], finishReason)] }]);
  assert.deepEqual(partial.choices[0]!.finish, { reason: "stop", raw: finishReason });
});

Deno.test("a malformed response without content is not an invalid call", () => {
  const whole = finish(decodeAnswer({ candidates: [candidate([], "MALFORMED_RESPONSE")] })).at(-1);
  assert.equal(whole?.type === "error" && whole.error.type, "upstream_invalid_response");
});

Deno.test("a reason that isn't known yet is a filter's by its words", () => {
  const reasons = [["VIDEO_SAFETY", "content_filter"], ["BLOCKED_BY_POLICY", "content_filter"]];
  for (const [raw, reason] of [...reasons, ["SOMETHING_NEW", "stop"]]) {
    const [whole] = both([{ candidates: [candidate([{ text: "I" }], raw)] }]);
    assert.deepEqual(whole.choices[0]!.finish, { reason, raw });
  }
});

Deno.test("thoughts are reasoning, never content (74)", () => {
  const [whole] = both([
    { candidates: [candidate([{ text: "hm", thought: true }])] },
    { candidates: [candidate([{ text: "m", thought: true }, { text: "yes" }], "STOP")] },
  ]);
  assert.deepEqual(whole.choices[0]!.parts, [
    { kind: "reasoning", text: "hmm" },
    { kind: "text", text: "yes" },
  ]);
});

Deno.test("a signature on an empty text belongs to the text before, without another delta (75)", () => {
  const elements = [
    { candidates: [candidate([{ text: "yes" }])] },
    { candidates: [candidate([{ text: "", thoughtSignature: "sig" }], "STOP")] },
  ];
  const [whole, events] = both(elements);
  assert.deepEqual(whole.choices[0]!.parts, [{ kind: "text", text: "yes", opaque: signed("sig") }]);
  assert.equal(events.filter(({ type }) => type === "block-delta").length, 1);
});

Deno.test("signed parts are not merged with others", () => {
  const part = (text: string, thoughtSignature?: string) => ({
    text,
    ...(thoughtSignature ? { thoughtSignature } : {}),
  });
  const [whole] = both([
    { candidates: [candidate([part("a", "1"), part("b", "2"), part("c"), part("d")], "STOP")] },
  ]);
  assert.deepEqual(whole.choices[0]!.parts, [
    { kind: "text", text: "a", opaque: signed("1") },
    { kind: "text", text: "b", opaque: signed("2") },
    { kind: "text", text: "cd" },
  ]);
});

Deno.test("the last usage stands (76)", () => {
  const usage = (candidatesTokenCount: number) => ({ promptTokenCount: 9, candidatesTokenCount });
  const [whole] = both([
    { candidates: [candidate([{ text: "a" }])], usageMetadata: usage(1) },
    { candidates: [candidate([{ text: "b" }], "STOP")], usageMetadata: usage(2) },
  ]);
  assert.equal(whole.usage?.output, 2);
});

Deno.test("sources named before the end are kept, offsets in UTF-16 units (77)", () => {
  const groundingMetadata = {
    webSearchQueries: ["q"],
    groundingChunks: [{ web: { uri: "https://a", title: "A" } }, { web: { uri: "https://b" } }],
    groundingSupports: [{
      segment: { startIndex: 5, endIndex: 8, text: "yes" },
      groundingChunkIndices: [0],
    }],
  };
  const [whole] = both([
    { candidates: [{ ...candidate([{ text: "😀 yes" }]), groundingMetadata }] },
    {
      candidates: [candidate([{ text: " no" }], "STOP")],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 },
    },
  ]);
  assert.deepEqual(whole.choices[0]!.parts[0]!.citations, [
    { url: "https://a", title: "A", start: 3, end: 6 },
    { url: "https://b", title: undefined, start: undefined, end: undefined },
  ]);
  assert.equal(whole.usage?.webSearches, 1);
});

Deno.test("a stream that came as one array is its elements (78)", () => {
  const text = '[{"candidates":[{"content":{"parts":[{"text":"a},{\\"b"}]}}]}\r\n,\r\n' +
    '{"candidates":[{"content":{"parts":[{"text":"c"}]},"finishReason":"STOP"}]}]';
  const [choice] = foldEvents(finish(decodeAnswer(JSON.parse(text)))).choices;
  assert.equal(choice!.parts[0]!.text, 'a},{"bc');
});

Deno.test("candidates are kept apart, each with its own ending (80)", () => {
  const element = (index: number, text: string, finishReason?: string) => ({
    candidates: [{ ...candidate([{ text }], finishReason), ...(index ? { index } : {}) }],
  });
  const elements = [element(0, "a"), element(1, "b"), element(0, "c", "STOP")];
  assert.equal(stream(elements).complete, false);
  const [whole] = both([...elements, element(1, "d", "SAFETY")]);
  assert.deepEqual(whole.choices.map(({ parts, finish }) => [parts[0]!.text, finish?.reason]), [
    ["ac", "stop"],
    ["bd", "content_filter"],
  ]);
});

Deno.test("an answer with a candidate that can't be read fails, streamed as whole", () => {
  const element = { candidates: [candidate([{ text: "a" }], "STOP"), null] };
  assert.throws(() => finish(decodeAnswer(element)), Fault);
  assert.equal(stream([element]).complete, false);
  assert.ok(stream([element]).events.some(({ type }) => type === "error"));
});

Deno.test("arguments in pieces: strings go on, other values stand, paths nest", () => {
  const piece = (functionCall: unknown) => ({ candidates: [candidate([{ functionCall }])] });
  const string = (jsonPath: string, stringValue: string, willContinue = false) => ({
    partialArgs: [{ jsonPath, stringValue, ...(willContinue ? { willContinue } : {}) }],
    willContinue: true,
  });
  const [whole] = both([
    piece({ name: "f", willContinue: true }),
    piece(string("$.a", "Bos", true)),
    piece(string("$.a", "ton", true)),
    piece(string("$.a", "")),
    piece({
      partialArgs: [
        { jsonPath: "$.list[1].x", numberValue: 0 },
        { jsonPath: "$['o d'].b", boolValue: false },
        { jsonPath: "$.list[0]", nullValue: "NULL_VALUE" },
        { jsonPath: "$.__proto__", stringValue: "own" },
        { jsonPath: "$.list[99999999]", numberValue: 1 },
      ],
      willContinue: true,
    }),
    piece({}),
    piece({ name: "g", partialArgs: [{ jsonPath: "$.z", numberValue: 1 }] }),
    piece({ name: "h", willContinue: true }),
    { candidates: [candidate([], "STOP")] },
  ]);
  assert.deepEqual(whole.choices[0]!.parts.map(({ text }) => text), [
    '{"a":"Boston","list":[null,{"x":0}],"o d":{"b":false},"__proto__":"own"}',
    '{"z":1}',
    "{}",
  ]);
});

Deno.test("arguments cut by the output limit stay open, nothing is repaired", () => {
  const functionCall = {
    name: "f",
    partialArgs: [{ jsonPath: "$.a.b", stringValue: "half", willContinue: true }],
    willContinue: true,
  };
  const [whole] = both([{ candidates: [candidate([{ functionCall }], "MAX_TOKENS")] }]);
  assert.equal(whole.choices[0]!.parts[0]!.text, '{"a":{"b":"half');
  assert.equal(whole.choices[0]!.finish!.reason, "length");
});

Deno.test("media are blocks; what only this vendor can say is a vendor block", () => {
  const executableCode = { language: "PYTHON", code: "1" };
  const [whole] = both([{
    candidates: [candidate([
      { inlineData: { mimeType: "image/png", data: "AAAA" }, thoughtSignature: "s" },
      { executableCode },
    ], "STOP")],
  }]);
  assert.deepEqual(whole.choices[0]!.parts, [
    {
      kind: "media",
      media: "image",
      mimeType: "image/png",
      id: undefined,
      text: "AAAA",
      opaque: signed("s"),
    },
    { kind: "vendor", dialect: "generate", value: { executableCode }, text: "" },
  ]);
});

Deno.test("errors in place of an answer, wrapped in an array too (119)", () => {
  const error = { error: { code: 503, message: "busy", status: "UNAVAILABLE" } };
  for (const body of [error, [error]]) {
    const [event] = finish(decodeAnswer(body));
    assert.equal(event?.type === "error" && event.error.status, 503);
    const streamed = stream([{ candidates: [candidate([{ text: "a" }], "STOP")] }, body]);
    assert.ok(streamed.events.some(({ type }) => type === "error"));
    assert.equal(streamed.complete, false);
  }
  for (const body of ["x", null, {}, { candidates: [] }]) {
    assert.throws(() => finish(decodeAnswer(body)), Fault);
  }
  assert.equal(stream(["not json"]).complete, false);
});

Deno.test("log-probabilities go with the text of their element", () => {
  const logprobsResult = {
    chosenCandidates: [{ token: "a", tokenId: 5, logProbability: -0.1 }],
    topCandidates: [{ candidates: [{ token: "b", logProbability: -2 }] }],
  };
  const [whole] = both([
    { candidates: [{ ...candidate([{ text: "a" }], "STOP"), logprobsResult }] },
  ]);
  assert.deepEqual(whole.choices[0]!.logprobs, [
    { token: "a", logprob: -0.1, bytes: null, top: [{ token: "b", logprob: -2, bytes: null }] },
  ]);
});

function candidate(parts: unknown[], finishReason?: string): Record<string, unknown> {
  return { content: { role: "model", parts }, ...(finishReason ? { finishReason } : {}) };
}

function signed(value: string) {
  return { dialect: "generate", kind: "thoughtSignature", value };
}

function stream(elements: readonly unknown[]): { events: CanonicalEvent[]; complete: boolean } {
  const decoder = createStreamDecoder();
  const events = elements.flatMap((element) => {
    const data = typeof element === "string" ? element : JSON.stringify(element);
    return decoder.decode({ bytes: new Uint8Array(), data, terminated: true }).events;
  });
  const rest = decoder.end();
  return { events: [...events, ...rest.events], complete: rest.complete };
}

/** The fold of the elements as a stream; the same elements in one body must fold the same. */
function both(elements: unknown[]): [ReturnType<typeof foldEvents>, CanonicalEvent[]] {
  const streamed = stream(elements);
  assert.equal(streamed.complete, true);
  const whole = foldEvents(streamed.events);
  assert.deepEqual(foldEvents(finish(decodeAnswer(elements))), whole);
  return [whole, streamed.events];
}
