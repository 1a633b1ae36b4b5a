/** Section D of protocols/pitfalls.md: answers of a generate vendor for chat callers. */
import assert from "@std/assert";
import { finish } from "../../src/base/steps.ts";
import { dialects, type Passage } from "./translated.ts";
import { element, said, told, wire, wireOf } from "./pitfall_answers.ts";
import type { Payload } from "./recordings.ts";

const passage: Passage = { vendor: "generate", caller: "chat" };
const stop = { finishReason: "STOP" };
const call = (name: string, args: unknown = {}) => ({ functionCall: { name, args } });

Deno.test("pitfall 67: STOP after a call is tool_calls, in an element without it too", () => {
  const apart = told(passage, [element([call("f")]), element([{ text: "" }], stop)]);
  assert.equal(apart.finish, "tool_calls");
  assert.equal(told(passage, [element([call("f")], stop)]).finish, "tool_calls");
});

Deno.test("pitfall 68: two calls of one function without ids get two ids", () => {
  const [choice] = said(passage, [element([call("f"), call("f")], stop)]).choices;
  const ids = choice!.calls.map(({ id }) => id);
  assert.equal(new Set(ids).size, 2);
  for (const id of ids) assert.match(id, /^call_./);
});

Deno.test("pitfalls 69, 70: thoughts are output, a missing count is 0", () => {
  const usageMetadata = {
    promptTokenCount: 20,
    candidatesTokenCount: 151,
    thoughtsTokenCount: 382,
  };
  const chunks = wire(passage, [element([{ text: "x" }], { ...stop, usageMetadata })]);
  const usage = chunks.at(-1)!.usage as Payload;
  assert.equal(usage.completion_tokens, 533);
  assert.equal(usage.total_tokens, 553);
  assert.deepEqual(usage.completion_tokens_details, { reasoning_tokens: 382 });
  const silent = element([], {
    finishReason: "MAX_TOKENS",
    usageMetadata: { promptTokenCount: 5 },
  });
  assert.deepEqual(said(passage, [silent]).usage, { input: 5, cacheRead: 0, output: 0 });
});

Deno.test("log-probabilities that come after the text reach the caller", () => {
  const logprobsResult = { chosenCandidates: [{ token: "x", logProbability: -1 }] };
  const last = { ...element([]), candidates: [{ ...stop, logprobsResult }] };
  const chunks = wire(passage, [element([{ text: "x" }]), last]);
  const tokens = chunks.flatMap(({ choices }) => {
    const [choice] = choices as { logprobs: { content: { token: string }[] } | null }[];
    return choice?.logprobs?.content.map(({ token }) => token) ?? [];
  });
  assert.deepEqual(tokens, ["x"]);
});

Deno.test("pitfall 71: content without parts is empty text", () => {
  const { candidates: _, ...rest } = element([]);
  const bare = { ...rest, candidates: [{ content: {}, finishReason: "MAX_TOKENS" }] };
  const { text, finish } = told(passage, [bare]);
  assert.deepEqual([text, finish], ["", "length"]);
});

Deno.test("pitfall 72: a blocked prompt is content_filter, an unspecified block none", () => {
  const { candidates: _, ...rest } = element([]);
  const blocked = { ...rest, promptFeedback: { blockReason: "SAFETY" } };
  const { text, finish } = told(passage, [blocked]);
  assert.deepEqual([text, finish], ["", "content_filter"]);
  const unspecified = { promptFeedback: { blockReason: "BLOCK_REASON_UNSPECIFIED" } };
  assert.equal(
    told(passage, [element([{ text: "x" }], { ...stop, ...unspecified })]).finish,
    "stop",
  );
});

Deno.test("pitfall 73: a malformed call without content is an error", () => {
  const malformed = { finishReason: "MALFORMED_FUNCTION_CALL" };
  assert.equal(said(passage, [element([], malformed)]).ending, "failed");
  assert.equal(said(passage, [element([{ text: "x" }], malformed)]).ending, "finished");
});

Deno.test("pitfall 74: thoughts are reasoning, never content", () => {
  const parts = [{ text: "hm", thought: true }, { text: "so" }];
  const { text, reasoning } = told(passage, [element(parts, stop)]);
  assert.deepEqual([text, reasoning], ["so", "hm"]);
});

