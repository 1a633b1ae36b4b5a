import type { EvalCounts, EvalRun, EvalState } from "../../../evals/eval.ts";
import { count, percent, usd } from "../../amounts.ts";
import { type Page, type PageContext, type PageRequest, type Routes } from "../../bind.tsx";
import {
  Badge,
  Empty,
  numberColumn,
  Older,
  Table,
  TimeCell,
  type Tone,
} from "../../components.tsx";
import { allPages } from "../../../base/all_pages.ts";
import { type CsvColumns, csvFile } from "../../csv.ts";
import { isOpen, Live, Progress } from "../../live.tsx";
import { readTimeCursor, timeCursor } from "../../time_cursor.ts";
import { evalRoutes as oneEvalRoutes } from "./eval.tsx";
import { newEvalRoutes } from "./new_eval.tsx";

const address = "/dashboard/evals";
const pageRows = 50;

/** Pages about evaluations: stored requests are sent to a model again, and its answers judged. */
export function evalRoutes(app: Routes, ctx: PageContext): void {
  app.get(address, "viewer", (request) => listPage(ctx, request));
  app.get(`${address}/csv`, "viewer", (request) => {
    const read = (after: EvalRun | undefined, limit: number) =>
      ctx.evals.list(request.accountId, { limit, ...(after ? { after } : {}) });
    return csvFile("evaluations", columns, allPages(read));
  });
  newEvalRoutes(app, ctx);
  oneEvalRoutes(app, ctx);
}

async function listPage(ctx: PageContext, request: PageRequest): Promise<Page> {
  const cursor = readTimeCursor(request.query("after"));
  const rows = await ctx.evals.list(request.accountId, {
    limit: pageRows + 1,
    ...(cursor ? { after: { createdAt: cursor.at, evalRunId: cursor.id } } : {}),
  });
  const shown = rows.slice(0, pageRows);
  const last = rows.length > pageRows ? shown.at(-1) : undefined;
  const create = <a class="button button-primary" href={`${address}/new`}>New evaluation</a>;
  return {
    title: "Evals",
    section: "evals",
    lead: "Send stored requests to a model and have its answers judged by your graders.",
    action: request.may("member") ? create : null,
    scripts: ["refresh.js"],
    body: shown.length === 0
      ? (
        <Empty title="No evaluations yet">
          <p>
            Try a cheaper or newer model on real requests of your applications: choose stored calls,
            a model and how its answers are judged.
          </p>
          {request.may("member") ? <p>{create}</p> : <p>An owner or member can start one.</p>}
        </Empty>
      )
      : (
        <>
          <Live id="evals" on={shown.some(isOpen)}>
            <Table label="Evaluations" head={head} csv={`${address}/csv`}>
              {shown.map((run) => <RunLine run={run} now={request.now} />)}
            </Table>
          </Live>
          <Older href={last && `${address}?after=${timeCursor(last.createdAt, last.evalRunId)}`} />
        </>
      ),
  };
}

const head = [
  "Evaluation",
  "State",
  "Progress",
  numberColumn("Passed"),
  numberColumn("Cost"),
  "Started",
];

const columns: CsvColumns<EvalRun> = {
  eval_run_id: ({ evalRunId }) => evalRunId,
  name: ({ name }) => name,
  model: ({ model }) => model,
  state: ({ state }) => state,
  total: ({ counts }) => counts.total,
  done: ({ counts }) => counts.done,
  passed: ({ counts }) => counts.passed,
  failed: ({ counts }) => counts.failed,
  skipped: ({ counts }) => counts.skipped,
  errors: ({ counts }) => counts.errors,
  cost_usd: ({ counts }) => ({ nanos: counts.costNanos }),
  created_at: ({ createdAt }) => createdAt,
  finished_at: ({ finishedAt }) => finishedAt,
};

const states: Readonly<Record<EvalState, { label: string; tone: Tone }>> = {
  queued: { label: "Waiting", tone: "neutral" },
  running: { label: "Running", tone: "warn" },
  done: { label: "Done", tone: "good" },
  failed: { label: "Failed", tone: "bad" },
  cancelled: { label: "Cancelled", tone: "neutral" },
};

export function StateBadge({ run }: { run: EvalRun }) {
  return <Badge tone={states[run.state].tone}>{states[run.state].label}</Badge>;
}

/** Returns the share of passed answers among those that were judged. */
export function passRate({ passed, failed }: EvalCounts): string {
  return percent(passed, passed + failed);
}

function RunLine({ run, now }: { run: EvalRun; now: Date }) {
  const { evalRunId, name, model, counts, createdAt } = run;
  return (
    <tr>
      <td class="name">
        <a href={`${address}/${evalRunId}`}>{name ?? model}</a>
        {name === null ? null : <div class="muted">{model}</div>}
      </td>
      <td class="nowrap">
        <StateBadge run={run} />
      </td>
      <td class="nowrap">
        {isOpen(run)
          ? <Progress label={`Of ${name ?? model}`} done={counts.done} total={counts.total} />
          : `${count(counts.done)} of ${count(counts.total)}`}
      </td>
      <td class="number">{passRate(counts)}</td>
      <td class="number">{usd(counts.costNanos)}</td>
      <TimeCell at={createdAt} now={now} />
    </tr>
  );
}
