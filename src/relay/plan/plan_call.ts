import { withExactIntegers } from "../../base/exact_integers.ts";
import { writeJson } from "../../base/write_json.ts";
import { runAtOnce, type Step } from "../../base/heavy_work.ts";
import type { Steps } from "../../base/steps.ts";
import type { Clock } from "../../base/clock.ts";
import type { DialectName } from "../../../contracts/calls/vendors.ts";
import type {
  CanonicalRequest,
  Loss,
  SettingName,
  UnsupportedField,
} from "../../dialects/kernel/canonical_request.ts";
import type {
  Dialect,
  RequestFacts,
  Target,
  UnsignedThinking,
} from "../../dialects/kernel/dialect.ts";
import type { HostedTool, HostedWork } from "../../dialects/kernel/hosted.ts";
import { promptTokens } from "../../dialects/kernel/prompt_text.ts";
import { withoutTags } from "../../dialects/kernel/tag_blocks.ts";
import { settingPath } from "../../dialects/kernel/setting_losses.ts";
import { demandOf, type ToolDemand } from "../../dialects/kernel/tool_demand.ts";
import type { TranslationMode } from "../../keys/api_key.ts";
import { invalidValue } from "../../shared/fault.ts";
import type { Interaction } from "../../shared/interaction.ts";
import type { StoredResponseStore } from "../../shared/stored_response.ts";
import { type ResolvedModel, shorten } from "../../vendors/model_name.ts";
import type { LearnedEndpoints } from "../../vendors/learned_endpoints.ts";
import type { Prices } from "../../pricing/table/prices.ts";
import type { Vendor } from "../../vendors/registry.ts";
import type { PublicFetch } from "../../vendors/public_fetch.ts";
import { cacheForm, searchForm } from "../../vendors/target_forms.ts";
import type { CallContext } from "../call_context.ts";
import { inlineMedia } from "./inline_media.ts";
import type { TextPlan } from "./text_plan.ts";
import { passThrough } from "./pass_through.ts";
import { recallReasoning } from "../conversation/reasoning_store.ts";
import { enforceTranslationMode, translate } from "./translation.ts";
import { readVendorError } from "../../dialects/kernel/vendor_error.ts";
import { parsing } from "../../base/heavy_json.ts";
import { defined } from "../../base/defined.ts";
import { isRecord, type JsonRecord } from "../../dialects/kernel/json.ts";

export interface PlanDeps {
  clock: Clock;
  dialects: Readonly<Record<DialectName, Dialect>>;
  prices: Prices;
  learned: LearnedEndpoints;
  storedResponses: StoredResponseStore;
  publicFetch: PublicFetch;
  keepAliveMs: number;
}

/** A request for one vendor. */
export interface PlanRequest {
  transactionId: string;
  caller: CallContext;
  dialect: Dialect;
  body: unknown;
  bodyText: string;
  facts: RequestFacts;
  /** What `body` asks of hosted work, if it has been read already. */
  hosted?: HostedWork | undefined;
  target: ResolvedModel;
  /** The vendor whose family was called; undefined on the unified family. */
  vendor?: Vendor | undefined;
  /** The request was written for another model than it names. */
  isRepeat?: boolean | undefined;
  /** Whose vendor key is used. */
  mode: Interaction["mode"];
  /** The caller wants a stream as one JSON array, where its dialect has that form. */
  jsonArray: boolean;
  /** The service's own key is used: the vendor's account is to store nothing of the call. */
  keepNothing: boolean;
  /** Throws where the call can't be paid; called before media is fetched for it. */
  mayFetch: () => Promise<void>;
}

/**
 * Decides whether a call is passed through or translated, and prepares its request for the vendor's
 * dialect `upstream`; if that is absent, for the best dialect that is known (`dialectsFor`). Throws
 * a fault for an invalid request.
 */
