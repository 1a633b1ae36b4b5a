import { createUuidv7 } from "../../src/base/ids.ts";
import { costOf, type PriceRow } from "../../src/pricing/pricing.ts";
import { pricedUsageText } from "../../src/repricing/repricing.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import { answers, questions } from "./texts.ts";

/** Returns a generator of numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A model that the demo's applications call. */
interface DemoModel {
  vendor: string;
  alias: string;
  model: string;
  /** How often it is called, relative to the others. */
  weight: number;
  /** Typical time of an answer. */
  ms: number;
}

const models: readonly DemoModel[] = [
  { vendor: "vendor-b", alias: "openai", model: "gpt-5-mini", weight: 5, ms: 1400 },
  { vendor: "vendor-c", alias: "anthropic", model: "claude-sonnet-4-6", weight: 4, ms: 2600 },
  { vendor: "vendor-d", alias: "google", model: "gemini-2.5-flash", weight: 3, ms: 900 },
  { vendor: "vendor-c", alias: "anthropic", model: "claude-haiku-4-5", weight: 2, ms: 800 },
  { vendor: "vendor-b", alias: "openai", model: "gpt-4.1", weight: 2, ms: 1900 },
];

const apps = [
  { app: "shop-assistant", flows: ["answer", "recommend"], weight: 6 },
  { app: "support", flows: ["classify", "draft-reply"], weight: 4 },
  { app: "reports", flows: ["summarise"], weight: 2 },
] as const;

const failures = [
  {
    errorCode: "upstream_error",
    httpStatus: 502,
    status: 503,
    message: "The engine is overloaded.",
  },
  {
    errorCode: "upstream_rate_limited",
    httpStatus: 429,
    status: 429,
    message: "Rate limit reached.",
  },
  { errorCode: "upstream_timeout", httpStatus: 504, status: null, message: "" },
] as const;

export const cohorts = ["prompt-long", "prompt-short"] as const;
const cohortDays = 21;
export const demoDays = 60;
const dayMs = 86_400_000;

/** The account and key of the demo's calls, the time of their end, and their prices. */
export interface LifeDeps {
  accountId: number;
  apiKeyId: string;
  /** When the last calls are made. */
  now: Date;
  priceOf: (vendor: string, model: string, at: Date) => PriceRow | undefined;
}

/**
 * Generates sixty days of calls up to `now`, oldest first: three applications, forty users, more
 * calls on weekdays and around midday, a few failures, and two cohorts in the last three weeks.
 * Costs are computed from the tokens with the price list.
 */
export function* demoCalls(deps: LifeDeps): Generator<SettledCall> {
  const random = seededRandom(20261123);
  for (let day = demoDays - 1; day >= 0; day--) {
    const begin = deps.now.getTime() - (day + 1) * dayMs;
    const isWeekend = [0, 6].includes(new Date(begin).getUTCDay());
    const growth = 1 + (demoDays - day) / demoDays;
    const count = Math.round((isWeekend ? 9 : 22) * growth * (0.8 + 0.4 * random()));
    const times = Array.from({ length: count }, () => begin + dayTime(random) * dayMs);
    for (const at of times.sort((one, other) => one - other)) {
      yield demoCall(deps, random, new Date(Math.round(at)), day < cohortDays);
    }
  }
}

/** Returns a random part of a day; most are around its middle. */
function dayTime(random: () => number): number {
  return (random() + random() + random()) / 3;
}

