import { joinBytes } from "../base/bytes.ts";
import { Fault } from "../shared/fault.ts";

export interface Reading {
  /** Awaited before the first piece is read. */
  ready?: () => Promise<void> | undefined;
  /**
   * Called with each piece; the next piece is read when it resolves (backpressure). If it throws,
   * reading ends.
   */
  onPiece?: (piece: Uint8Array) => Promise<void> | undefined;
  /** Ends reading at once when it rejects. */
  stopped?: Promise<never>;
  /** Called when the whole body has arrived. */
  complete?: () => void;
}

/** Reads a request's body; at most `maxBytes`. */
export async function readBodyBytes(
  request: Request,
  maxBytes: number,
  reading: Reading = {},
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bodyPieces(request, maxBytes, reading)) pieces.push(piece);
  return joinBytes(pieces);
}

/** A body announced as smaller is read at once, which is a third cheaper than pieces. */
const wholeBytes = 64 * 1024;

/** A request's body as it arrives; at most `maxBytes`. If iteration stops, the rest is discarded. */
export async function* bodyPieces(
  request: Request,
  maxBytes: number,
  { ready, onPiece = () => undefined, stopped, complete = () => {} }: Reading = {},
): AsyncGenerator<Uint8Array, void, void> {
  const tooLarge = () =>
    new Fault("request_too_large", {
      message: `The request body is larger than ${maxBytes} bytes.`,
    });
  const announced = request.headers.get("content-length");
  if (Number(announced ?? "0") > maxBytes) throw tooLarge();
  if (announced !== null && Number(announced) <= wholeBytes) {
    const bytes = new Uint8Array(await whileWhole(request.arrayBuffer()));
    await onPiece(bytes);
    complete();
    yield bytes;
    return;
  }
  await ready?.();
  const reader = request.body?.getReader();
  if (!reader) return complete();
  let length = 0;
  const next = () => {
    const piece = whileWhole(reader.read());
    return stopped ? Promise.race([piece, stopped]) : piece;
  };
  try {
    for (;;) {
      const { done, value } = await next();
      if (done) return complete();
      length += value.length;
      if (length > maxBytes) throw tooLarge();
      await onPiece(value);
      yield value;
    }
  } finally {
    void discard(reader);
  }
}

async function whileWhole<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (thrown) {
    // The caller left in the middle of its body.
    throw new Fault("invalid_request", {
      message: "The request body ended before it was complete.",
      cause: thrown,
    });
  }
}

/**
 * Reads and drops the rest, so that the connection can be reused. The listener closes it if this goes
 * on for long after the response.
 */
async function discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // The caller left.
  }
}

/** Parses JSON; the fault for malformed text has the position. */
export function parseJson(text: string): unknown {
  if (text.trim() === "") {
    throw new Fault("invalid_json", {
      message: "The request body is empty; expected a JSON object.",
    });
  }
  try {
    return JSON.parse(text);
  } catch (thrown) {
    // Only the position: the engine's message quotes the text around it, which may be a prompt.
    const position = thrown instanceof Error
      ? /position (\d+)/.exec(thrown.message)?.[1]
      : undefined;
    throw notJson(position);
  }
}

export function notJson(position?: number | string): Fault {
  const where = position === undefined ? "" : ` (at character ${position})`;
  return new Fault("invalid_json", { message: `The request body is not valid JSON${where}.` });
}