export async function planCall(
  deps: PlanDeps,
  request: PlanRequest,
  upstream?: DialectName,
): Promise<TextPlan> {
  const { dialect, facts, caller } = request;
  const { step = runAtOnce } = caller;
  validateTranslationHeaders(caller);
  const mode = translationMode(caller);
  const demand = dialect.toolDemand?.(request.body);
  const first = upstream ?? dialectsFor(deps, dialectCall(request, demand ?? "none"))[0];
  const { compacts, lacksExtensions, dialects } = request.target.vendor;
  const isEmulated = (!compacts && dialect.asksForSummary?.(request.body)) ||
    (lacksExtensions && dialect.extensionsIn?.(request.body).includes(lacksExtensions));
  if (first === dialect.name && !isEmulated && !isForAnotherModel(request)) {
    const hosted = request.hosted ?? await step.inSteps(() => dialect.hostedWork(request.body));
    if (!losesSearch(deps, request, hosted)) {
      return await step.inSteps(() => passed({ ...request, hosted }));
    }
  }
  const { callMembers } = dialect;
  const body = callMembers
    ? await step(() => withExactIntegers(request.bodyText, request.body, callMembers))
    : request.body;
  const read = await step.inSteps(() => dialect.decodeRequest(withoutTags(body, facts.tagBlocks)));
  checkSettings(read);
  // Before an encoder finds that what is left of a message is empty.
  enforceTranslationMode(read.unsupported.filter(mayNotComeBack), mode);
  const chosen = withToolChoice(read, mode);
  const isMoved = first !== dialect.name && dialects.includes(dialect.name);
  const decoded = isMoved ? withoutReasoningSummaries(chosen) : chosen;
  const inputTokens = await step.inSteps(() => promptTokens(request.body));
  const asked = dialectCall(request, demand ?? demandOf(decoded));
  const order = upstream === undefined ? dialectsFor(deps, asked) : [upstream];
  const [best, ...others] = decoded.webSearch ? searchingFirst(deps, request, order) : order;
  let encoded = await encodeFor(deps, request, decoded, best!);
  // A request that the vendor's preferred endpoint can't carry goes to its first one where that
  // can.
  const other = dialects[0]!;
  const isOpen = others.includes(other) && !(other === "chat" && chatIsRefused(deps, asked));
  const refused = countRefused(encoded.losses, mode);
  if (isOpen && other !== dialect.name && refused > 0) {
    const carried = await encodeFor(deps, request, decoded, other);
    if (countRefused(carried.losses, mode) < refused) encoded = carried;
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
    streams: facts.stream,
    jsonArray: request.jsonArray,
    keepAliveMs: deps.keepAliveMs,
    created: Math.floor(caller.arrivedAt.getTime() / 1000),
    now: secondsOf(deps.clock),
  });
}

/**
 * Whether a call of the service's own key offers the vendor's web search, which has no price here,
 * beside tools of the caller. It is translated, which leaves the search out. A search alone is
 * refused for its price.
 */
function losesSearch(
  { prices }: PlanDeps,
  { target: { vendor, model }, mode, caller }: PlanRequest,
  { tools }: HostedWork,
): boolean {
  if (mode !== "managed" || vendor.admitsUnpriced) return false;
  const isSearch = ({ cost }: HostedTool) =>
    cost.type === "per-use" && cost.dimension === "perWebSearch";
  if (!tools.some(isSearch) || !tools.some(({ cost }) => cost.type === "none")) return false;
  return prices.find(vendor.label, model, caller.arrivedAt)?.rates.perWebSearch === undefined;
}

/**
 * Whether the request was written for another model, and this one refuses it: the caller named a
 * virtual model, this is a fallback, or an evaluation repeats the request. Whoever names a model
 * gets its vendor's refusals.
 */
