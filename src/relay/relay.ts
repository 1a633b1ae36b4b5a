import type { DialectName } from "../../contracts/calls/vendors.ts";
import { runAtOnce, type Step } from "../base/heavy_work.ts";
import type { ApiKey } from "../keys/api_key.ts";
import { promptTokens as countTokens } from "../dialects/kernel/prompt_text.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import type { Catalogue } from "../vendors/catalogue.ts";
import { type ResolvedModel, resolveTarget, resolveUnified } from "../vendors/model_name.ts";
import type { Registry, Vendor } from "../vendors/registry.ts";
import type { Upstream } from "../vendors/upstream.ts";
import type { Dialect, RequestFacts } from "../dialects/kernel/dialect.ts";
import type { PriceRow } from "../pricing/pricing.ts";
import type { BackgroundCall } from "./background_task.ts";
import { planBackground } from "./plan/background_plan.ts";
import { Call } from "./call.ts";
import type { CallDeps, CallFacts } from "./call_facts.ts";
import {
  type Authorization,
  type AuthorizeDeps,
  boundOf,
  nothingHeld,
  setAside,
} from "./authorize.ts";
import type { CallPlan } from "./plan/call_plan.ts";
import { type CallMeter, Meter } from "./meter.ts";
import type { Caller } from "./call_context.ts";
import { resolveVendorKey } from "./resolve_vendor_key.ts";
import { continueConversation, inputItems, keeperOf } from "./conversation/conversation.ts";
import { deliver } from "./deliver.ts";
import { chargeHosted, type HostedBound, refuseState } from "./plan/hosted_work.ts";
import type { StoredResponseCache } from "./conversation/stored_response_cache.ts";
import { releaseRequest } from "./release_request.ts";
import { planningAgain } from "./plan/plan_again.ts";
import { planCall, type PlanDeps } from "./plan/plan_call.ts";
import type { Reply } from "./reply.ts";
import { boundPayloadSteps, payloadLimits } from "../records/payload.ts";
import { callVendor } from "./vendor_call.ts";
import type { VendorKeyCache } from "../keys/vendor_key_cache.ts";

/** One proxied request, validated by its contract. */
export interface RelayRequest {
  caller: Caller;
  /** The caller's dialect. */
  dialect: Dialect;
  /** The vendor whose family was called; undefined on the unified family. */
  vendor: Vendor | undefined;
  body: unknown;
  /** The body as the caller wrote it. */
  bodyText: string;
  /** The caller wants a stream as one JSON array, where its dialect has that form. */
  jsonArray?: boolean;
  /** The body as it is recorded, where the vendor is asked otherwise than the caller wrote. */
  sentText?: string;
  /** The call goes on without its caller. */
  background?: BackgroundCall;
}

export interface Relay {
  /** Sends a call to its vendor and gives the answer back, whole or as a stream. */
  send(request: RelayRequest): Promise<Reply>;
}

export interface RelayDeps extends CallDeps, PlanDeps, AuthorizeDeps {
  newTransactionId: () => string;
  kept: StoredResponseCache;
  registry: Registry;
  catalogue: Catalogue;
  upstream: Upstream;
  storedKeys: VendorKeyCache;
}

