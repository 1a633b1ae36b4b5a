import { parsing } from "../base/heavy_json.ts";
import type { Step } from "../base/heavy_work.ts";
import { topLevelMembersSteps } from "../base/json_text.ts";
import type { Steps } from "../base/steps.ts";
import { rewriteItems, writeJson } from "../base/write_json.ts";
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
