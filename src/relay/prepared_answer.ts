import type { Step } from "../base/heavy_work.ts";
import { type BoundPayload, boundPayloadSteps, type PayloadLimits } from "../records/payload.ts";
import type { StoredResponseFields } from "../shared/stored_response.ts";
import type { Retainer } from "./conversation/conversation.ts";

/** What has been made of a large answer for its call's record. */
export interface PreparedAnswer {
  readonly text: string;
  readonly payload?: BoundPayload;
  /** What is stored of it for later turns, which may be nothing. */
  readonly stored?: { readonly response: StoredResponseFields | undefined };
}

/** Prepares an answer in steps. What fails is left out: settling tries it again and logs it. */
export async function prepareAnswer(
  text: string,
  step: Step,
  { limits, retain }: { limits: PayloadLimits; retain: Retainer | undefined },
): Promise<PreparedAnswer> {
  const leaveOut = () => ({});
  const payload = await step.inSteps(() => boundPayloadSteps(text, limits))
    .then((payload) => ({ payload }), leaveOut);
  if (!retain) return { text, ...payload };
  const stored = await step.inSteps(() => retain(text))
    .then((response) => ({ stored: { response } }), leaveOut);
  return { text, ...payload, ...stored };
}