export function isForAnotherModel(
  { dialect, body, facts, target: { model, vendor }, caller, isRepeat }:
    & Pick<PlanRequest, "dialect" | "body" | "target" | "caller" | "isRepeat">
    & { facts: Pick<RequestFacts, "model"> },
): boolean {
  const isNamed = facts.model === model || facts.model.endsWith(`/${model}`);
  if (isNamed && !isRepeat || translationMode(caller) === "strict") return false;
  return dialect.refusesForm?.(body, model, vendor.quirks) === true;
}

/**
 * Returns the new name of an output limit whose name the model refuses. A strict caller's field
 * stays as it is.
 */
function limitRename({ facts, target, caller }: PlanRequest): string | undefined {
  const { limitRename } = facts;
  const refuses = target.vendor.quirks.newerTokenLimit?.test(target.model) === true;
  if (!refuses || limitRename === undefined) return undefined;
  return translationMode(caller) === "strict" ? undefined : limitRename;
}

/** Plans a call that goes on as it came, except for what the model refuses. */
function* passed(request: PlanRequest): Steps<TextPlan> {
  const unsigned = yield* unsignedThinking(request);
  return yield* passThrough(request, { renamed: limitRename(request), unsigned });
}

/**
 * Returns the thinking, searches and calls in a request that the vendor refuses, and a summary that
 * the service wrote, which no vendor can read. A strict caller's stay as they are, except signatures
 * that the service wrote: they go to no vendor.
 */
export function* unsignedThinking(
  { dialect, body, target, caller }: Pick<PlanRequest, "dialect" | "body" | "target" | "caller">,
): Steps<UnsignedThinking | undefined> {
  const isStrict = translationMode(caller) === "strict";
  const unsigned = dialect.unsignedThinking &&
    (yield* dialect.unsignedThinking(body, target.model));
  const signs = target.vendor.quirks.signedThinking?.test(target.model) === true;
  if (signs && !isStrict) return unsigned;
  const { marked, summary } = unsigned ?? {};
  if (marked) return { blocks: marked, switchesOff: false };
  return summary && !isStrict ? { blocks: new Map(), summary, switchesOff: false } : undefined;
}

/**
 * Refuses values that no dialect allows; an encoder would turn them into the nearest value that its
 * own dialect allows.
 */
function checkSettings(request: CanonicalRequest): void {
  const { temperature = 0, topP = 0, choices = 1, maxOutputTokens = 1 } = request;
  const check = (setting: SettingName, isAllowed: boolean, expected: string) => {
    if (!isAllowed) throw invalidValue(settingPath(request, setting), expected);
  };
  check("temperature", temperature >= 0 && temperature <= 2, "expected a number from 0 to 2");
  check("topP", topP >= 0 && topP <= 1, "expected a number from 0 to 1");
  check("choices", isCount(choices), "expected a whole number from 1");
  check("maxOutputTokens", isCount(maxOutputTokens), "expected a whole number from 1");
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 1;
}

/**
 * Refuses a tool choice that no tool can satisfy. Encoders leave the choice out if there are no
 * tools, and vendors name the tool in their own words, if at all. A lenient call, whose tools may
 * have been left out, loses the choice, or the names in it that no tool has.
 */
function withToolChoice(request: CanonicalRequest, mode: TranslationMode): CanonicalRequest {
  const { toolChoice, ...rest } = request;
  if (!toolChoice || request.asksForSummary) return request;
  const offered = new Set(request.tools.map(({ name }) => name));
  const missing = toolChoice.names?.find((name) => !offered.has(name));
  const isPossible = toolChoice.mode !== "required" || offered.size > 0 || request.webSearch;
  if (missing === undefined && isPossible) return request;
  const path = settingPath(request, "toolChoice");
  if (mode !== "lenient") {
    const reason = missing === undefined
      ? "a call is required, but there are no tools"
      : `no tool has the name '${shorten(missing)}'`;
    throw invalidValue(path, reason);
  }
  const loss = { path, value: toolChoice, weight: "hint" } as const;
  const lenient = { ...rest, unsupported: [...rest.unsupported, loss] };
  const names = toolChoice.names?.filter((name) => offered.has(name)) ?? [];
  if (names.length > 0) return { ...lenient, toolChoice: { ...toolChoice, names } };
  // The caller allows none of the tools that are left.
  return toolChoice.mode === "required" ? lenient : { ...lenient, toolChoice: { mode: "none" } };
}

