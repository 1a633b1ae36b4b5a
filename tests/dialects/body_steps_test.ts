/** What is cut from a request's text, or added to it, is looked for in steps. */
import assert from "@std/assert";
import { textWithoutTags } from "../../src/dialects/kernel/tag_blocks.ts";
import { chat } from "../../src/dialects/text/chat/mod.ts";
import { messages } from "../../src/dialects/text/messages/mod.ts";
import { responses } from "../../src/dialects/text/responses/mod.ts";
import type { UnsignedThinking } from "../../src/dialects/kernel/dialect.ts";
import type { Steps } from "../../src/base/steps.ts";

/** Full of escapes, so that to look through it takes long. */
const long = '"'.repeat(4_000_000);
const said = [{ role: "user", content: long }];

Deno.test("a long chat request's fallbacks are cut in short steps", () => {
  const sent = { model: "m", models: ["n"], messages: said };
  const { models: _, ...expected } = sent;
  const { value } = inSteps(chat.fallbackField!.without(sent, JSON.stringify(sent)));
  assert.deepEqual(JSON.parse(value.bodyText), expected);
});

Deno.test("a long background request is made a stream in short steps", () => {
  const sent = { model: "m", background: true, input: long };
  const { value } = inSteps(responses.background!.forVendor(sent, JSON.stringify(sent)));
  assert.deepEqual(JSON.parse(value.bodyText), { model: "m", input: long, stream: true });
});

Deno.test("a long request without storage at its vendor is changed in short steps", () => {
  const sent = { model: "m", input: said };
  const text = JSON.stringify(sent);
  const facts = responses.readRequest(sent);
  const plain =
    counted(responses.spliceRequest(text, facts, { model: "m", askStreamUsage: false })).steps;
  const keepNothing = { sealReasoning: true };
  const changed = counted(
    responses.spliceRequest(text, facts, { model: "m", askStreamUsage: false, keepNothing }),
  );
  assert.deepEqual(JSON.parse(changed.value), {
    ...{ ...sent, store: false, include: ["reasoning.encrypted_content"] },
  });
  assert.ok(changed.steps >= plain + 10, `${changed.steps} steps, ${plain} where it is stored`);
});

Deno.test("tag lines behind a long text are cut in short steps", () => {
  const text = JSON.stringify({ input: [...said, { role: "user", content: "tagged" }] });
  const { value } = inSteps(textWithoutTags(text, [{ path: ["input", 1, "content"], units: 3 }]));
  assert.deepEqual(JSON.parse(value).input[1], { role: "user", content: "ged" });
});

Deno.test("a long request that begins or continues a conversation is changed in short steps", () => {
  const thread = { model: "m", thread: { type: "new" }, messages: said };
  const begun = inSteps(
    messages.conversation!.own!.start({ body: thread, bodyText: JSON.stringify(thread) }),
  );
  assert.deepEqual(JSON.parse(begun.value.bodyText), { model: "m", messages: said });
  const continued = { model: "m", previous_response_id: "resp_1", input: said };
  const { value } = inSteps(responses.conversation!.continueFrom({
    ...{ body: continued, bodyText: JSON.stringify(continued), inputItems: [] },
    answer: { id: "resp_1", output: [] },
  }));
  assert.deepEqual(JSON.parse(value.bodyText), { model: "m", input: said });
});

Deno.test("what the vendor would refuse unsigned is cut in short steps", () => {
  const count = 10_000;
  const text = { type: "text", text: "x" };
  const unsigned = { type: "thinking", thinking: "", signature: "" };
  const messagesOf = (contents: unknown[][]) =>
    JSON.stringify({ messages: contents.map((content) => ({ role: "assistant", content })) });
  const all = new Set(Array.from({ length: count }, (_, at) => at));
  const each = new Map([...all].map((at) => [at, new Set([0])]));
  const isCited = { ...text, citations: [{ type: "page_location" }] };
  const cases: [contents: unknown[][], found: UnsignedThinking, left: unknown[][]][] = [
    [
      Array(count).fill([unsigned, text]),
      { blocks: each, switchesOff: false },
      Array(count).fill([text]),
    ],
    [
      Array(count).fill([isCited]),
      { blocks: new Map(), cited: each, switchesOff: false },
      Array(count).fill([text]),
    ],
    [[Array(count).fill(isCited)], {
      blocks: new Map(),
      cited: new Map([[0, all]]),
      switchesOff: false,
    }, [Array(count).fill(text)]],
  ];
  for (const [contents, unsigned, left] of cases) {
    const body = messagesOf(contents);
    const { value } = inSteps(
      messages.spliceRequest(body, messages.readRequest({ model: "m", messages: [] }), {
        ...{ model: "m", askStreamUsage: false, unsigned },
      }),
    );
    assert.equal(value, messagesOf(left));
  }
});

function inSteps<T>(work: Steps<T>): { value: T } {
  const { value, steps } = counted(work);
  assert.ok(steps > 10, `${steps} steps`);
  return { value };
}

function counted<T>(work: Steps<T>): { value: T; steps: number } {
  for (let steps = 1;; steps++) {
    const step = work.next();
    if (step.done) return { value: step.value, steps };
  }
}
