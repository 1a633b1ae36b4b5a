import type { Child } from "hono/jsx";
import { type Deletion, type DeletionState, totalOf } from "../../../erasure/deletion.ts";
import { deletionBody } from "../../../erasure/deletion_body.ts";
import { count } from "../../amounts.ts";
import {
  NotFound,
  orNotFound,
  type PageContext,
  type PageRequest,
  type Routes,
} from "../../bind.tsx";
import {
  actionsColumn,
  Badge,
  CopyButton,
  Empty,
  Fact,
  numberColumn,
  Older,
  RowLink,
  Table,
  TimeCell,
  type Tone,
} from "../../components.tsx";
import { allPages } from "../../../base/all_pages.ts";
import { type CsvColumns, csvFile } from "../../csv.ts";
import { exactTime } from "../../format.ts";
import { isOpen, Live, Progress } from "../../live.tsx";
import { newDeletionRoutes } from "./new_deletion.tsx";
import { readTimeCursor, timeCursor } from "../../time_cursor.ts";

const address = "/dashboard/deletion";
const pageRows = 50;

/** Pages about permanent deletions: the list, the request for a new one, and receipts. */
export function deletionRoutes(app: Routes, ctx: PageContext): void {
  app.get(address, "viewer", (request) => listPage(ctx, request));
  newDeletionRoutes(app, ctx);
  app.get(`${address}/csv`, "viewer", (request) => {
    const read = (after: Deletion | undefined, limit: number) =>
      ctx.deletions.list(request.accountId, { limit, ...(after ? { after } : {}) });
    return csvFile("deletions", columns, allPages(read));
  });
  app.get(`${address}/:id`, "viewer", async (request) => {
    const deletion = await find(ctx, request);
    return {
      title: "Deletion",
      section: "deletion",
      scripts: ["refresh.js"],
      body: receipt(deletion),
    };
  });
  app.get(`${address}/:id/receipt.json`, "viewer", async (request) => {
    const deletion = await find(ctx, request);
    if (deletion.completedAt === null) throw new NotFound();
    return new Response(JSON.stringify(deletionBody(deletion), null, 2) + "\n", {
      headers: {
        "content-type": "application/json",
        "content-disposition": `attachment; filename="deletion-${deletion.deletionId}.json"`,
      },
    });
  });
}

async function find(ctx: PageContext, request: PageRequest): Promise<Deletion> {
  return orNotFound(await ctx.deletions.find(request.accountId, request.param("id")));
}

async function listPage(ctx: PageContext, request: PageRequest) {
  const cursor = readTimeCursor(request.query("after"));
  const rows = await ctx.deletions.list(request.accountId, {
    limit: pageRows + 1,
    ...(cursor ? { after: { requestedAt: cursor.at, deletionId: cursor.id } } : {}),
  });
  const shown = rows.slice(0, pageRows);
  const last = rows.length > pageRows ? shown.at(-1)! : undefined;
  const create = <a class="button button-danger" href={`${address}/new`}>Delete data</a>;
  return {
    title: "Data deletion",
    section: "deletion" as const,
    lead: "Erases calls, their content and everything derived from them. Ledger entries stay.",
    action: request.may("owner") ? create : null,
    scripts: ["refresh.js" as const],
    body: shown.length === 0 ? <NoDeletions may={request.may("owner")} create={create} /> : (
      <>
        <Live id="deletions" on={shown.some(isOpen)}>
          <Table label="Deletions" head={head} csv={`${address}/csv`} cards>
            {shown.map((deletion) => deletionLine(deletion, request))}
          </Table>
        </Live>
        <Older href={last && `${address}?after=${timeCursor(last.requestedAt, last.deletionId)}`} />
      </>
    ),
  };
}

function NoDeletions({ may, create }: { may: boolean; create: Child }) {
  return (
    <Empty title="No deletions yet">
      <p>
        Erase what is stored of a person, a session, single calls or a span of time. You see what
        would go before anything does, and get a receipt.
      </p>
      {may ? <p>{create}</p> : <p>An owner can delete data.</p>}
    </Empty>
  );
}

