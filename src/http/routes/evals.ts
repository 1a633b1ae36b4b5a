import type { Hono } from "hono";
import type { z } from "zod";
import type { Grader } from "../../../contracts/eval_request.ts";
import type { evalAccepted, evalRequest } from "../../../contracts/evals.ts";
import { contracts } from "../../../contracts/mod.ts";
import { sha256Hex } from "../../base/hash.ts";
import type { Clock } from "../../base/clock.ts";
import type { EvalStore } from "../../domain/eval.ts";
import { Fault } from "../../domain/fault.ts";
import type { InteractionQuery } from "../../domain/interaction.ts";
import { timeSpan } from "../../domain/time_span.ts";
import type { Caller } from "../../gateway/caller.ts";
import { chooseKey } from "../../gateway/choose_key.ts";
import type { Idempotency } from "../../gateway/idempotency.ts";
import type { Recorder } from "../../gateway/recorder.ts";
import { replayHeader, type Reply } from "../../gateway/reply.ts";
import { permitModel, type RelayParts, requirePrice } from "../../gateway/relay.ts";
import type { VendorKeyRing } from "../../gateway/vendor_key_ring.ts";
import { resolveUnified } from "../../vendors/model_name.ts";
import type { Registry } from "../../vendors/registry.ts";
import { bind, type BindParts } from "../bind.ts";
import { jsonReply } from "../json_reply.ts";
import { once } from "../repeats.ts";
import type { Env } from "../scene.ts";
import {
  readResultPlace,
  readRunPlace,
  resultBody,
  resultPlace,
  runBody,
  runPlace,
} from "./eval_bodies.ts";

export interface EvalRouteParts
  extends BindParts, Pick<RelayParts, "prices" | "catalogue" | "log"> {
  clock: Clock;
  newId: () => string;
  registry: Registry;
  storedKeys: Pick<VendorKeyRing, "find">;
  recorder: Pick<Recorder, "drain">;
  idempotency: Idempotency;
  evals: EvalStore;
  /** Why a grader can't be used, undefined when it can. */
  graderProblem: (grader: Grader) => Promise<string | undefined>;
  /** A run was asked for. */
  wakeEvals: () => void;
}

/** Mounts evaluations: asked for here, worked on in the background (`src/jobs/eval_runner.ts`). */
export function evalRoutes(app: Hono<Env>, parts: EvalRouteParts): void {
  bind(app, contracts.createEval, parts, async ({ caller, body, bodyText }) => ({
    reply: await once(
      parts.idempotency,
      { caller, bodyText },
      () => createRun(parts, caller, body, bodyText),
    ),
  }));

  bind(app, contracts.listEvals, parts, async ({ caller, query }) => {
    const after = query.after === undefined ? undefined : readRunPlace(query.after);
    const rows = await parts.evals.list(caller.principal.account.id, {
      limit: query.limit + 1,
      ...(after ? { after } : {}),
    });
    const page = rows.slice(0, query.limit);
    return { data: page.map(runBody), next: rows.length > page.length ? runPlace(page) : null };
  });

  bind(app, contracts.getEval, parts, async ({ caller, params, query }) => {
    const account = caller.principal.account.id;
    const after = query.after === undefined ? undefined : readResultPlace(query.after);
    const run = await parts.evals.find(account, params.eval_run_id);
    if (!run) throw new Fault("eval_not_found");
    const rows = await parts.evals.results(account, run.evalRunId, {
      limit: query.limit + 1,
      ...(after ? { after } : {}),
    });
    const page = rows.slice(0, query.limit);
    return {
      ...runBody(run),
      filters: JSON.parse(run.filtersText),
      graders: run.graders,
      results: page.map(resultBody),
      next: rows.length > page.length ? resultPlace(page) : null,
    };
  });

  bind(app, contracts.cancelEval, parts, async ({ caller, params }) => {
    const run = await parts.evals.cancel(caller.principal.account.id, params.eval_run_id);
    if (!run) throw new Fault("eval_not_found");
    return runBody(run);
  });
}

