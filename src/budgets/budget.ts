import type { AuditNote } from "../audit/audit.ts";
import { nanosToUsd } from "../base/money.ts";
import type {
  LeaseRequest,
  LeaseReturn,
  LeasesReturned,
  LeaseTaken,
  OpenLease,
} from "../credit/ledger.ts";
import { OptionError } from "../shared/fault.ts";
import { isTagValue, maxTagLength } from "../shared/prompt_tags.ts";
import { longestEndUser } from "../shared/storable_text.ts";
import { startOfDay, startOfMonth } from "../shared/time_span.ts";

export const budgetLimits = { perAccount: 10_000 } as const;

/** As long as calls may name an app or an end user: a longer name would limit no call. */
export const budgetNameLengths = { app: maxTagLength, user: longestEndUser } as const;

/** What a budget is on: all calls of the account, those of an app, or those of an end user. */
export interface BudgetScope {
  readonly kind: "account" | "app" | "user";
  /** The app or the end user; empty for the account. */
  readonly name: string;
}

export type BudgetSpan = "day" | "month";

/** Until `until` the limit is `nanos`. */
export interface RaisedLimit {
  readonly nanos: bigint;
  readonly until: Date;
}

/** What may be spent in each day or month of UTC. Amounts in nano-dollars. */
export interface Budget {
  readonly id: string;
  readonly accountId: number;
  readonly scope: BudgetScope;
  readonly per: BudgetSpan;
  readonly limitNanos: bigint;
  readonly raised: RaisedLimit | null;
}

export interface StoredBudget extends Budget {
  createdAt: Date;
  /** Charged in the present period. */
  spentNanos: bigint;
  /** Held of it by processes, for calls under way and ahead of them. */
  leasedNanos: bigint;
}

export type NewBudget = Omit<Budget, "id">;

/**
 * What an operator sets; it takes the place of the budget with the same scope and span. Without a
 * limit the one of that budget stays, as where it is raised for a while.
 */
export type BudgetRequest = Omit<NewBudget, "limitNanos"> & { readonly limitNanos?: bigint };

/** A budget that a process learns of; a removed one has no scope any more. */
export type BudgetChange = Budget | { readonly id: string; readonly accountId: number };

/** One day or month of a budget. */
export interface BudgetPeriod {
  readonly budgetId: string;
  readonly startsAt: Date;
}

/** A period that came to 80, 95 or 100 % of its limit. */
export interface ReachedBudget extends BudgetPeriod {
  readonly accountId: number;
  readonly scope: BudgetScope;
  readonly per: BudgetSpan;
  readonly percent: number;
  readonly limitNanos: bigint;
  readonly spentNanos: bigint;
}

/** What of a budget's limits changes. Undefined: it stays; `raised` null: it is taken back. */
export interface ChangedLimits {
  limitNanos?: bigint | undefined;
  raised?: RaisedLimit | null | undefined;
}

/** Where budgets live. Implemented in `src/budgets/store/budgets.ts`. */
export interface BudgetStore {
  /**
   * `id` is for a new one; `prior` gives what calls were charged before it was there. Undefined where the account has `budgetLimits.perAccount`.
   */
  set(id: string, budget: NewBudget, options: {
    now: Date;
    prior: (since: Date) => Promise<bigint>;
    audit?: (written: Budget) => AuditNote;
  }): Promise<StoredBudget | undefined>;
  /** One write: two changes of different limits both hold. Undefined where nobody has this id. */
  change(
    id: string,
    limits: ChangedLimits,
    options: { now: Date; audit?: (written: Budget) => AuditNote },
  ): Promise<StoredBudget | undefined>;
  /** Undefined where the account has none of this id; without an account, where nobody has. */
  remove(
    id: string,
    options: { accountId?: number; audit?: (removed: Budget) => AuditNote },
  ): Promise<Budget | undefined>;
  /** By account, scope and name, with the sums of the periods at `now`. */
  list(query: { accountId?: number; now: Date; id?: string }): Promise<StoredBudget[]>;
  /** Those of which the most is spent, in proportion to their limits. */
  fullest(now: Date, limit: number): Promise<StoredBudget[]>;
  /** What changed at or after a time of the database; with null all that there are. */
  changedSince(since: Date | null): Promise<{ now: Date; changes: BudgetChange[] }>;
  /** Forgets budgets that were removed before this many minutes, and periods before `before`. */
  sweep(removedMinutes: number, before: Date): Promise<void>;
  /** One conditional write; a limit that was lowered meanwhile counts, a raised one doesn't. */
  take(
    request: LeaseRequest<BudgetPeriod>,
    limit: { atMost: bigint; now: Date },
  ): Promise<LeaseTaken>;
  release(back: LeaseReturn<BudgetPeriod>, now: Date): Promise<bigint>;
  renew(held: readonly OpenLease<BudgetPeriod>[], seconds: number): Promise<ReadonlySet<string>>;
  /** In the order of `periods`. */
  available(periods: readonly BudgetPeriod[], now: Date): Promise<bigint[]>;
  sweepExpired(): Promise<LeasesReturned>;
  takeBack(processId: string): Promise<LeasesReturned>;
}

