import assert from "@std/assert";
import type { RequestFacts } from "../../dialects/kernel/dialect.ts";
import { hostedWork as ofGenerate } from "../../dialects/text/generate/hosted.ts";
import { priceOf } from "../../../tests/support/operation_request.ts";
import {
  type HostedTool,
  type HostedWork,
  noCost,
  perUse,
  type ToolCost,
  unknownCost,
} from "../../dialects/kernel/hosted.ts";
import { finish, type Steps } from "../../base/steps.ts";
import { hostedWork as ofChat } from "../../dialects/text/chat/hosted.ts";
import { hostedWork as ofMessages } from "../../dialects/text/messages/hosted.ts";
import { hostedWork as ofResponses } from "../../dialects/text/responses/hosted.ts";
import { callCost } from "../../pricing/call_cost.ts";
import { Fault } from "../../shared/fault.ts";
import type { Usage } from "../../shared/usage.ts";
import { bundledPrices, createPrices } from "../../pricing/table/prices.ts";
import { createRegistry } from "../../vendors/registry.ts";
import { inputTokenBounds } from "../../shared/token_estimate.ts";
import {
  boundOf,
  chargeHosted,
  hostedTokens,
  refuseHosted,
  unreportedSearches,
} from "./hosted_work.ts";

const at = new Date("2026-11-22T00:00:00Z");
const registry = createRegistry({}, []);
const prices = createPrices({
  bundled: bundledPrices(),
  familyOf: (name) => registry.find(name),
});

/** The most that such calls cost when the vendor does all that the bound allows for. */
const cases: readonly {
  name: string;
  label: string;
  model: string;
  body: Record<string, unknown>;
  read: (body: unknown) => Steps<HostedWork>;
  used: Partial<Usage>;
}[] = [
  {
    name: "five searches where nobody sets a limit",
    label: "vendor-b",
    model: "gpt-5.4",
    body: { tools: [{ type: "web_search" }] },
    read: ofResponses,
    used: { webSearches: 5, input: 80_000 },
  },
  {
    name: "max_tool_calls",
    label: "vendor-b",
    model: "gpt-5.4",
    body: { tools: [{ type: "web_search" }], max_tool_calls: 40 },
    read: ofResponses,
    used: { webSearches: 40, input: 640_000 },
  },
  {
    name: "a fast tier with code",
    label: "vendor-b",
    model: "gpt-5.4",
    body: {
      service_tier: "priority",
      tools: [{ type: "code_interpreter", container: { type: "auto" } }],
    },
    read: ofResponses,
    used: { codeSessions: 5, input: 80_000, serviceTier: "priority" },
  },
  {
    name: "pictures of another model",
    label: "vendor-b",
    model: "gpt-5.4-nano",
    body: { tools: [{ type: "image_generation", model: "gpt-image-2" }] },
    read: ofResponses,
    used: {
      input: 1000,
      output: 1000 + 2 * 16_384,
      imageOutput: 2 * 16_384,
      otherModels: [{
        model: "gpt-image-2",
        usage: { input: 900, output: 2 * 16_384, imageOutput: 2 * 16_384 },
      }],
    },
  },
  {
    name: "the caller's max_uses, in the USA",
    label: "vendor-c",
    model: "claude-opus-5",
    body: {
      inference_geo: "us",
      tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 20 }],
    },
    read: ofMessages,
    used: { webSearches: 20, input: 320_000, region: "us" },
  },
  {
    name: "an advisor that costs more than its caller",
    label: "vendor-c",
    model: "claude-haiku-5-5",
    body: { tools: [{ type: "advisor_20260301", name: "advisor", model: "claude-fable-5-1" }] },
    read: ofMessages,
    used: {
      input: 6000,
      output: 1000 + 5 * 8192,
      otherModels: [{ model: "claude-fable-5-1", usage: { input: 5000, output: 5 * 8192 } }],
    },
  },
  {
    name: "a fallback that is dearer than the first",
    label: "vendor-c",
    model: "claude-haiku-5-5",
    body: { fallbacks: [{ model: "claude-fable-5-1" }] },
    read: ofMessages,
    used: {
      input: 2000,
      output: 2000,
      otherModels: [{ model: "claude-fable-5-1", usage: { input: 1000, output: 1000 } }],
    },
  },
  {
    name: "pages that are fetched",
    label: "vendor-c",
    model: "claude-sonnet-4-6",
    body: { tools: [{ type: "web_fetch_20260318", name: "web_fetch", max_content_tokens: 9000 }] },
    read: ofMessages,
    used: { input: 45_000 },
  },
  {
    name: "maps and searches",
    label: "vendor-d",
    model: "gemini-3.8-flash",
    body: { tools: [{ googleSearch: {} }, { google_maps: {} }] },
    read: ofGenerate,
    used: { webSearches: 5, mapsQueries: 5, input: 160_000 },
  },
];

