import assert from "@std/assert";
import { finish } from "../../../../base/steps.ts";
import { summaryText } from "../../../kernel/summary.ts";
import { messages } from "../mod.ts";

/** The text that is sent, parsed; undefined where nothing in it is unsigned. */
function passed(body: object) {
  const unsigned = finish(messages.unsignedThinking!(body, "m"));
  if (unsigned === undefined) return undefined;
  const facts = messages.readRequest(body);
  const changes = { model: "m", askStreamUsage: true, unsigned };
  const { messages: turns, thinking } = JSON.parse(
    finish(messages.spliceRequest(JSON.stringify(body, null, 1), facts, changes)),
  );
  return { turns, thinking };
}

const hello = { role: "user", content: "/// APP a\nHi" };
const untagged = { role: "user", content: "Hi" };
const other = { type: "thinking", thinking: "Hm.", signature: "" };
const own = { type: "thinking", thinking: "Hm.", signature: "of the vendor" };
const text = { type: "text", text: 'It said "signature": "".' };
const use = { type: "tool_use", id: "t", name: "f", input: { type: "thinking", signature: "" } };
const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "t" }] };
const thinking = { type: "enabled", budget_tokens: 1024 };
const answer = (...content: unknown[]) => ({ role: "assistant", content });

Deno.test("thinking without a signature is removed, with a message that is nothing else", () => {
  const turns = [
    ...[hello, answer(other), hello, answer(other, text, other), hello],
    ...[answer(own, other, text), hello, answer(text, other, other), hello],
  ];
  const left = [
    ...[untagged, hello, answer(text), hello, answer(own, text), hello, answer(text), hello],
  ];
  assert.deepEqual(passed({ model: "m", messages: turns, thinking }), { turns: left, thinking });
});

Deno.test("searches and sources of other vendors go, those of the vendor's own stay", () => {
  const search = (id: string) => ({ type: "server_tool_use", id, name: "web_search", input: {} });
  const found = (tool_use_id: string, seal: string) => ({
    type: "web_search_tool_result",
    tool_use_id,
    content: [{ type: "web_search_result", url: "https://a.example", encrypted_content: seal }],
  });
  const cites = (seal: string) => ({
    type: "web_search_result_location",
    url: "https://a.example",
    cited_text: "",
    encrypted_index: seal,
  });
  const own = [search("s1"), found("s1", "sealed"), { ...text, citations: [cites("sealed")] }];
  const others = [search("s2"), found("s2", ""), { ...text, citations: [cites("")] }];
  const turns = [hello, answer(...own), hello, answer(...others), hello, answer(other, ...others)];
  const left = [untagged, answer(...own), hello, answer(text), hello, answer(text)];
  assert.deepEqual(passed({ model: "m", messages: turns })?.turns, left);
  assert.equal(passed({ model: "m", messages: [hello, answer(...own)] }), undefined);
  // A text alone may have such sources.
  const cited = [hello, answer({ citations: [cites("")], ...text }), hello];
  assert.deepEqual(passed({ model: "m", messages: cited })?.turns, [untagged, answer(text), hello]);
  // Without its sources a text without words is nothing, and refused.
  const wordless = { type: "text", text: "", citations: [cites("")] };
  const silent = [hello, answer(wordless, use), result];
  const called = [untagged, answer(use), result];
  assert.deepEqual(passed({ model: "m", messages: silent })?.turns, called);
});

Deno.test("a tool's call whose thought was removed can't be continued with thinking on", () => {
  const off = { type: "disabled" };
  const cases = [
    { content: [other, use], thinking, then: off },
    { content: [other, own, use], thinking, then: thinking },
    { content: [other, text], thinking, then: thinking },
    { content: [other, use], thinking: { type: "adaptive" }, then: { type: "adaptive" } },
    { content: [other, use], thinking: undefined, then: undefined },
  ];
  for (const { content, thinking, then } of cases) {
    const sent = passed({ model: "m", thinking, messages: [untagged, answer(...content), result] });
    assert.deepEqual(sent?.thinking, then);
  }
});

Deno.test("a conversation that is signed, or has no thinking, stays as it is", () => {
  for (const turn of [answer(own, use), answer(text), { role: "assistant", content: "Hi" }]) {
    assert.equal(passed({ model: "m", messages: [hello, turn, hello] }), undefined);
  }
});

Deno.test("nothing before the last summary is sent, as its vendor would leave it out", () => {
  const summary = (content: string) => answer({ type: "compaction", content, signature: "" });
  const turns = [
    ...[hello, answer(other), hello, answer(own, other, text), summary("1"), hello],
    ...[answer(other, text), summary("2"), hello, answer(text, other), hello],
  ];
  const sent = passed({ model: "m", messages: turns, thinking })!;
  const kept = { role: "user", content: summaryText("2") };
  assert.deepEqual(sent, { turns: [kept, hello, answer(text), hello], thinking });
  // Only what is sent decides whether thinking is possible.
  const calls = [hello, answer(other, use), result, summary("1"), hello, answer(use), result];
  assert.deepEqual(passed({ model: "m", messages: calls, thinking })?.thinking, thinking);
});

Deno.test("the unsigned blocks of many messages, and of one, are found in steps", () => {
  const many = Array.from({ length: 20_000 }, () => answer(other, text));
  const one = [answer(...Array.from({ length: 40_000 }, () => other), text)];
  for (const turns of [many, one]) {
    const steps = [...messages.unsignedThinking!({ messages: turns }, "m")].length;
    assert.ok(steps >= 30, `${steps}`);
  }
});
