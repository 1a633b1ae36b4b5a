import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { CanonicalEvent } from "../dialects/kernel/canonical.ts";
import { estimateTokens } from "../shared/token_estimate.ts";
import type { InteractionStatus, Mode, SettledCall } from "../shared/interaction.ts";
import type { PriceRow } from "../pricing/pricing.ts";
import type { Usage } from "../shared/usage.ts";
import { type BillTerms, Meter, plainBill, recordBill } from "./meter.ts";

/** 1 USD per million tokens in, 2 out, 0.1 cached: in pico-dollars per token. */
const price: PriceRow = {
  label: "vendor-b",
  model: "m",
  rates: { input: 1_000_000n, output: 2_000_000n, cacheRead: 100_000n },
  contextTiers: [],
  serviceTiers: {},
  version: "v",
  source: "test",
};

const start: CanonicalEvent = { type: "start", id: "c", model: "m-2026", created: 1 };
const open: CanonicalEvent = {
  type: "block-start",
  choice: 0,
  block: 0,
  content: { kind: "text" },
};
const words = (text: string): CanonicalEvent => ({
  type: "block-delta",
  choice: 0,
  block: 0,
  text,
});
const finish: CanonicalEvent = { type: "finish", choice: 0, reason: "stop", raw: "stop" };
const report = (usage: Usage): CanonicalEvent => ({ type: "usage", usage });

const said = "twelve chars"; // 3 tokens by estimate
const promptTokens = 100;

interface Ending
  extends Partial<Pick<BillTerms, "countHosted" | "unreportedSearches" | "drawingModel">> {
  status?: InteractionStatus;
  mode?: Mode;
  price?: PriceRow | undefined;
  boundNanos?: bigint;
  believedNanos?: bigint | undefined;
  vendorCostBelieved?: boolean;
  maxOutputTokens?: number;
  dearerTier?: string | undefined;
}

function bill(events: readonly CanonicalEvent[], ending: Ending = {}, maxChars = 1000) {
  const meter = new Meter(maxChars, () => 0);
  meter.listen(events);
  let counted = 0;
  const result = meter.bill({
    status: "completed",
    mode: "managed",
    boundNanos: 1_000_000_000n,
    price,
    priceOf: () => undefined,
    vendorCostBelieved: false,
    promptUsage: () => {
      counted++;
      return { input: promptTokens };
    },
    ...ending,
  });
  return { ...result, counted };
}

interface Row {
  name: string;
  events: readonly CanonicalEvent[];
  ending?: Ending;
  usage: Usage | undefined;
  basis: string;
  /** Nano-dollars. */
  cost: bigint | null;
  charged?: bigint;
}

