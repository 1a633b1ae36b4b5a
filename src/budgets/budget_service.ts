import type { Audited, AuditNote } from "../audit/audit.ts";
import type { Clock } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { nanosToUsd } from "../base/money.ts";
import { missingOption, OptionError } from "../shared/fault.ts";
import {
  type Budget,
  type BudgetCursor,
  budgetLimits,
  type BudgetRequest,
  type BudgetScope,
  type BudgetStore,
  type ChangedLimits,
  limitAt,
  type StoredBudget,
} from "./budget.ts";

/** Who acts, as the audit log names them. */
export type BudgetActor = AuditNote["actor"];

/** Budgets as operators and an account's people manage them. */
export interface BudgetService {
  /**
   * Creates a budget, or replaces the account's budget with the same scope and span, whose spend
   * stays. A new one also counts what its current period's calls were charged before. It applies to
   * calls of this process at once, to those of others within five seconds. Throws `OptionError`.
   */
  set(request: BudgetRequest, actor: BudgetActor): Promise<StoredBudget>;
  /** Changes only limits. Undefined where there is none of this id. Throws `OptionError`. */
  change(id: string, limits: ChangedLimits, actor: BudgetActor): Promise<StoredBudget | undefined>;
  /** Removes a budget. False where there is none of this id, or none of this account. */
  remove(id: string, actor: BudgetActor, accountId?: number): Promise<boolean>;
  /**
   * Lists the budgets of one account, or of all accounts, with their spend in the current period;
   * with a page, at most `limit` after a place, whose scope's text contains `search`.
   */
  list(
    accountId?: number,
    page?: { after?: BudgetCursor | undefined; limit?: number; search?: string | undefined },
  ): Promise<StoredBudget[]>;
  /** Returns where a budget, of an account or of any, is in lists; also one just removed. */
  cursorOf(id: string, accountId?: number): Promise<BudgetCursor | undefined>;
  find(id: string, accountId?: number): Promise<StoredBudget | undefined>;
}

export interface BudgetServiceDeps {
  store: Audited<BudgetStore>;
  clock: Pick<Clock, "now">;
  newId: () => string;
  /** Returns what an account's calls in this scope were charged since a time. */
  chargedSince: (accountId: number, scope: BudgetScope, since: Date) => Promise<bigint>;
  /** Applies a change in this process. */
  changed: () => Promise<void>;
}

export function createBudgetService(
  { store, clock, newId, chargedSince, changed }: BudgetServiceDeps,
): BudgetService {
  const note = (action: string, budget: Budget, actor: BudgetActor): AuditNote => ({
    ...{ accountId: budget.accountId, actor, at: clock.now(), action },
    subject: budget.id,
    detail: describe(budget, clock.now()),
  });
  const checkRaised = (raised: ChangedLimits["raised"]) => {
    if (!raised || raised.until > clock.now()) return;
    throw new OptionError("raise_until", "expected a time in the future");
  };
  const change: BudgetService["change"] = async (id, limits, actor) => {
    checkRaised(limits.raised);
    const stored = await store.change(id, limits, {
      now: clock.now(),
      audit: (written) => note("budget.set", written, actor),
    });
    await changed();
    return stored;
  };
  /** Changes nothing but until when a budget is raised: its limit may be set at the same time. */
  const setRaised = async (request: BudgetRequest, actor: BudgetActor) => {
    const { accountId, raised } = request;
    const [there] = await store.list({ accountId, on: request, now: clock.now() });
    const stored = there && await change(there.id, { raised }, actor);
    if (stored) return stored;
    const why = "there is no budget yet, so give the limit that holds after raise_until";
    throw missingOption("usd", why);
  };
  return {
    async set(request, actor) {
      const { accountId, scope, raised, limitNanos } = request;
      if (limitNanos === undefined) return await setRaised(request, actor);
      checkRaised(raised);
      const stored = await store.set(newId(), { ...request, limitNanos }, {
        now: clock.now(),
        prior: (since) => chargedSince(accountId, scope, since),
        audit: (written) => note("budget.set", written, actor),
      });
      if (!stored) {
        throw new OptionError("on", `the account has ${budgetLimits.perAccount} budgets already`);
      }
      await changed();
      return stored;
    },
    change,
    async remove(id, actor, accountId) {
      const removed = await store.remove(id, {
        ...defined({ accountId }),
        audit: (budget) => note("budget.removed", budget, actor),
      });
      await changed();
      return removed !== undefined;
    },
    list: (accountId, page = {}) =>
      store.list({ ...defined({ accountId, ...page }), now: clock.now() }),
    async cursorOf(id, accountId) {
      const cursor = await store.cursorOf(id);
      return cursor && (accountId ?? cursor.accountId) === cursor.accountId ? cursor : undefined;
    },
    async find(id, accountId) {
      const [found] = await store.list({ id, ...defined({ accountId }), now: clock.now() });
      return found;
    },
  };
}

/** Describes a budget for the audit log, which outlives end users' data and never names one. */
function describe(budget: Budget, now: Date): string {
  const { kind, name } = budget.scope;
  const scope = kind === "app" ? `app:${name}` : kind;
  const raised = budget.raised && now < budget.raised.until
    ? `, ${nanosToUsd(limitAt(budget, now))} USD until ${budget.raised.until.toISOString()}`
    : "";
  return `${scope} per ${budget.per}: ${nanosToUsd(budget.limitNanos)} USD${raised}`;
}
