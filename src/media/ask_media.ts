import { Fault } from "../shared/fault.ts";
import type { UpstreamAnswer } from "../vendors/upstream.ts";
import type { VendorRequest } from "../relay/ask_vendor.ts";
import type { OperationContext } from "./operations.ts";

/**
 * The vendor's answer with a good status. A prompt that an aggregator holds back with 403, since it
 * was flagged, is refused like one that the vendor itself refuses (images-and-speech.md §2).
 */
export async function askMedia(
  ctx: OperationContext,
  request: VendorRequest,
): Promise<UpstreamAnswer> {
  try {
    return await ctx.ask(request);
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== "upstream_forbidden") throw thrown;
    if (!/moderat|flagged|content policy|safety/i.test(thrown.message)) throw thrown;
    throw new Fault("content_policy_violation", { message: thrown.message, cause: thrown });
  }
}
