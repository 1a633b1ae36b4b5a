import { joinBytes } from "../base/bytes.ts";
import { parseExactly } from "../base/exact_json.ts";
import { commandFailure, UsageError } from "./command.ts";
import type { ExportEvent } from "./export_command.ts";

/**
 * The kinds of frames that carry an export's events from a server to the command line. A frame is
 * its kind (1 byte), the payload's length (4 bytes, big-endian) and the payload. An error of the
 * export is a frame too, so that a failure midway isn't mistaken for the end.
 */
const kinds = { data: 1, event: 2, failed: 3 } as const;

export async function* encodeFrames(
  events: AsyncIterable<ExportEvent>,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const event of events) {
      if (event.kind === "data") {
        yield jsonFrame(kinds.event, { kind: "rows", rows: event.rows });
        yield frame(kinds.data, event.bytes);
      } else {
        yield jsonFrame(kinds.event, event);
      }
    }
  } catch (thrown) {
    const usage = thrown instanceof UsageError;
    yield jsonFrame(kinds.failed, { message: commandFailure(thrown), usage });
  }
}

/**
 * Decodes the frames to events. Throws the export's own error, or an Error when the frames end
 * before the export does.
 */
export async function* decodeFrames(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<ExportEvent> {
  let rows = 0;
  let hasEnded = false;
  for await (const { kind, payload } of split(pieces)) {
    if (kind === kinds.data) {
      yield { kind: "data", bytes: payload, rows };
      continue;
    }
    const body = parseExactly(new TextDecoder().decode(payload)) as FrameBody;
    if (kind === kinds.failed) {
      throw body.usage === true ? new UsageError(body.message) : new Error(body.message);
    }
    if (body.kind === "rows") rows = body.rows ?? 0;
    else if (body.kind === "total" || body.kind === "end") {
      hasEnded = body.kind === "end";
      yield { kind: body.kind, rows: body.rows ?? 0 };
    }
  }
  if (!hasEnded) throw new Error("The server ended before the export did.");
}

interface FrameBody {
  kind?: string;
  rows?: number;
  message?: string;
  usage?: boolean;
}

async function* split(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ kind: number; payload: Uint8Array }> {
  let held: Uint8Array = new Uint8Array();
  for await (const piece of pieces) {
    held = joinBytes([held, piece]);
    for (let next = take(held); next; next = take(held)) {
      yield next;
      held = held.slice(5 + next.payload.length);
    }
  }
}

function take(held: Uint8Array): { kind: number; payload: Uint8Array } | undefined {
  if (held.length < 5) return undefined;
  const length = new DataView(held.buffer, held.byteOffset).getUint32(1);
  if (held.length < 5 + length) return undefined;
  return { kind: held[0]!, payload: held.subarray(5, 5 + length) };
}

function jsonFrame(kind: number, value: unknown): Uint8Array {
  return frame(kind, new TextEncoder().encode(JSON.stringify(value)));
}

function frame(kind: number, payload: Uint8Array): Uint8Array {
  const whole = new Uint8Array(5 + payload.length);
  whole[0] = kind;
  new DataView(whole.buffer).setUint32(1, payload.length);
  whole.set(payload, 5);
  return whole;
}