const whole = [start, open, words(said), finish];
const usage: Usage = { input: 50, output: 10 };
const rows: Row[] = [
  {
    name: "an answer that ended, with usage: the vendor's numbers",
    events: [...whole, report(usage)],
    usage,
    basis: "reported",
    cost: 70_000n,
  },
  {
    name: "usage before the finish counts too",
    events: [start, open, report(usage), words(said), finish],
    usage,
    basis: "reported",
    cost: 70_000n,
  },
  {
    name: "several reports: the last wins, they are never added",
    events: [...whole, report({ input: 50, output: 3 }), report({ input: 50, output: 7 })],
    usage: { input: 50, output: 7 },
    basis: "reported",
    cost: 64_000n,
  },
  {
    name: "a reported 0 stays 0 and costs nothing",
    events: [...whole, report({ input: 0, output: 0, cacheRead: 0 })],
    usage: { input: 0, output: 0, cacheRead: 0 },
    basis: "reported",
    cost: 0n,
  },
  {
    name: "cached tokens at their own price",
    events: [...whole, report({ input: 50, output: 0, cacheRead: 40 })],
    usage: { input: 50, output: 0, cacheRead: 40 },
    basis: "reported",
    cost: 14_000n,
  },
  {
    name: "usage that never came: the text is counted",
    events: whole,
    usage: { input: 100, output: 3 },
    basis: "estimated",
    cost: 106_000n,
  },
  {
    name: "an empty answer without usage costs its prompt",
    events: [start, finish],
    usage: { input: 100, output: 0 },
    basis: "estimated",
    cost: 100_000n,
  },
  {
    name: "what the vendor says it charged",
    events: [...whole, report({ ...usage, vendorCostUsd: "0.000123456789" })],
    ending: { vendorCostBelieved: true },
    usage: { ...usage, vendorCostUsd: "0.000123456789" },
    basis: "vendor_cost",
    cost: 123_457n,
  },
  {
    name: "a charge of 0 that the vendor is believed",
    events: [...whole, report({ ...usage, vendorCostUsd: "0.000000000000" })],
    ending: { vendorCostBelieved: true },
    usage: { ...usage, vendorCostUsd: "0.000000000000" },
    basis: "vendor_cost",
    cost: 0n,
  },
  {
    name: "a charge of a vendor that isn't believed",
    events: [...whole, report({ ...usage, vendorCostUsd: "9" })],
    usage: { ...usage, vendorCostUsd: "9" },
    basis: "reported",
    cost: 70_000n,
  },
  {
    name: "a believed vendor that says no charge: the price table",
    events: [...whole, report(usage)],
    ending: { vendorCostBelieved: true },
    usage,
    basis: "reported",
    cost: 70_000n,
  },
  {
    name: "no price known: no cost",
    events: [...whole, report(usage)],
    ending: { price: undefined },
    usage,
    basis: "reported",
    cost: null,
    charged: 0n,
  },
];

const cut: Row[] = [
  {
    name: "left before anything came: nothing",
    events: [],
    ending: { status: "cancelled" },
    usage: undefined,
    basis: "none",
    cost: 0n,
  },
  {
    name: "left after the start alone: nothing",
    events: [start],
    ending: { status: "cancelled" },
    usage: undefined,
    basis: "none",
    cost: 0n,
  },
  {
    name: "the vendor failed before its first word: nothing",
    events: [],
    ending: { status: "failed" },
    usage: undefined,
    basis: "none",
    cost: 0n,
  },
  {
    name: "left in the middle: prompt and what was produced, never free",
    events: [start, open, words(said)],
    ending: { status: "cancelled" },
    usage: { input: 100, output: 3 },
    basis: "estimated",
    cost: 106_000n,
  },
  {
    name: "left between the finish and the usage: counted, never free",
    events: whole,
    ending: { status: "cancelled" },
    usage: { input: 100, output: 3 },
    basis: "estimated",
    cost: 106_000n,
  },
  {
    name: "left after the last report of an answer that ended: the vendor's numbers",
    events: [...whole, report(usage)],
    ending: { status: "cancelled" },
    usage,
    basis: "reported",
    cost: 70_000n,
  },
  {
    name: "the stream was cut after a report that lags: the larger count holds",
    events: [start, open, report({ input: 50, output: 1, cacheRead: 40 }), words(said)],
    ending: { status: "truncated" },
    usage: { input: 50, output: 3, cacheRead: 40 },
    basis: "estimated",
    cost: 20_000n,
  },
  {
    name: "the stream was cut after a report that is ahead: the vendor's count",
    events: [start, open, words(said), report({ input: 50, output: 9 })],
    ending: { status: "truncated" },
    usage: { input: 50, output: 9 },
    basis: "estimated",
    cost: 68_000n,
  },
  {
    name: "cut, and the report knew no prompt yet: the prompt is counted",
    events: [start, report({ input: 0, output: 0 }), open, words(said)],
    ending: { status: "failed" },
    usage: { input: 100, output: 3 },
    basis: "estimated",
    cost: 106_000n,
  },
  {
    name: "cut, with a charge reported before the end: it lags, so it isn't used",
    events: [start, open, report({ ...usage, vendorCostUsd: "0.0" }), words(said)],
    ending: { status: "cancelled", vendorCostBelieved: true },
    usage: { ...usage, vendorCostUsd: "0.0" },
    basis: "estimated",
    cost: 70_000n,
  },
  {
    name: "a tool call whose arguments never came was begun: its name counts",
    events: [{ ...open, content: { kind: "tool-call", id: "t", name: "look_up", custom: false } }],
    ending: { status: "cancelled" },
    usage: { input: 100, output: 2 },
    basis: "estimated",
    cost: 104_000n,
  },
];

