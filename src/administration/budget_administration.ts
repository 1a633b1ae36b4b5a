import { parseUsd } from "../base/money.ts";
import {
  type RaisedLimit,
  readBudgetScope,
  readBudgetSpan,
  type StoredBudget,
} from "../budgets/budget.ts";
import type { BudgetService } from "../budgets/budget_service.ts";
import type { Account } from "../keys/account.ts";
import { Fault, missingOption } from "../shared/fault.ts";
import { momentOf } from "../shared/time_span.ts";
import type { Administrator } from "./administration.ts";

/** Limits with their names in the API; amounts are decimal strings in USD. */
export interface BudgetLimitOptions {
  usd?: string | undefined;
  raise_until?: string | null | undefined;
  raised_usd?: string | undefined;
}

/** Makes or replaces a budget of an account. Throws `OptionError`. */
export async function setBudget(
  budgets: Pick<BudgetService, "set">,
  { actor }: Administrator,
  account: Account,
  options: BudgetLimitOptions & { on: string; per: string },
): Promise<StoredBudget> {
  const limitNanos = limitOf(options);
  return await budgets.set({
    accountId: account.id,
    scope: readBudgetScope(options.on),
    per: readBudgetSpan(options.per),
    ...(limitNanos === undefined ? {} : { limitNanos }),
    raised: raisedBy(options) ?? null,
  }, actor);
}

/** Changes a budget's limits. Throws `OptionError` and `Fault("budget_not_found")`. */
export async function changeBudget(
  budgets: Pick<BudgetService, "change">,
  { actor }: Administrator,
  id: string,
  options: BudgetLimitOptions,
): Promise<StoredBudget> {
  const changed = await budgets.change(id, {
    limitNanos: limitOf(options),
    raised: raisedBy(options),
  }, actor);
  if (!changed) throw noBudget(id);
  return changed;
}

export function noBudget(id: string): Fault {
  return new Fault("budget_not_found", { message: `No budget has the id ${id}.` });
}

/** Returns the usual limit; undefined: no change. */
function limitOf({ usd, raise_until, raised_usd }: BudgetLimitOptions): bigint | undefined {
  const isRaised = Boolean(raise_until) && raised_usd === undefined;
  return usd === undefined || isRaised ? undefined : parseUsd(usd, 9);
}

/**
 * Reads a raised limit; undefined: no change, null: the limit is no longer raised. As on the command
 * line, a single amount beside `raise_until` is the raised limit.
 */
function raisedBy(
  { usd, raise_until, raised_usd }: BudgetLimitOptions,
): RaisedLimit | null | undefined {
  const amount = raised_usd ?? usd;
  if (raise_until && amount !== undefined) {
    return { nanos: parseUsd(amount, 9), until: momentOf(raise_until) };
  }
  if (raise_until) throw missingOption("raised_usd", "it is the limit until raise_until");
  if (raised_usd !== undefined) {
    throw missingOption("raise_until", "it says until when raised_usd is the limit");
  }
  return raise_until === null ? null : undefined;
}