/**
 * Leaves out summaries of reasoning, in a call that is translated although the vendor speaks the
 * caller's dialect. The caller expects the answer of that endpoint, which has none, and vendors
 * require a verified organisation for them.
 */
function withoutReasoningSummaries(request: CanonicalRequest): CanonicalRequest {
  const { reasoning } = request;
  return reasoning?.show ? { ...request, reasoning: { ...reasoning, show: false } } : request;
}

/** Whether nothing that is stored can have the item. */
function mayNotComeBack({ searchOfTurn }: UnsupportedField): boolean {
  return searchOfTurn === undefined;
}

/** Puts endpoints where the model can search the web before those where it can't, as at xAI. */
function searchingFirst(
  deps: PlanDeps,
  request: PlanRequest,
  order: readonly DialectName[],
): DialectName[] {
  const isLacking = (name: DialectName) => targetOf(deps, request, name).webSearch === undefined;
  return order.toSorted((a, b) => Number(isLacking(a)) - Number(isLacking(b)));
}

function dialectCall(request: PlanRequest, demand: ToolDemand): DialectCall {
  const { target, dialect, caller } = request;
  return { target, own: dialect.name, demand, at: caller.arrivedAt };
}

/**
 * Counts the losses that are a reason to try another endpoint: any loss in `strict` mode, else those
 * that change the meaning. `lenient` doesn't refuse these, but avoids them where possible.
 */
function countRefused(losses: readonly Loss[], mode: TranslationMode): number {
  return losses.filter(({ weight }) => mode === "strict" || weight === "meaning").length;
}

/**
 * Encodes the request in one of the vendor's dialects, with the reasoning of earlier turns put
 * back.
 */
async function encodeFor(
  deps: PlanDeps,
  request: PlanRequest,
  decoded: CanonicalRequest,
  name: DialectName,
) {
  const { caller } = request;
  const { step = runAtOnce } = caller;
  const upstream = deps.dialects[name];
  const isSame = request.dialect.name === name;
  const { mustInline } = upstream;
  const inlined = mustInline
    ? await inlineMedia(
      decoded,
      deps.publicFetch,
      {
        key: String(caller.principal.account.id),
        signal: caller.signal,
        mayFetch: request.mayFetch,
      },
      (part) => part.source.type === "url" && mustInline(part, part.source.url),
    )
    : decoded;
  const account = caller.principal.account.id;
  const recalled = await recallReasoning(inlined, upstream.name, account, deps.storedResponses);
  const encoded = await step.inSteps(() =>
    upstream.encodeRequest(recalled, targetOf(deps, request, upstream.name))
  );
  return {
    upstream,
    request: defined({
      reasoning: reasoningShown(recalled, isSame && returnsThinking(request)),
      namespaces: recalled.namespaces,
      choices: recalled.choices,
      asksForSummary: recalled.asksForSummary,
      toolChanges: recalled.toolChanges,
    }),
    encoded: { losses: encoded.losses, emulations: encoded.emulations },
    losses: encoded.losses,
    hosted: await step.inSteps(() => upstream.hostedWork(encoded.body)),
    requestText: await step.inSteps(() =>
      writeJson(leaveOutRefused(deps.learned, request, upstream, encoded.body))
    ),
  };
}

/** Whether the caller must send the thinking of this answer back as the vendor signed it. */
function returnsThinking(request: PlanRequest): boolean {
  return request.dialect.unsignedThinking !== undefined && isForAnotherModel(request);
}