for (
  const { name, events, ending, usage, basis, cost, charged = cost ?? 0n } of [...rows, ...cut]
) {
  Deno.test(`${name} (${basis})`, () => {
    const managed = bill(events, ending);
    assert.deepEqual([managed.usage, managed.basis], [usage, basis]);
    assert.deepEqual([managed.costNanos, managed.chargedNanos], [cost, charged]);
    for (const mode of ["stored_key", "dual_key"] as const) {
      const own = bill(events, { ...ending, mode });
      assert.deepEqual([own.costNanos, own.chargedNanos], [cost, 0n], mode);
    }
  });
}

Deno.test("the prompt is counted only where the vendor's count is missing", () => {
  assert.equal(bill([...whole, report(usage)]).counted, 0);
  assert.equal(bill(whole).counted, 1);
});

Deno.test("text beyond the record's cap is billed by its length", () => {
  const long = "abcd".repeat(1000);
  const { usage } = bill([start, open, words(long), finish], {}, 40);
  assert.equal(usage?.output, estimateTokens(long));
});

Deno.test("pictures and sound are counted as such where no tokens are reported", () => {
  const block = (at: number, media: "image" | "audio", mimeType: string): CanonicalEvent => ({
    type: "block-start",
    choice: 0,
    block: at,
    content: { kind: "media", media, mimeType, id: undefined },
  });
  const data = (at: number, text: string) => ({ ...words(text), block: at }) as CanonicalEvent;
  const second = "A".repeat(64_000); // of 24,000 samples of two bytes
  const { usage, basis } = bill([
    ...[start, block(0, "image", "image/png"), data(0, "A".repeat(2_000_000))],
    ...[block(1, "audio", "audio/L16;rate=24000"), data(1, second), data(1, second)],
    ...[{ ...open, block: 2 } as CanonicalEvent, data(2, said)],
  ], { status: "cancelled" });
  assert.equal(basis, "estimated");
  assert.deepEqual(usage, {
    input: 100,
    output: 1290 + 50 + 3,
    imageOutput: 1290,
    audioOutput: 50,
  });
});

Deno.test("an image's tokens are what its vendor reports beside thoughts and words, if it lists none", () => {
  const image: CanonicalEvent = {
    ...{ type: "block-start", choice: 0, block: 1 },
    content: { kind: "media", media: "image", mimeType: "image/png", id: undefined },
  };
  const data = { ...words("A".repeat(2000)), block: 1 } as CanonicalEvent;
  const billed = (reported: Partial<Usage>, vendorCostBelieved = true) => {
    const usage = { input: 9, output: 1393, reasoning: 100, ...reported };
    const events = [start, open, words(said), image, data, report(usage), finish];
    const result = bill(events, { vendorCostBelieved });
    return [result.usage?.imageOutput, result.usage?.output, result.basis];
  };
  assert.deepEqual(billed({}), [1290, 1393, "estimated"]);
  assert.deepEqual(billed({ imageOutput: 1120 }), [1120, 1393, "reported"]);
  assert.deepEqual(billed({ output: 50 }), [0, 50, "estimated"]);
  assert.deepEqual(billed({ vendorCostUsd: "0.04" }), [undefined, 1393, "vendor_cost"]);
  assert.deepEqual(billed({ vendorCostUsd: "0.04" }, false), [1290, 1393, "estimated"]);
});

Deno.test("usage that came before the answer and never again says nothing of its output", () => {
  const early: CanonicalEvent = {
    type: "usage",
    usage: { input: 50, output: 1 },
    isEarly: true,
  };
  const counted = bill([start, early, open, words(said), finish]);
  assert.deepEqual([counted.usage, counted.basis], [{ input: 50, output: 3 }, "estimated"]);
  const reported = bill([
    start,
    early,
    open,
    words(said),
    report({ input: 50, output: 2 }),
    finish,
  ]);
  assert.deepEqual([reported.usage?.output, reported.basis], [2, "reported"]);
});

