import assert from "@std/assert";
import { priceOf } from "../../tests/support/operation_request.ts";
import { readImageUsage } from "../dialects/media/operations/images.ts";
import type { BillableUsage } from "../pricing/pricing.ts";
import { usageBeforeBreak } from "./broken_answer.ts";

const byToken = priceOf({ output: 30_000_000n } as never);
const usage = { input_tokens: 10, output_tokens: 272 };

/** The output tokens and the cost that are read in an answer that broke off. */
function readIn(text: string, price = byToken, reportsCost = false) {
  const call = { price, target: { vendor: { reportsCost } } };
  const read = usageBeforeBreak(
    new TextEncoder().encode(text),
    call as Parameters<typeof usageBeforeBreak>[1],
    (answer) => readImageUsage((answer as { usage: unknown }).usage),
  );
  return read && [read.output, read.vendorCostUsd];
}

const begin = (members: Record<string, unknown>) => JSON.stringify(members).slice(0, -1);

Deno.test("a usage that came whole is read, and what only looks like one isn't", () => {
  assert.deepEqual(readIn(begin({ data: [], usage })), [272, undefined]);
  assert.deepEqual(readIn(begin({ usage, data: [{ b64_json: "AA" }] })), [272, undefined]);
  assert.deepEqual(readIn(begin({ usage }) + ',"data":[{"b64_json":"AA'), [272, undefined]);
  assert.equal(
    readIn(begin({ data: [{ usage }], text: `"usage":${JSON.stringify(usage)}` })),
    undefined,
  );
  assert.equal(readIn(begin({ data: [], usage }).slice(0, -1)), undefined);
  assert.equal(readIn("nothing"), undefined);
  // What is longer than a megabyte isn't read.
  assert.equal(readIn(begin({ data: Array(300_000).fill(0.5), usage })), undefined);
});

Deno.test("a usage of nothing is none, one in seconds alone is one", () => {
  const read = (usage: BillableUsage) =>
    usageBeforeBreak(
      new TextEncoder().encode("{}"),
      { price: byToken, target: { vendor: {} } } as Parameters<typeof usageBeforeBreak>[1],
      () => usage,
    );
  assert.equal(read({ input: 0, output: 0 }), undefined);
  assert.deepEqual(read({ input: 0, output: 0, seconds: 3 }), { input: 0, output: 0, seconds: 3 });
});

Deno.test("at a price per image a broken list is no usage, but a plausible cost is", () => {
  const perImage = priceOf({ perImage: 40_000_000_000n });
  const paid = begin({ data: [], usage: { ...usage, cost: 0.04 } });
  assert.equal(readIn(begin({ data: [], usage }), perImage), undefined);
  assert.equal(readIn(paid, perImage), undefined);
  assert.deepEqual(readIn(paid, perImage, true)?.[0], 272);
});
