import type { CallContext } from "./call_context.ts";
import { longestDrainMs, type OpenStreams } from "./open_streams.ts";

type Drained = Pick<CallContext, "principal" | "signal" | "trace">;

/**
 * Aborts when the caller leaves; where its key drains, the answer is read to its end, and this
 * aborts only when the time for that is over (`drainLeft`).
 */
export function cancelSignal({ principal: { key }, signal, trace }: Drained): AbortSignal {
  return key.onDisconnect === "cancel" ? signal : cutOffOf(trace).signal;
}

/**
 * If the caller leaves an answer that is then drained, a stop waits for it, and it is cut off in
 * time. Call the returned function when it has ended.
 */
export function drainLeft(
  streams: Pick<OpenStreams, "readOn">,
  { principal: { key }, signal, trace }: Drained,
): () => void {
  if (key.onDisconnect === "cancel") return () => {};
  let ended = () => {};
  const left = () => {
    ended = streams.readOn(longestDrainMs, () => cutOffOf(trace).abort());
  };
  if (signal.aborted) left();
  else signal.addEventListener("abort", left);
  return () => {
    signal.removeEventListener("abort", left);
    ended();
  };
}

function cutOffOf(trace: CallContext["trace"]): AbortController {
  return trace.cutOff ??= new AbortController();
}