const scopeForm = "expected account, app:NAME or user:ID";

/**
 * `account`, `app:NAME` or `user:ID`, with a name that calls can carry: apps as prompt tags do, which
 * are trimmed; end users differ by blanks too. Throws `OptionError`.
 */
export function readBudgetScope(text: string): BudgetScope {
  if (text === "account") return { kind: "account", name: "" };
  const [, kind, written = ""] = /^(app|user):(.+)$/s.exec(text) ?? [];
  const name = kind === "app" ? written.trim() : written;
  if (name === "") {
    throw new OptionError("on", `'${text.slice(0, 100)}' is not valid; ${scopeForm}`);
  }
  if (kind === "app" && !isTagValue(name)) {
    const most = `at most ${budgetNameLengths.app} characters and no control characters`;
    throw new OptionError("on", `the name of an app has ${most}`);
  }
  if (name.length > budgetNameLengths.user) {
    const most = `at most ${budgetNameLengths.user} characters`;
    throw new OptionError("on", `the id of an end user has ${most}`);
  }
  return { kind: kind as "app" | "user", name };
}

export function budgetScopeText({ kind, name }: BudgetScope): string {
  return kind === "account" ? kind : `${kind}:${name}`;
}

/** Throws `OptionError`. */
export function readBudgetSpan(text: string): BudgetSpan {
  if (text === "day" || text === "month") return text;
  throw new OptionError("per", `'${text.slice(0, 100)}' is not valid; expected day or month`);
}

/** The first moment of the day or month of UTC that `at` is in. */
export function periodStart(per: BudgetSpan, at: Date): Date {
  return per === "day" ? startOfDay(at) : startOfMonth(at);
}

export function limitAt({ limitNanos, raised }: Pick<Budget, "limitNanos" | "raised">, at: Date) {
  return raised && at < raised.until ? raised.nanos : limitNanos;
}

/**
 * Charges and periods before this are of no use any more: a month longer than any budget looks back,
 * for processes whose clocks differ.
 */
export function oldestPeriod(now: Date): Date {
  return startOfMonth(now, -1);
}

/** What an account's stored calls in a scope were charged since a time. */
export function chargedInScope(analytics: {
  chargedSince(
    accountId: number,
    by: { app?: string; userId?: string },
    since: Date,
  ): Promise<bigint>;
}): (accountId: number, scope: BudgetScope, since: Date) => Promise<bigint> {
  return (accountId, { kind, name }, since) =>
    analytics.chargedSince(
      accountId,
      kind === "account" ? {} : kind === "app" ? { app: name } : { userId: name },
      since,
    );
}

/** As listed for operators and shown in answers of the admin API. */
export function budgetJson(budget: StoredBudget) {
  const { raised } = budget;
  return {
    id: budget.id,
    account_id: budget.accountId,
    on: budgetScopeText(budget.scope),
    per: budget.per,
    limit_usd: nanosToUsd(budget.limitNanos),
    raise_until: raised?.until.toISOString() ?? null,
    raised_limit_usd: raised ? nanosToUsd(raised.nanos) : null,
    spent_usd: nanosToUsd(budget.spentNanos),
    created_at: budget.createdAt.toISOString(),
  };
}
