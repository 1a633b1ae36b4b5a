import { writeJson } from "../../base/write_json.ts";
import { runAtOnce } from "../../base/heavy_work.ts";
import type { Clock } from "../../base/clock.ts";
import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type { CanonicalRequest, Loss } from "../../dialects/kernel/canonical_request.ts";
import type { Dialect, RequestFacts, Target } from "../../dialects/kernel/dialect.ts";
import { promptTokens } from "../../dialects/kernel/prompt_text.ts";
import { withoutTags } from "../../dialects/kernel/tag_blocks.ts";
import { demandOf, type ToolDemand } from "../../dialects/kernel/tool_demand.ts";
import type { TranslationMode } from "../../keys/api_key.ts";
import { Fault } from "../../shared/fault.ts";
import type { Interaction } from "../../shared/interaction.ts";
import type { StoredResponseStore } from "../../shared/stored_response.ts";
import type { ResolvedModel } from "../../vendors/model_name.ts";
import type { LearnedEndpoints } from "../../vendors/learned_endpoints.ts";
import type { Prices } from "../../pricing/table/prices.ts";
import type { Vendor } from "../../vendors/registry.ts";
import type { PublicFetch } from "../../vendors/public_fetch.ts";
import { cacheForm, searchForm } from "../../vendors/target_forms.ts";
import type { CallContext } from "../call_context.ts";
import { chatIsRefused, type DialectCall, dialectsFor } from "./choose_dialects.ts";
import { inlineMedia } from "./inline_media.ts";
import type { CallPlan } from "./call_plan.ts";
import { passThrough } from "./pass_through.ts";
import { recallReasoning } from "../conversation/reasoning_store.ts";
import { shownModel } from "../shown_model.ts";
import { translate } from "./translation.ts";

export interface PlanDeps {
  clock: Clock;
  dialects: Readonly<Record<DialectName, Dialect>>;
  prices: Prices;
  learned: LearnedEndpoints;
  kept: StoredResponseStore;
  publicFetch: PublicFetch;
  keepAliveMs: number;
}

/** A request whose vendor is known. */
export interface PlanRequest {
  transactionId: string;
  caller: CallContext;
  dialect: Dialect;
  body: unknown;
  bodyText: string;
  facts: RequestFacts;
  target: ResolvedModel;
  /** The vendor whose family was called; undefined on the unified family. */
  vendor?: Vendor | undefined;
  /** Whose vendor key the call goes with. */
  mode: Interaction["mode"];
  /** The caller wants a stream as one JSON array, where its dialect has that form. */
  jsonArray: boolean;
  /** The service's own key is used: nothing of the call is to stay in the vendor's account. */
  keepNothing: boolean;
}

/**
 * Plans a call: passed through or translated, and prepares its request for the vendor's dialect `upstream`; absent:
 * the best that is known (`dialectsFor`). Throws what is wrong with the request.
 */
export async function planCall(
  deps: PlanDeps,
  request: PlanRequest,
  upstream?: DialectName,
): Promise<CallPlan> {
  const { dialect, facts, caller } = request;
  const { step = runAtOnce } = caller;
  const demand = dialect.toolDemand?.(request.body);
  const first = upstream ?? dialectsFor(deps, dialectCall(request, demand ?? "none"))[0];
  if (first === dialect.name) return await step.inSteps(() => passThrough(request));
  const mode = translationMode(caller);
  const read = await step.inSteps(() =>
    dialect.decodeRequestSteps(withoutTags(request.body, facts.tagBlocks))
  );
  const isMoved = request.target.vendor.dialects.includes(dialect.name);
  const decoded = isMoved ? unshown(read) : read;
  const inputTokens = await step.inSteps(() => promptTokens(request.body));
  const asked = dialectCall(request, demand ?? demandOf(decoded));
  const [best, ...others] = upstream === undefined ? dialectsFor(deps, asked) : [upstream];
  let encoded = await encodeFor(deps, request, decoded, best!);
  // The row prefers an endpoint for what it takes; what only its first one can carry goes there.
  const other = request.target.vendor.dialects[0]!;
  const isOpen = others.includes(other) && !(other === "chat" && chatIsRefused(deps, asked));
  if (isOpen && other !== dialect.name && isRefused(encoded.losses, mode)) {
    const carried = await encodeFor(deps, request, decoded, other);
    if (!isRefused(carried.losses, mode)) encoded = carried;
  }
  return translate({
    transactionId: request.transactionId,
    dialect,
    ...encoded,
    body: request.body,
    inputTokens,
    target: request.target,
    shownModel: shownModel(request),
    mode,
    showUsage: facts.wantsStreamUsage,
    jsonArray: request.jsonArray,
    keepAliveMs: deps.keepAliveMs,
    created: Math.floor(caller.arrivedAt.getTime() / 1000),
    now: secondsOf(deps.clock),
  });
}

