import { joinBytes } from "../base/bytes.ts";
import { Fault } from "../domain/fault.ts";

/**
 * Done with each piece of a body as it comes. The next piece is read only then: what waits stays
 * with the caller and in the network. What it throws ends the reading.
 */
export type OnPiece = (piece: Uint8Array) => Promise<void> | undefined;

export interface Reading {
  /** Awaited before the first piece is read. */
  ready?: () => Promise<void> | undefined;
  onPiece?: OnPiece;
  /** Ends the reading at once when it rejects. */
  stopped?: Promise<never>;
}

/** Reads a request's body as text; at most `maxBytes`, and only valid UTF-8. */
export async function readBody(
  request: Request,
  maxBytes: number,
  reading?: Reading,
): Promise<string> {
  return bodyText(await readBodyBytes(request, maxBytes, reading));
}

/** Reads a request's body; at most `maxBytes`. */
export async function readBodyBytes(
  request: Request,
  maxBytes: number,
  reading: Reading = {},
): Promise<Uint8Array> {
  const tooLarge = () =>
    new Fault("request_too_large", {
      message: `The request body is larger than ${maxBytes} bytes.`,
    });
  const announced = Number(request.headers.get("content-length") ?? "0");
  if (announced > maxBytes) throw tooLarge();
  return await readBytes(request, maxBytes, tooLarge, reading);
}

function bodyText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Fault("invalid_json", { message: "The request body is not valid UTF-8." });
  }
}

/** A body that says that it is small is read at once, which costs a third less than pieces do. */
const wholeBytes = 64 * 1024;

async function readBytes(
  request: Request,
  maxBytes: number,
  tooLarge: () => Fault,
  { ready, onPiece = () => undefined, stopped }: Reading,
): Promise<Uint8Array> {
  const length = request.headers.get("content-length");
  if (length !== null && Number(length) <= wholeBytes) {
    const bytes = new Uint8Array(await unlessCut(request.arrayBuffer()));
    await onPiece(bytes);
    return bytes;
  }
  await ready?.();
  if (!request.body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = request.body.getReader();
  const next = () => {
    const piece = unlessCut(reader.read());
    return stopped ? Promise.race([piece, stopped]) : piece;
  };
  try {
    for (let read = await next(); !read.done; read = await next()) {
      bytes += read.value.length;
      if (bytes > maxBytes) throw tooLarge();
      await onPiece(read.value);
      chunks.push(read.value);
    }
  } catch (thrown) {
    void discard(reader);
    throw thrown;
  }
  return joinBytes(chunks);
}

/** The caller left in the middle of its body: no failure of ours. */
async function unlessCut<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (cause) {
    throw new Fault("invalid_request", {
      message: "The request body ended before it was complete.",
      cause,
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
    const where = position === undefined ? "" : ` (at character ${position})`;
    throw new Fault("invalid_json", { message: `The request body is not valid JSON${where}.` });
  }
}
