import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { RequestFacts } from "../dialects/kernel/dialect.ts";
import { Fault } from "../shared/fault.ts";
import type { LearnedEndpoints } from "../vendors/learned_endpoints.ts";
import { isAbort, type Upstream, type UpstreamAnswer } from "../vendors/upstream.ts";
import {
  isGood,
  postToVendor,
  readRefusal,
  refusalFault,
  type VendorCallContext,
} from "./ask_vendor.ts";
import type { Call } from "./call.ts";
import { type EndpointRefusal, readEndpointRefusal } from "./plan/choose_dialects.ts";
import type { TextPlan } from "./plan/text_plan.ts";
import type { PlanAgain } from "./plan/plan_again.ts";
import { attemptsOf, failedAttempt } from "./vendor_attempts.ts";

/** A text call that is about to be sent. */
export interface TextExchange {
  readonly vendorCall: VendorCallContext;
  readonly facts: RequestFacts;
  /** That of the last request, once the vendor has answered. */
  plan: TextPlan;
  readonly call: Call;
  /** Undefined where no other dialect could be asked. */
  readonly planAgain: PlanAgain | undefined;
  /** No other vendor would be asked: failed requests are tried again where that can help. */
  readonly isLast: boolean;
}

export interface VendorCallDeps {
  upstream: Upstream;
  learned: LearnedEndpoints;
  log: Log;
  clock: Clock;
}

/** A refusal that was read. */
interface Refused {
  answer: UpstreamAnswer;
  json: unknown;
  text: string;
}

/**
 * The vendor's answer with a good status; any other is thrown as a fault. A vendor that says that
 * its other endpoint is the one for the call, or that this one isn't there, is asked in another of
 * its dialects, each once; what that shows is remembered.
 */
export async function callVendor(
  deps: VendorCallDeps,
  exchange: TextExchange,
): Promise<UpstreamAnswer> {
  const { learned } = deps;
  const { label } = exchange.vendorCall.target.vendor;
  /** What each dialect that was tried has shown; remembered once another one has answered. */
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
    const fault = refusalFault(asksOf(deps), exchange.vendorCall, asked.answer, asked.json);
    const { status } = asked.answer;
    const refusal = readEndpointRefusal({ ...asked, status }, exchange.vendorCall.target.model);
    const next = refusal && nextDialect(learned, exchange, refusal, askedDialects);
    const plan = next && await planOther(exchange, next);
    if (!plan) throw fault;
    lessons.push(lessonOf(learned, exchange, refusal!));
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

/** What the other dialect can't carry isn't sent: the vendor's own refusal says why it came to that. */
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

function lessonOf(
  learned: LearnedEndpoints,
  exchange: TextExchange,
  refusal: EndpointRefusal,
): () => void {
  const { target: { vendor, model } } = exchange.vendorCall;
  const { upstream, requestText } = exchange.plan;
  if (refusal === "missing") return () => learned.learnMissing(vendor.label, upstream.name);
  const demand = upstream.toolDemand?.(JSON.parse(requestText)) ?? "none";
  return () => learned.learnChatRefusal(vendor.label, model, demand);
}

/** The request without what was ours in it and is refused; undefined where that is the caller's. */
function withoutRefused(
  { plan, facts }: TextExchange,
  refusal: string,
): { text: string; stream?: boolean } | undefined {
  const { upstream, sameDialect, requestText } = plan;
  // A server that doesn't know the usage flag: go on without, and count for ourselves.
  if (facts.stream && upstream.usageFlag?.isRefusedIn(refusal)) {
    const text = plan.plainRequestText();
    return text === undefined ? undefined : { text };
  }
  // A background call is asked for as a stream by us, and some models stream none.
  if (/\bstream(ing|ed)?\b/i.test(refusal)) {
    const text = plan.wholeRequestText?.();
    if (text !== undefined) return { text, stream: false };
  }
  if (sameDialect || !upstream.withoutRefused) return undefined;
  const plain = upstream.withoutRefused(JSON.parse(requestText), refusal);
  return plain && { text: JSON.stringify(plain) };
}

/** One request by the call's plan; a second one without what the vendor refuses of ours. */
async function askOnce(
  deps: VendorCallDeps,
  exchange: TextExchange,
): Promise<{ answer: UpstreamAnswer } | Refused> {
  const answer = await post(deps, exchange, exchange.plan.requestText);
  if (isGood(answer)) return { answer };
  const refusal = await readRefusal(answer);
  const plain = answer.status === 400 ? withoutRefused(exchange, refusal.text) : undefined;
  if (plain === undefined) return { answer, ...refusal };
  const again = await post(deps, exchange, plain.text, plain.stream);
  return isGood(again) ? { answer: again } : { answer: again, ...await readRefusal(again) };
}

async function post(
  deps: VendorCallDeps,
  exchange: TextExchange,
  body: string,
  stream = exchange.facts.stream,
): Promise<UpstreamAnswer> {
  const { vendorCall, plan, call, isLast } = exchange;
  const begunMs = deps.clock.monotonicMs();
  try {
    const answer = await postToVendor(deps.upstream, vendorCall, {
      path: plan.upstream.upstreamPath(vendorCall.target.model, stream),
      contentType: "application/json",
      accept: stream ? "text/event-stream" : "application/json",
      body,
      sameDialect: plan.sameDialect,
      once: !isLast,
    });
    for (const attempt of attemptsOf(vendorCall, answer)) call.attempted(attempt);
    return answer;
  } catch (thrown) {
    call.attempted(failedAttempt(vendorCall, thrown, deps.clock.monotonicMs() - begunMs));
    throw thrown;
  }
}

function asksOf({ upstream, log, clock }: VendorCallDeps) {
  return { upstream, log, now: () => clock.now() };
}
