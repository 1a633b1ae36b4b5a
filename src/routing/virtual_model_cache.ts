import type { Log } from "../base/log.ts";
import { Fault } from "../shared/fault.ts";
import type { RealModels } from "./real_models.ts";
import type { ListedVirtualModel, Route, VirtualRoutes } from "./route.ts";
import { type VirtualModelChange, type VirtualModelStore, virtualRoute } from "./virtual_model.ts";

/** Accounts' virtual models in memory, all of them, so that calls ask no database. */
export interface VirtualModelCache extends VirtualRoutes {
  /** Reads what changed in the store since the last look. */
  refresh(): Promise<void>;
}

export interface VirtualModelCacheDeps {
  store: Pick<VirtualModelStore, "changedSince">;
  models: RealModels;
  log: Pick<Log, "warn">;
}

/** How long rows of removed models are seen by `changedSince`, in minutes. */
export const removedMinutes = 60;

export function createVirtualModelCache(deps: VirtualModelCacheDeps): VirtualModelCache {
  return new CachedVirtualModels(deps);
}

interface CachedModel extends ListedVirtualModel {
  readonly route: Route | "no-targets";
}

class CachedVirtualModels implements VirtualModelCache {
  readonly #deps: VirtualModelCacheDeps;
  #byAccount = new Map<number, Map<string, CachedModel>>();
  /** The rows that `#byAccount` was made of, so that a row that is seen again costs nothing. */
  readonly #seen = new Map<string, string>();
  #since: Date | null = null;
  #turn: Promise<void> = Promise.resolve();

  constructor(deps: VirtualModelCacheDeps) {
    this.#deps = deps;
  }

  find(accountId: number, name: string): Route | "no-targets" | undefined {
    // Whether the account has a model of this name isn't known, and another one may not answer for it.
    if (this.#since === null) throw new Fault("store_unavailable");
    return this.#byAccount.get(accountId)?.get(name)?.route;
  }

  list(accountId: number): ListedVirtualModel[] {
    return [...this.#byAccount.get(accountId)?.values() ?? []];
  }

  /** One look after the other: the later one has the later rows. */
  refresh(): Promise<void> {
    const turn = this.#turn.then(() => this.#look());
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #look(): Promise<void> {
    const { now, changes } = await this.#deps.store.changedSince(this.#since);
    if (this.#since !== null && now.getTime() - this.#since.getTime() > longestGapMs) {
      // Rows of removed models may be gone by now.
      const all = await this.#deps.store.changedSince(null);
      this.#byAccount = new Map();
      this.#seen.clear();
      for (const change of all.changes) this.#apply(change);
      this.#since = new Date(all.now.getTime() - overlapMs);
      return;
    }
    for (const change of changes) this.#apply(change);
    this.#since = new Date(now.getTime() - overlapMs);
  }

  #apply({ accountId, name, definition, createdAt }: VirtualModelChange): void {
    const key = `${accountId} ${name}`;
    const text = JSON.stringify([definition, createdAt]);
    if (this.#seen.get(key) === text) return;
    let models = this.#byAccount.get(accountId);
    if (definition === null) {
      this.#seen.delete(key);
      models?.delete(name);
      if (models?.size === 0) this.#byAccount.delete(accountId);
      return;
    }
    this.#seen.set(key, text);
    if (!models) this.#byAccount.set(accountId, models = new Map());
    const route = virtualRoute(name, definition, this.#deps.models, (model) => {
      this.#deps.log.warn("a target of a virtual model does not exist any more", {
        account: accountId,
        name,
        model,
      });
    });
    models.set(name, { name, createdAt, route: route ?? "no-targets" });
  }
}

/**
 * Rows become visible when their transaction commits, a little after the time that they carry, so
 * each look goes back a minute.
 */
const overlapMs = 60_000;
/** After a longer gap between two looks everything is read again. */
const longestGapMs = removedMinutes * 60_000 / 2;
