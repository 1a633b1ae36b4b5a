/** Vendors' whole answers, of up to 64 MiB, are changed for their callers and records in steps. */
import assert from "@std/assert";
import { splice, spliceSteps } from "../../src/base/json_text.ts";
import { messages } from "../../src/dialects/text/messages/mod.ts";
import { responses } from "../../src/dialects/text/responses/mod.ts";
import type { SseEvent } from "../../src/base/sse.ts";
import { finish, type Steps } from "../../src/base/steps.ts";
import { dialects } from "../../src/dialects/text/mod.ts";
import { passThrough } from "../../src/relay/plan/pass_through.ts";
import type { StreamPlan } from "../../src/relay/plan/text_plan.ts";

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

Deno.test("an event of a stream with many seals is changed, and read again, in short steps", () => {
  const stream = streamOf("responses", { model: "gpt-5", input: "x" });
  for (const output of [Array(count).fill(reasoning), [{ ...reasoning, content: long }]]) {
    const event = completedEvent(output);
    const { steps } = counted(stream.changeAhead!(event));
    assert.ok(steps > 30, `${steps} steps`);
    const { sent } = forwarded(stream, event);
    assert.deepEqual(
      sent,
      forwarded(streamOf("responses", { model: "gpt-5", input: "x" }), event).sent,
    );
    const text = new TextDecoder().decode(sent as Uint8Array);
    const { response } = JSON.parse(text.slice(text.indexOf("{")));
    const { encrypted_content: _, ...shown } = output[0]!;
    assert.deepEqual([response.store, response.output.at(-1)], [true, shown]);
  }
});

Deno.test("the model in a long event of a stream gets the name that the caller used in short steps", () => {
  const stream = streamOf("messages", { model: "claude-b", messages: [], max_tokens: 1 });
  const data = JSON.stringify({ message: { content: [long], model: "claude-a" } });
  const event = eventWith("message_start", data);
  const { steps } = counted(stream.changeAhead!(event));
  assert.ok(steps > 15, `${steps} steps`);
  const { sent } = forwarded(stream, event);
  const expected = eventWith("message_start", data.replace("claude-a", "claude-b"));
  assert.deepEqual(sent, expected.bytes);
});

Deno.test("many edits are applied in short steps", () => {
  const text = "0123456789".repeat(100_000);
  const edits = Array.from(
    { length: 100_000 },
    (_, at) => ({ start: at * 10 + 1, end: at * 10 + 9, text: "-" }),
  );
  const { value, steps } = counted(spliceSteps(text, edits));
  assert.equal(value, "0-9".repeat(100_000));
  assert.ok(steps > 5, `${steps} steps`);
  assert.equal(splice(text, edits.toReversed()), value);
});

/** A stream that is passed on from a vendor that stores nothing, under the caller's own name. */
function streamOf(name: "responses" | "messages", body: object): StreamPlan {
  const vendor = name === "messages" ? undefined : "vendor-a";
  const plan = passThrough(
    {
      ...{ dialect: dialects[name], body, bodyText: JSON.stringify(body), vendor, hosted: [] },
      facts: { model: "claude-b", stream: true, tagBlocks: [] },
      ...{
        target: { model: "gpt-5", vendor: { label: "vendor-a", quirks: {} } },
        keepNothing: true,
      },
    } as unknown as Parameters<typeof passThrough>[0],
  );
  return finish(plan).stream();
}

function completedEvent(output: unknown[]): SseEvent {
  const json = { type: "response.completed", response: { store: false, output } };
  return { ...eventWith(json.type, JSON.stringify(json)), json };
}

function eventWith(event: string, data: string): SseEvent {
  const bytes = new TextEncoder().encode(`event: ${event}\ndata: ${data}\n\n`);
  return { event, data, bytes, terminated: true };
}

function forwarded(stream: StreamPlan, event: SseEvent) {
  return stream.forward(event, { events: [], usageOnly: false, terminal: true });
}

function counted<T>(work: Steps<T>): { value: T; steps: number } {
  for (let steps = 1;; steps++) {
    const step = work.next();
    if (step.done) return { value: step.value, steps };
  }
}
