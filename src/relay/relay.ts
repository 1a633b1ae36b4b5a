import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { ByteGate } from "../base/byte_gate.ts";
import { runAtOnce, type Step } from "../base/heavy_work.ts";
import type { QuotedJson } from "../base/quoted_json.ts";
import type { Dialect, RequestFacts } from "../dialects/kernel/dialect.ts";
import type { HostedWork } from "../dialects/kernel/hosted.ts";
import { type PromptUsage, promptUsage as countPrompt } from "../dialects/kernel/prompt_text.ts";
import { type CostBounds, costBoundsOf } from "../pricing/plausible.ts";
import { type BoundPayload, boundPayloadSteps, payloadLimits } from "../records/payload.ts";
import { mergeTags, type PromptTags } from "../shared/prompt_tags.ts";
import { boundInputTokens, inputTokenBounds } from "../shared/token_estimate.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { Vendor } from "../vendors/registry.ts";
import type { Upstream } from "../vendors/upstream.ts";
import type { VendorCallContext } from "./vendor_call.ts";
import {
  boundOf,
  chargeHosted,
  type HostedBound,
  noHostedWork,
  outputBound,
  refuseState,
} from "./plan/hosted_work.ts";
import { type BackgroundCall, planBackground } from "./background_task.ts";
import { answerKey } from "./answer_key.ts";
import { maxVendorRequests } from "./call.ts";
import type { CallContext } from "./call_context.ts";
import { candidatesOf, type ModelRequest, type RoutingDeps } from "./candidates.ts";
import {
  callerFor,
  continueConversation,
  type ContinuedRequest,
  inputItems,
  retainerOf,
} from "./conversation/conversation.ts";
import type { StoredResponseCache } from "./conversation/stored_response_cache.ts";
import { Meter } from "./meter.ts";
import {
  type CallPlan,
  type Candidates,
  eachPossible,
  type PipelineDeps,
  requireAuthorization,
  runCall,
} from "./pipeline.ts";
import type { TextPlan } from "./plan/text_plan.ts";
import {
  type PlanAgain,
  planCall,
  type PlanDeps,
  planningAgain,
  type PlanRequest,
} from "./plan/plan_call.ts";
import type { Reply } from "./reply.ts";
import { executeText } from "./text_answer.ts";
import { isRecord } from "../dialects/kernel/json.ts";
import { type ModelBeside, permitBeside, routeFor } from "../routing/permitted_route.ts";
import type { TargetHealth } from "../routing/target_health.ts";

/** A text request that has passed its contract. */
export interface RelayRequest {
  caller: CallContext;
  /** The caller's dialect. */
  dialect: Dialect;
  /** The vendor whose family was called; undefined on the unified family. */
  vendor: Vendor | undefined;
  body: unknown;
  /** The body as the caller wrote it. */
  bodyText: string;
  /** The caller wants a stream as one JSON array, where its dialect has that form. */
  jsonArray?: boolean;
  /** The body as it is recorded, where it differs from what the vendor gets. */
  sentText?: string;
  /** The request was written for another model than it names. */
  isRepeat?: boolean;
  /** The call goes on without its caller. */
  background?: BackgroundCall;
}

export interface Relay {
  /** Sends a call to its vendor and returns the answer, whole or as a stream. */
  send(request: RelayRequest): Promise<Reply>;
}

export interface RelayDeps extends PipelineDeps, PlanDeps, RoutingDeps {
  targetHealth: TargetHealth;
  storedResponses: StoredResponseCache;
  upstream: Upstream;
  /** Bounds the memory of whole answers. */
  answers: ByteGate;
}

/**
 * Creates the relay of text calls, which passes requests in one of the four dialects to the
 * pipeline.
 */
export function createRelay(deps: RelayDeps): Relay {
  return {
    send: (request) =>
      runCall(deps, {
        caller: request.caller,
        background: request.background,
        async read() {
          const { dialect, caller, vendor } = request;
          const { step = runAtOnce } = caller;
          dialect.conversation?.own?.check(request.body);
          const facts = withTagsOf(caller, await step(() => dialect.readRequest(request.body)));
          const { fallbacks, sent } = await takeFallbacks(request, step);
          const { model, endUser, endUserField, session } = facts;
          return {
            targets: await candidatesOf(deps, caller, {
              vendor,
              model,
              endUser,
              endUserField,
              session,
              fallbacks,
            }),
            plan: (vendorCalls) => planText(deps, sent, facts, vendorCalls),
            // A background call's answer is fetched by its id.
            ...(request.background ? {} : {
              answerKey: (vendorCalls) => {
                const route = vendor
                  ? undefined
                  : routeFor(deps.routes, caller.principal.key, model);
                return answerKey(request, facts, vendorCalls, route);
              },
            }),
          };
        },
      }),
  };
}

