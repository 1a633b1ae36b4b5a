import type { Interaction } from "../../src/shared/interaction.ts";
import type { Database } from "../../src/database/database.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { interactionRow } from "./interaction_row.ts";
import { Random } from "./random.ts";

/**
 * Writes calls for the 60 days before `now` as a small company makes them: fewer at night and at
 * weekends, growing in number, with some failures and a bad afternoon on the 9th. Writes no ledger
 * entries: charges are only in the calls' rows.
 */
export async function writeBusyMonths(
  database: Database,
  { accountId, keys, now, perDay = 160 }: {
    accountId: number;
    /** Ids of keys; the first make more calls. */
    keys: readonly string[];
    now: Date;
    perDay?: number;
  },
): Promise<void> {
  const random = new Random(30);
  const rows: Interaction[] = [];
  for (let hoursAgo = 60 * 24; hoursAgo >= 0; hoursAgo--) {
    const hour = new Date(now.getTime() - hoursAgo * 3_600_000);
    const wanted = perDay / 24 * busyness(hour) * (1.3 - hoursAgo / (60 * 24));
    const calls = Math.floor(wanted + random.next());
    for (let n = 0; n < calls; n++) {
      const at = new Date(hour.getTime() - random.below(3_600_000));
      rows.push(callAt(random, at, { accountId, id: `month-${hoursAgo}-${n}`, keys }));
    }
  }
  const interactions = createAnalyticsStore(database);
  for (let from = 0; from < rows.length; from += 500) {
    await interactions.insert(rows.slice(from, from + 500));
  }
}

function busyness(at: Date): number {
  const byDay = [6, 0].includes(at.getUTCDay()) ? 0.35 : 1.2;
  return byDay * (0.25 + 1.6 * Math.max(0, Math.sin((at.getUTCHours() - 6) / 12 * Math.PI)));
}

/** Weight, vendor, model, nano-dollars per input and per output token, milliseconds per token. */
const models = [
  [34, "vendor-b", "gpt-4.1", 2000, 8000, 9],
  [26, "vendor-b", "gpt-4.1-mini", 400, 1600, 5],
  [18, "vendor-c", "claude-sonnet-4-5", 3000, 15000, 12],
  [9, "vendor-d", "gemini-2.5-flash", 300, 2500, 4],
  [6, "vendor-f", "meta-llama/llama-3.3-70b-instruct", 120, 300, 7],
  [4, "vendor-g", "grok-4", 3000, 15000, 14],
  [3, "vendor-a", "Qwen/Qwen3-32B", 100, 300, 6],
] as const;

const apps = [[40, "support assistant"], [25, "checkout"], [15, "search"], [8, "reports"], [
  12,
  null,
]] as const;

function callAt(
  random: Random,
  at: Date,
  { accountId, id, keys }: { accountId: number; id: string; keys: readonly string[] },
): Interaction {
  const model = random.weighted(models.map((one) => [one[0], one] as const));
  const [, vendor, name, inputPrice, outputPrice, msPerToken] = model;
  const inputTokens = 300 + Math.floor(Math.exp(random.next() * 3.2) * 260);
  const outputTokens = 40 + Math.floor(Math.exp(random.next() * 2.4) * 70);
  const isBad = at.getUTCDate() === 9 && at.getUTCHours() > 12;
  const failed = random.chance(isBad ? 30 : 1);
  const status = failed ? "failed" : random.chance(1) ? "cancelled" : "completed";
  const costNanos = failed ? 0n : BigInt(inputTokens * inputPrice + outputTokens * outputPrice);
  const isOwn = vendor === "vendor-g";
  return interactionRow(id, {
    ...{ accountId, createdAt: at, requestId: `request of ${id}`, vendor, model: name, status },
    requestedModel: `${vendor}/${name}`,
    apiKeyId: keys[Math.min(random.below(keys.length), random.below(keys.length))]!,
    app: random.weighted(apps.map((one) => one)),
    mode: isOwn ? "stored_key" : "managed",
    httpStatus: failed ? 502 : 200,
    billingBasis: failed ? "none" : "reported",
    ...(failed ? {} : {
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      cacheReadTokens: random.chance(40) ? Math.floor(inputTokens * 0.7) : 0,
      reasoningTokens: name.startsWith("grok") ? Math.floor(outputTokens / 2) : 0,
    }),
    costNanos,
    chargedNanos: isOwn ? 0n : costNanos,
    latencyMs: failed ? 300 : 250 + Math.floor(outputTokens * msPerToken * (0.6 + random.next())),
  });
}
