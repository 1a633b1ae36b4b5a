import type { Clock } from "../base/clock.ts";
import { type SetTimer, within } from "../base/deadline.ts";
import type { ApiKey } from "../keys/api_key.ts";
import type { Credit } from "./ledger.ts";
import type { ReadSpend } from "./spend_cap.ts";

/** An account's balance and a key's spend. Amounts in nano-dollars. */
export interface CreditSummary {
  balanceNanos: bigint;
  /** What the key was charged this day and this month (UTC); 0 for a key without caps. */
  dayNanos: bigint;
  monthNanos: bigint;
}

type SummaryKey = Pick<ApiKey, "id" | "accountId" | "capDayNanos" | "capMonthNanos">;

export interface CreditSummaryDeps {
  credit: (accountId: number) => Promise<Credit>;
  spent: ReadSpend;
  clock: Clock;
  setTimer?: SetTimer;
}

/** How old a summary may be, and how long a read of it may take. */
const freshMs = 1000;
/** Cap on the keys whose summaries are held. */
const maxHeld = 10_000;

/**
 * Builds the function that reads summaries, for callers that poll: it reads the store at most once
 * a second for each key. Undefined while the store can't be reached or takes longer than a second.
 */
export function createCreditSummaries(
  deps: CreditSummaryDeps,
): (key: SummaryKey) => Promise<CreditSummary | undefined> {
  const { clock, setTimer } = deps;
  const held = new Map<string, { atMs: number; summary: Promise<CreditSummary | undefined> }>();
  return (key) => {
    const nowMs = clock.monotonicMs();
    const existing = held.get(key.id);
    if (existing && nowMs - existing.atMs < freshMs) return existing.summary;
    if (held.size >= maxHeld) held.clear();
    const read = readSummary(deps, key).catch(() => undefined);
    const summary = within(freshMs, read, undefined, setTimer);
    held.set(key.id, { atMs: nowMs, summary });
    return summary;
  };
}

async function readSummary(
  { credit, spent, clock }: CreditSummaryDeps,
  { id, accountId, capDayNanos, capMonthNanos }: SummaryKey,
): Promise<CreditSummary> {
  const isCapped = capDayNanos !== null || capMonthNanos !== null;
  const [{ balanceNanos }, sums] = await Promise.all([
    credit(accountId),
    isCapped ? spent([id], clock.now()) : undefined,
  ]);
  return { balanceNanos, ...(sums?.get(id) ?? { dayNanos: 0n, monthNanos: 0n }) };
}
