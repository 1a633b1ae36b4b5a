import type { Hono } from "hono";
import type { Contract } from "../../../contracts/contract.ts";
import { familyOperations } from "../../../contracts/family_operations.ts";
import { unifiedEmbeddings } from "../../../contracts/embeddings.ts";
import { operationKinds } from "../../../contracts/vendors.ts";
import { operations } from "../../dialects/operations/mod.ts";
import type { Operation } from "../../dialects/operations/operation.ts";
import { modelOf, repeatText } from "../../dialects/operations/request.ts";
import type { Idempotency } from "../../gateway/idempotency.ts";
import type { Operations } from "../../gateway/operations.ts";
import { passOperation } from "../../gateway/pass_operation.ts";
import { permitNamed } from "../../gateway/relay.ts";
import type { Registry, Vendor } from "../../vendors/registry.ts";
import { bind, type BindParts } from "../bind.ts";
import { once } from "../repeats.ts";
import type { Env } from "../scene.ts";

export type OperationRouteParts = BindParts & {
  registry: Registry;
  operations: Operations;
  idempotency: Idempotency;
  config: { mediaInlineBytes: number };
};

/** Mounts pictures, speech, transcripts and embeddings on the vendors' own paths. */
export function operationCallRoutes(app: Hono<Env>, parts: OperationRouteParts): void {
  passed(app, parts, unifiedEmbeddings, operations.embeddings, undefined);
  for (const vendor of parts.registry.all) {
    const contracts = familyOperations(vendor.family);
    for (const kind of operationKinds) {
      const contract = contracts[kind] as Contract<undefined, undefined> | undefined;
      if (contract) passed(app, parts, contract, operations[kind], vendor);
    }
  }
}

function passed(
  app: Hono<Env>,
  parts: OperationRouteParts,
  contract: Contract<undefined, undefined>,
  operation: Operation,
  vendor: Vendor | undefined,
): void {
  bind(app, contract, parts, async ({ caller, body, bodyText: text, form }) => {
    const sent = form ? { form } : { body, text };
    const { mediaInlineBytes } = parts.config;
    const pass = () =>
      passOperation({ ...parts, mediaInlineBytes }, { caller, operation, vendor, sent });
    // The parts of a form are hashed only where somebody may ask again.
    const bodyText = caller.header("x-request-id") === undefined ? "" : repeatText(sent);
    const permit = () => permitNamed(parts.registry, caller, vendor, modelOf(sent));
    return { reply: await once(parts.idempotency, { caller, bodyText, permit }, pass) };
  });
}
