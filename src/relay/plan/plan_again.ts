import type { Step } from "../../base/heavy_work.ts";
import { countInSteps } from "../../base/heavy_json.ts";
import { JsonCount } from "../../base/json_count.ts";
import { parseInSteps } from "../../base/parse_in_steps.ts";
import type { Steps } from "../../base/steps.ts";
import type { DialectName } from "../../../contracts/calls/vendors.ts";
import { isRecord } from "../../dialects/kernel/json.ts";
import type { TextPlan } from "./text_plan.ts";
import { planCall, type PlanDeps, type PlanRequest } from "./plan_call.ts";

/** Prepares a call's request once more, for another of its vendor's dialects. */
export type PlanAgain = (upstream: DialectName) => Promise<TextPlan>;

/**
 * Undefined where the vendor has no other dialect. A heavy request is held for it, as text, only as
 * long as nothing shows that the vendor has the endpoint that is asked first.
 */
export function planningAgain(
  deps: PlanDeps,
  request: PlanRequest,
  plan: TextPlan,
  step: Step,
): PlanAgain | undefined {
  const { vendor } = request.target;
  if (vendor.dialects.length < 2) return undefined;
  if (!step.isHeavy) return (upstream) => planCall(deps, request, upstream);
  // The plan of the caller's own dialect holds the text anyway.
  const isProven = deps.learned.isProven(vendor.label, plan.upstream.name);
  if (isProven && !plan.sameDialect) return undefined;
  const { body: _, ...held } = request;
  return async (upstream) =>
    planCall(deps, { ...held, body: await readAgain(held, step) }, upstream);
}

/** The body out of its text; it has passed the contract. Some dialects name the model in the path. */
async function readAgain(
  { bodyText, dialect, facts }: Omit<PlanRequest, "body">,
  step: Step,
): Promise<unknown> {
  const body = await step.inSteps(() => parsing(bodyText));
  const { model, stream } = facts;
  return dialect.asking.modelInPath && isRecord(body) ? { ...body, model, stream } : body;
}

function* parsing(text: string): Steps<unknown> {
  const count = new JsonCount(wideLimits);
  yield* countInSteps(count, text);
  return yield* parseInSteps(text, count);
}

/** The narrow ones held when the request came. */
const wideLimits = { values: 1e9, depth: 1024, members: 1e9, names: 1e6 } as const;