/**
 * Returns what the caller wants to see of the reasoning. An older model can't leave its text out,
 * and its signature is valid only with that text, so such a model's is shown.
 */
function reasoningShown({ reasoning }: CanonicalRequest, isOfAnother: boolean) {
  return isOfAnother && reasoning ? { ...reasoning, show: true } : reasoning;
}

/** Returns the encoded request without what the model is known to refuse, or has refused lately. */
export function leaveOutRefused(
  learned: Pick<LearnedEndpoints, "refusedAdditions">,
  { target: { vendor, model }, caller, mode }: Pick<PlanRequest, "target" | "caller" | "mode">,
  upstream: Dialect,
  encoded: JsonRecord,
): JsonRecord {
  const fitting = upstream.fitToModel?.(encoded, model) ?? encoded;
  if (!upstream.withoutRefused) return fitting;
  const causes = learned.refusedAdditions({
    ...{ label: vendor.label, model, dialect: upstream.name, mode },
    accountId: caller.principal.account.id,
  });
  return causes.reduce<JsonRecord>(
    (request, cause) => upstream.withoutRefused?.(request, cause)?.request ?? request,
    fitting,
  );
}

/** What the encoder needs to know about the target. */
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

/**
 * A function of the module: a closure lives as long as the call, and would hold the whole scope
 * that it was made in.
 */
function secondsOf(clock: Clock): () => number {
  return () => Math.floor(clock.now().getTime() / 1000);
}

/**
 * Whether cache marks are set: by `X-Prompt-Cache`, else by the key's own setting. Throws
 * `invalid_value`.
 */
function setsCacheMarks(caller: CallContext): boolean {
  const asked = caller.header("x-prompt-cache");
  if (asked === undefined) return caller.principal.key.promptCache;
  if (asked === "on" || asked === "off") return asked === "on";
  throw invalidValue("X-Prompt-Cache", "expected 'on' or 'off'");
}

/** Returns `X-Translation-Mode`, else the key's own mode. Throws `invalid_value`. */
export function translationMode(caller: CallContext): TranslationMode {
  const asked = caller.header("x-translation-mode");
  if (asked === undefined) return caller.principal.key.translationMode;
  if (asked === "strict" || asked === "lenient" || asked === "default") return asked;
  throw invalidValue("X-Translation-Mode", "expected 'strict', 'lenient' or 'default'");
}

/**
 * Refuses an invalid `X-Translation-Mode` or `X-Prompt-Cache` in every call, also where a valid one
 * would change nothing: the mode may be a misspelt `strict`.
 */
export function validateTranslationHeaders(caller: CallContext): void {
  translationMode(caller);
  setsCacheMarks(caller);
}

interface DialectDeps {
  prices: Pick<Prices, "chatRefuses">;
  learned: LearnedEndpoints;
}

/** What the choice of the vendor's endpoint depends on. */
interface DialectCall {
  target: ResolvedModel;
  /** The caller's dialect. */
  own: DialectName;
  /** What the call needs of a chat endpoint. */
  demand: ToolDemand;
  at: Date;
}

/**
 * Returns the vendor's dialects that can be used for a call, best first: the caller's own if the
 * vendor speaks it, else its row's `translate_to`. Endpoints that are known to be missing are left
 * out, and chat comes last where it is known to refuse the call.
 */
function dialectsFor(deps: DialectDeps, call: DialectCall): DialectName[] {
  const { target: { vendor }, own } = call;
  const preferred = vendor.dialects.includes(own) ? own : vendor.translateTo ?? vendor.dialects[0]!;
  const all = [preferred, ...vendor.dialects.filter((name) => name !== preferred)];
  const there = all.filter((name) => !deps.learned.isMissing(vendor.label, name));
  const order = there.length > 0 ? there : all;
  if (!order.includes("chat") || !chatIsRefused(deps, call)) return order;
  const first = order[0] === "chat" ? "responses" : order[0]!;
  const others = order.filter((name) => name !== "chat" && name !== first);
  return [first, ...others, "chat"];
}