/**
 * Takes the fallbacks out of a body on the unified family, where they are meant for the gateway.
 * Elsewhere that field is the vendor's own and stays.
 */
async function takeFallbacks(
  request: RelayRequest,
  step: Step,
): Promise<{ fallbacks: ModelRequest["fallbacks"]; sent: RelayRequest }> {
  const { dialect: { fallbackField: field }, vendor, body, bodyText } = request;
  const names = vendor === undefined ? field?.read(body) : undefined;
  if (!field || names === undefined) return { fallbacks: undefined, sent: request };
  const sentText = request.sentText ?? bodyText;
  const without = await step.inSteps(() => field.without(body, bodyText));
  return { fallbacks: { field: field.name, names }, sent: { ...request, ...without, sentText } };
}

/** A request as it goes to one vendor. */
interface TextCandidate {
  vendorCall: VendorCallContext;
  /** The request with the conversation that it continues. */
  continued: ContinuedRequest;
  facts: RequestFacts;
  plan: TextPlan;
  /** Undefined with a vendor key of the caller's own. */
  hosted: HostedBound | undefined;
  planAgain: PlanAgain | undefined;
}

/** `asked` are the request's facts without the conversation that it continues. */
async function planText(
  deps: RelayDeps,
  request: RelayRequest,
  asked: RequestFacts,
  vendorCalls: Candidates<VendorCallContext>,
): Promise<Candidates<CallPlan<Meter>>> {
  const { dialect } = request;
  const { step: ownStep = runAtOnce } = request.caller;
  const hosted = await ownStep.inSteps(() => dialect.hostedWork(request.body));
  let authorized: Promise<void> | undefined;
  const candidates = await eachPossible(
    vendorCalls,
    (vendorCall) =>
      planFor(
        deps,
        request,
        { facts: asked, hosted },
        vendorCall,
        (facts) => authorized ??= requireLeast(deps, request, vendorCall, facts),
      ),
    maxVendorRequests,
  );
  // A lack of credit refuses the call even if another candidate needs nothing fetched.
  await authorized;
  // Bodies share their members, so all are released or none; a small one is needed to plan again.
  const units = candidates.reduce(
    (shortest, { continued }) => Math.min(shortest, continued.bodyText.length),
    Infinity,
  );
  const caller = callerFor(request.caller, units);
  const { step = runAtOnce } = caller;
  const counted = step.isHeavy
    ? await releaseBodies(request, candidates.map(({ continued }) => continued.body), step)
    : undefined;
  const bodyText = caller.sentText ?? request.sentText ?? request.bodyText;
  const limits = payloadLimits(deps, dialect);
  const payload = await step.inSteps(() => boundPayloadSteps(bodyText, limits));
  return await eachPossible(
    candidates,
    (candidate) =>
      callPlanOf(
        deps,
        { ...request, caller },
        candidate,
        payload,
        counted?.get(candidate.continued.body),
      ),
  );
}

async function callPlanOf(
  deps: RelayDeps,
  request: RelayRequest,
  candidate: TextCandidate,
  payload: BoundPayload,
  counted: Counted | undefined,
): Promise<CallPlan<Meter>> {
  const { caller, dialect, background } = request;
  const { vendorCall, continued, facts, plan, planAgain } = candidate;
  const bounds = await boundsOf(request, candidate);
  const output = vendorCall.price && outputBound(vendorCall.price, facts);
  const conversation = withCallersSources(continued, caller);
  return {
    vendorCall,
    recorded: {
      dialect,
      plan,
      // With the conversation that it continues: the vendor reads, and charges for, all of it.
      body: continued.body,
      bodyText: request.bodyText,
      promptUsage: counted?.promptUsage,
      maxOutputTokens: output && output.perChoice * output.choices,
      payload,
      facts: background ? { ...facts, stream: false } : facts,
      ...(dialect.withoutRepeated ? { answerSources: conversation.sources } : {}),
      retain: retainerOf(dialect, conversation, counted?.inputItemsText),
    },
    meter: createMeter(deps, background !== undefined),
    ...bounds,
    execute: (call, isLast) =>
      executeText(deps, { vendorCall, facts, plan, call, planAgain, isLast }),
  };
}

