import type { AuditNote } from "../audit/audit.ts";
import type { FileModel } from "../routing/models_file.ts";
import {
  shownTargets,
  type StoredVirtualModel,
  type VirtualModelDefinition,
  virtualModelJson,
} from "../routing/virtual_model.ts";
import { type Administrator, noteBy } from "./administration.ts";

/** Notes that a virtual model was made or changed. */
export function virtualModelSet(
  by: Administrator,
  accountId: number,
  name: string,
): (definition: VirtualModelDefinition) => AuditNote {
  return (definition) =>
    noteBy(by, accountId, "virtual_model.set", name, shownTargets(definition).slice(0, 500));
}

export function virtualModelRemoved(by: Administrator, accountId: number, name: string): AuditNote {
  return noteBy(by, accountId, "virtual_model.removed", name);
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
