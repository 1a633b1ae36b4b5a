import { parsing } from "../base/heavy_json.ts";
import type { Step } from "../base/heavy_work.ts";
import { writeJson } from "../base/write_json.ts";
import type { Dialect } from "../dialects/kernel/dialect.ts";
import type { JsonRecord } from "../dialects/kernel/json.ts";
import type { TextPlan } from "./plan/text_plan.ts";

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
 * Returns the request without the addition of ours, or without the reasoning of another vendor, that
 * was refused; undefined where the refusal is about the caller's own part. A large request is parsed and written in turns, as the caller's was.
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
  // Of a call that is passed on, only what a vendor sealed that answered before.
  if (plan.sameDialect && upstream.refusesSeal?.(refusal) !== true) return undefined;
  return await leftOutOf(asked, refusal, { upstream, step });
}

/**
 * Returns a request without the addition that a refusal is about; undefined where the
 * refusal is about something else. The text is unchanged if the addition was left out before.
 */
export async function leftOutOf(
  asked: AskedRequest,
  refusal: string,
  { upstream, step }: { upstream: Pick<Dialect, "withoutRefused">; step: Step },
): Promise<AskedRequest | undefined> {
  if (!upstream.withoutRefused) return undefined;
  const request = await step.inSteps(() => parsing(asked.text)) as JsonRecord;
  const plain = upstream.withoutRefused(request, refusal);
  if (!plain) return undefined;
  const text = await step.inSteps(() => writeJson(plain.request));
  const causes = plain.cause === undefined ? asked.causes : [...asked.causes, plain.cause];
  return { ...asked, text, causes };
}
