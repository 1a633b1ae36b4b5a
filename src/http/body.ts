import { joinBytes } from "../base/bytes.ts";
import { Fault } from "../domain/fault.ts";

/** Reads a request's body as text; at most `maxBytes`, and only valid UTF-8. */
export async function readBody(request: Request, maxBytes: number): Promise<string> {
  return bodyText(await readBodyBytes(request, maxBytes));
}

/** Reads a request's body; at most `maxBytes`. */
export async function readBodyBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = () =>
    new Fault("request_too_large", {
      message: `The request body is larger than ${maxBytes} bytes.`,
    });
  const announced = Number(request.headers.get("content-length") ?? "0");
  if (announced > maxBytes) throw tooLarge();
  return await readBytes(request, maxBytes, tooLarge);
}

function bodyText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Fault("invalid_json", { message: "The request body is not valid UTF-8." });
  }
}

async function readBytes(
  request: Request,
  maxBytes: number,
  tooLarge: () => Fault,
): Promise<Uint8Array> {
  try {
    return request.headers.has("content-length")
      ? new Uint8Array(await request.arrayBuffer())
      : await readAtMost(request.body, maxBytes, tooLarge);
  } catch (thrown) {
    if (thrown instanceof Fault) throw thrown;
    // The caller left in the middle of its body: no failure of ours.
    throw new Fault("invalid_request", {
      message: "The request body ended before it was complete.",
      cause: thrown,
    });
  }
}

async function readAtMost(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  tooLarge: () => Fault,
): Promise<Uint8Array> {
  if (!body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = body.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    length += read.value.length;
    if (length > maxBytes) {
      void discard(reader);
      throw tooLarge();
    }
    chunks.push(read.value);
  }
  return joinBytes(chunks);
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