/**
 * Adds the earlier calls whose text is in the body itself: a WebSocket's turn contains those before
 * it.
 */
function withCallersSources(
  continued: ContinuedRequest,
  { sourceCallIds = [] }: CallContext,
): ContinuedRequest {
  return { ...continued, sources: [...new Set([...continued.sources, ...sourceCallIds])] };
}

/**
 * Refuses a call before media is fetched for it, if its account can't pay the part of its bound
 * that is known by then.
 */
async function requireLeast(
  deps: RelayDeps,
  request: RelayRequest,
  vendorCall: VendorCallContext,
  facts: RequestFacts,
): Promise<void> {
  if (request.background?.authorization) return;
  const least = { vendorCall, facts, plan: { requestText: "" }, hosted: noHostedWork };
  const bounds = await boundsOf(request, least);
  await requireAuthorization(deps, { vendorCall, recorded: { facts }, ...bounds });
}

async function planFor(
  deps: RelayDeps,
  request: RelayRequest,
  asked: { facts: RequestFacts; hosted: HostedWork },
  vendorCall: VendorCallContext,
  mayFetch: (facts: RequestFacts) => Promise<void>,
): Promise<TextCandidate> {
  const { dialect, background } = request;
  const { transactionId, target, mode, isManaged } = vendorCall;
  refuseSharedState(request, asked.hosted, target, isManaged);
  const hasDialect = target.vendor.dialects.includes(dialect.name);
  if (!hasDialect) dialect.conversation?.requireInput?.(request.body);
  const { tagBlocks } = asked.facts;
  const sent = { ...request, tagBlocks };
  const continued = await continueConversation(sent, deps.storedResponses, {
    sealedBy: isManaged && hasDialect ? target.vendor.label : undefined,
    mayBeVendors: !isManaged && hasDialect,
  });
  const caller = callerFor(request.caller, continued.bodyText.length);
  const { step = runAtOnce } = caller;
  const isContinued = continued.body !== request.body;
  const facts = !isContinued
    ? asked.facts
    : withTagsOf(asked.facts, await step(() => dialect.readRequest(continued.body)));
  const planRequest: PlanRequest = {
    transactionId,
    caller,
    dialect,
    facts,
    hosted: isContinued ? undefined : asked.hosted,
    target,
    mode,
    vendor: request.vendor,
    isRepeat: request.isRepeat,
    body: continued.body,
    bodyText: continued.bodyText,
    jsonArray: request.jsonArray === true,
    keepNothing: isManaged,
    mayFetch: () => mayFetch(facts),
  };
  const checked = (plan: TextPlan) => {
    permitHosted(deps, vendorCall, plan);
    const hosted = isManaged ? chargeableWork(deps, vendorCall, plan) : undefined;
    return { plan: background ? planBackground(plan, background.task) : plan, hosted };
  };
  const first = await planCall(deps, planRequest);
  const replan = planningAgain(deps, planRequest, first, step);
  const planAgain = replan &&
    (async (upstream: DialectName) => checked(await replan(upstream)).plan);
  const { plan, hosted } = checked(first);
  return { vendorCall, continued, facts, plan, hosted, planAgain };
}

/** A turn's own tags are not in the conversation any more, and come before the conversation's. */
function withTagsOf({ tags }: { tags?: PromptTags }, whole: RequestFacts): RequestFacts {
  return tags ? { ...whole, tags: mergeTags(tags, whole.tags) } : whole;
}

/**
 * Returns what the call can cost at this vendor: at most, and with as much output as the key
 * expects.
 */
async function boundsOf(
  { caller: { step = runAtOnce, principal: { key } }, background }: RelayRequest,
  { vendorCall: { price, isManaged }, facts, plan, hosted }:
    & Pick<TextCandidate, "vendorCall" | "facts" | "hosted">
    & { plan: Pick<TextPlan, "requestText"> },
): Promise<CostBounds & Pick<CallPlan<Meter>, "expectedNanos">> {
  if (!isManaged || !price || !hosted) return { boundNanos: null };
  const { requestText } = plan;
  const counted = step.isHeavy
    ? await step.inSteps(() => boundInputTokens(requestText))
    : inputTokenBounds(requestText);
  const bound = (tokens: number, of = facts) => boundOf(price, of, tokens, hosted);
  const bounds = costBoundsOf(counted, (inputTokens) => bound(inputTokens));
  const { expectedOutputTokens: expected } = key.defaults ?? {};
  // A background call's hold must cover it whenever it is made.
  if (expected === undefined || background) return bounds;
  const least = Math.min(expected * facts.choices, facts.maxOutputTokens ?? Infinity);
  const expectedNanos = bound(counted.inputTokens, { ...facts, maxOutputTokens: least });
  return expectedNanos < bounds.boundNanos ? { ...bounds, expectedNanos } : bounds;
}

