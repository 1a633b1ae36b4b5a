import { nanosToUsd } from "../base/money.ts";
import { parsing } from "../base/heavy_json.ts";
import { runAtOnce } from "../base/heavy_work.ts";
import { writeJson } from "../base/write_json.ts";
import { asRecord, isRecord } from "../dialects/kernel/json.ts";
import { promptTokens } from "../dialects/kernel/prompt_text.ts";
import { withoutTags } from "../dialects/kernel/tag_blocks.ts";
import { carriesError, readVendorError } from "../dialects/kernel/vendor_error.ts";
import { Fault } from "../shared/fault.ts";
import type { StoredResponseStore } from "../shared/stored_response.ts";
import type { ResolvedModel } from "../vendors/model_name.ts";
import type { Vendor } from "../vendors/registry.ts";
import type { Upstream } from "../vendors/upstream.ts";
import { vendorRequestId } from "../vendors/vendor_headers.ts";
import { type AccessDeps, accessVendor } from "./admit.ts";
import {
  postToVendor,
  readRefusal,
  refusalFault,
  type RequestBudget,
  unrecordedBudget,
  type VendorAccess,
} from "./vendor_call.ts";
import { parseAnswer } from "./text_answer.ts";
import type { Log } from "../base/log.ts";
import { refuseState } from "./plan/hosted_work.ts";
import { maxVendorRequests } from "./call.ts";
import { type AskedRequest, leftOutOf } from "./text_exchange.ts";
import type { CallContext } from "./call_context.ts";
import { callerFor, continueConversation } from "./conversation/conversation.ts";
import { candidatesOf, type RoutingDeps } from "./candidates.ts";
import { eachPossible, lastFailure, mayAnotherAnswer } from "./pipeline.ts";
import {
  isForAnotherModel,
  leaveOutRefused,
  type PlanDeps,
  readEndpointRefusal,
  unsignedThinking,
  validateTranslationHeaders,
} from "./plan/plan_call.ts";
import { modelHeader, type Reply, serverTiming } from "./reply.ts";
import type { Dialect, RequestFacts, TokenCountEndpoint } from "../dialects/kernel/dialect.ts";

export interface CountRequest {
  caller: CallContext;
  dialect: Dialect;
  /** The vendor whose family was called; undefined on the unified family. */
  vendor: Vendor | undefined;
  /** The caller's body, with `model` in it. */
  body: Readonly<Record<string, unknown>>;
  /** The body as the caller wrote it, where it may continue a conversation. */
  bodyText?: string;
}

export interface CountDeps extends PlanDeps, AccessDeps, RoutingDeps {
  storedResponses: StoredResponseStore;
  upstream: Upstream;
  log: Log;
}

/**
 * Counts the tokens of a request: the vendor's own count where it has one, else an estimate that
 * says so in `X-Token-Count`. It costs nothing and leaves no record.
 */
export async function countTokens(deps: CountDeps, request: CountRequest): Promise<Reply> {
  const { caller, dialect, vendor, body } = request;
  const model = String(body.model);
  // A count sets no cache marks, and no loss refuses it; but an invalid header is refused, as in a
  // call.
  validateTranslationHeaders(caller);
  const counted = { ...dialect.counting!.requestOf(body), model, stream: false };
  const { tagBlocks, endUser, endUserField } = dialect.readRequest(counted);
  const plain = withoutTags(counted, tagBlocks);
  const targets = await candidatesOf(deps, caller, {
    vendor,
    model,
    endUser,
    endUserField,
    fallbacks: undefined,
  });
  // As in calls, targets without a key and targets that can't carry the request are left out.
  const counts = await eachPossible(
    targets,
    (target) => countFor(deps, { ...request, counted, plain, tagBlocks }, target),
    maxVendorRequests,
  );
  const budget = unrecordedBudget();
  const failures: unknown[] = [];
  for (const count of counts) {
    try {
      return await countAt(deps, count, budget);
    } catch (thrown) {
      if (!mayAnotherAnswer(thrown)) throw thrown;
      failures.push(thrown);
      if (caller.signal.aborted || budget.left === 0) break;
    }
  }
  throw lastFailure(failures, failures.length < counts.length);
}

/** The request to count, before a vendor is chosen. */
interface Counted extends CountRequest {
  /** The body as the dialect counts it, with prompt tags (`counted`) and without (`plain`). */
  counted: unknown;
  plain: unknown;
  tagBlocks: RequestFacts["tagBlocks"];
}