for (const { name, label, model, body, read, used } of cases) {
  Deno.test(`the bound covers ${name}`, () => {
    const price = prices.find(label, model, at)!;
    const priceOf = (other: string) => prices.find(label, other, at);
    const terms = { price, priceOf, admitsUnpriced: false };
    const hosted = chargeHosted(finish(read(body)), terms, (path) => path);
    const tier = typeof body.service_tier === "string" ? body.service_tier : undefined;
    const facts: RequestFacts = {
      ...{ model, stream: false, wantsStreamUsage: true, endUser: undefined, choices: 1 },
      ...{ maxOutputTokens: 1000, serviceTier: tier, tags: {}, tagBlocks: [] },
    };
    const { inputTokens } = inputTokenBounds(JSON.stringify({ model, input: "Hello", ...body }));
    const usage: Usage = { output: 1000, ...used, input: used.input ?? 0 };
    const cost = callCost(usage, price, priceOf).nanos;
    const bound = boundOf(price, facts, inputTokens, hosted);
    const plain = boundOf(
      price,
      facts,
      inputTokens,
      chargeHosted({ tools: [], state: [] }, terms, String),
    );
    assert.ok(cost <= bound, `${cost} is more than ${bound}`);
    assert.ok(cost > plain, `without its tools it was ${plain}: the case says nothing`);
    // Not so wide that small balances could make no call.
    assert.ok(bound < cost * 12n, `${bound} for ${cost}`);
  });
}

Deno.test("a region without a price is refused, also one that every object knows", () => {
  const price = prices.find("vendor-c", "claude-opus-5", at)!;
  const terms = { price, priceOf: () => undefined, admitsUnpriced: false };
  for (const region of ["constructor", "__proto__", "mars"]) {
    const work = finish(ofMessages({ inference_geo: region }));
    assert.throws(
      () => chargeHosted(work, terms, String),
      (thrown: unknown) => thrown instanceof Fault && thrown.code === "unsupported_parameter",
      region,
    );
  }
});

/** A nano-dollar for each token, seven for each search; other models cost twice and half as much. */
const small = {
  ...priceOf({ input: 1000n, output: 1000n, perWebSearch: 7000n }),
  regions: { us: { numerator: 11n, denominator: 10n } },
  serviceTiers: { priority: { numerator: 2n, denominator: 1n } },
};
const others: Record<string, ReturnType<typeof priceOf>> = {
  dear: priceOf({ input: 2000n, output: 2000n }),
  cheap: priceOf({ input: 500n, output: 500n }),
};

/** The bound of a prompt of 100 tokens and, unless `asked` says otherwise, 1000 of the answer. */
function smallBound(
  work: Partial<HostedWork>,
  { price = small, admitsUnpriced = false, ...asked }: Partial<RequestFacts> & {
    price?: typeof small & { contextTokens?: number };
    admitsUnpriced?: boolean;
  } = {},
): bigint {
  const terms = { price, priceOf: (model: string) => others[model], admitsUnpriced };
  const facts: RequestFacts = {
    ...{ model: "m", stream: false, wantsStreamUsage: true, endUser: undefined, choices: 1 },
    ...{ maxOutputTokens: 1000, serviceTier: undefined, tags: {}, tagBlocks: [], ...asked },
  };
  const hosted = chargeHosted({ tools: [], state: [], ...work }, terms, (path) => path);
  return boundOf(price, facts, 100, hosted);
}