Deno.test("pitfall 75: a signature on an empty text gives no chunk of its own", () => {
  const signed = { text: "", thoughtSignature: "c2ln" };
  const plain = wire(passage, [element([{ text: "a" }]), element([], stop)]);
  assert.deepEqual(wire(passage, [element([{ text: "a" }]), element([signed], stop)]), plain);
});

Deno.test("pitfall 76: of the usage in every element only the last is told", () => {
  const counted = (count: number) => ({
    usageMetadata: { promptTokenCount: 2, candidatesTokenCount: count },
  });
  const chunks = wire(passage, [
    element([{ text: "a" }], counted(1)),
    element([{ text: "b" }], { ...stop, ...counted(9) }),
  ]);
  assert.deepEqual(
    chunks.map(({ usage }) => (usage as Payload | null)?.completion_tokens ?? null),
    [
      ...chunks.slice(1).map(() => null),
      9,
    ],
  );
});

Deno.test("pitfall 77: sources that come before the finish are kept", () => {
  const groundingMetadata = {
    groundingChunks: [{ web: { uri: "https://source.example/", title: "S" } }],
  };
  const grounded = element([{ text: "a" }]);
  Object.assign((grounded.candidates as Payload[])[0]!, { groundingMetadata });
  const chunks = wire(passage, [grounded, element([], stop)]);
  assert.ok(JSON.stringify(chunks).includes("https://source.example/"));
});

Deno.test("pitfall 79: of an element with several parts none is lost", () => {
  const { text, calls } = told(passage, [element([{ text: "a" }, call("f"), call("g")], stop)]);
  assert.deepEqual([text, calls.map(({ name }) => name)], ["a", ["f", "g"]]);
});

Deno.test("pitfall 80: two candidates are two choices with their own calls and endings", () => {
  const candidate = (index: number, parts: unknown[], finishReason: string) => ({
    index,
    content: { parts },
    finishReason,
  });
  const two = {
    ...element([]),
    candidates: [
      candidate(0, [call("f")], "STOP"),
      candidate(1, [call("g"), call("h")], "MAX_TOKENS"),
    ],
  };
  const { choices } = said(passage, [two]);
  assert.deepEqual(
    choices.map(({ calls, finish }) => [calls.map(({ name }) => name), finish]),
    [[["f"], "tool_calls"], [["g", "h"], "length"]],
  );
});

Deno.test("pitfall 78 (chat → generate as an array): each element parses wherever it is cut", () => {
  const stream = dialects.generate.createStreamEncoder({
    id: (prefix) => `${prefix}1`,
    created: 1,
    model: "m",
    request: finish(dialects.chat.decodeRequest({
      model: "m",
      messages: [{ role: "user", content: "x" }],
    })),
    body: {},
    showUsage: true,
    inputTokens: 1,
    jsonArray: true,
  });
  const awkward = 'a},{"b\\"';
  const events = finish(dialects.chat.decodeAnswer({
    choices: [{ index: 0, message: { content: awkward }, finish_reason: "stop" }],
  }, {}));
  const text = events.map((event) => stream.encode(event)).join("") + stream.end();
  const elements = JSON.parse(text) as Payload[];
  assert.equal(elements.length, 2);
  const said = elements.map(({ candidates }) => {
    const [first] = candidates as { content: { parts: { text: string }[] } }[];
    return first!.content.parts.map(({ text }) => text).join("");
  });
  assert.equal(said.join(""), awkward);
});

Deno.test("pitfalls 119, 120, 122 (generate → chat): wrapped errors, comments, loose framing", () => {
  const one = JSON.stringify(element([{ text: "ab" }], stop));
  const text = (stream: string) =>
    wireOf(passage, stream).flatMap(({ choices }) => choices as Payload[])
      .map(({ delta }) => (delta as Payload).content ?? "").join("");
  assert.equal(text(`: OPENROUTER PROCESSING\n\ndata: ${one}\n\n`), "ab");
  assert.equal(text(`data:${one}\r\n\r\n`), "ab");
  assert.equal(text(`data: ${one}`), "ab");
  const [wrapped] = wireOf(passage, 'data: [{"error":{"code":503,"message":"Busy."}}]\n\n');
  assert.ok(wrapped?.error);
});
