import assert from "@std/assert";
import type { CanonicalEvent } from "../dialects/kernel/canonical.ts";
import { ShownUsage } from "../dialects/kernel/shown_usage.ts";
import { finish as finished } from "../base/steps.ts";
import { messages } from "../dialects/text/messages/mod.ts";
import type { Usage } from "../shared/usage.ts";
import { Meter } from "./meter.ts";

const said: CanonicalEvent[] = [
  { type: "start", id: "c", model: "m", created: 1 },
  { type: "block-start", choice: 0, block: 0, content: { kind: "text" } },
  { type: "block-delta", choice: 0, block: 0, text: "twelve chars" }, // 3 tokens by estimate
];
const finish: CanonicalEvent = { type: "finish", choice: 0, reason: "stop", raw: "stop" };
const report = (usage: Usage): CanonicalEvent => ({ type: "usage", usage });

/** The usage and basis of an answer to a prompt of 100 tokens. */
function bill(
  events: readonly CanonicalEvent[],
  terms: { vendorCostBelieved?: boolean; dearerTier?: string } = {},
) {
  const meter = new Meter(1000, () => 0);
  meter.listen(events);
  const { usage, basis, costNanos } = meter.bill({
    ...{ status: "completed", mode: "managed", boundNanos: null, price: undefined },
    ...{ priceOf: () => undefined, vendorCostBelieved: false, ...terms },
    promptUsage: () => ({ input: 100 }),
  });
  return { usage, basis, costNanos };
}

const rows: [name: string, reported: Usage, input: number, output: number][] = [
  ["output: the words", { input: 50, output: 0, unreported: "output" }, 50, 3],
  ["input: the prompt", { input: 0, output: 10, unreported: "input" }, 100, 10],
  ["output beside a prompt of 0", { input: 0, output: 0, unreported: "output" }, 0, 3],
  ["input beside an output of 0", { input: 0, output: 0, unreported: "input" }, 100, 0],
  ["output beside thoughts", { input: 5, output: 9, reasoning: 9, unreported: "output" }, 5, 12],
  [
    "input beside its cache",
    { input: 400, cacheRead: 400, output: 1, unreported: "input" },
    400,
    1,
  ],
];

for (const [name, reported, input, output] of rows) {
  Deno.test(`unreported tokens are estimated: ${name}`, () => {
    const { unreported: _, ...named } = reported;
    const { usage, basis } = bill([...said, finish, report(reported)]);
    assert.deepEqual([usage, basis], [{ ...named, input, output }, "estimated"]);
  });
}

Deno.test("an answer without words has no output to report, beside its thoughts", () => {
  for (const reported of [{ input: 50, output: 0 }, { input: 50, output: 9, reasoning: 9 }]) {
    const events = [said[0]!, finish, report({ ...reported, unreported: "output" })];
    // Nor is it in a tier that was asked for and isn't reported.
    const { usage, basis } = bill(events, { dearerTier: "priority" });
    assert.deepEqual([usage, basis], [reported, "reported"]);
  }
});

Deno.test("thoughts that are reported beside no output are billed, also without words", () => {
  const reported: Usage = { input: 50, output: 0, reasoning: 9, unreported: "output" };
  const { usage, basis } = bill([said[0]!, finish, report(reported)]);
  assert.deepEqual([usage, basis], [{ input: 50, output: 9, reasoning: 9 }, "reported"]);
});

Deno.test("what is reported before an answer doesn't count as output of an empty one", () => {
  const early = startOfMessage();
  const last = report({ input: 50, output: 0, unreported: "output" });
  const { usage, basis } = bill([said[0]!, ...early, finish, last]);
  assert.deepEqual([usage, basis], [{ input: 50, output: 0 }, "reported"]);
});

/** What a stream of Anthropic's begins with, before its answer. */
function startOfMessage(): readonly CanonicalEvent[] {
  const usage = { input_tokens: 50, output_tokens: 1 };
  const message = { type: "message_start", message: { id: "m", model: "m", content: [], usage } };
  const event = { bytes: new Uint8Array(), data: JSON.stringify(message), terminated: true };
  return messages.createStreamDecoder({}).decode(event).events;
}

