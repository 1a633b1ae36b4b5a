import { parsing } from "../base/heavy_json.ts";
import { runAtOnce, type Step } from "../base/heavy_work.ts";
import { topLevelMembersSteps } from "../base/json_text.ts";
import type { Steps } from "../base/steps.ts";
import { rewriteItems, writeJson } from "../base/write_json.ts";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { Dialect, RequestFacts } from "../dialects/kernel/dialect.ts";
import type { JsonRecord } from "../dialects/kernel/json.ts";
import { Fault } from "../shared/fault.ts";
import type { LearnedEndpoints, RefusedCalls } from "../vendors/learned_endpoints.ts";
import { isAbort, type UpstreamAnswer } from "../vendors/upstream.ts";
import type { Call } from "./call.ts";
import { type EndpointRefusal, type PlanAgain, readEndpointRefusal } from "./plan/plan_call.ts";
import type { TextPlan } from "./plan/text_plan.ts";
import {
  type AskVendorDeps,
  budgetOf,
  isGood,
  postToVendor,
  readRefusal,
  refusalFault,
  type VendorCallContext,
} from "./vendor_call.ts";

/** A text call that is about to be sent. */
export interface TextExchange {
  readonly vendorCall: VendorCallContext;
  readonly facts: RequestFacts;
  /** The plan of the latest vendor request; it changes when another dialect is tried. */
  plan: TextPlan;
  readonly call: Call;
  /** Undefined where no other dialect could be asked. */
  readonly planAgain: PlanAgain | undefined;
  /** No other vendor is left to ask, so failed requests are retried where that can help. */
  readonly isLast: boolean;
}

export interface VendorCallDeps extends AskVendorDeps {
  learned: LearnedEndpoints;
}

/** A refusal and its body. */
interface Refused {
  answer: UpstreamAnswer;
  json: unknown;
  text: string;
}

/**
 * Returns the vendor's answer if its status is 2xx, and throws a fault otherwise. Where the vendor
 * points to its other endpoint, or lacks this one, it is asked in its other dialects, each once;
 * the outcome is remembered.
 */
export async function callVendor(
  deps: VendorCallDeps,
  exchange: TextExchange,
): Promise<UpstreamAnswer> {
  const { learned } = deps;
  const { label } = exchange.vendorCall.target.vendor;
  /** What the failed dialects have shown; remembered once another one has answered. */
  const lessons: (() => void)[] = [];
  const askedDialects: DialectName[] = [];
  for (;;) {
    const asked = await askOnce(deps, exchange);
    const name = exchange.plan.upstream.name;
    if (!("text" in asked)) {
      learned.learnProven(label, name);
      for (const learn of lessons) learn();
      return asked.answer;
    }
    askedDialects.push(name);
    const fault = refusalFault(deps, exchange.vendorCall, asked.answer, asked.json);
    const { status } = asked.answer;
    const refusal = readEndpointRefusal({ ...asked, status }, exchange.vendorCall.target.model);
    const isOver = budgetOf(exchange.call, exchange.isLast).left <= 0;
    const next = isOver
      ? undefined
      : refusal && nextDialect(learned, exchange, refusal, askedDialects);
    const plan = next && await planOther(exchange, next);
    if (!plan) throw fault;
    lessons.push(await lessonOf(learned, exchange, refusal!));
    exchange.plan = plan;
    exchange.call.reroute(plan);
  }
}

function nextDialect(
  learned: LearnedEndpoints,
  { vendorCall: { target: { vendor } }, plan, planAgain }: TextExchange,
  refusal: EndpointRefusal,
  askedDialects: readonly DialectName[],
): DialectName | undefined {
  if (!planAgain) return undefined;
  const isOpen = (name: DialectName) =>
    !askedDialects.includes(name) && !learned.isMissing(vendor.label, name);
  if (refusal === "points-to-responses" && plan.upstream.name === "chat") {
    return vendor.dialects.find((name) => name === "responses" && isOpen(name));
  }
  return refusal === "missing" ? vendor.dialects.find(isOpen) : undefined;
}

/**
 * Plans the request in another dialect; undefined where that dialect can't carry it: the caller
 * gets the vendor's refusal.
 */
async function planOther(
  exchange: TextExchange,
  next: DialectName,
): Promise<TextPlan | undefined> {
  try {
    return await exchange.planAgain!(next);
  } catch (thrown) {
    if (isAbort(thrown) || !(thrown instanceof Fault)) throw thrown;
    return undefined;
  }
}

async function lessonOf(
  learned: LearnedEndpoints,
  exchange: TextExchange,
  refusal: EndpointRefusal,
): Promise<() => void> {
  const { target: { vendor, model }, caller: { step = runAtOnce } } = exchange.vendorCall;
  const { upstream, requestText } = exchange.plan;
  if (refusal === "missing") {
    return () => upstream.isOptional || learned.learnMissing(vendor.label, upstream.name);
  }
  const demand = upstream.toolDemand?.(await step.inSteps(() => parsing(requestText))) ?? "none";
  return () => learned.learnChatRefusal(vendor.label, model, demand);
}

/** Returns what decides whether a vendor accepts our additions to a call. */
function additionsOf({ plan, vendorCall }: TextExchange): RefusedCalls {
  const { target: { vendor, model }, caller, mode } = vendorCall;
  const accountId = caller.principal.account.id;
  return { label: vendor.label, model, dialect: plan.upstream.name, accountId, mode };
}

