import type { Hono } from "hono";
import type { PriceRow } from "../../../pricing/pricing.ts";
import type { ShownTurn, Transcript } from "../../../records/transcript.ts";
import type { SessionCall } from "../../../records/interaction_repository.ts";
import { NotFound, page, type PageContext, type PageRequest } from "../../bind.tsx";
import { mediaAddresses } from "../interactions/media.ts";
import { listPath } from "../interactions/view.ts";
import { SessionBody, type ShownCall } from "./session_body.tsx";
import { cacheSavedNanos, runningSums } from "./session_money.ts";

export const sessionPath = "/dashboard/session";

/** Calls of a session that are added up; a longer one says so. */
const mostCalls = 1_000;
/** Calls whose payloads a page reads. */
const callsOfPage = 10;
/** UTF-16 units of a payload that are read. */
const payloadChars = 1024 * 1024;

/** An agent's run: the calls of one session in order, each with what it added. */
export function sessionRoutes(app: Hono, ctx: PageContext): void {
  app.get(
    sessionPath,
    page(ctx, "viewer", async (request) => {
      const id = request.query("id") ?? "";
      if (id === "" || id.length > 500) throw new NotFound();
      await ctx.interactions.flushRecords();
      const { calls, isAll } = await ctx.interactions.interactions.sessionCalls(
        request.session.account.id,
        id,
        mostCalls,
      );
      const [first] = calls;
      if (first === undefined) throw new NotFound();
      const sums = runningSums(calls);
      const from = startOf(request.query("from"), calls.length);
      const [savedNanos, ...found] = await Promise.all([
        savedBy(ctx, request, calls),
        ...calls.slice(from, from + callsOfPage).map((call) => readCall(ctx, request, call)),
      ]);
      // A call may have been erased since.
      const shown = found.flatMap((call, at): ShownCall[] =>
        call ? [{ ...call, sums: sums[from + at]! }] : []
      );
      return {
        title: "Session",
        section: "interactions",
        lead: id,
        body: (
          <SessionBody
            {...{
              id,
              calls,
              isWhole: isAll,
              savedNanos,
              shown,
              from,
              callsOfPage,
              now: request.now,
            }}
            sums={sums.at(-1)!}
            seesPayloads={request.seesPayloads}
            pathOf={(at) => `${sessionPath}?${new URLSearchParams({ id, from: String(at + 1) })}`}
          />
        ),
      };
    }),
  );
}

/** The page begins at a call; `from` counts them from 1. */
function startOf(from: string | undefined, calls: number): number {
  const asked = /^\d{1,6}$/.test(from ?? "") ? Number(from) - 1 : 0;
  return Math.max(0, Math.min(asked, calls - 1));
}

async function readCall(
  ctx: PageContext,
  request: PageRequest,
  { transactionId }: SessionCall,
): Promise<Omit<ShownCall, "sums"> | undefined> {
  const { id: accountId } = request.session.account;
  const chars = request.seesPayloads ? payloadChars : 0;
  const found = await ctx.interactions.interactions.find(accountId, transactionId, chars);
  if (!found) return undefined;
  const { summary } = found;
  if (!request.seesPayloads) {
    return { summary, turns: undefined, answers: undefined, media: new Map() };
  }
  const transcript = await ctx.interactions.readTranscript(summary.dialect, {
    request: found.request?.text ?? null,
    response: found.response?.text ?? null,
  });
  const turns = transcript.request && addedTurns(transcript.request.turns);
  const shown: Transcript = {
    request: turns && { turns: [...turns], tools: [], settings: [] },
    answers: transcript.answers,
  };
  const media = mediaAddresses(shown, {
    sign: (sha256) => ctx.interactions.mediaSigner.sign(accountId, sha256),
    // What stands inside a payload is numbered on the call's own page.
    inline: () => `${listPath}/${transactionId}`,
  });
  return { summary, turns, answers: transcript.answers, media };
}

/** An agent sends the conversation again with each call: what came after the last answer is new. */
function addedTurns(turns: readonly ShownTurn[]): readonly ShownTurn[] {
  const last = turns.findLastIndex(({ role }) => role === "assistant");
  const added = turns.slice(last + 1);
  return last < 0 ? added.filter(({ role }) => role !== "system") : added;
}

/** With the prices of each call's time. */
async function savedBy(
  ctx: PageContext,
  request: PageRequest,
  calls: readonly SessionCall[],
): Promise<bigint> {
  const rows = new Map<string, Pick<PriceRow, "rates">>();
  const looked = new Set<string>();
  for (const { transactionId, priceVersion, cacheReadTokens, cacheWriteTokens } of calls) {
    if (priceVersion === null || looked.has(priceVersion)) continue;
    if (!cacheReadTokens && !cacheWriteTokens) continue;
    looked.add(priceVersion);
    const { id: accountId } = request.session.account;
    const call = await ctx.interactions.interactions.find(accountId, transactionId, 0);
    const none = { pricedUsageText: null, request: null, response: null, vendorAnswer: null };
    const found = call && await ctx.interactions.costLines({ summary: call.summary, ...none });
    if (found) rows.set(priceVersion, found.row);
  }
  return cacheSavedNanos(calls, (version) => rows.get(version));
}
