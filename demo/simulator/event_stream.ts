import { type Behaviours } from "./behaviours.ts";
import { type Exchange } from "./exchange.ts";
import { type JsonObject } from "./json.ts";
import { untilAborted, wait } from "./timing.ts";

/** Streams events under their type, as the images and audio endpoints do, with the behaviours. */
export function eventStream(
  exchange: Exchange,
  behaviours: Behaviours,
  events: readonly JsonObject[],
): Response {
  const frames = events.map((event) =>
    new TextEncoder().encode(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  );
  const error = {
    type: "server_error",
    code: null,
    message: "The server had an error.",
    param: null,
  };
  const failure = new TextEncoder().encode(
    `event: error\ndata: ${JSON.stringify({ type: "error", error })}\n\n`,
  );
  return pieceStream(exchange, behaviours, "text/event-stream; charset=utf-8", frames, failure);
}

/**
 * Streams the pieces of an answer; `[cut]`, `[hang]` and `[midstream-error]` take effect before the
 * last one.
 */
export function pieceStream(
  exchange: Exchange,
  { dripMs, ending }: Behaviours,
  contentType: string,
  pieces: readonly Uint8Array[],
  failure?: Uint8Array,
): Response {
  const { call, signal } = exchange;
  call.isStreaming = true;
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (at > 0) await wait(dripMs, signal);
      const isLast = at === pieces.length - 1;
      if (isLast && ending === "hang") await untilAborted(signal);
      if (signal.aborted || (isLast && ending === "cut")) {
        call.finish();
        return controller.error(new Error("cut"));
      }
      if (isLast && ending === "error" && failure) controller.enqueue(failure);
      else if (!(isLast && ending === "cut-clean")) controller.enqueue(pieces[at]!);
      at++;
      if (!isLast) return;
      call.finish();
      controller.close();
    },
    cancel() {
      call.leave();
    },
  }, { highWaterMark: 0 });
  return new Response(body, { headers: { "content-type": contentType } });
}