/** A count at one vendor. Without `ask` it is estimated. */
interface Count extends Pick<Counted, "caller" | "dialect" | "plain"> {
  target: ResolvedModel;
  ask?: CountQuestion;
}

/** The request that asks a vendor for its count. */
interface CountQuestion {
  access: VendorAccess;
  upstream: Dialect;
  counting: TokenCountEndpoint;
  body: string;
  sameDialect: boolean;
}

async function countFor(deps: CountDeps, of: Counted, target: ResolvedModel): Promise<Count> {
  const { dialect } = of;
  const { step: ownStep = runAtOnce } = of.caller;
  const { state } = await ownStep.inSteps(() => dialect.hostedWork(of.counted));
  const same = target.vendor.dialects.includes(dialect.name);
  // A call would be translated to the same dialect.
  const { translateTo, dialects: [first] } = target.vendor;
  const upstream = same ? dialect : deps.dialects[translateTo ?? first!];
  const { counting } = upstream;
  const access = counting && await accessVendor(deps, of.caller, target);
  if (!same) dialect.conversation?.requireInput?.(of.body);
  const sealedBy = same && access?.isManaged ? target.vendor.label : undefined;
  const continued = await withConversation(deps, of, sealedBy);
  const { caller, plain } = continued;
  if (!counting || !access) {
    // An estimate can't look up state in a vendor's account. Managed calls with such state are
    // refused too.
    refuseState(state);
    return { caller, dialect, plain, target };
  }
  const facts = { model: String(of.body.model) };
  const isPassed = same && !isForAnotherModel({ caller, dialect, body: plain, facts, target });
  const request = isPassed
    ? await asSent(continued, target)
    : await translated(deps, continued, upstream, access);
  const { step = runAtOnce } = caller;
  if (access.isManaged) {
    refuseState(state);
    // Not checked in the same dialect: there a continued conversation may hold state of this
    // vendor.
    if (!same) refuseState((await step.inSteps(() => upstream.hostedWork(request))).state);
  }
  const { model: _, stream: __, ...rest } = request as Readonly<Record<string, unknown>>;
  const body = await step.inSteps(() => writeJson(counting.requestBody(rest, target.model)));
  return {
    caller,
    dialect,
    plain,
    target,
    ask: { access, upstream, counting, body, sameDialect: same },
  };
}

/** Returns what to count: without tags, and with the conversation that it continues. */
async function withConversation(
  { storedResponses }: CountDeps,
  of: Counted,
  sealedBy: string | undefined,
): Promise<Counted> {
  const { caller, dialect, bodyText, counted, tagBlocks } = of;
  if (bodyText === undefined) return of;
  const request = { caller, dialect, body: counted, bodyText, tagBlocks };
  const continued = await continueConversation(request, storedResponses, { sealedBy });
  const { body } = continued;
  if (body === counted) return of;
  // The conversation replaces the field that names it.
  const { [dialect.conversation!.previousField]: _, ...whole } = body as Record<string, unknown>;
  const itsCaller = callerFor(caller, continued.bodyText.length);
  const { step = runAtOnce } = itsCaller;
  const plain = await step(() => withoutTags(whole, dialect.readRequest(whole).tagBlocks));
  return { ...of, caller: itsCaller, plain };
}

/**
 * Returns the body as a call would send it: the vendor refuses unsigned thinking in a count too.
 */
async function asSent({ caller, dialect, plain }: Counted, target: ResolvedModel) {
  const { step = runAtOnce } = caller;
  const request = { caller, dialect, body: plain, target };
  const unsigned = await step.inSteps(() => unsignedThinking(request));
  if (!unsigned) return plain;
  const changes = { model: target.model, askStreamUsage: false, unsigned };
  const facts = await step(() => dialect.readRequest(plain));
  const text = await step.inSteps(() => writeJson(plain));
  const sent = await step.inSteps(() => dialect.spliceRequest(text, facts, changes));
  return await step.inSteps(() => parsing(sent));
}

/** Returns the body as a call would send it in the vendor's dialect. */
async function translated(
  { learned }: Pick<CountDeps, "learned">,
  { caller, dialect, plain }: Counted,
  upstream: Dialect,
  access: Pick<VendorAccess, "target" | "mode">,
) {
  const { step = runAtOnce } = caller;
  const { model, vendor: { quirks } } = access.target;
  const whole = dialect.counting!.standAlone?.(asRecord(plain)) ?? plain;
  const request = await step.inSteps(() => dialect.decodeRequest(whole));
  const target = { model, maxOutputTokens: undefined, quirks };
  const { body } = await step.inSteps(() => upstream.encodeRequest(request, target));
  return leaveOutRefused(learned, { ...access, caller }, upstream, body);
}