function createMeter({ payloadMaxBytes, clock }: RelayDeps, isBackground: boolean): Meter {
  return new Meter(isBackground ? maxBackgroundChars : payloadMaxBytes, () => clock.monotonicMs());
}

/** A background answer is stored whole, up to this length. */
const maxBackgroundChars = 16 * 1024 * 1024;

/** What is still needed of a body after it was encoded and released. */
interface Counted {
  promptUsage?: PromptUsage;
  inputItemsText?: string | QuotedJson;
}

/**
 * Releases a heavy body once the vendors' requests and everything else that is needed have been
 * made of it.
 */
async function releaseBodies(
  { caller, dialect, body: sent }: RelayRequest,
  bodies: readonly unknown[],
  step: Step,
): Promise<ReadonlyMap<unknown, Counted>> {
  const counted = new Map<unknown, Counted>();
  for (const body of new Set(bodies)) {
    const promptUsage = await step.inSteps(() => countPrompt(body));
    const inputItemsText = await step.inSteps(() => inputItems(dialect, body));
    counted.set(body, { promptUsage, inputItemsText });
  }
  for (const one of [sent, ...bodies]) releaseRequest(one, dialect.answerFields);
  caller.onEncoded?.();
  return counted;
}

/**
 * State in a vendor's account can be used only by callers with their own key there, and only at
 * vendors of their own dialect: another one would answer as if there were no state.
 */
function refuseSharedState(
  { dialect }: RelayRequest,
  { state }: HostedWork,
  { vendor }: ResolvedModel,
  isManaged: boolean,
): void {
  const hasDialect = vendor.dialects.includes(dialect.name);
  // Refusals that a dialect's clients recover from keep their own form on translated calls; the
  // translation refuses the rest.
  refuseState(isManaged ? state : hasDialect ? [] : state.filter(({ details }) => details));
}

/** Refuses other models that the request names beside its own, unless the key may call them. */
function permitHosted(
  { routes }: Pick<RelayDeps, "routes">,
  { target: { vendor }, caller: { principal } }: VendorCallContext,
  plan: TextPlan,
): void {
  const named = plan.hosted.tools.flatMap(({ path, cost }): ModelBeside[] => {
    const param = shownPath(plan, path);
    if (cost.type === "model") {
      // Which model is a vendor's default is the vendor's choice, at any time.
      return cost.isDefault
        ? [{ id: undefined, param: `${param}.model` }]
        : [{ id: `${vendor.label}/${cost.model}`, param }];
    }
    return cost.type === "unknown" && cost.mayCallModels ? [{ id: undefined, param }] : [];
  });
  permitBeside(routes, principal.key, named);
}

/** Returns a field's path in the caller's request; a translated field has another one there. */
function shownPath({ sameDialect }: TextPlan, path: string): string {
  return sameDialect ? path : path.split(/[[.]/, 1)[0]!;
}

/** Returns the hosted work of a managed call for its bound; throws where it can't be charged. */
function chargeableWork(
  { prices }: Pick<RelayDeps, "prices">,
  { target, price, caller }: VendorCallContext,
  plan: TextPlan,
): HostedBound {
  const { label, admitsUnpriced } = target.vendor;
  if (!plan.sameDialect) refuseState(plan.hosted.state);
  return chargeHosted(plan.hosted, {
    price: price!,
    priceOf: (model) => prices.find(label, model, caller.arrivedAt),
    admitsUnpriced,
  }, (path) => shownPath(plan, path));
}

/**
 * Empties a request's conversation once the vendor's text has been made from it, so that references
 * to the request hold little memory: parsed values take many times the memory of their text. The
 * members in `needed` stay, for writing the answer.
 */
export function releaseRequest(body: unknown, needed: readonly string[]): void {
  if (!isRecord(body)) return;
  for (const [name, value] of Object.entries(body)) {
    if (needed.includes(name) || typeof value !== "object" || value === null) continue;
    if (Array.isArray(value)) value.length = 0;
    else for (const key of Object.keys(value)) delete (value as Record<string, unknown>)[key];
  }
}
