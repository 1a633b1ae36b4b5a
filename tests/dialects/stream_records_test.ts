/** A stream is recorded as the whole answer with the same content is, which is kept as it came. */
import assert from "@std/assert";
import { recordOf } from "./recorded_stream.ts";
import { dialects, type Name } from "./translated.ts";
import { finish } from "../../src/base/steps.ts";

type Json = Record<string, unknown>;

/** Without members that hold nothing: some are sent whole and not in streams. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, one]) => [name, plain(one)]);
  return Object.fromEntries(
    members.filter(([, one]) => one !== null && !(Array.isArray(one) && one.length === 0)),
  );
}

function checkRecord(vendor: Name, payloads: readonly Json[], whole: Json): void {
  const record = recordOf(vendor, payloads);
  assert.deepEqual(plain(record), plain(whole));
  // What is shown of a record is read out of it.
  assert.deepEqual(finish(dialects[vendor].decodeAnswer(record, {})).at(0)?.type, "start");
}

const messageBlocks: Json[] = [
  { type: "thinking", thinking: "Hm.", signature: "s1" },
  { type: "compaction", content: "So far.", encrypted_content: "e", tool_changes: null },
  { type: "text", text: "No.", citations: [{ type: "char_location", cited_text: "n" }] },
  { type: "tool_use", id: "t", name: "f", input: { a: 1 }, caller: { type: "direct" } },
];

const messageWhole: Json = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: messageBlocks,
  stop_reason: "refusal",
  stop_sequence: null,
  stop_details: { type: "refusal", category: "cyber", explanation: "Not that." },
  container: { id: "c", expires_at: "2026-11-27T00:00:00Z", skills: null },
  context_management: { applied_edits: [{ type: "clear_thinking_20251015" }] },
  diagnostics: { cache_miss_reason: { type: "tools_changed" } },
  input_transformations: [{ type: "thinking_dropped" }],
  usage: {
    input_tokens: 5,
    output_tokens: 7,
    cache_read_input_tokens: 1,
    inference_geo: "eu",
    iterations: [{ type: "message", input_tokens: 5, output_tokens: 7 }],
    service_tier: "standard",
  },
};

const messageDeltas: Json[][] = [
  [{ type: "thinking_delta", thinking: "Hm." }, { type: "signature_delta", signature: "s1" }],
  [{ type: "compaction_delta", content: "So far.", encrypted_content: "e" }],
  [
    { type: "text_delta", text: "No." },
    { type: "citations_delta", citation: { type: "char_location", cited_text: "n" } },
  ],
  [{ type: "input_json_delta", partial_json: '{"a":1}' }],
];

const emptyBlocks: Json[] = [
  { type: "thinking", thinking: "", signature: "" },
  { type: "compaction", content: null, encrypted_content: null, tool_changes: null },
  { type: "text", text: "", citations: null },
  { type: "tool_use", id: "t", name: "f", input: {}, caller: { type: "direct" } },
];

function messagePayloads(whole: Json): Json[] {
  const { stop_reason, stop_sequence, stop_details, container, ...rest } = whole;
  const { context_management, input_transformations, ...atStart } = rest;
  const usage = whole.usage as Json;
  const later = { output_tokens: usage.output_tokens, iterations: usage.iterations };
  const silent = { stop_reason: null, stop_sequence: null, stop_details: null, container: null };
  const message = {
    ...{ ...atStart, ...silent, context_management: null, content: [] },
    usage: { ...usage, output_tokens: 1, iterations: null },
  };
  return [
    { type: "message_start", message },
    ...messageDeltas.flatMap((deltas, index) => [
      { type: "content_block_start", index, content_block: emptyBlocks[index] },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason, stop_sequence, stop_details, container },
      context_management,
      input_transformations,
      usage: later,
    },
    { type: "message_stop" },
  ];
}

Deno.test("a stream of messages is recorded with every field of the whole answer", () => {
  checkRecord("messages", messagePayloads(messageWhole), messageWhole);
  const paused = { stop_reason: "compaction", stop_details: null, stop_sequence: "END" };
  const other = { ...messageWhole, ...paused };
  checkRecord("messages", messagePayloads(other), other);
});

const logprob = (token: string) => ({ token, logprob: -1, bytes: [65], top_logprobs: [] });
const annotation = {
  type: "url_citation",
  url_citation: { url: "https://a.test", title: "A", start_index: 0, end_index: 2, content: "x" },
};
const thought = { type: "reasoning.text", format: "anthropic-claude-v1", index: 0 };
const sealed = { type: "reasoning.encrypted", data: "d", index: 1 };
const audio = { id: "audio_1", data: "UklG", expires_at: 9, transcript: "Hi" };
const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7, cost_details: { x: 1 } };
const chatHead = {
  ...{ id: "chatcmpl-1", created: 5, model: "m", system_fingerprint: "fp" },
  service_tier: "priority",
};

const chatWhole: Json = {
  ...{ ...chatHead, object: "chat.completion", provider: "P", usage },
  moderation: { input: { type: "error", code: "c", message: "m" } },
  choices: [{
    ...{ index: 0, finish_reason: "eos", native_finish_reason: "end" },
    logprobs: { content: [logprob("He"), logprob("y")], refusal: null },
    message: {
      ...{ role: "assistant", content: "Hey", refusal: null, annotations: [annotation] },
      reasoning_content: "Hm.",
      reasoning_details: [{ ...thought, text: "Hm.", signature: "s" }, sealed],
      tool_calls: [{
        ...{ id: "call_1", type: "function", function: { name: "f", arguments: "{}" } },
        extra_content: { google: { thought_signature: "t" } },
      }],
    },
  }, {
    ...{ index: 1, finish_reason: "content_filter" },
    logprobs: { content: null, refusal: [logprob("No")] },
    message: { role: "assistant", content: null, refusal: "No" },
  }, {
    ...{ index: 2, finish_reason: "stop", logprobs: null },
    message: { role: "assistant", content: null, refusal: null, audio },
  }],
};

function chatPayloads(): Json[] {
  const chunk = (choices: Json[], more: Json = {}): Json => ({
    ...{ ...chatHead, object: "chat.completion.chunk", provider: "P", obfuscation: "xyz" },
    ...{ choices, usage: null, ...more },
  });
  const said = (index: number, delta: Json, more: Json = {}) =>
    chunk([{ index, delta, finish_reason: null, logprobs: null, ...more }]);
  const { message } = (chatWhole.choices as { message: Json }[])[0]!;
  const [call] = message.tool_calls as Json[];
  const extra = (piece: Json) => said(0, { reasoning_details: [piece] });
  return [
    said(0, { role: "assistant", content: "", refusal: null }),
    said(0, { reasoning_content: "H", reasoning_details: [{ ...thought, text: "H" }] }),
    said(0, { reasoning_content: "m.", reasoning_details: [{ ...thought, text: "m." }] }),
    extra({ ...thought, text: "", signature: "s" }),
    extra(sealed),
    said(0, { content: "He" }, { logprobs: { content: [logprob("He")], refusal: null } }),
    said(0, { content: "y" }, { logprobs: { content: [logprob("y")], refusal: null } }),
    said(0, { annotations: [annotation] }),
    said(0, { tool_calls: [{ ...call, index: 0 }] }),
    said(0, {}, { finish_reason: "eos", native_finish_reason: "end" }),
    said(1, { refusal: "No" }, { logprobs: { content: null, refusal: [logprob("No")] } }),
    said(1, {}, { finish_reason: "content_filter" }),
    said(2, { audio: { id: "audio_1", transcript: "H" } }),
    said(2, { audio: { data: "UklG", transcript: "i" } }),
    said(2, { audio: { expires_at: 9 } }),
    said(2, {}, { finish_reason: "stop" }),
    chunk([], { usage, moderation: chatWhole.moderation }),
  ];
}

Deno.test("a stream of chat is recorded with every field of the whole answer", () => {
  checkRecord("chat", chatPayloads(), chatWhole);
});

Deno.test("reasoning is recorded under the name that its server has for it", () => {
  const head = { id: "c", created: 1, model: "m" };
  for (const names of [["reasoning"], ["reasoning_content"], ["reasoning", "reasoning_content"]]) {
    const said = (text: string) => Object.fromEntries(names.map((name) => [name, text]));
    const choice = { index: 0, finish_reason: "stop" };
    checkRecord("chat", [
      { ...head, choices: [{ index: 0, delta: said("Hm") }] },
      { ...head, choices: [{ index: 0, delta: { ...said("."), content: "Hi" } }] },
      { ...head, choices: [{ ...choice, delta: { content: "" } }] },
    ], {
      ...{ ...head, object: "chat.completion" },
      choices: [{ ...choice, message: { role: "assistant", content: "Hi", ...said("Hm.") } }],
    });
  }
});

Deno.test("a chat answer in the old shape is recorded in it", () => {
  const called = { name: "f", arguments: "{}" };
  const head = { id: "c", created: 1, model: "m" };
  const choice = { index: 0, finish_reason: "function_call" };
  checkRecord("chat", [
    { ...head, choices: [{ index: 0, delta: { function_call: { name: "f", arguments: "" } } }] },
    { ...head, choices: [{ index: 0, delta: { function_call: { arguments: "{}" } } }] },
    { ...head, choices: [{ ...choice, delta: {} }] },
  ], {
    ...{ ...head, object: "chat.completion" },
    choices: [{ ...choice, message: { role: "assistant", function_call: called } }],
  });
});

const chosen = (token: string) => ({ token, tokenId: 7, logProbability: -1 });
const grounding = {
  webSearchQueries: ["q"],
  searchEntryPoint: { renderedContent: "<div>" },
  groundingChunks: [{ web: { uri: "https://a.test", title: "A", domain: "a.test" } }],
  groundingSupports: [{
    segment: { startIndex: 0, endIndex: 2, text: "He" },
    groundingChunkIndices: [0],
    confidenceScores: [0.5],
  }],
};
const ratings = [{ category: "HARM_CATEGORY_HARASSMENT", probability: "NEGLIGIBLE" }];
const generateHead = {
  modelVersion: "gemini-3-pro",
  responseId: "r",
  createTime: "2026-11-27T09:00:00.123456Z",
};
const usageMetadata = {
  ...{ promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7, trafficType: "ON_DEMAND" },
  promptTokensDetails: [{ modality: "TEXT", tokenCount: 3 }],
};

const generateWhole: Json = {
  ...generateHead,
  promptFeedback: { safetyRatings: ratings },
  modelStatus: { modelStage: "PREVIEW" },
  usageMetadata,
  candidates: [{
    index: 0,
    content: { role: "model", parts: [{ text: "Hey", thoughtSignature: "s" }] },
    finishReason: "NEW_REASON",
    finishMessage: "Done.",
    tokenCount: 2,
    avgLogprobs: -0.5,
    safetyRatings: ratings,
    groundingMetadata: grounding,
    citationMetadata: { citations: [{ startIndex: 0, uri: "https://b.test", license: "MIT" }] },
    urlContextMetadata: { urlMetadata: [{ retrievedUrl: "https://c.test" }] },
    logprobsResult: {
      chosenCandidates: [chosen("He"), chosen("y")],
      topCandidates: [{ candidates: [chosen("He")] }, { candidates: [chosen("y")] }],
    },
    continuationToken: "t",
  }],
};

Deno.test("a stream of generate is recorded with every field of the whole answer", () => {
  const { content: _, logprobsResult: _all, ...ending } = (generateWhole.candidates as Json[])[0]!;
  const element = (
    parts: Json[],
    token: string | undefined,
    more: Json,
    rest: Json = {},
  ): Json => ({
    ...{ ...generateHead, ...rest },
    candidates: [{
      ...{ index: 0, content: { role: "model", parts } },
      ...token === undefined ? {} : {
        logprobsResult: {
          chosenCandidates: [chosen(token)],
          topCandidates: [{ candidates: [chosen(token)] }],
        },
      },
      ...more,
    }],
  });
  const { promptFeedback, modelStatus } = generateWhole;
  const early = { promptTokenCount: 3, totalTokenCount: 3 };
  checkRecord("generate", [
    element([{ text: "He" }], "He", {}, { promptFeedback, usageMetadata: early }),
    element([{ text: "y", thoughtSignature: "s" }], "y", { groundingMetadata: grounding }),
    element([], undefined, ending, { usageMetadata, modelStatus }),
  ], generateWhole);
});

Deno.test("an empty text with members of its own is recorded as a part, and ends the text before", () => {
  const parts = [{ text: "A" }, { text: "", partMetadata: { at: 1 } }, { text: "B" }];
  const candidate = { index: 0, content: { role: "model", parts }, finishReason: "STOP" };
  const whole = { ...generateHead, usageMetadata, candidates: [candidate] };
  checkRecord("generate", [whole], whole);
});

Deno.test("a blocked prompt is recorded as it was answered", () => {
  const blocked = {
    ...{ ...generateHead, usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 } },
    promptFeedback: { blockReason: "PROHIBITED_CONTENT", safetyRatings: ratings },
  };
  checkRecord("generate", [blocked], blocked);
});

Deno.test("a stream of responses is recorded as its last event has it", () => {
  const part = { type: "output_text", text: "Hey", annotations: [], logprobs: [] };
  const item = { id: "msg_1", type: "message", role: "assistant", status: "completed" };
  const whole: Json = {
    ...{ id: "resp_1", object: "response", created_at: 1, completed_at: 2, model: "m" },
    ...{ status: "completed", output: [{ ...item, phase: "final_answer", content: [part] }] },
    ...{ conversation: { id: "conv_1" }, prompt_cache_retention: "24h", moderation: { a: 1 } },
    usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3, num_sources_used: 1 },
  };
  const at = { output_index: 0, item_id: "msg_1", content_index: 0 };
  checkRecord("responses", [
    { type: "response.created", response: { ...whole, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
    { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
    { type: "response.output_text.delta", ...at, delta: "Hey", logprobs: [] },
    { type: "response.output_text.done", ...at, text: "Hey" },
    { type: "response.completed", response: whole },
  ], whole);
});
