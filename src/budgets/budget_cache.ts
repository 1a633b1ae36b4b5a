import { ChangeFeed } from "../shared/change_feed.ts";
import { Fault } from "../shared/fault.ts";
import type { Budget, BudgetChange, BudgetStore } from "./budget.ts";

export interface BudgetedCaller {
  readonly accountId: number;
  readonly app: string | null;
  readonly userId: string | null;
}

/**
 * All accounts' budgets in memory, so that calls need no database to find those that cover them.
 */
export class BudgetCache {
  readonly #feed: ChangeFeed<BudgetChange>;
  /** By account, kind and name. */
  #byScope = new Map<string, readonly Budget[]>();
  #byId = new Map<string, Budget>();

  constructor(store: Pick<BudgetStore, "changedSince">) {
    this.#feed = new ChangeFeed(
      (since) => store.changedSince(since),
      (...found) => this.#take(...found),
    );
  }

  get size(): number {
    return this.#byId.size;
  }

  /**
   * Returns the budgets that cover a call. Throws `store_unavailable` until the store was first
   * read.
   */
  covering({ accountId, app, userId }: BudgetedCaller): readonly Budget[] {
    // It isn't known yet whether the account has a budget.
    if (!this.#feed.isRead) throw new Fault("store_unavailable");
    return [
      ...this.#at(accountId, "account", ""),
      ...app === null ? [] : this.#at(accountId, "app", app),
      ...userId === null ? [] : this.#at(accountId, "user", userId),
    ];
  }

  find(id: string): Budget | undefined {
    return this.#byId.get(id);
  }

  /** Reads what has changed in the store since the last refresh. */
  refresh(): Promise<void> {
    return this.#feed.poll();
  }

  #take(changes: readonly BudgetChange[], isAll: boolean): void {
    if (isAll) {
      const listed = new Set(changes.map(({ id }) => id));
      for (const budget of [...this.#byId.values()]) if (!listed.has(budget.id)) this.#drop(budget);
    }
    for (const change of changes) this.#apply(change);
  }

  #apply(change: BudgetChange): void {
    const before = this.#byId.get(change.id);
    if (before) this.#drop(before);
    if (!("scope" in change)) return;
    this.#byId.set(change.id, change);
    const key = keyOf(change);
    this.#byScope.set(key, [...this.#byScope.get(key) ?? [], change]);
  }

  #drop(budget: Budget): void {
    this.#byId.delete(budget.id);
    const key = keyOf(budget);
    const left = this.#byScope.get(key)!.filter(({ id }) => id !== budget.id);
    if (left.length > 0) this.#byScope.set(key, left);
    else this.#byScope.delete(key);
  }

  #at(accountId: number, kind: string, name: string): readonly Budget[] {
    return this.#byScope.get(`${accountId} ${kind} ${name}`) ?? [];
  }
}

function keyOf({ accountId, scope: { kind, name } }: Budget): string {
  return `${accountId} ${kind} ${name}`;
}