export function createRelay(deps: RelayDeps): Relay {
  return {
    async send(request) {
      deps.recorder.admit();
      const { caller, dialect, background } = request;
      const { step = runAtOnce } = caller;
      const own = await step(() => dialect.readRequest(request.body));
      const target = resolveTarget(deps.registry, request.vendor, own.model);
      permitModel(caller.principal.key, target, deps.registry);
      const { key, mode } = await resolveVendorKey(target.vendor, caller, deps.storedKeys);
      const keepNothing = mode === "managed";
      await step(() => refuseSharedState(request, target, keepNothing));
      const speaks = target.vendor.dialects.includes(dialect.name);
      const sealedBy = keepNothing && speaks ? target.vendor.label : undefined;
      const continued = await continueConversation(request, deps.kept, sealedBy);
      const facts = continued.body === request.body
        ? own
        : await step(() => dialect.readRequest(continued.body));
      const price = mode === "managed"
        ? await requirePrice(deps, target, caller.arrivedAt)
        : undefined;
      // The lane is laid before the call begins: what is wrong with the request is no interaction.
      const transactionId = background?.task.transactionId ?? deps.newTransactionId();
      const jsonArray = request.jsonArray === true;
      const known = { ...request, transactionId, facts, target, mode, jsonArray, keepNothing };
      const laneRequest = { ...known, ...continued };
      const laid = await planCall(deps, laneRequest);
      const again = planningAgain(deps, laneRequest, laid, step);
      const workOf = (laid: CallPlan) =>
        price && chargeableWork(deps, { plan: laid, target, price, caller });
      const hosted = workOf(laid);
      const forTask = (laid: CallPlan) => background ? planBackground(laid, background.task) : laid;
      const plan = forTask(laid);
      const layAgain = again && (async (upstream: DialectName) => {
        const other = await again(upstream);
        workOf(other);
        return forTask(other);
      });
      const { promptTokens, inputItemsText }: Remembered = step.isHeavy
        ? await lightened(request, continued.body, step)
        : {};
      const kept = keeperOf(dialect, continued, inputItemsText);
      const bodyText = request.sentText ?? request.bodyText;
      const limits = payloadLimits(deps, dialect);
      const payload = await step.inSteps(() => boundPayloadSteps(bodyText, limits));
      const costs = { transactionId, caller, facts, plan, price, hosted, step };
      const authorization = background?.authorization ?? await authorizationFor(deps, costs);
      const begun = { payload, promptTokens, price };
      const meter = createMeter(deps, background !== undefined);
      const told = background ? { task: background.task, facts: { ...facts, stream: false } } : {};
      const call = begin(deps, { ...known, ...begun, plan, kept, authorization, ...told }, meter);
      if (background?.taken) {
        call.answered();
        return await background.taken({ call, target, authorization, losses: plan.losses });
      }
      const vendorRequest = {
        transactionId,
        caller,
        facts,
        target,
        key,
        mode,
        plan,
        call,
        layAgain,
      };
      return await deliver(deps.clock, vendorRequest, () => callVendor(deps, vendorRequest));
    },
  };
}

function createMeter({ payloadMaxBytes, clock }: RelayDeps, isBackground: boolean): Meter {
  return new Meter(isBackground ? maxBackgroundChars : payloadMaxBytes, () => clock.monotonicMs());
}

/** Nobody reads along: the answer of a background call is kept as a whole, up to this length. */
const maxBackgroundChars = 16 * 1024 * 1024;

/** What is asked of a body after its vendor was. */
interface Remembered {
  promptTokens?: number;
  inputItemsText?: () => string;
}

/** Lets a heavy body go: it has become the vendor's text, and what else is asked of it is known. */
async function lightened(
  { caller, dialect, body: sent }: RelayRequest,
  body: unknown,
  step: Step,
): Promise<Remembered> {
  const promptTokens = await step.inSteps(() => countTokens(sent));
  const items = await step.inSteps(() => inputItems(dialect, body));
  for (const one of [sent, body]) releaseRequest(one, dialect.answerFields);
  caller.onEncoded?.();
  return { promptTokens, inputItemsText: () => items };
}

/**
 * State in a vendor's account is for callers with a key of their own there, and for a vendor of
 * their own dialect: another one would answer as if it had never been.
 */
function refuseSharedState(
  { dialect, body }: Pick<RelayRequest, "dialect" | "body">,
  { vendor }: ResolvedModel,
  isManaged: boolean,
): void {
  const { state } = dialect.hostedWork(body);
  const speaks = vendor.dialects.includes(dialect.name);
  // What clients of a dialect recover from is told in their words on translated lanes too; the
  // rest is named there by the translation.
  refuseState(isManaged ? state : speaks ? [] : state.filter(({ details }) => details));
}