async function createRun(
  parts: EvalRouteParts,
  caller: Caller,
  body: EvalRequest,
  bodyText: string,
): Promise<Reply> {
  await checkModels(parts, caller, body);
  await checkGraders(parts, body.graders);
  const { account, key } = caller.principal;
  const select = selectionOf(body, account.id);
  // A run is about every call whose answer was received before it was asked for.
  await parts.recorder.drain();
  const created = await parts.evals.create({
    evalRunId: parts.newId(),
    createdAt: parts.clock.now(),
    accountId: account.id,
    apiKeyId: key.id,
    name: body.name ?? null,
    model: body.model,
    filtersText: JSON.stringify(body.filters),
    graders: body.graders,
    select,
    limit: body.limit,
    sample: body.sample,
    requestId: caller.requestId,
    requestHash: sha256Hex(bodyText),
  });
  parts.wakeEvals();
  return accepted(created);
}

type EvalRequest = z.output<typeof evalRequest>;

/** Every model that the run will call: known, priced, permitted to this key, with a vendor key. */
async function checkModels(
  parts: EvalRouteParts,
  caller: Caller,
  { model, graders }: EvalRequest,
): Promise<void> {
  if (caller.vendorKey) {
    throw new Fault("invalid_request", {
      message:
        "An evaluation goes on after this request and can't keep the vendor key of the dual-key form: store it for the account, or send the service key alone.",
    });
  }
  const named: [string, string][] = [["model", model]];
  for (const [index, grader] of graders.entries()) {
    if (grader.type === "judge") named.push([`graders[${index}].model`, grader.model]);
  }
  for (const [param, name] of named) await naming(param, () => checkModel(parts, caller, name));
}

async function checkModel(parts: EvalRouteParts, caller: Caller, name: string): Promise<void> {
  const target = resolveUnified(parts.registry, name);
  const { key } = caller.principal;
  const { label } = target.vendor;
  const isOpen = key.scopes.length === 0 || ["chat", label].some((one) => key.scopes.includes(one));
  if (!isOpen) {
    throw new Fault("permission_denied", {
      param: "model",
      message:
        `model: this API key has neither the scope 'chat' nor '${label}', one of which calls to this model need.`,
    });
  }
  permitModel(key, target, parts.registry);
  const { mode } = await chooseKey(target.vendor, caller, parts.storedKeys);
  if (mode === "managed") await requirePrice(parts, target, caller.arrivedAt);
}

/** A fault of a model name, under the field that it stands in here. */
async function naming(param: string, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    const message = thrown.message.replace(/^model: /, "");
    throw new Fault(thrown.code, { param, message: `${param}: ${message}` });
  }
}

async function checkGraders(parts: EvalRouteParts, graders: readonly Grader[]): Promise<void> {
  for (const [index, grader] of graders.entries()) {
    const problem = await parts.graderProblem(grader);
    if (problem === undefined) continue;
    const param = `graders[${index}].${grader.type === "regex" ? "pattern" : "schema"}`;
    throw new Fault("invalid_value", { param, message: `${param}: ${problem}.` });
  }
}

function selectionOf(body: EvalRequest, accountId: number): InteractionQuery {
  const filters = Object.fromEntries(
    Object.entries(body.filters).flatMap(([column, value]) =>
      value === undefined ? [] : [[column, [value].flat()]]
    ),
  );
  return { accountId, filters, ...timeSpan(body) };
}

function accepted(
  { evalRunId, total, repeated }: { evalRunId: string; total: number; repeated: boolean },
): Reply {
  const answer: z.output<typeof evalAccepted> = {
    status: "ok",
    eval_run_id: evalRunId,
    total,
    message: total === 0
      ? "No stored interaction matches; nothing is to be done."
      : `${total} stored ${total === 1 ? "interaction" : "interactions"} will be asked again.`,
  };
  // The store knows a repeat even where a crash lost the stored answer.
  return jsonReply(answer, { status: 202, ...(repeated ? { headers: replayHeader } : {}) });
}
