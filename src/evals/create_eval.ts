import type { z } from "zod";
import type { Grader } from "../../contracts/data/eval_request.ts";
import type { evalRequest } from "../../contracts/data/evals.ts";
import type { Clock } from "../base/clock.ts";
import { sha256Hex } from "../base/hash.ts";
import type { Audited, AuditNote } from "../audit/audit.ts";
import type { EvalStore } from "./eval.ts";
import { Fault, invalidValue } from "../shared/fault.ts";
import type { InteractionQuery } from "../shared/interaction.ts";
import { timeSpan } from "../shared/time_span.ts";
import type { CallContext } from "../relay/call_context.ts";
import type { FlushRecords } from "../records/flush_records.ts";
import { requirePrice, resolveVendorKey } from "../relay/admit.ts";
import { eachPossible } from "../relay/pipeline.ts";
import type { RelayDeps } from "../relay/relay.ts";
import { permitRoute, routeFor } from "../routing/permitted_route.ts";
import { modelsOf, type Route, type RouteTable } from "../routing/route.ts";
import type { VendorKeyCache } from "../keys/vendor_key_cache.ts";

export interface CreateEvalDeps extends Pick<RelayDeps, "prices" | "catalogue" | "log"> {
  clock: Clock;
  newId: () => string;
  routes: RouteTable;
  storedKeys: Pick<VendorKeyCache, "find">;
  flushRecords: FlushRecords;
  evals: Audited<EvalStore>;
  /** Why a grader can't be used, undefined when it can. */
  graderProblem: (accountId: number, grader: Grader) => Promise<string | undefined>;
  wakeEvals: () => void;
}

/** The body of `POST /api/v1/evals`, by its contract. */
export type EvalRequest = z.output<typeof evalRequest>;

/** The caller who asks for an evaluation; the run makes its calls with the same API key. */
export type EvalCaller = Pick<CallContext, "principal" | "vendorKey" | "requestId" | "arrivedAt">;

/**
 * Creates an evaluation run: checks whether the key may call its models and whether its graders can
 * be used, then stores it with the interactions that match. A repeat under the same request id must
 * have the same `bodyText`. Throws faults that name the field.
 */
export async function startEval(
  deps: CreateEvalDeps,
  caller: EvalCaller,
  body: EvalRequest,
  bodyText: string,
  audit: AuditNote,
): Promise<{ evalRunId: string; total: number; repeated: boolean }> {
  await checkModels(deps, caller, body);
  const { account, key } = caller.principal;
  await checkGraders(deps, account.id, body.graders);
  const select = selectionOf(body, account.id);
  // Every call whose answer arrived before this request can be selected.
  await deps.flushRecords({ accountId: account.id });
  const created = await deps.evals.create({
    evalRunId: deps.newId(),
    createdAt: deps.clock.now(),
    accountId: account.id,
    apiKeyId: key.id,
    name: body.name ?? null,
    model: body.model,
    filtersText: JSON.stringify(withoutPersons(body.filters)),
    graders: body.graders,
    select,
    limit: body.limit,
    sample: body.sample,
    requestId: caller.requestId,
    requestHash: sha256Hex(bodyText),
    audit,
  });
  deps.wakeEvals();
  return created;
}

/**
 * Checks that every model of the run is known, has a price and a vendor key, and is permitted to
 * this API key.
 */
async function checkModels(
  deps: CreateEvalDeps,
  caller: EvalCaller,
  body: EvalRequest,
): Promise<void> {
  if (caller.vendorKey) {
    throw new Fault("invalid_request", {
      message:
        "An evaluation outlives this request, so it can't use the vendor key of the dual-key form: store it for the account, or send the service key alone.",
    });
  }
  for (const { param, route } of permitEval(deps.routes, caller, body)) {
    try {
      await eachPossible(modelsOf(route), async (target) => {
        const { mode } = await resolveVendorKey(target.vendor, caller, deps.storedKeys);
        if (mode === "managed") await requirePrice(deps, target, caller);
        return target;
      });
    } catch (thrown) {
      throw named(param, thrown);
    }
  }
}

/**
 * Returns the routes of the run's model and of its judges' models. Throws when this key may not
 * call one of them.
 */
export function permitEval(
  routes: RouteTable,
  caller: Pick<EvalCaller, "principal">,
  { model, graders }: Pick<EvalRequest, "model" | "graders">,
): { param: string; route: Route }[] {
  const judges = graders.flatMap((grader, index) =>
    grader.type === "judge" ? [{ param: `graders[${index}].model`, name: grader.model }] : []
  );
  return [{ param: "model", name: model }, ...judges].map(({ param, name }) => {
    try {
      return { param, route: permitted(routes, caller, name) };
    } catch (thrown) {
      throw named(param, thrown);
    }
  });
}

function permitted(
  routes: RouteTable,
  { principal: { key } }: Pick<EvalCaller, "principal">,
  name: string,
): Route {
  const route = routeFor(routes, key, name);
  const labels = modelsOf(route).map(({ vendor: { label } }) => label);
  const missing = labels.find((label) => !key.scopes.includes(label));
  const isOpen = key.scopes.length === 0 || key.scopes.includes("chat") || missing === undefined;
  if (!isOpen) {
    throw new Fault("permission_denied", {
      param: "model",
      message:
        `model: this API key has neither the scope 'chat' nor '${missing}', one of which calls to this model need.`,
    });
  }
  return permitRoute(routes, key, route);
}

/**
 * Renames the `model` field of a fault to the field of this request that holds the model's name.
 */
function named(param: string, thrown: unknown): unknown {
  if (!(thrown instanceof Fault)) return thrown;
  const message = thrown.message.replace(/^model: /, "");
  return new Fault(thrown.code, { param, message: `${param}: ${message}` });
}

async function checkGraders(
  deps: CreateEvalDeps,
  accountId: number,
  graders: readonly Grader[],
): Promise<void> {
  for (const [index, grader] of graders.entries()) {
    const problem = await deps.graderProblem(accountId, grader);
    if (problem === undefined) continue;
    const param = `graders[${index}].${grader.type === "regex" ? "pattern" : "schema"}`;
    throw invalidValue(param, `${problem}`);
  }
}

/** Columns whose values callers choose for a person, a conversation or a request. */
const personal = new Set(["user_id", "session_id", "request_id"]);

/**
 * Returns the filters as they are stored: null in place of values that may name a person. A run
 * stays when that person's data is erased, and its calls are chosen at once, so nothing needs them.
 */
function withoutPersons(filters: EvalRequest["filters"]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(filters).map(([column, value]) => [column, personal.has(column) ? null : value]),
  );
}

/** Returns the query for the stored calls that a run evaluates. */
export function selectionOf(body: EvalRequest, accountId: number): InteractionQuery {
  const filters = Object.fromEntries(
    Object.entries(body.filters).flatMap(([column, value]) =>
      value === undefined ? [] : [[column, [value].flat()]]
    ),
  );
  return { accountId, filters, ...timeSpan(body) };
}