/** The hosted work of a managed call, for its bound; throws where it can't be charged for. */
function chargeableWork(
  deps: Pick<RelayDeps, "prices">,
  { plan, target, price, caller }: {
    plan: CallPlan;
    target: ResolvedModel;
    price: PriceRow;
    caller: Caller;
  },
): HostedBound {
  const { label, reportsCost } = target.vendor;
  // A translated field stands elsewhere in the caller's request.
  const shown = (path: string) => plan.sameDialect ? path : path.split(/[[.]/, 1)[0]!;
  if (!plan.sameDialect) refuseState(plan.hosted.state);
  return chargeHosted(plan.hosted, {
    price,
    priceOf: (model) => deps.prices.find(label, model, caller.arrivedAt),
    vendorReportsCost: reportsCost,
  }, shown);
}

/** Credit and room under caps for the most that the call can cost; nothing for one that costs nothing. */
async function authorizationFor(
  deps: AuthorizeDeps,
  { transactionId, caller, facts, plan, price, hosted, step }: {
    transactionId: string;
    caller: Caller;
    facts: RequestFacts;
    plan: CallPlan;
    price: PriceRow | undefined;
    hosted: HostedBound | undefined;
    step: Step;
  },
): Promise<Authorization> {
  if (!price || !hosted) return nothingHeld;
  const { principal, arrivedAt: at } = caller;
  const bound = () => boundOf(price, facts, plan.requestText, hosted);
  const set = (boundNanos: bigint) => setAside(deps, { principal, transactionId, at, boundNanos });
  return await set(step.isHeavy ? await step(bound) : bound());
}

/** The record holds what the caller sent, not what stood before it. */
export function begin<M extends CallMeter>(deps: CallDeps, facts: CallFacts, meter: M): Call<M> {
  try {
    return new Call(deps, facts, meter);
  } catch (thrown) {
    facts.authorization.settle(0n);
    throw thrown;
  }
}

/** The same for a model as a call names it; nothing is looked up for a key without a list. */
export function permitNamed(
  registry: Registry,
  { principal: { key } }: Pick<Caller, "principal">,
  vendor: Vendor | undefined,
  model: string,
): void {
  if (key.models.length > 0) permitModel(key, resolveTarget(registry, vendor, model), registry);
}

/** Throws `permission_denied` for a model outside of the key's list. */
export function permitModel(key: ApiKey, target: ResolvedModel, registry: Registry): void {
  if (key.models.length === 0) return;
  const allowed = key.models.some((name) => {
    try {
      return resolveUnified(registry, name).id === target.id;
    } catch {
      return false;
    }
  });
  if (allowed) return;
  throw new Fault("permission_denied", {
    param: "model",
    message: `model: this API key may not call '${target.id.slice(0, 100)}'.`,
  });
}

/** In managed mode a model without a price is refused: nobody would know what to charge. */
export async function requirePrice(
  deps: Pick<RelayDeps, "prices" | "catalogue" | "log">,
  target: ResolvedModel,
  at: Date,
): Promise<PriceRow> {
  const find = () => deps.prices.find(target.vendor.label, target.model, at);
  const known = find();
  if (known && !known.fallback) return known;
  if (target.vendor.listedPrices) {
    const learning = deps.catalogue.models(target.vendor).catch((thrown) => {
      deps.log.warn("a vendor's price list could not be read", {
        vendor: target.vendor.label,
        reason: messageOf(thrown),
      });
    });
    // With a fallback price at hand the call need not wait for the list.
    if (!known) await learning;
  }
  const found = find();
  if (found) return found;
  throw new Fault("model_not_found", {
    param: "model",
    message: `model: no price is known for '${
      target.id.slice(0, 100)
    }', so the service cannot bill it. Call it with a vendor key of your own, or ask the operator to add it to PRICES_FILE.`,
  });
}