Deno.test("an estimate counts sealed reasoning by its length, beyond what is shown of it", () => {
  const thought = (summary: string, dialect: DialectName, chars: number): CanonicalEvent[] => [
    { type: "block-start", choice: 0, block: 0, content: { kind: "reasoning" } },
    words(summary),
    {
      ...{ type: "block-end", choice: 0, block: 0 },
      opaque: { dialect, kind: "sealed", value: "A".repeat(chars) },
    },
  ];
  const tokens = (events: CanonicalEvent[], ending: Ending = {}) =>
    bill([start, ...events], { status: "cancelled", ...ending }).usage?.output;
  // As recorded: 128 tokens of OpenAI's, and 30 of Anthropic's.
  assert.equal(tokens(thought("", "responses", 1572)), 128);
  assert.equal(tokens(thought("", "messages", 688)), 16);
  assert.equal(tokens(thought(said, "responses", 1572)), 128);
  assert.equal(tokens(thought(said, "responses", 1060)), 3);
  assert.equal(tokens(thought("", "generate", 9000)), 0);
  assert.equal(tokens(thought("", "responses", 90_000), { maxOutputTokens: 500 }), 500);
  const reported = report({ input: 1, output: 7, reasoning: 4 });
  assert.equal(tokens([...thought("", "responses", 1572), reported, finish]), 7);
});

Deno.test("an estimate has no more output than the call can have", () => {
  const events = [start, open, words("word ".repeat(4000))];
  const { usage } = bill(events, { status: "cancelled", maxOutputTokens: 70 });
  assert.equal(usage?.output, 70);
  const reported = bill([...events, report({ input: 1, output: 90 })], {
    ...{ status: "cancelled", maxOutputTokens: 70 },
  });
  assert.equal(reported.usage?.output, 90);
});

Deno.test("the tier of an estimate is the vendor's word, else the dearer one that was asked for", () => {
  const tierOf = (tier: string | undefined, dearerTier?: string) => {
    const began = tier === undefined ? start : { ...start, serviceTier: tier } as CanonicalEvent;
    return bill([began, open, words(said)], { status: "cancelled", dearerTier }).usage?.serviceTier;
  };
  assert.equal(tierOf("flex", "priority"), "flex");
  assert.equal(tierOf(undefined, "priority"), "priority");
  assert.equal(tierOf(undefined), undefined);
});

Deno.test("the first token is the first block or word, not the start; later ones don't move it", () => {
  let nowMs = 10;
  const meter = new Meter(100, () => nowMs);
  meter.listen([start]);
  assert.equal(meter.firstTokenMs, undefined);
  nowMs = 25;
  meter.listen([open]);
  nowMs = 30;
  meter.listen([words("x")]);
  assert.equal(meter.firstTokenMs, 25);
});

Deno.test("the finish is that of the first answer that ended, the model the vendor's own", () => {
  const meter = new Meter(100, () => 0);
  assert.deepEqual([meter.finishReason, meter.reportedModel], [undefined, undefined]);
  meter.listen([start, { ...finish, choice: 1, reason: "length" }, finish]);
  assert.deepEqual([meter.finishReason, meter.reportedModel], ["length", "m-2026"]);
});

Deno.test("the folded answer is there for the record, cut at the cap", () => {
  const meter = new Meter(6, () => 0);
  meter.listen([start, open, words("twelve chars")]);
  const answer = meter.answer();
  assert.equal(answer.choices[0]?.parts[0]?.text, "twelve");
  assert.equal(answer.truncated, true);
});

