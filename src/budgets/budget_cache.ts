import { Fault } from "../shared/fault.ts";
import type { Budget, BudgetChange, BudgetStore } from "./budget.ts";

/** Every account's budgets in memory, so that calls ask no database which ones cover them. */
export interface BudgetCache {
  /** Those that cover a call. Throws `store_unavailable` before the first look at the store. */
  covering(call: BudgetedCaller): readonly Budget[];
  find(id: string): Budget | undefined;
  /** Reads what changed in the store since the last look. */
  refresh(): Promise<void>;
  readonly size: number;
}

export interface BudgetedCaller {
  readonly accountId: number;
  readonly app: string | null;
  readonly userId: string | null;
}

/** How long rows of removed budgets are seen by `changedSince`, in minutes. */
export const removedBudgetMinutes = 60;

export function createBudgetCache(store: Pick<BudgetStore, "changedSince">): BudgetCache {
  return new CachedBudgets(store);
}

class CachedBudgets implements BudgetCache {
  readonly #store: Pick<BudgetStore, "changedSince">;
  /** By account, kind and name. */
  #byScope = new Map<string, readonly Budget[]>();
  /** Accounts → how many budgets they have. */
  #accounts = new Map<number, number>();
  #byId = new Map<string, Budget>();
  #since: Date | null = null;
  #turn: Promise<void> = Promise.resolve();

  constructor(store: Pick<BudgetStore, "changedSince">) {
    this.#store = store;
  }

  get size(): number {
    return this.#byId.size;
  }

  covering({ accountId, app, userId }: BudgetedCaller): readonly Budget[] {
    // Whether the account has a budget isn't known.
    if (this.#since === null) throw new Fault("store_unavailable");
    if (!this.#accounts.has(accountId)) return [];
    return [
      ...this.#at(accountId, "account", ""),
      ...app === null ? [] : this.#at(accountId, "app", app),
      ...userId === null ? [] : this.#at(accountId, "user", userId),
    ];
  }

  find(id: string): Budget | undefined {
    return this.#byId.get(id);
  }

  /** One look after the other: the later one has the later rows. */
  refresh(): Promise<void> {
    const turn = this.#turn.then(() => this.#look());
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #look(): Promise<void> {
    let { now, changes } = await this.#store.changedSince(this.#since);
    if (this.#since !== null && now.getTime() - this.#since.getTime() > longestGapMs) {
      // Rows of removed budgets may be gone by now.
      ({ now, changes } = await this.#store.changedSince(null));
      const listed = new Set(changes.map(({ id }) => id));
      for (const budget of [...this.#byId.values()]) if (!listed.has(budget.id)) this.#drop(budget);
    }
    for (const change of changes) this.#apply(change);
    this.#since = new Date(now.getTime() - overlapMs);
  }

  #apply(change: BudgetChange): void {
    const before = this.#byId.get(change.id);
    if (before) this.#drop(before);
    if (!("scope" in change)) return;
    this.#byId.set(change.id, change);
    const key = keyOf(change);
    this.#byScope.set(key, [...this.#byScope.get(key) ?? [], change]);
    this.#accounts.set(change.accountId, (this.#accounts.get(change.accountId) ?? 0) + 1);
  }

  #drop(budget: Budget): void {
    this.#byId.delete(budget.id);
    const key = keyOf(budget);
    const left = this.#byScope.get(key)!.filter(({ id }) => id !== budget.id);
    if (left.length > 0) this.#byScope.set(key, left);
    else this.#byScope.delete(key);
    const count = this.#accounts.get(budget.accountId)! - 1;
    if (count > 0) this.#accounts.set(budget.accountId, count);
    else this.#accounts.delete(budget.accountId);
  }

  #at(accountId: number, kind: string, name: string): readonly Budget[] {
    return this.#byScope.get(`${accountId} ${kind} ${name}`) ?? [];
  }
}

function keyOf({ accountId, scope: { kind, name } }: Budget): string {
  return `${accountId} ${kind} ${name}`;
}

/** Rows become visible a little after the time that they carry, so each look goes back a minute. */
const overlapMs = 60_000;
/** After a longer gap between two looks everything is read again. */
const longestGapMs = removedBudgetMinutes * 60_000 / 2;
