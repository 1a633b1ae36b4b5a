import type { PriceRow } from "../../../pricing/pricing.ts";
import type { ShownTurn, Transcript } from "../../../records/transcript.ts";
import type { CallTexts, SessionCall } from "../../../records/interaction_repository.ts";
import { type Page, type PageContext, type PageRequest, type Routes } from "../../bind.tsx";
import { Empty, LinkLine } from "../../components.tsx";
import { mediaAddresses } from "../interactions/media.ts";
import { listPath } from "../interactions/view.ts";
import { SessionBody, type ShownCall } from "./session_body.tsx";
import { cacheSavedNanos, runningSums } from "./session_money.ts";

const sessionPath = "/dashboard/session";

/** How many calls of a session are added up; the page of a longer one says so. */
const maxCalls = 1_000;
/** How many calls a page shows with their payloads. */
const callsOfPage = 10;
/** The largest payload that is shown here; the call's own page shows larger ones. */
const payloadBytes = 1024 * 1024;

/** The page of a session, such as an agent's run: its calls in order, each with what it added. */
export function sessionRoutes(app: Routes, ctx: PageContext): void {
  app.get(sessionPath, "viewer", async (request) => {
    const id = request.query("id") ?? "";
    if (id === "" || id.length > 500) return gonePage();
    await ctx.interactions.flushRecords();
    const { interactions } = ctx.interactions;
    const { calls, isAll } = await interactions.sessionCalls(request.accountId, id, maxCalls);
    const [first] = calls;
    if (first === undefined) return gonePage();
    const sums = runningSums(calls);
    const from = startOf(request.query("from"), calls.length);
    const [savedNanos, contents] = await Promise.all([
      savedBy(ctx, request, calls),
      readContents(ctx, request, calls.slice(from, from + callsOfPage)),
    ]);
    const shown = contents.map((call, at): ShownCall => ({ ...call, sums: sums[from + at]! }));
    return {
      title: "Session",
      tab: id,
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
            vendors: ctx.vendorNames,
            now: request.now,
          }}
          sums={sums.at(-1)!}
          seesPayloads={request.seesPayloads}
          pathOf={(at) => `${sessionPath}?${new URLSearchParams({ id, from: String(at + 1) })}`}
        />
      ),
    };
  });
}

/** The same for a session whose calls were erased and for one of another account. */
const gonePage = (): Page => ({
  title: "Session",
  section: "interactions",
  status: 404,
  body: (
    <Empty title="No calls in this session">
      <p>They may have been deleted, or they belong to another account.</p>
      <LinkLine href={listPath} primary>Go to Interactions</LinkLine>
    </Empty>
  ),
});

/** Returns the index of the page's first call; `from` counts calls from 1. */
function startOf(from: string | undefined, calls: number): number {
  const asked = /^\d{1,6}$/.test(from ?? "") ? Number(from) - 1 : 0;
  return Math.max(0, Math.min(asked, calls - 1));
}

/** Reads the contents of the calls; payloads above `payloadBytes` are left out. */
async function readContents(
  ctx: PageContext,
  request: PageRequest,
  calls: readonly SessionCall[],
): Promise<Omit<ShownCall, "sums">[]> {
  const none = { turns: undefined, answers: undefined, media: new Map() };
  if (!request.seesPayloads) return calls.map((summary) => ({ summary, ...none }));
  const { accountId } = request;
  const ids = calls.map(({ transactionId }) => transactionId);
  const found = await ctx.interactions.interactions.texts(accountId, ids, payloadBytes);
  const byId = new Map(found.map((texts) => [texts.transactionId, texts]));
  const contents: Omit<ShownCall, "sums">[] = [];
  for (const summary of calls) {
    const texts = byId.get(summary.transactionId);
    contents.push({
      summary,
      ...texts ? await readContent(ctx, accountId, { ...texts, ...summary }) : none,
    });
  }
  return contents;
}

async function readContent(
  ctx: PageContext,
  accountId: number,
  { transactionId, dialect, status, request, response }: CallTexts & SessionCall,
): Promise<Pick<ShownCall, "turns" | "answers" | "media">> {
  const transcript = await ctx.interactions.readTranscript(dialect, { status, request, response });
  const turns = transcript.request && addedTurns(transcript.request.turns);
  const shown: Transcript = {
    request: turns && { turns: [...turns], tools: [], settings: [] },
    answers: transcript.answers,
  };
  const media = mediaAddresses(shown, {
    sign: (sha256) => ctx.interactions.mediaSigner.sign(accountId, sha256),
    // Inline media are numbered over the whole call, so they are linked on the call's own page.
    inline: () => `${listPath}/${transactionId}`,
  });
  return { turns, answers: transcript.answers, media };
}

/**
 * Returns the turns that a call added: an agent sends the whole conversation with each call, and
 * only what follows its last answer is new.
 */
function addedTurns(turns: readonly ShownTurn[]): readonly ShownTurn[] {
  const last = turns.findLastIndex(({ role }) => role === "assistant");
  const added = turns.slice(last + 1);
  return last < 0 ? added.filter(({ role }) => role !== "system") : added;
}

/** Returns what prompt caches saved, at the prices of each call's own time. */
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
    const { accountId } = request;
    const call = await ctx.interactions.interactions.find(accountId, transactionId, 0);
    const none = { pricedUsageText: null, request: null, response: null, vendorAnswer: null };
    const found = call && await ctx.interactions.costLines({ summary: call.summary, ...none });
    if (found) rows.set(priceVersion, found.row);
  }
  return cacheSavedNanos(calls, (version) => rows.get(version));
}
