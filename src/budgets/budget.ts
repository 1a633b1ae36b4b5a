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
import { longestEndUser } from "../shared/interaction.ts";
import { isTagValue, maxTagLength } from "../shared/prompt_tags.ts";
import { startOfDay, startOfMonth } from "../shared/time_span.ts";

export const budgetLimits = { perAccount: 10_000 } as const;

/**
 * The lengths that calls allow for names of apps and end users: a longer name would match no call.
 */
export const budgetNameLengths = { app: maxTagLength, user: longestEndUser } as const;

/** What a budget limits: all calls of the account, those of an app, or those of an end user. */
export interface BudgetScope {
  readonly kind: "account" | "app" | "user";
  /** The app or the end user; empty for the account. */
  readonly name: string;
}

export type BudgetSpan = "day" | "month";

/** A limit of `nanos` that holds until `until`. */
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
}

/** Where a budget is in lists. */
export type BudgetCursor = Pick<Budget, "accountId" | "scope" | "per">;

export type NewBudget = Omit<Budget, "id">;

/**
 * What an operator sets; it replaces the budget with the same scope and span. Without a limit that
 * budget's own stays, for instance where it is only raised for a while.
 */
export type BudgetRequest = Omit<NewBudget, "limitNanos"> & { readonly limitNanos?: bigint };

/** A changed budget, as processes' caches read it; a removed one has no scope. */
export type BudgetChange = Budget | { readonly id: string; readonly accountId: number };

/** One day or month of a budget. */
export interface BudgetPeriod {
  readonly budgetId: string;
  readonly startsAt: Date;
}

/** A period that has reached 80, 95 or 100 % of its limit. */
export interface ReachedBudget extends BudgetPeriod {
  readonly accountId: number;
  readonly scope: BudgetScope;
  readonly per: BudgetSpan;
  readonly percent: number;
  readonly limitNanos: bigint;
  readonly spentNanos: bigint;
}

/** Changes of a budget's limits. Undefined: no change; `raised` null: no longer raised. */
export interface ChangedLimits {
  limitNanos?: bigint | undefined;
  raised?: RaisedLimit | null | undefined;
}

export interface BudgetListQuery {
  readonly accountId?: number;
  readonly id?: string;
  readonly on?: Pick<Budget, "scope" | "per">;
  /** Part of the scope's text, such as `user:ann`, in any case. */
  readonly search?: string;
  readonly now: Date;
  /** Default: from the beginning. */
  readonly after?: BudgetCursor;
  /** Default: all. */
  readonly limit?: number;
}

/** The store of budgets. Implemented in `src/budgets/store/budgets.ts`. */
export interface BudgetStore {
  /**
   * Creates or replaces a budget. A new one gets `id`, and `prior` returns what calls were charged
   * before it existed; where that fails first, none is created. Undefined where the account has
   * `budgetLimits.perAccount` already.
   */
  set(id: string, budget: NewBudget, options: {
    now: Date;
    prior: (since: Date) => Promise<bigint>;
    audit?: (written: Budget) => AuditNote;
  }): Promise<StoredBudget | undefined>;
  /**
   * Changes limits in one write, so that two changes of different limits both hold. Undefined where
   * no budget has this id.
   */
  change(
    id: string,
    limits: ChangedLimits,
    options: { now: Date; audit?: (written: Budget) => AuditNote },
  ): Promise<StoredBudget | undefined>;
  /**
   * Removes a budget and returns it. Undefined where the account has none of this id; without an
   * account, where no account has.
   */
  remove(
    id: string,
    options: { accountId?: number; audit?: (removed: Budget) => AuditNote },
  ): Promise<Budget | undefined>;
  /** Lists budgets by account, scope and name, with the sums of the periods at `now`. */
  list(query: BudgetListQuery): Promise<StoredBudget[]>;
  /**
   * Returns the place of a budget. One that has just been removed has no name any more: its place is
   * before all of its scope.
   */
  cursorOf(id: string): Promise<BudgetCursor | undefined>;
  /**
   * Lists the budgets with the highest share of their limits spent. Of many budgets, each call looks
   * at the next ones, and again at those that the last one listed.
   */
  fullest(now: Date, limit: number): Promise<StoredBudget[]>;
  /** Returns what changed at or after a time of the database's clock; for null, all that exist. */
  changedSince(since: Date | null): Promise<{ now: Date; changes: BudgetChange[] }>;
  /**
   * Deletes budgets that were removed more than this many minutes ago, and periods before `before`.
   */
  sweep(removedMinutes: number, before: Date): Promise<void>;
  /**
   * Leases part of a period in one conditional write, under the lower of `atMost` and the stored
   * limit.
   */
  take(
    request: LeaseRequest<BudgetPeriod>,
    limit: { atMost: bigint; now: Date },
  ): Promise<LeaseTaken>;
  release(back: LeaseReturn<BudgetPeriod>, now: Date): Promise<bigint>;
  renew(
    held: readonly OpenLease<BudgetPeriod>[],
    seconds: number,
  ): Promise<ReadonlyMap<string, boolean>>;
  /** Returns what is left of each period, in the order of `periods`. */
  available(periods: readonly BudgetPeriod[], now: Date): Promise<bigint[]>;
  sweepExpired(): Promise<LeasesReturned>;
  takeBack(processId: string): Promise<LeasesReturned>;
}

const scopeForm = "expected account, app:NAME or user:ID";

/**
 * Reads `account`, `app:NAME` or `user:ID`, with a name that calls can carry. Apps' names are
 * trimmed, as prompt tags are; end users' ids are not, since they may differ by blanks alone.
 * Throws `OptionError`.
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
 * Charges and periods before this are no longer needed: a month earlier than any budget looks back,
 * for processes whose clocks differ.
 */
export function oldestPeriod(now: Date): Date {
  return startOfMonth(now, -1);
}

/**
 * Builds the function that sums what an account's stored calls in a scope were charged since a
 * time.
 */
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

/** A budget as the admin API and operators' lists show it. */
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