/**
 * For a caller of an endpoint that the vendor has, but not for this call: it expects what that one
 * gives, without summaries of the reasoning, for which vendors want an organisation to be verified.
 */
function unshown(request: CanonicalRequest): CanonicalRequest {
  const { reasoning } = request;
  return reasoning?.show ? { ...request, reasoning: { ...reasoning, show: false } } : request;
}

function dialectCall(request: PlanRequest, demand: ToolDemand): DialectCall {
  const { target, dialect, caller } = request;
  return { target, own: dialect.name, demand, at: caller.arrivedAt };
}

/** Whether these losses would end the call; `judge` says by which. In lenient mode: change it. */
function isRefused(losses: readonly Loss[], mode: TranslationMode): boolean {
  return losses.some(({ weight }) => mode === "strict" || weight === "meaning");
}

/** The request in a dialect of the vendor, with the reasoning of earlier turns put back. */
async function encodeFor(
  deps: PlanDeps,
  request: PlanRequest,
  decoded: CanonicalRequest,
  name: DialectName,
) {
  const { caller, target } = request;
  const { step = runAtOnce } = caller;
  const upstream = deps.dialects[name];
  const { needsInline } = upstream;
  const inlined = needsInline
    ? await inlineMedia(
      decoded,
      deps.publicFetch,
      caller.signal,
      (part) => part.source.type === "url" && needsInline(part, part.source.url),
    )
    : decoded;
  const account = caller.principal.account.id;
  const recalled = await recallReasoning(inlined, upstream.name, account, deps.kept);
  const encoded = await step.inSteps(() =>
    upstream.encodeRequestSteps(recalled, targetOf(deps, request, upstream.name))
  );
  return {
    upstream,
    request: recalled.reasoning ? { reasoning: recalled.reasoning } : {},
    encoded: { losses: encoded.losses, reversal: encoded.reversal },
    losses: encoded.losses,
    hosted: upstream.hostedWork(encoded.body),
    requestText: await step.inSteps(() =>
      writeJson(upstream.fitToModel?.(encoded.body, target.model) ?? encoded.body)
    ),
  };
}

/** What the encoder must know of where the request goes. */
function targetOf(deps: PlanDeps, request: PlanRequest, dialect: DialectName): Target {
  const { target: { vendor, model }, caller, mode } = request;
  const price = deps.prices.find(vendor.label, model, caller.arrivedAt);
  return {
    model,
    maxOutputTokens: price?.maxOutputTokens,
    quirks: vendor.quirks,
    ...searchForm(vendor, dialect, model, price, mode === "managed"),
    ...cacheForm(vendor, dialect, price),
    autoCache: setsCacheMarks(caller),
  };
}

/** Made out here: a function that lives as long as the call holds all that stands around it. */
function secondsOf(clock: Clock): () => number {
  return () => Math.floor(clock.now().getTime() / 1000);
}

/** `X-Prompt-Cache`, else the key's own setting. */
function setsCacheMarks(caller: CallContext): boolean {
  const asked = caller.header("x-prompt-cache");
  if (asked === undefined) return caller.principal.key.promptCache;
  if (asked === "on" || asked === "off") return asked === "on";
  throw new Fault("invalid_value", {
    param: "X-Prompt-Cache",
    message: "X-Prompt-Cache: expected 'on' or 'off'.",
  });
}

/** `X-Translation-Mode`, else the key's own. */
export function translationMode(caller: CallContext): TranslationMode {
  const asked = caller.header("x-translation-mode");
  if (asked === undefined) return caller.principal.key.translationMode;
  if (asked === "strict" || asked === "lenient" || asked === "default") return asked;
  throw new Fault("invalid_value", {
    param: "X-Translation-Mode",
    message: "X-Translation-Mode: expected 'strict' or 'lenient'.",
  });
}