const head = ["Requested", "State", numberColumn("Rows"), "Reason", actionsColumn("Receipt")];

const columns: CsvColumns<Deletion> = {
  deletion_id: ({ deletionId }) => deletionId,
  requested_at: ({ requestedAt }) => requestedAt,
  completed_at: ({ completedAt }) => completedAt,
  state: ({ state }) => state,
  rows: ({ counts }) => totalOf(counts),
  interactions: ({ counts }) => counts.interactions,
  eval_runs: ({ counts }) => counts.eval_runs,
  eval_results: ({ counts }) => counts.eval_results,
  reason: ({ reason }) => reason,
  selectors_sha256: ({ selectorsHash }) => selectorsHash,
};

const states: Readonly<Record<DeletionState, { label: string; tone: Tone }>> = {
  queued: { label: "Waiting", tone: "neutral" },
  running: { label: "Erasing", tone: "warn" },
  done: { label: "Done", tone: "good" },
  failed: { label: "Failed", tone: "bad" },
};

function deletionLine(deletion: Deletion, request: PageRequest) {
  const { deletionId, state, counts, requestedAt, reason } = deletion;
  return (
    <tr>
      <TimeCell label="Requested" at={requestedAt} now={request.now} />
      <td class="nowrap" data-label="State">
        <Badge tone={states[state].tone}>{states[state].label}</Badge>
      </td>
      <td class="number" data-label="Rows">{count(totalOf(counts))}</td>
      <td class="wide" data-label="Reason">{reason ?? <span class="muted">Via the API</span>}</td>
      <td class="actions">
        <RowLink
          href={`${address}/${deletionId}`}
          text={state === "done" ? "Receipt" : "Progress"}
          of={`of ${exactTime(requestedAt)}`}
        />
      </td>
    </tr>
  );
}

function receipt(deletion: Deletion) {
  const { deletionId, state, counts, reason, requestedAt, completedAt } = deletion;
  const expected = deletion.expectedCount ?? 0;
  return (
    <>
      <Live id="deletion" on={isOpen(deletion)}>
        <dl class="facts">
          <Fact name="State">
            <Badge tone={states[state].tone}>{states[state].label}</Badge>
            {isOpen(deletion) && expected + totalOf(counts) > 0
              ? (
                <Progress
                  label="Rows erased"
                  done={totalOf(counts)}
                  total={Math.max(expected, totalOf(counts))}
                />
              )
              : null}
            {isOpen(deletion) && deletion.expectedCount === null
              ? <span class="muted">its rows are being counted</span>
              : null}
          </Fact>
          <Fact name="Requested">{exactTime(requestedAt)}</Fact>
          <Fact name="Completed">
            {completedAt === null ? <span class="muted">Not yet</span> : exactTime(completedAt)}
          </Fact>
          <Fact name="Reason">{reason ?? <span class="muted">None</span>}</Fact>
          <Fact name="Interactions">{count(counts.interactions)}</Fact>
          <Fact name="Evaluation runs">{count(counts.eval_runs)}</Fact>
          <Fact name="Evaluation results">{count(counts.eval_results)}</Fact>
          <Fact name="Deletion">
            <code>{deletionId}</code>
            <CopyButton text={deletionId} what="the deletion's id" />
          </Fact>
          <Fact name="Selectors, SHA-256">
            <code class="breaks">{deletion.selectorsHash}</code>
          </Fact>
        </dl>
        <p class="hint narrow">
          {state === "done"
            ? "The selectors are not stored; only their hash is, which proves them to anyone who knows them. Payloads, media, stored answers, replays and export files were erased with the rows."
            : "It continues in the background, even if you close this page or the service restarts."}
        </p>
        <div class="buttons">
          {completedAt === null
            ? null
            : (
              <a class="button" href={`${address}/${deletionId}/receipt.json`} download>
                Download receipt
              </a>
            )}
          <a class="button" href={address}>All deletions</a>
        </div>
      </Live>
    </>
  );
}