function tool(cost: ToolCost, more: Partial<HostedTool> = {}): HostedTool {
  return {
    path: "tools[0]",
    name: "a tool",
    cost,
    ...(more.name ? {} : { tokensPerUse: 10 }),
    ...more,
  };
}

const search = tool(perUse("perWebSearch"));
const maps = tool(perUse("perMapsQuery"));
const trusted = { admitsUnpriced: true };
const model = (name: string, role: "instead" | "besides", maxOutputTokens?: number) =>
  tool({ type: "model", model: name, role, ...(maxOutputTokens ? { maxOutputTokens } : {}) });

const bounds: [string, () => bigint, number | bigint][] = [
  ["no work", () => smallBound({}), 100 + 1000],
  ["a limit for all choices", () => smallBound({}, { choices: 3 }), 100 + 3 * 334],
  ["media that is fetched", () => smallBound({ fetchedTokens: 50 }), 150 + 1000],
  [
    "no media or answer beyond the model's context",
    () => smallBound({ fetchedTokens: 50 }, { price: { ...small, contextTokens: 120 } }),
    120 + 120,
  ],
  [
    "a region, whose factor tokens alone have",
    () => smallBound({ tools: [search], region: { path: "r", name: "us" } }),
    (5 * 10 + 1100) * 1.1 + 5 * 7,
  ],
  [
    "a tier",
    () => smallBound({ tier: { path: "t", name: "priority" } }, { serviceTier: "priority" }),
    2200,
  ],
  [
    "searches by two tools",
    () => smallBound({ tools: [search, search] }),
    2 * (5 * 10 + 5 * 7) + 1100,
  ],
  [
    "the caller's limit of one tool, and of all",
    () => smallBound({ tools: [{ ...search, maxUses: 9 }, search], maxUses: 8 }),
    2 * (8 * 10 + 8 * 7) + 1100,
  ],
  [
    "results of the usual size",
    () => smallBound({ tools: [tool(noCost, { name: "mcp" })] }),
    5 * 16_000 + 1100,
  ],
  [
    "uses that only the vendor knows the price of",
    () => smallBound({ tools: [tool(unknownCost), maps] }, trusted),
    2n * 5n * 20_000_000n + BigInt(2 * 5 * 10 + 1100),
  ],
  ["a dearer model instead", () => smallBound({ tools: [model("dear", "instead")] }), 2 * 1100],
  ["a cheaper model instead", () => smallBound({ tools: [model("cheap", "instead")] }), 1100],
  [
    "a model besides whose results are fed back",
    () =>
      smallBound({
        tools: [tool({ type: "model", model: "cheap", role: "besides" }, { name: "advisor" })],
      }),
    5 * 0.5 * 1100 + 5 * 16_000 + 1100,
  ],
  [
    "a model besides, once for each use, without tools of its own",
    () => smallBound({ tools: [model("dear", "besides", 50), search], fetchedTokens: 3 }),
    5 * 2 * (103 + 50) + 5 * 10 + 5 * 7 + 1103,
  ],
];
for (const [name, find, expected] of bounds) {
  Deno.test(`the bound counts ${name}`, () => assert.equal(find(), BigInt(expected)));
}

Deno.test("work without a price is refused, unless the vendor is trusted to say what it costs", () => {
  const unpriced: Partial<HostedWork>[] = [
    { tools: [tool(unknownCost)] },
    { tools: [maps] },
    { tier: { path: "tools[0]", name: "fast" } },
    { region: { path: "tools[0]", name: "mars" } },
  ];
  for (const work of unpriced) {
    const param = { code: "unsupported_parameter", param: "tools[0]" };
    assert.throws(() => smallBound(work), param, JSON.stringify(work));
    assert.ok(smallBound(work, trusted) >= 1100n);
    if (work.region) continue;
    const whole = { tools: [], state: [], ...work };
    assert.throws(() => refuseHosted(whole, false), param, JSON.stringify(work));
    refuseHosted(whole, true);
  }
  // No vendor's report has the price of another model.
  assert.throws(() => smallBound({ tools: [model("unlisted", "besides")] }, trusted), {
    code: "unsupported_parameter",
  });
  for (const tier of ["flex", "auto"]) {
    assert.equal(smallBound({ tier: { path: "t", name: tier } }), 1100n);
    refuseHosted({ tools: [tool(noCost)], state: [], tier: { path: "t", name: tier } }, false);
  }
});