Deno.test("the vendor's reported cost is compared with its list price, never with an estimate", () => {
  const events = [...whole, report({ ...usage, vendorCostUsd: "0.000123456789" })];
  const listed = (ending: Ending) => bill(events, ending).listCostNanos;
  assert.equal(listed({ vendorCostBelieved: true }), 70_000n);
  assert.equal(listed({ vendorCostBelieved: true, price: { ...price, fallback: true } }), null);
  assert.equal(listed({ vendorCostBelieved: true, price: undefined }), null);
  assert.equal(listed({ vendorCostBelieved: false }), null);
});

Deno.test("the list price stands in the record where there is one", () => {
  const events = [...whole, report({ ...usage, vendorCostUsd: "0.000123456789" })];
  const listed = (vendorCostBelieved: boolean) => {
    const record = {} as SettledCall;
    recordBill(record, bill(events, { vendorCostBelieved }), (act) => act());
    return record.listCostUsd;
  };
  assert.deepEqual([listed(true), listed(false)], ["0.000070000", undefined]);
});

Deno.test("a record has its bill's tokens, money and the vendor's own words; null is what nobody counted", () => {
  const recorded = (more: Partial<Usage>, attempt = <T>(act: () => T, _otherwise: T) => act()) => {
    const record = {} as SettledCall;
    recordBill(record, bill([...whole, report({ ...usage, ...more })]), attempt);
    const { pricedUsageText: _, ...columns } = record;
    return columns;
  };
  const plain = {
    ...{ inputTokens: 50, outputTokens: 10, totalTokens: 60, reasoningTokens: null },
    ...{ cacheReadTokens: null, cacheWriteTokens: null, usageRawText: null },
    ...{ costNanos: 70_000n, chargedNanos: 70_000n, billingBasis: "reported" },
  };
  assert.deepEqual(recorded({}), plain);
  const raw = { output_tokens: 10 };
  const cost = { costNanos: 67_300n, chargedNanos: 67_300n };
  assert.deepEqual(
    recorded({ cacheRead: 3, cacheWrite: 4, cacheWriteLong: 5, reasoning: 6, raw }),
    {
      ...{ ...plain, ...cost, cacheReadTokens: 3, cacheWriteTokens: 9, reasoningTokens: 6 },
      usageRawText: '{"output_tokens":10}',
    },
  );
  assert.equal(recorded({ cacheWriteLong: 5 }).cacheWriteTokens, 5);
  assert.equal(recorded({ raw }, (_act, otherwise) => otherwise).usageRawText, null);
});

Deno.test("the usage of a whole answer that can't be read is what its vendor reported", () => {
  const meter = new Meter(1000, () => 0);
  meter.unread(usage, said.length);
  const ending = { status: "failed", mode: "managed", boundNanos: 1_000_000_000n } as const;
  const { basis, usage: billed } = meter.bill({
    ...{ ...ending, price, priceOf: () => undefined, vendorCostBelieved: false },
    promptUsage: () => ({ input: promptTokens }),
  });
  assert.deepEqual([basis, billed], ["reported", usage]);
});

Deno.test("a whole answer that can't be read and reports nothing is counted by its text and pictures", () => {
  const billed = (chars: number, pieces?: number) => {
    let nowMs = 0;
    const meter = new Meter(1000, () => ++nowMs);
    meter.unread(undefined, chars, pieces);
    meter.unread(undefined, chars);
    const ending = { status: "failed", mode: "managed", boundNanos: 1_000_000_000n } as const;
    const { basis, usage: counted } = meter.bill({
      ...{ ...ending, price, priceOf: () => undefined, vendorCostBelieved: false },
      promptUsage: () => ({ input: promptTokens }),
    });
    return [meter.firstTokenMs, basis, counted];
  };
  const pictures = { input: 100, output: 6 + 2 * 1290, imageOutput: 2 * 1290 };
  assert.deepEqual(billed(11, 2), [1, "estimated", pictures]);
  assert.deepEqual(billed(11), [1, "estimated", { input: 100, output: 6 }]);
  const [firstTokenMs, , counted] = billed(0);
  assert.deepEqual([firstTokenMs, counted], [undefined, undefined], "nothing came");
});

