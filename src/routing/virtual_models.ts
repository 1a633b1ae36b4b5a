import type { AuditNote } from "../audit/audit.ts";
import type { FileModel } from "./models_file.ts";
import type { RealModels } from "./real_models.ts";
import {
  checkVirtualName,
  readVirtualModel,
  type StoredVirtualModel,
  VirtualModelError,
  virtualModelLimits,
  type VirtualModelStore,
} from "./virtual_model.ts";

/** Virtual models as operators and an account's people manage them. */
export interface VirtualModels {
  /**
   * Makes or replaces one; `json` as `readVirtualModel` takes it. Calls of this process go by it at
   * once. Throws `VirtualModelError`.
   */
  set(
    accountId: number,
    name: string,
    json: unknown,
    audit?: AuditNote,
  ): Promise<StoredVirtualModel>;
  /** False where the account has none of this name. */
  remove(accountId: number, name: string, audit?: AuditNote): Promise<boolean>;
  /** Those of one account, or of all, by account and name. */
  list(accountId?: number): Promise<StoredVirtualModel[]>;
  /** Those of the service, for all accounts. */
  listOfService(): readonly FileModel[];
}

export interface VirtualModelsDeps {
  store: VirtualModelStore;
  models: RealModels;
  ofService: () => readonly FileModel[];
  /** Takes a change into this process's memory. */
  changed: () => Promise<void>;
}

export function createVirtualModels(
  { store, models, ofService, changed }: VirtualModelsDeps,
): VirtualModels {
  return {
    async set(accountId, name, json, audit) {
      const definition = readVirtualModel(json, models);
      const stored = await store.set(accountId, checkVirtualName(name), definition, audit);
      if (!stored) {
        const { perAccount } = virtualModelLimits;
        throw new VirtualModelError("name", `the account has ${perAccount} virtual models already`);
      }
      await changed();
      return stored;
    },
    async remove(accountId, name, audit) {
      const removed = await store.remove(accountId, name, audit);
      await changed();
      return removed;
    },
    list: (accountId) => store.list(accountId),
    listOfService: ofService,
  };
}