Deno.test("callers of another dialect see what is charged where a stream ends without a count", () => {
  const events = [...startOfMessage(), ...said.slice(1), finish];
  const shown = new ShownUsage(100);
  for (const event of events) shown.listen(event);
  const { input, output } = bill(events).usage!;
  assert.deepEqual([input, output], [50, 3]);
  assert.deepEqual([shown.final.input, shown.final.output], [input, output]);
});

Deno.test("the usage of a whole answer counts, also where its server omits the reason it ended", () => {
  const usage = { input_tokens: 50, output_tokens: 700 };
  const answer = { id: "m", content: [{ type: "text", text: "twelve chars" }], usage };
  for (const stop_reason of ["end_turn", null, undefined]) {
    const events = finished(messages.decodeAnswer({ ...answer, stop_reason }, {}));
    const billed = bill(events);
    assert.deepEqual([billed.usage?.output, billed.basis], [700, "reported"]);
  }
});

Deno.test("the tokens of other models come on top of what is estimated", () => {
  const drawing = { model: "i", usage: { input: 40, output: 1000, imageOutput: 1000 } };
  const drawn = { imageOutput: 1000, otherModels: [drawing] };
  const rows: [Usage, input: number, output: number][] = [
    [{ input: 90, output: 1000, ...drawn, unreported: "output" }, 90, 1003],
    [{ input: 40, output: 1010, ...drawn, unreported: "input" }, 140, 1010],
  ];
  for (const [reported, input, output] of rows) {
    const { usage, basis } = bill([...said, finish, report(reported)]);
    assert.deepEqual([usage, basis], [{ input, output, ...drawn }, "estimated"]);
  }
  const last = report({ input: 90, output: 1000, ...drawn, unreported: "output" });
  const { usage, basis } = bill([said[0]!, finish, last]);
  assert.deepEqual([usage, basis], [{ input: 90, output: 1000, ...drawn }, "reported"]);
});

Deno.test("a count that a stream's last report leaves out is at least an earlier one's", () => {
  const last = report({ input: 50, output: 0, unreported: "output" });
  for (const [earlier, output] of [[7, 7], [1, 3]] as const) {
    const { usage, basis } = bill([...said, report({ input: 50, output: earlier }), finish, last]);
    assert.deepEqual([usage, basis], [{ input: 50, output }, "estimated"]);
  }
});

Deno.test("a cost that the vendor reports needs no tokens", () => {
  const cost = { vendorCostUsd: "0.000123456789" };
  const { usage, ...billed } = bill(
    [...said, finish, report({ input: 50, output: 0, ...cost, unreported: "output" })],
    { vendorCostBelieved: true },
  );
  assert.deepEqual(usage, { input: 50, output: 3, ...cost });
  assert.deepEqual(billed, { basis: "vendor_cost", costNanos: 123_457n });
});

Deno.test("a cut stream costs its reported thoughts and its words", () => {
  const usage = (reported: Usage) => {
    const meter = new Meter(1000, () => 0);
    meter.listen([...said, report(reported)]);
    return meter.counted({ promptUsage: () => ({ input: 100 }) })?.usage;
  };
  assert.deepEqual(usage({ input: 50, output: 10, reasoning: 9 }), {
    input: 50,
    output: 12,
    reasoning: 9,
  });
});

Deno.test("what is reported before an answer is the least that a call costs which is cut there", () => {
  const usage: Usage = { input: 50, output: 0, unreported: "output" };
  const early: CanonicalEvent = { type: "usage", usage, isEarly: true, outputSoFar: 1 };
  const rows: [events: CanonicalEvent[], output: number][] = [
    [[said[0]!, early], 1],
    [[said[0]!, early, ...said.slice(1)], 3],
    [[said[0]!, early, report(usage)], 1],
    [[said[0]!, early, finish], 0],
  ];
  for (const [events, output] of rows) {
    const billed = bill(events);
    assert.deepEqual([billed.usage, billed.basis], [{ input: 50, output }, "estimated"]);
  }
});
