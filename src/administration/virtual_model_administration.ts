import type { AuditNote } from "../audit/audit.ts";
import type { FileModel } from "../routing/models_file.ts";
import {
  shownTargets,
  type StoredVirtualModel,
  type VirtualModelDefinition,
  virtualModelJson,
} from "../routing/virtual_model.ts";
import { type Administrator, noteBy } from "./administration.ts";

/** Returns a function that builds the audit entry for creating or changing a virtual model. */
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

/** Returns a virtual model, of an account or the service, as command line and API show it. */
export function virtualModelView(
  { accountId, name, definition, createdAt, updatedAt }: FileModel & Partial<StoredVirtualModel>,
) {
  const { targets, fallbacks, ...rest } = virtualModelJson(definition);
  return {
    account_id: accountId ?? null,
    name,
    ...{ targets: [...targets], fallbacks: [...fallbacks], ...rest },
    created_at: createdAt?.toISOString() ?? null,
    updated_at: updatedAt?.toISOString() ?? null,
  };
}