/**
 * Sends the plan's request. As long as the vendor refuses an addition of ours, sends it again
 * without that addition.
 */
async function askOnce(
  deps: VendorCallDeps,
  exchange: TextExchange,
): Promise<{ answer: UpstreamAnswer } | Refused> {
  const { plan, facts: { stream: streams }, vendorCall: { caller: { step = runAtOnce } } } =
    exchange;
  let asked: AskedRequest = { text: plan.requestText, causes: [] };
  for (;;) {
    const answer = await post(deps, exchange, asked.text, asked.stream);
    if (isGood(answer)) {
      for (const cause of asked.causes) {
        deps.learned.learnRefusedAddition(additionsOf(exchange), cause);
      }
      return { answer };
    }
    const refusal = await readRefusal(answer);
    const mayAskAgain = answer.status === 400 && budgetOf(exchange.call, exchange.isLast).left > 0;
    const plain = mayAskAgain
      ? await askedWithoutRefused({ plan, streams, step }, asked, refusal.text)
      : undefined;
    const isSame = plain?.text === asked.text && plain.stream === asked.stream;
    if (plain === undefined || isSame) return { answer, ...refusal };
    asked = plain;
  }
}

function post(
  deps: VendorCallDeps,
  { vendorCall, plan, call, isLast, facts }: TextExchange,
  body: string,
  stream = facts.stream,
): Promise<UpstreamAnswer> {
  return postToVendor(deps, vendorCall, {
    path: plan.upstream.upstreamPath(vendorCall.target.model, stream),
    contentType: "application/json",
    accept: stream ? "text/event-stream" : "application/json",
    body,
    sameDialect: plan.sameDialect,
    once: !isLast,
  }, budgetOf(call, isLast));
}

/** A plan's request, without the additions of ours that the vendor has refused so far. */
export interface AskedRequest {
  readonly text: string;
  readonly stream?: boolean | undefined;
  /** The causes of the omissions that are to be remembered. */
  readonly causes: readonly string[];
}

/** A plan whose request was refused. */
interface RefusedPlan {
  readonly plan: TextPlan;
  readonly streams: boolean;
  /** Runs the parsing and writing of the request. */
  readonly step: Step;
}

/**
 * Returns the request without what the vendor refused: an addition of ours, or reasoning that another
 * vendor sealed or whose answer was cut. Undefined where the refusal is about the caller's own part.
 * A large request is parsed and written in turns, as the caller's was.
 */
export async function askedWithoutRefused(
  { plan, streams, step }: RefusedPlan,
  asked: AskedRequest,
  refusal: string,
): Promise<AskedRequest | undefined> {
  const { upstream } = plan;
  // A server that doesn't know the usage flag: leave it out and count tokens here. Only for the
  // first request, since `plainRequestText` has all other additions in it.
  const isFirst = asked.text === plan.requestText;
  if (isFirst && streams && upstream.usageFlag?.isRefusedIn(refusal)) {
    const text = await step.inSteps(() => plan.plainRequestText());
    return text === undefined ? undefined : { text, causes: [] };
  }
  // We stream background calls, and some models can't stream.
  const { wholeRequestText } = plan;
  if (wholeRequestText && asked.stream !== false && /\bstream(ing|ed)?\b/i.test(refusal)) {
    const text = await step.inSteps(() => wholeRequestText(asked.text));
    return { ...asked, text, stream: false };
  }
  return await leftOutOf(asked, refusal, { upstream, sameDialect: plan.sameDialect, step });
}

/**
 * Returns a request without what a refusal is about; undefined where that is the caller's own part.
 * The text is unchanged if it was left out before.
 */
export async function leftOutOf(
  asked: AskedRequest,
  refusal: string,
  { upstream, sameDialect, step }: {
    upstream: Pick<Dialect, "withoutRefused" | "refusesReasoning">;
    sameDialect: boolean;
    step: Step;
  },
): Promise<AskedRequest | undefined> {
  if (!upstream.withoutRefused) return undefined;
  // Settings and fields of a request that is passed on are the caller's.
  if (sameDialect && upstream.refusesReasoning?.(refusal) !== true) return undefined;
  const request = await step.inSteps(() => parsing(asked.text)) as JsonRecord;
  const plain = upstream.withoutRefused(request, refusal);
  if (!plain) return undefined;
  const text = await step.inSteps(() => writeChanged(asked.text, request, plain.request));
  const causes = plain.cause === undefined ? asked.causes : [...asked.causes, plain.cause];
  return { ...asked, text, causes };
}

/**
 * Writes `after`, a changed copy of the request `before`, whose text is `text`. What is unchanged, a
 * field or an item of a list, keeps its text: JavaScript's numbers are less exact than JSON's.
 */
function* writeChanged(text: string, before: JsonRecord, after: JsonRecord): Steps<string> {
  const members = (yield* topLevelMembersSteps(text))!.members;
  const written: string[] = [];
  for (const [name, value] of Object.entries(after)) {
    if (value === undefined) continue;
    const former = before[name];
    const { valueStart: start = 0, valueEnd: end = 0 } = members.get(name) ?? {};
    let valueText: string;
    if (value === former) valueText = text.slice(start, end);
    else if (Array.isArray(value) && Array.isArray(former)) {
      valueText = yield* rewriteItems(text, { start, end }, former, value);
    } else valueText = yield* writeJson(value);
    written.push(`${JSON.stringify(name)}:${valueText}`);
  }
  return `{${written.join(",")}}`;
}