Deno.test("an image tool is refused whose model is priced by the image: the vendor reports tokens", () => {
  const charge = (label: string, image: string) => {
    const work = finish(ofResponses({ tools: [{ type: "image_generation", model: image }] }));
    return chargeHosted(work, {
      price: priceOf({ input: 1n, output: 1n }),
      priceOf: (name) => prices.find(label, name, at),
      admitsUnpriced: false,
    }, (path) => path);
  };
  for (const [label, image] of [["vendor-b", "dall-e-3"], ["vendor-g", "grok-imagine-image"]]) {
    assert.throws(() => charge(label!, image!), { param: "tools[0]", message: /by the token/ });
  }
  assert.equal(charge("vendor-b", "gpt-image-2").models.length, 1);
});

Deno.test("state in the vendor's account is refused with the service's own key, whoever is trusted", () => {
  const state = [{ path: "tools[0].container", details: { kind: "container" } }];
  for (const isTrusted of [false, true]) {
    assert.throws(() => refuseHosted({ tools: [], state }, isTrusted), {
      ...{ code: "unsupported_parameter", param: "tools[0].container" },
      details: { kind: "container" },
    });
  }
});

Deno.test("results and searches of several tools are added up", () => {
  const tools = [search, { ...search, maxUses: 2, unreportedSearches: 3 }];
  assert.equal(hostedTokens({ tools, state: [], fetchedTokens: 7 }), 7 + 5 * 10 + 2 * 10);
  assert.equal(hostedTokens({ tools: [], state: [] }), 0);
  assert.equal(unreportedSearches({ tools: [...tools, tools[1]!], state: [] }), 6);
  assert.equal(unreportedSearches(undefined), 0);
});

Deno.test("hosted work is looked for in steps, however elements are nested", () => {
  const list = <T>(count: number, one: T): T[] => Array(count).fill(one);
  const text = { type: "text", text: "a" };
  const nested = list(10, {
    content: list(10, { content: list(10, { content: list(10, text) }) }),
  });
  const cases: [unknown, (body: unknown) => Steps<HostedWork>][] = [
    [{ messages: list(10, { content: list(1_000, text) }) }, ofChat],
    [{ messages: list(10, { content: list(1_000, text) }) }, ofMessages],
    [{ messages: nested }, ofMessages],
    [{ input: list(10, { content: list(1_000, text) }) }, ofResponses],
    [{ input: list(10, { type: "additional_tools", tools: list(1_000, {}) }) }, ofResponses],
    [{ contents: list(10, { parts: list(1_000, text) }) }, ofGenerate],
    [
      { contents: [{ parts: list(10, { functionResponse: { parts: list(1_000, text) } }) }] },
      ofGenerate,
    ],
  ];
  for (const [body, read] of cases) {
    const steps = [...read(body)].length;
    assert.ok(steps >= 9, `${steps}: ${JSON.stringify(body).slice(0, 60)}`);
  }
});

Deno.test("a request that has more than 20,000 tools in all is refused", () => {
  const tools = Array(5_001).fill({});
  const input = Array(4).fill({ type: "additional_tools", tools });
  const most = Array(4).fill({ type: "additional_tools", tools: tools.slice(1) });
  assert.equal(finish(ofResponses({ input: most })).tools.length, 20_000);
  const isRefused = (thrown: unknown) =>
    thrown instanceof Fault && thrown.code === "invalid_value" && thrown.param === "tools";
  const added = { type: "tool_addition", tool: { definition: { name: "a" } } };
  const members = Object.fromEntries(tools.map((tool, at) => [`tool${at}`, tool]));
  assert.throws(() => finish(ofResponses({ input })), isRefused);
  assert.throws(
    () => finish(ofMessages({ messages: Array(4).fill({ content: Array(5_001).fill(added) }) })),
    isRefused,
  );
  assert.throws(() => finish(ofGenerate({ tools: Array(4).fill(members) })), isRefused);
});
