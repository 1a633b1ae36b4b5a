import type { Audited, AuditNote } from "../audit/audit.ts";
import { Fault, OptionError } from "../shared/fault.ts";
import type { FileModel } from "./models_file.ts";
import type { RealModels } from "./real_models.ts";
import {
  checkVirtualName,
  readVirtualModel,
  type StoredVirtualModel,
  type VirtualModelDefinition,
  virtualModelJson,
  virtualModelLimits,
  virtualModelProblems,
  type VirtualModelStore,
} from "./virtual_model.ts";
import type { AccountPage } from "../shared/account_page.ts";

/** The audit log's entry; a function gets the definition that was set. */
type VirtualModelAudit = NonNullable<Parameters<VirtualModelStore["set"]>[3]>;

type ChangedFields = Readonly<Record<string, unknown>>;

/** Virtual models as operators and an account's people manage them. */
export interface VirtualModels {
  /**
   * Creates or replaces one; `json` as `readVirtualModel` takes it. Calls of this process use it at
   * once. Throws `OptionError`.
   */
  set(
    accountId: number,
    name: string,
    json: unknown,
    audit: VirtualModelAudit,
  ): Promise<StoredVirtualModel>;
  /** As `set`, for a name that is free. Throws `Fault("already_exists")` where it isn't. */
  create(
    accountId: number,
    name: string,
    json: unknown,
    audit: VirtualModelAudit,
  ): Promise<StoredVirtualModel>;
  /**
   * Replaces the fields that `fields` has; null removes `stick_by`. A function gets the existing
   * definition, and no other change comes between; if it throws, nothing changes. Throws
   * `OptionError`, and `Fault("model_not_found")` where the account has none of this name.
   */
  change(
    accountId: number,
    name: string,
    fields: ChangedFields | ((existing: VirtualModelDefinition) => ChangedFields),
    audit: VirtualModelAudit,
  ): Promise<StoredVirtualModel>;
  /** Returns why a definition is refused, for a form that shows it field by field. */
  problemsOf(json: unknown): readonly OptionError[];
  /** False where the account has none of this name. */
  remove(accountId: number, name: string, audit: AuditNote): Promise<boolean>;
  /** Lists the virtual models of one account, or of all accounts, sorted by account and name. */
  list(accountId?: number, page?: AccountPage): Promise<StoredVirtualModel[]>;
  /** Lists the service's own virtual models, which all accounts may call. */
  listOfService(): readonly FileModel[];
}

export function noVirtualModel(name: string): Fault {
  return new Fault("model_not_found", {
    param: "name",
    message: `The account has no virtual model named '${name.slice(0, 100)}'.`,
  });
}

export interface VirtualModelsDeps {
  store: Audited<VirtualModelStore>;
  models: RealModels;
  ofService: () => readonly FileModel[];
  /** Loads a change into this process's cache. */
  changed: () => Promise<void>;
}

export function createVirtualModels(
  { store, models, ofService, changed }: VirtualModelsDeps,
): VirtualModels {
  const write = async (...[accountId, name, change, audit]: Parameters<typeof store.set>) => {
    const stored = await store.set(accountId, checkVirtualName(name), change, audit);
    if (!stored) {
      const { perAccount } = virtualModelLimits;
      throw new OptionError("name", `the account has ${perAccount} virtual models already`);
    }
    await changed();
    return stored;
  };
  return {
    set: async (accountId, name, json, audit) =>
      await write(accountId, name, readVirtualModel(json, models), audit),
    async create(accountId, name, json, audit) {
      const definition = readVirtualModel(json, models);
      const change = (existing: VirtualModelDefinition | undefined) => {
        if (!existing) return definition;
        const message = `name: the account has a virtual model '${name}' already.`;
        throw new Fault("already_exists", { param: "name", message });
      };
      return await write(accountId, name, change, audit);
    },
    change: async (accountId, name, fields, audit) =>
      await write(accountId, name, (existing) => {
        if (!existing) throw noVirtualModel(name);
        const changed = typeof fields === "function" ? fields(existing) : fields;
        const { stick_by: stickBy, ...json } = { ...virtualModelJson(existing), ...changed };
        return readVirtualModel(stickBy === null ? json : { ...json, stick_by: stickBy }, models);
      }, audit),
    problemsOf: (json) => virtualModelProblems(json, models),
    async remove(accountId, name, audit) {
      const removed = await store.remove(accountId, name, audit);
      await changed();
      return removed;
    },
    list: (...asked) => store.list(...asked),
    listOfService: ofService,
  };
}