/** Whether the vendor's chat endpoint is known to refuse the call, and another one takes it. */
function chatIsRefused({ prices, learned }: DialectDeps, call: DialectCall): boolean {
  const { target: { vendor, model }, demand, at } = call;
  const { label } = vendor;
  if (!vendor.dialects.includes("responses") || learned.isMissing(label, "responses")) return false;
  if (learned.chatRefuses(label, model, demand)) return true;
  if (demand === "none" || demand === "tools_alone") return false;
  const refused = prices.chatRefuses(label, model, at);
  return refused.includes("tools") ||
    (refused.includes("tools_with_reasoning") && demand === "tools_with_reasoning");
}

/** What a refusal says about the endpoint rather than the call. */
export type EndpointRefusal = "points-to-responses" | "missing";

/**
 * Whether a refusal is about the endpoint: it points to the responses endpoint; or its status is 404,
 * or 410 with a message about an endpoint, and it names neither the model nor anything else of the
 * request. `text` is the raw body.
 */
export function readEndpointRefusal(
  refusal: { status: number; json: unknown; text: string },
  model: string,
): EndpointRefusal | undefined {
  const { status, json, text } = refusal;
  if (status !== 400 && status !== 404 && status !== 410) return undefined;
  const { message = "", param, code = "" } = readVendorError(json, status);
  // Quoted text may be the caller's own.
  const unquoted = message.slice(0, maxRead).replace(/'[^']*'|"[^"]*"|`[^`]*`/g, "");
  if (/\bv1\/responses\b/.test(unquoted)) return "points-to-responses";
  // xAI answers 410 for a removed endpoint, but also for a removed field.
  const mayBeMissing = status === 404 ||
    (status === 410 && /\bendpoint\b|\bresponses api\b/i.test(unquoted));
  if (!mayBeMissing || param !== undefined || /model|response|item/i.test(code)) return undefined;
  const read = text.slice(0, maxRead);
  return names(read, model) || /\bmodels?\b/i.test(read) ? undefined : "missing";
}

/** Whether the text contains the name as a whole word. */
function names(text: string, model: string): boolean {
  const isWord = (at: number) => /[\w-]/.test(text.charAt(at));
  for (let at = text.indexOf(model); at >= 0; at = text.indexOf(model, at + 1)) {
    if (!isWord(at - 1) && !isWord(at + model.length)) return true;
  }
  return false;
}

/** The most characters of a refusal that are read. */
const maxRead = 4096;

/** Prepares a call's request for another of its vendor's dialects. */
export type PlanAgain = (upstream: DialectName) => Promise<TextPlan>;

/**
 * Returns a function that plans the call in another of the vendor's dialects; undefined if it has
 * none. Undefined, too, for a heavy request whose endpoint is known to exist, so that its text
 * isn't held for this.
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

/** Parses the body again; it has passed the contract. Some dialects have the model in the path. */
async function readAgain(
  { bodyText, dialect, facts }: Omit<PlanRequest, "body">,
  step: Step,
): Promise<unknown> {
  const body = await step.inSteps(() => parsing(bodyText));
  const { model, stream } = facts;
  return dialect.resendRules.modelInPath && isRecord(body) ? { ...body, model, stream } : body;
}

/**
 * Returns the model's name for the answer: as the caller wrote it, on the unified family in
 * dialects whose clients compare the two names; undefined: the vendor's own.
 */
export function shownModel(
  { dialect, vendor, facts }: {
    dialect: Pick<Dialect, "naming">;
    /** The vendor whose family was called; undefined on the unified family. */
    vendor?: Vendor | undefined;
    facts: Pick<RequestFacts, "model">;
  },
): string | undefined {
  return dialect.naming && vendor === undefined ? facts.model : undefined;
}
