import { type Behaviours } from "./behaviours.ts";
import { type Exchange } from "./exchange.ts";
import { type Bytes } from "./samples/bytes.ts";
import { untilAborted, wait } from "./timing.ts";

/** A stream as its dialect wrote it, before the behaviours are applied to it. */
export interface StreamScript {
  contentType: string;
  headers?: Record<string, string>;
  /** The encoded events in order, or the pieces of a file. */
  frames: (string | Bytes)[];
  /** How many of the last frames form the ending, from the finish event on. */
  closing: number;
  /** The vendor's in-band error, after which the stream closes. */
  errorFrame: string;
}

const FLUSH_MS = 5;

/** Returns a whole JSON answer, with `[cut]`, `[cut:clean]` and `[hang]` applied to its bytes. */
export function answerWhole(
  exchange: Exchange,
  behaviours: Behaviours,
  body: unknown,
  headers: Record<string, string> = {},
): Response {
  const text = JSON.stringify(body);
  const { ending } = behaviours;
  if (ending === "normal" || ending === "error") {
    return new Response(text, { headers: { ...headers, "content-type": "application/json" } });
  }
  const half = Math.floor(text.length / 2);
  return answerStream(exchange, { ...behaviours, dripMs: 0 }, {
    contentType: "application/json",
    headers,
    frames: ending === "hang" ? [text.slice(0, 1)] : [text.slice(0, half), text.slice(half)],
    closing: 1,
    errorFrame: "",
  });
}

const FILE_PIECE = 16 * 1024;

/** Returns a file in pieces, with the behaviours of a stream except in-band errors. */
export function answerFile(
  exchange: Exchange,
  behaviours: Behaviours,
  file: Bytes,
  contentType: string,
): Response {
  const count = Math.max(2, Math.ceil(file.length / FILE_PIECE));
  const size = Math.ceil(file.length / count);
  const frames = Array.from(
    { length: count },
    (_, index) => file.subarray(index * size, (index + 1) * size),
  );
  return answerStream(exchange, behaviours, { contentType, frames, closing: 1, errorFrame: "" });
}

/** Returns a streamed answer with its behaviours: waits between frames, breaks, silence. */
export function answerStream(
  exchange: Exchange,
  behaviours: Behaviours,
  script: StreamScript,
): Response {
  const { call, signal } = exchange;
  call.isStreaming = true;
  const steps = play(script, behaviours, signal);
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const step = await steps.next();
      if (step.done) {
        call.finish();
        controller.close();
      } else if (step.value === BREAK) {
        call.finish();
        controller.error(brokenConnection());
      } else {
        controller.enqueue(step.value);
      }
    },
    cancel() {
      call.leave();
    },
  }, { highWaterMark: 0 });
  return new Response(body, {
    headers: {
      "content-type": script.contentType,
      "cache-control": "no-cache",
      ...script.headers,
    },
  });
}

const BREAK = Symbol("break the connection");

async function* play(
  script: StreamScript,
  behaviours: Behaviours,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer> | typeof BREAK> {
  const { ending } = behaviours;
  const frames = framesBeforeEnding(script, behaviours);
  for (const [index, frame] of frames.entries()) {
    if (index > 0) await wait(behaviours.dripMs, signal);
    if (signal.aborted) return;
    yield bytesOf(frame);
  }
  if (ending === "error") yield bytesOf(script.errorFrame);
  if (ending === "hang") await untilAborted(signal);
  if (ending === "cut") {
    const next = bytesOf(script.frames[frames.length] ?? "");
    yield next.slice(0, Math.ceil(next.length / 2));
    await wait(FLUSH_MS, signal);
    yield BREAK;
  }
}

function bytesOf(frame: string | Bytes): Bytes {
  return typeof frame === "string" ? new TextEncoder().encode(frame) : frame;
}

function framesBeforeEnding(script: StreamScript, behaviours: Behaviours): (string | Bytes)[] {
  const body = script.frames.length - script.closing;
  switch (behaviours.ending) {
    case "normal":
      return script.frames;
    case "hang":
      return script.frames.slice(0, 1);
    case "cut-clean":
      return script.frames.slice(0, body);
    case "cut":
    case "error":
      return script.frames.slice(0, Math.ceil(body / 2));
  }
}

/** Returns the error that breaks a body off. The runtime prints it, so it is a single line. */
function brokenConnection(): Error {
  const error = new Error("The simulated vendor breaks the connection, as asked.");
  error.stack = error.message;
  return error;
}
