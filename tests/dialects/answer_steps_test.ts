/** Vendors' whole answers, of up to 64 MiB, are changed for their callers and records in steps. */
import assert from "@std/assert";
import { messages } from "../../src/dialects/text/messages/mod.ts";
import { responses } from "../../src/dialects/text/responses/mod.ts";
import type { Steps } from "../../src/base/steps.ts";

const count = 20_000;
const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "aaaa" };
const message = { type: "message", role: "user", content: "hello" };
const answerWith = (output: unknown[]) => JSON.stringify({ id: "resp_1", store: false, output });
/** Full of escapes, so that to look through it takes long. */
const long = '"'.repeat(4_000_000);

const show = responses.stateless!({ store: true }, { model: "gpt-5", keepNothing: true })!.show;

Deno.test("the seals of many items are hidden in short steps", () => {
  const { value, steps } = counted(show(answerWith(Array(count).fill(reasoning))));
  const { encrypted_content: _, ...shown } = reasoning;
  assert.deepEqual(JSON.parse(value), {
    ...{ id: "resp_1", store: true, output: Array(count).fill(shown) },
  });
  assert.ok(steps > 20, `${steps} steps`);
});

Deno.test("the seal of a long item is hidden in short steps", () => {
  const { value, steps } = counted(show(answerWith([{ ...reasoning, content: long }])));
  assert.ok(!value.includes("encrypted_content"));
  assert.ok(steps > 20, `${steps} steps`);
});

Deno.test("the items of a long compacted conversation are reduced for its record in short steps", () => {
  const { withoutRepeated } = responses.compaction!;
  for (const items of [Array(count).fill(message), [{ ...message, content: long }]]) {
    const { value, steps } = counted(withoutRepeated!(answerWith(items)));
    const { content: _, ...reduced } = message;
    assert.deepEqual(JSON.parse(value).output, Array(items.length).fill(reduced));
    assert.ok(steps > 10, `${items.length} items in ${steps} steps`);
  }
});

Deno.test("the model of a long answer gets the name that the caller used in short steps", () => {
  const answer = { content: [{ type: "text", text: long }], model: "claude-a" };
  const { value, steps } = counted(messages.naming!.whole(JSON.stringify(answer), "claude-b"));
  assert.deepEqual(JSON.parse(value), { ...answer, model: "claude-b" });
  assert.ok(steps > 5, `${steps} steps`);
});

function counted<T>(work: Steps<T>): { value: T; steps: number } {
  for (let steps = 1;; steps++) {
    const step = work.next();
    if (step.done) return { value: step.value, steps };
  }
}
