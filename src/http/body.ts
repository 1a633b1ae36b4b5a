import { joinBytes } from "../base/bytes.ts";
import { Fault } from "../shared/fault.ts";

export interface Reading {
  /** Awaited before the first piece is read. */
  ready?: () => Promise<void> | undefined;
  /**
   * Done with each piece as it comes. The next piece is read only then: what waits stays with the
   * caller and in the network. What it throws ends the reading.
   */
  onPiece?: (piece: Uint8Array) => Promise<void> | undefined;
  /** Ends the reading at once when it rejects. */
  stopped?: Promise<never>;
  /** Called when all has come. */
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

/** A body that says that it is small is read at once, which costs a third less than pieces do. */
const wholeBytes = 64 * 1024;

/**
 * A request's body as it arrives; at most `maxBytes`. Who stops looking need not read on: the rest is
 * read away.
 */
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
    // The caller left in the middle of its body: no failure of ours.
    throw new Fault("invalid_request", {
      message: "The request body ended before it was complete.",
      cause: thrown,
    });
  }
}

/**
 * Reads on what nobody wants, so that the connection stays good for the caller's next request. The
 * listener ends it where this goes on for long after the answer.
 */
async function discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // The caller left.
  }
}

/** Parses JSON; malformed text is the caller's mistake, and the position is worth knowing. */
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
