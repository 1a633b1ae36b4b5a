import type { RequestFacts } from "../dialects/dialect.ts";
import type { UpstreamAnswer } from "../vendors/upstream.ts";
import {
  type AskParts,
  type Errand,
  isGood,
  postToVendor,
  readRefusal,
  refusalFault,
} from "./ask_vendor.ts";
import type { Call } from "./call.ts";
import type { Lane } from "./lane.ts";

/** A call that is about to be sent. */
export interface Outgoing extends Errand {
  facts: RequestFacts;
  lane: Lane;
  call: Call;
}

/** The vendor's answer with a good status; any other is thrown as a fault. */
export async function callVendor(parts: AskParts, out: Outgoing): Promise<UpstreamAnswer> {
  const answer = await post(parts, out, out.lane.requestText);
  if (isGood(answer)) return answer;
  const refusal = await readRefusal(answer);
  const whole = answer.status === 400 && /\bstream(ing|ed)?\b/i.test(refusal.text)
    ? out.lane.wholeRequestText?.()
    : undefined;
  if (whole !== undefined) {
    const again = await post(parts, out, whole, false);
    if (isGood(again)) return again;
    throw refusalFault(parts, out, again, (await readRefusal(again)).json);
  }
  const { usageFlag } = out.lane.upstream;
  const isFlag = out.facts.stream && answer.status === 400 &&
    usageFlag?.isRefusedIn(refusal.text) === true;
  const plain = isFlag ? out.lane.plainRequestText() : undefined;
  if (plain === undefined) throw refusalFault(parts, out, answer, refusal.json);
  // A server that doesn't know the usage flag: go on without, and count for ourselves.
  const again = await post(parts, out, plain);
  if (isGood(again)) return again;
  throw refusalFault(parts, out, again, (await readRefusal(again)).json);
}

function post(
  parts: AskParts,
  out: Outgoing,
  body: string,
  stream = out.facts.stream,
): Promise<UpstreamAnswer> {
  const { target, lane } = out;
  return postToVendor(parts.upstream, out, {
    path: lane.upstream.upstreamPath(target.model, stream),
    contentType: "application/json",
    accept: stream ? "text/event-stream" : "application/json",
    body,
    sameDialect: lane.sameDialect,
  });
}
