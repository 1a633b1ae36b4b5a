import type { Log } from "../base/log.ts";
import { ChangeFeed } from "../shared/change_feed.ts";
import { Fault } from "../shared/fault.ts";
import type { RealModels } from "./real_models.ts";
import type { ListedVirtualModel, Route, VirtualRoutes } from "./route.ts";
import { type VirtualModelChange, type VirtualModelStore, virtualRoute } from "./virtual_model.ts";

export interface VirtualModelCacheDeps {
  store: Pick<VirtualModelStore, "changedSince">;
  models: RealModels;
  log: Pick<Log, "warn">;
}

interface CachedModel extends ListedVirtualModel {
  readonly route: Route | "no-targets";
}

/** All accounts' virtual models in memory, so that calls need no database. */
export class VirtualModelCache implements VirtualRoutes {
  readonly #deps: VirtualModelCacheDeps;
  readonly #feed: ChangeFeed<VirtualModelChange>;
  #byAccount = new Map<number, Map<string, CachedModel>>();
  /** The rows that `#byAccount` was made of, so that a row that is seen again costs nothing. */
  readonly #seen = new Map<string, string>();

  constructor(deps: VirtualModelCacheDeps) {
    this.#deps = deps;
    this.#feed = new ChangeFeed(
      (since) => deps.store.changedSince(since),
      (...found) => this.#take(...found),
    );
  }

  find(accountId: number, name: string): Route | "no-targets" | undefined {
    // The account may have a model of this name, and no other may take its place.
    if (!this.#feed.isRead) throw new Fault("store_unavailable");
    return this.#byAccount.get(accountId)?.get(name)?.route;
  }

  list(accountId: number): ListedVirtualModel[] {
    return [...this.#byAccount.get(accountId)?.values() ?? []];
  }

  /** Reads what has changed in the store since the last refresh. */
  refresh(): Promise<void> {
    return this.#feed.poll();
  }

  #take(changes: readonly VirtualModelChange[], isAll: boolean): void {
    if (isAll) {
      this.#byAccount = new Map();
      this.#seen.clear();
    }
    for (const change of changes) this.#apply(change);
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
      this.#deps.log.warn("a target of a virtual model no longer exists", {
        account: accountId,
        name,
        model,
      });
    });
    models.set(name, { name, createdAt, route: route ?? "no-targets" });
  }
}