function demoCall(
  deps: LifeDeps,
  random: () => number,
  createdAt: Date,
  hasCohorts: boolean,
): SettledCall {
  const { vendor, alias, model, ms } = pick(models, random);
  const { app, flows } = pick(apps, random);
  const user = Math.floor(40 * random() ** 2);
  const topic = Math.floor(random() * questions.length);
  const cohortId = hasCohorts && app === "shop-assistant" ? cohorts[user % 2]! : null;
  const failure = random() < 0.03 ? failures[Math.floor(random() * failures.length)] : undefined;
  const id = createUuidv7({ now: () => createdAt })();
  const latencyMs = Math.round(ms * (0.5 + random() * 1.2) * (random() < 0.02 ? 6 : 1));
  const size = cohortId === "prompt-short" ? 0.4 : 1;
  const tokens = failure ? undefined : {
    input: Math.round((800 + 6000 * random() ** 2) * size),
    output: Math.round(80 + 700 * random() ** 2),
  };
  return {
    ...{ transactionId: id, createdAt, requestId: `demo-${id.slice(-12)}` },
    sessionId: `session-${user}-${Math.floor(createdAt.getTime() / dayMs)}`,
    ...{ userId: `customer-${user + 1}`, accountId: deps.accountId, apiKeyId: deps.apiKeyId },
    ...{ app, flow: flows[Math.floor(random() * flows.length)]!, cohortId },
    ...{ endpoint: "/chat/v1/chat/completions", dialect: "chat", vendor, model },
    ...{ requestedModel: `${alias}/${model}`, mode: "managed", stream: random() < 0.6 },
    ...outcome(deps, { vendor, model, createdAt, tokens, failure }),
    ...{ translationLoss: [], latencyMs, payloadTruncated: false },
    timeToFirstTokenMs: failure ? null : Math.round(latencyMs * (0.2 + 0.2 * random())),
    ...payloads(`${alias}/${model}`, topic, random, tokens),
  };
}

interface Outcome {
  vendor: string;
  model: string;
  createdAt: Date;
  tokens: { input: number; output: number } | undefined;
  failure: typeof failures[number] | undefined;
}

/** Returns how the call ended, and what it cost. */
function outcome(deps: LifeDeps, { vendor, model, createdAt, tokens, failure }: Outcome) {
  const price = deps.priceOf(vendor, model, createdAt);
  const usage = tokens && price ? tokens : undefined;
  // As in real records, a call that failed at the vendor costs nothing.
  const costNanos = price ? usage ? costOf(usage, price).nanos : 0n : null;
  return {
    status: failure ? "failed" : "completed",
    httpStatus: failure?.httpStatus ?? 200,
    errorCode: failure?.errorCode ?? null,
    finishReason: failure ? null : "stop",
    inputTokens: usage?.input ?? null,
    ...{ cacheReadTokens: usage ? 0 : null, cacheWriteTokens: usage ? 0 : null },
    outputTokens: usage?.output ?? null,
    reasoningTokens: usage ? 0 : null,
    totalTokens: usage ? usage.input + usage.output : null,
    ...{ costNanos, chargedNanos: costNanos ?? 0n },
    billingBasis: usage ? "reported" : "none",
    priceVersion: price?.version ?? null,
    usageRawText: usage
      ? JSON.stringify({ prompt_tokens: usage.input, completion_tokens: usage.output })
      : null,
    ...(usage ? { pricedUsageText: pricedUsageText(usage) } : {}),
    ...(failure ? { vendorAnswer: { status: failure.status, message: failure.message } } : {}),
  } as const;
}

function payloads(
  model: string,
  topic: number,
  random: () => number,
  tokens: Outcome["tokens"],
): Pick<SettledCall, "requestText" | "responseText"> {
  const order = 1000 + Math.floor(random() * 9000);
  const question = questions[topic]!.replace("#", `#${order}`);
  const content = answers[topic]!.replace("#", `#${order}`);
  const messages = [
    { role: "system", content: "You help the customers of a shop. Be brief." },
    { role: "user", content: question },
  ];
  const message = { role: "assistant", content };
  return {
    requestText: JSON.stringify({ model, messages }),
    responseText: tokens
      ? JSON.stringify({
        ...{ object: "chat.completion", model },
        choices: [{ index: 0, message, finish_reason: "stop" }],
        usage: { prompt_tokens: tokens.input, completion_tokens: tokens.output },
      })
      : null,
  };
}

function pick<T extends { readonly weight: number }>(list: readonly T[], random: () => number): T {
  const sum = list.reduce((total, { weight }) => total + weight, 0);
  let left = random() * sum;
  return list.find(({ weight }) => (left -= weight) < 0) ?? list[0]!;
}