Deno.test("the vendor's work in an answer is counted where its usage counts less or nothing", () => {
  const block = (at: number): CanonicalEvent => ({
    ...{ type: "block-start", choice: 0, block: at },
    content: { kind: "vendor", dialect: "messages", value: { search: at } },
  });
  const countHosted = (work: readonly unknown[]) => ({ webSearches: work.length, xSearches: 1 });
  const usageOf = (reported: Partial<Usage>, events = [block(1), block(2)], writtenTokens = 0) =>
    bill([start, ...events, open, words(said), report({ input: 9, output: 9, ...reported })], {
      status: "cancelled",
      countHosted: (work) => ({ ...countHosted(work), writtenTokens }),
    }).usage;
  const counted = { input: 9, output: 9, webSearches: 2, xSearches: 1 };
  assert.deepEqual(usageOf({}), counted);
  assert.deepEqual(usageOf({ webSearches: 1, xSearches: 4 }), { ...counted, xSearches: 4 });
  assert.deepEqual(usageOf({}, []), { input: 9, output: 9 });
  const longer = { ...counted, output: estimateTokens(said) + 30 };
  assert.deepEqual(usageOf({}, undefined, 30), longer);
});

Deno.test("a bill that can't be made costs the bound, and nothing with the caller's own key", () => {
  const counted = { usage: { input: 1, output: 1 }, basis: "reported" } as const;
  const terms: BillTerms = {
    ...{ status: "completed", mode: "managed", boundNanos: 7n, vendorCostBelieved: false },
    ...{ price: {} as PriceRow, priceOf: () => undefined, promptUsage: () => ({ input: 1 }) },
  };
  const amounts = (more: Partial<BillTerms> = {}) => {
    const { basis, costNanos, chargedNanos } = plainBill(counted, { ...terms, ...more });
    return [basis, costNanos, chargedNanos];
  };
  assert.deepEqual(amounts(), ["estimated", 7n, 7n]);
  assert.deepEqual(amounts({ mode: "stored_key", boundNanos: null }), ["estimated", null, 0n]);
  assert.deepEqual(amounts({ boundNanos: null }), ["estimated", null, 0n]);
  assert.deepEqual(amounts({ price, boundNanos: 5000n }), ["reported", 3000n, 3000n]);
});

Deno.test("pictures that the report leaves out are added to the output of the call", () => {
  const drawn: CanonicalEvent[] = [
    {
      ...{ type: "block-start", choice: 0, block: 0 },
      content: { kind: "media", media: "image", mimeType: "image/png", id: undefined },
    },
    words("iVBORw0KGgo"),
    report({ input: 1, output: 5 }),
    finish,
  ];
  const { usage } = bill([start, ...drawn], {
    drawingModel: { model: "d", tokensPerPicture: 100 },
  });
  assert.deepEqual([usage?.output, usage?.imageOutput], [105, 100]);
});

Deno.test("searches that a tool always makes are billed where usage counts fewer", () => {
  const searchesOf = (webSearches: number | undefined, unreportedSearches: number) =>
    bill([...whole, report({ ...usage, ...(webSearches === undefined ? {} : { webSearches }) })], {
      unreportedSearches,
    }).usage?.webSearches;
  assert.deepEqual([searchesOf(undefined, 2), searchesOf(1, 2), searchesOf(3, 2)], [2, 2, 3]);
  assert.equal(searchesOf(undefined, 0), undefined);
});

Deno.test("a report beyond the bound is charged as far as the pictures can be text", () => {
  const billed = (input: number, believedNanos?: bigint) => {
    const bounds = { boundNanos: 1_000_000n, believedNanos };
    const events = [...whole, report({ input, output: 0 })];
    const { basis, costNanos, chargedNanos } = bill(events, bounds);
    return [basis, costNanos, chargedNanos];
  };
  assert.deepEqual(billed(20_000), ["disputed", 1_000_000n, 1_000_000n]);
  assert.deepEqual(billed(20_000, 20_000_000n), ["reported", 20_000_000n, 20_000_000n]);
  assert.deepEqual(billed(20_001, 20_000_000n), ["disputed", 1_000_000n, 1_000_000n]);
});
