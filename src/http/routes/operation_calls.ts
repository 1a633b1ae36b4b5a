import type { Contract } from "../../../contracts/kernel/contract.ts";
import { contracts, familyOperations } from "../../../contracts/mod.ts";
import type { generateMethod } from "../../../contracts/calls/generate_method.ts";
import { methodKinds, operationKinds } from "../../../contracts/calls/vendors.ts";
import { runAtOnce } from "../../base/heavy_work.ts";
import { operations } from "../../media/operation_kinds.ts";
import type { Operation } from "../../dialects/kernel/operation.ts";
import { modelOf, repeatText } from "../../dialects/kernel/operation_request.ts";
import type { Idempotency } from "../../idempotency/idempotency.ts";
import type { Operations } from "../../media/operations.ts";
import { passOperation } from "../../media/pass_operation.ts";
import type { RoutingDeps } from "../../relay/candidates.ts";
import { sentRequestId } from "../../relay/call_context.ts";
import { permitNamed } from "../../routing/permitted_route.ts";
import type { Registry, Vendor } from "../../vendors/registry.ts";
import type { Endpoints } from "../bind.ts";
import { idempotent } from "../idempotent.ts";

export type OperationRouteDeps = RoutingDeps & {
  registry: Registry;
  operations: Operations;
  idempotency: Idempotency;
  config: { mediaInlineBytes: number };
};

/** Mounts images, speech, transcription and embeddings on the vendors' own paths. */
export function operationCallRoutes(app: Endpoints, deps: OperationRouteDeps): void {
  passed(app, deps, contracts.unifiedEmbeddings, operations.embeddings, undefined);
  for (const kind of methodKinds) {
    passed(app, deps, contracts.unifiedGenerateOperations[kind], operations[kind], undefined);
  }
  for (const vendor of deps.registry.all) {
    const own = familyOperations(vendor.family);
    for (const kind of operationKinds) {
      const contract = own[kind] as OperationContract | undefined;
      if (contract) passed(app, deps, contract, operations[kind], vendor);
    }
  }
}

/** The only path parameter, if any, is the model. */
type OperationContract = Contract<MethodParams | undefined, undefined>;
type MethodParams = ReturnType<typeof generateMethod>["params"];

function passed(
  app: Endpoints,
  deps: OperationRouteDeps,
  contract: OperationContract,
  operation: Operation,
  vendor: Vendor | undefined,
): void {
  app.bind(contract, async ({ caller, body, bodyText: text, form, params }) => {
    // The model of a method is in its path.
    const sent = form ? { form } : { body, text, model: params?.model };
    const { mediaInlineBytes } = deps.config;
    const pass = () =>
      passOperation({ ...deps, mediaInlineBytes }, { caller, operation, vendor, sent });
    // A form is hashed only for an idempotent request.
    const { header, step = runAtOnce } = caller;
    const isRepeatable = sentRequestId(header) !== undefined;
    const bodyText = isRepeatable ? await step.inSteps(() => repeatText(sent)) : "";
    const permit = () => permitNamed(deps.routes, caller, vendor, modelOf(sent));
    return await idempotent(deps.idempotency, { caller, bodyText, permit }, pass);
  });
}
