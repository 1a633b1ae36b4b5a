import { atOnce, type Step } from "../base/heavy_work.ts";
import type { ApiKey } from "../domain/api_key.ts";
import { promptTokens as countTokens } from "../dialects/prompt_text.ts";
import { Fault, messageOf } from "../domain/fault.ts";
import type { Catalogue } from "../vendors/catalogue.ts";
import { type ResolvedModel, resolveTarget, resolveUnified } from "../vendors/model_name.ts";
import type { Registry, Vendor } from "../vendors/registry.ts";
import type { Upstream } from "../vendors/upstream.ts";
import type { RequestFacts } from "../dialects/dialect.ts";
import type { PriceRow } from "../domain/pricing.ts";
import { Call, type CallFacts, type CallParts } from "./call.ts";
import { boundOf, type Funds, type FundsParts, noFunds, setAside } from "./funds.ts";
import type { Lane } from "./lane.ts";
import { type CallMeter, Meter } from "./meter.ts";
import type { Caller } from "./caller.ts";
import { chooseKey } from "./choose_key.ts";
import { continueConversation, inputItems, keeperOf } from "./conversation.ts";
import { deliver } from "./deliver.ts";
import type { KeptMemory } from "./kept_memory.ts";
import { letGo } from "./let_go.ts";
import { type LaneParts, layLane } from "./lay_lane.ts";
import type { FullDialect } from "./translation.ts";
import type { Reply } from "./reply.ts";
import { boundPayloadSteps, payloadLimits } from "./payload.ts";
import { callVendor } from "./vendor_call.ts";
import type { VendorKeyRing } from "./vendor_key_ring.ts";

/** One proxied request, validated by its contract. */
export interface RelayRequest {
  caller: Caller;
  /** The caller's dialect. */
  dialect: FullDialect;
  /** The vendor whose family was called; undefined on the unified family. */
  vendor: Vendor | undefined;
  body: unknown;
  /** The body as the caller wrote it. */
  bodyText: string;
  /** The caller wants a stream as one JSON array, where its dialect has that form. */
  jsonArray?: boolean;
}

export interface Relay {
  /** Sends a call to its vendor and gives the answer back, whole or as a stream. */
  send(request: RelayRequest): Promise<Reply>;
}

export interface RelayParts extends CallParts, LaneParts, FundsParts {
  newTransactionId: () => string;
  kept: KeptMemory;
  registry: Registry;
  catalogue: Catalogue;
  upstream: Upstream;
  storedKeys: VendorKeyRing;
}

export function createRelay(parts: RelayParts): Relay {
  return {
    async send(request) {
      parts.recorder.admit();
      const { caller, dialect } = request;
      const { step = atOnce } = caller;
      const continued = await continueConversation(request, parts.kept);
      const facts = await step(() => dialect.readRequest(continued.body));
      const target = resolveTarget(parts.registry, request.vendor, facts.model);
      permitModel(caller.principal.key, target, parts.registry);
      const { key, mode } = await chooseKey(target.vendor, caller, parts.storedKeys);
      const price = mode === "managed"
        ? await requirePrice(parts, target, caller.arrivedAt)
        : undefined;
      // The lane is laid before the call begins: what is wrong with the request is no interaction.
      const transactionId = parts.newTransactionId();
      const jsonArray = request.jsonArray === true;
      const known = { ...request, transactionId, facts, target, jsonArray };
      const lane = await layLane(parts, { ...known, ...continued });
      const { promptTokens, inputItemsText }: Remembered = step.isHeavy
        ? await lightened(request, continued.body, step)
        : {};
      const kept = keeperOf(dialect, continued, inputItemsText);
      const { bodyText } = request;
      const limits = payloadLimits(parts, dialect);
      const payload = await step.inSteps(() => boundPayloadSteps(bodyText, limits));
      const funds = price
        ? await fundsOf(parts, { transactionId, caller, facts, lane, price, step })
        : noFunds;
      const begun = { payload, promptTokens };
      const meter = new Meter(parts.payloadMaxBytes, () => parts.clock.monotonicMs());
      const call = begin(parts, { ...known, ...begun, mode, lane, kept, funds }, meter);
      const out = { transactionId, caller, facts, target, key, mode, lane, call };
      const vendor = { upstream: parts.upstream, log: parts.log, now: () => parts.clock.now() };
      return await deliver(parts.clock, out, () => callVendor(vendor, out));
    },
  };
}

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
  for (const one of [sent, body]) letGo(one, dialect.answerFields);
  caller.onEncoded?.();
  return { promptTokens, inputItemsText: () => items };
}

/** Credit and room under caps for the most that the call can cost. */
function fundsOf(
  parts: FundsParts,
  { transactionId, caller, facts, lane, price, step }: {
    transactionId: string;
    caller: Caller;
    facts: RequestFacts;
    lane: Lane;
    price: PriceRow;
    step: Step;
  },
): Promise<Funds> {
  const { principal, arrivedAt: at } = caller;
  const bound = () => boundOf(price, facts, lane.requestText);
  const set = (boundNanos: bigint) => setAside(parts, { principal, transactionId, at, boundNanos });
  return step.isHeavy ? step(bound).then(set) : set(bound());
}

/** The record holds what the caller sent, not what stood before it. */
export function begin<M extends CallMeter>(parts: CallParts, facts: CallFacts, meter: M): Call<M> {
  try {
    return new Call(parts, facts, meter);
  } catch (thrown) {
    facts.funds.settle(0n);
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
  parts: Pick<RelayParts, "prices" | "catalogue" | "log">,
  target: ResolvedModel,
  at: Date,
): Promise<PriceRow> {
  const find = () => parts.prices.find(target.vendor.label, target.model, at);
  const known = find();
  if (known && !known.fallback) return known;
  if (target.vendor.listedPrices) {
    const learning = parts.catalogue.models(target.vendor).catch((thrown) => {
      parts.log.warn("a vendor's price list could not be read", {
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
