import type { AuditNote } from "../audit/audit.ts";
import type { FileModel } from "../routing/models_file.ts";
import {
  shownTargets,
  type StoredVirtualModel,
  type VirtualModelDefinition,
  virtualModelJson,
} from "../routing/virtual_model.ts";
import { noVirtualModel, type VirtualModels } from "../routing/virtual_models.ts";
import { type Administrator, noteBy } from "./administration.ts";

/**
 * Makes or replaces an account's virtual model; `json` as `readVirtualModel` takes it. Throws
 * `VirtualModelError`.
 */
export function setVirtualModel(
  models: Pick<VirtualModels, "set">,
  by: Administrator,
  accountId: number,
  name: string,
  json: unknown,
): Promise<StoredVirtualModel> {
  return models.set(accountId, name, json, noteOf(by, accountId, name));
}

/** As `setVirtualModel`; throws `Fault("already_exists")` where the name is taken. */
export function createVirtualModel(
  models: Pick<VirtualModels, "create">,
  by: Administrator,
  accountId: number,
  name: string,
  json: unknown,
): Promise<StoredVirtualModel> {
  return models.create(accountId, name, json, noteOf(by, accountId, name));
}

/** Replaces fields of one. Throws `VirtualModelError` and `Fault("model_not_found")`. */
export function changeVirtualModel(
  models: Pick<VirtualModels, "change">,
  by: Administrator,
  accountId: number,
  name: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<StoredVirtualModel> {
  return models.change(accountId, name, fields, noteOf(by, accountId, name));
}

/** False where the account has none of this name. */
export function removeVirtualModel(
  models: Pick<VirtualModels, "remove">,
  by: Administrator,
  accountId: number,
  name: string,
): Promise<boolean> {
  return models.remove(accountId, name, noteBy(by, accountId, "virtual_model.removed", name));
}

/** Throws `Fault("model_not_found")`. */
export async function findVirtualModel(
  models: Pick<VirtualModels, "list">,
  accountId: number,
  name: string,
): Promise<StoredVirtualModel> {
  const found = (await models.list(accountId)).find((one) => one.name === name);
  if (!found) throw noVirtualModel(name);
  return found;
}

function noteOf(
  by: Administrator,
  accountId: number,
  name: string,
): (definition: VirtualModelDefinition) => AuditNote {
  return (definition) =>
    noteBy(by, accountId, "virtual_model.set", name, shownTargets(definition).slice(0, 500));
}

export function storedModelJson(stored: StoredVirtualModel) {
  const { accountId, name, definition, createdAt, updatedAt } = stored;
  return {
    account_id: accountId,
    name,
    ...definitionJson(definition),
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}

/** A virtual model of the service, as command line and API show it. */
export function fileModelJson({ name, definition }: FileModel) {
  return {
    account_id: null,
    name,
    ...definitionJson(definition),
    created_at: null,
    updated_at: null,
  };
}

function definitionJson(definition: VirtualModelDefinition) {
  const { targets, fallbacks, ...rest } = virtualModelJson(definition);
  return { targets: [...targets], fallbacks: [...fallbacks], ...rest };
}
