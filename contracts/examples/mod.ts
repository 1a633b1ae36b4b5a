import type { Contract } from "../kernel/contract.ts";
import { operationName } from "../calls/vendors.ts";
import { administrationExamples } from "./administration.ts";
import { callExamples } from "./calls.ts";
import type { OperationExamples } from "./example.ts";
import { insightExamples } from "./insights.ts";
import { mediaExamples } from "./media.ts";
import { operationExamples } from "./operations.ts";
import { recordExamples } from "./records.ts";
import { serviceExamples } from "./service.ts";

/** Returns a contract's examples. Throws an Error if there are none: every operation needs some. */
export function examplesOf(contract: Pick<Contract, "operationId" | "tag">): OperationExamples {
  const found = Object.entries({
    ...callExamples(contract.tag),
    ...operationExamples(contract.tag),
    ...serviceExamples(contract.tag),
    ...mediaExamples,
    ...recordExamples,
    ...insightExamples,
    ...administrationExamples,
  }).find(([name]) =>
    name === contract.operationId || operationName(name, contract.tag) === contract.operationId
  );
  if (found === undefined) {
    throw new Error(`Operation ${contract.operationId} has no examples in contracts/examples/`);
  }
  return found[1];
}