async function countAt(
  deps: CountDeps,
  { caller, dialect, plain, target, ask }: Count,
  budget: RequestBudget,
): Promise<Reply> {
  if (!ask) return await estimate(dialect, plain, target, caller);
  const { access, counting, sameDialect } = ask;
  const { answer, refusal } = await askForCount(deps, ask, caller, budget);
  if (refusal) {
    if (isMissing({ status: answer.status, ...refusal }, target.model)) {
      return await estimate(dialect, plain, target, caller);
    }
    throw access.lastFault(refusalFault(deps, access, answer, refusal.json));
  }
  const text = new TextDecoder().decode(await answer.body.readAll(1024 * 1024));
  const json = parseAnswer(text);
  // Proxies in front of vendors send errors with status 200.
  if (isRecord(json) && carriesError(json)) throw access.fault(readVendorError(json, undefined));
  const tokens = counting.read(json);
  if (tokens === undefined) {
    if (!isRecord(json)) throw new Fault("upstream_invalid_response");
    return await estimate(dialect, plain, target, caller);
  }
  const id = vendorRequestId(answer.headers);
  // Vendors add to their count, such as Anthropic what it was before `context_management`.
  const body = sameDialect ? text : writeCount(dialect, tokens);
  return reply(body, target, caller, id === undefined ? {} : { "x-vendor-request-id": id });
}

/**
 * Asks the vendor. As in a call, asks again without an addition of ours that the vendor refuses.
 */
async function askForCount(
  deps: CountDeps,
  { access, upstream, counting, body, sameDialect }: CountQuestion,
  { principal, step = runAtOnce }: CallContext,
  budget: RequestBudget,
) {
  const { target: { vendor, model }, mode } = access;
  const calls = { label: vendor.label, model, dialect: upstream.name, mode };
  let asked: AskedRequest = { text: body, causes: [] };
  for (;;) {
    const answer = await postToVendor(deps, access, {
      path: counting.path(model),
      contentType: "application/json",
      ...{ body: asked.text, sameDialect },
      once: true,
    }, budget);
    if (answer.status === 200) {
      for (const cause of asked.causes) {
        deps.learned.learnRefusedAddition({ ...calls, accountId: principal.account.id }, cause);
      }
      return { answer };
    }
    const refusal = await readRefusal(answer);
    const mayAskAgain = answer.status === 400 && budget.left > 0;
    const next = mayAskAgain
      ? await leftOutOf(asked, refusal.text, { upstream, sameDialect, step })
      : undefined;
    if (!next || next.text === asked.text) return { answer, refusal };
    asked = next;
  }
}

/**
 * Whether the vendor lacks a counting endpoint, which not every vendor of a dialect has. It answers
 * 404 for an unknown path, 410 for a removed one, or 405 where the path leads to something else that
 * takes no POST, such as stored answers.
 */
function isMissing(refusal: { status: number; json: unknown; text: string }, model: string) {
  const { status } = refusal;
  return status === 405 || status !== 400 && readEndpointRefusal(refusal, model) !== undefined;
}

async function estimate(
  dialect: Dialect,
  body: unknown,
  target: ResolvedModel,
  caller: CallContext,
): Promise<Reply> {
  const { step = runAtOnce } = caller;
  const tokens = await step.inSteps(() => promptTokens(body));
  return reply(writeCount(dialect, tokens), target, caller, { "x-token-count": "estimated" });
}

function writeCount(dialect: Dialect, tokens: number): string {
  return JSON.stringify(dialect.counting!.write(tokens));
}

function reply(
  body: string,
  { id }: ResolvedModel,
  { trace, arrivedMs }: CallContext,
  headers: Record<string, string>,
): Reply {
  const timing = trace.times?.timing(arrivedMs, undefined);
  return {
    status: 200,
    headers: {
      ...{ "content-type": "application/json", "x-model": modelHeader(id) },
      ...{ "x-cost-usd": nanosToUsd(0n), "x-charged-usd": nanosToUsd(0n) },
      ...(timing ? { "server-timing": serverTiming(timing) } : {}),
      ...headers,
    },
    body,
  };
}
