import type { Hono } from "hono";
import { contracts } from "../../../contracts/mod.ts";
import { interactionJson } from "../../domain/export.ts";
import { Fault } from "../../domain/fault.ts";
import type { Interaction, InteractionQuery, InteractionStore } from "../../domain/interaction.ts";
import type { Recorder } from "../../gateway/recorder.ts";
import { bind, type BindParts } from "../bind.ts";
import type { Env } from "../scene.ts";

/** Text is gathered into pieces of about this many UTF-16 units. */
const pieceChars = 64 * 1024;

/** Mounts `POST /api/v1/exports` in its direct form. */
export function exportRoutes(
  app: Hono<Env>,
  parts: BindParts & { interactions: InteractionStore; recorder: Recorder },
): void {
  bind(app, contracts.createExport, parts, async ({ caller, body }) => {
    const query = queryOf(body, caller.principal.account.id);
    // A read includes every call whose answer was received before it (interface.md §5).
    await parts.recorder.drain();
    const rows = parts.interactions.read(query)[Symbol.asyncIterator]();
    // The first row is read before the answer begins, so that a store that is away is a 503.
    const first = await rows.next();
    return {
      reply: {
        status: 200,
        headers: { "content-type": "application/json" },
        body: jsonArray(first, rows),
      },
    };
  });
}

function queryOf(
  body: { start_date?: string | undefined; end_date?: string | undefined; filters: Filters },
  accountId: number,
): InteractionQuery {
  if (body.start_date === undefined && body.end_date === undefined) {
    throw new Fault("missing_required_field", {
      param: "start_date",
      message: "start_date: give start_date, end_date or both, as RFC 3339 timestamps.",
    });
  }
  const start = body.start_date === undefined ? undefined : new Date(body.start_date);
  const end = body.end_date === undefined ? undefined : new Date(body.end_date);
  if (start && end && end <= start) {
    throw new Fault("invalid_value", {
      param: "end_date",
      message: "end_date: expected a time after start_date.",
    });
  }
  const filters = Object.fromEntries(
    Object.entries(body.filters).map(([column, value]) => [column, [value].flat()]),
  );
  return { accountId, ...(start ? { start } : {}), ...(end ? { end } : {}), filters };
}

type FilterValue = string | number | boolean;
type Filters = Readonly<Record<string, FilterValue | FilterValue[]>>;

/** Rows as one JSON array, written as they are read: memory stays flat at any size. */
function jsonArray(
  first: IteratorResult<Interaction>,
  rows: AsyncIterator<Interaction>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  let next = first;
  let opened = false;
  return new ReadableStream({
    async pull(controller) {
      let piece = opened ? "" : "[";
      while (!next.done && piece.length < pieceChars) {
        piece += (opened ? ",\n" : "\n") + interactionJson(next.value);
        opened = true;
        next = await rows.next();
      }
      if (next.done) piece += "\n]\n";
      controller.enqueue(encoder.encode(piece));
      if (next.done) controller.close();
    },
    async cancel() {
      await rows.return?.();
    },
  });
}
