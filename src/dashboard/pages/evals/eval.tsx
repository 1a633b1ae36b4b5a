import type { Hono } from "hono";
import type { EvalResult, EvalRun } from "../../../evals/eval.ts";
import { readResultCursor, resultCursor } from "../../../evals/eval_cursor.ts";
import { count, usd } from "../../amounts.ts";
import {
  action,
  orNotFound,
  type Page,
  page,
  type PageContext,
  type PageRequest,
} from "../../bind.tsx";
import {
  Badge,
  Fact,
  LinkLine,
  numberColumn,
  PostForm,
  Table,
  Tile,
  Time,
} from "../../components.tsx";
import { Live, Progress } from "../../live.tsx";
import { graderText } from "./eval_graders.tsx";
import { isOpen, passRate, StateBadge } from "./evals.tsx";
import type { Child } from "hono/jsx";
import { entries } from "../../navigation.tsx";

const address = "/dashboard/evals";
const pageRows = 50;

/** One evaluation: how far it is, and what came out. */
export function evalRoutes(app: Hono, ctx: PageContext): void {
  app.get(`${address}/:id`, page(ctx, "viewer", (request) => runPage(ctx, request)));
  app.post(
    `${address}/:id/cancel`,
    action(ctx, "member", async (_form, request) => {
      const run = await find(ctx, request);
      const { evalRunId } = run;
      const note = request.note("eval.cancelled", run.name ?? run.model);
      await ctx.evals.cancel(request.session.account.id, evalRunId, note);
      const text = "The evaluation makes no further calls. What came out so far stays.";
      return { to: `${address}/${evalRunId}`, notice: { kind: "done", text } };
    }),
  );
}

async function find(ctx: PageContext, request: PageRequest): Promise<EvalRun> {
  return orNotFound(await ctx.evals.find(request.session.account.id, request.param("id")));
}

async function runPage(ctx: PageContext, request: PageRequest): Promise<Page> {
  const run = await find(ctx, request);
  const asked = request.query("after");
  const rows = await ctx.evals.results(request.session.account.id, run.evalRunId, {
    limit: pageRows + 1,
    ...(asked === undefined ? {} : { after: readResultCursor(asked) }),
  });
  const shown = rows.slice(0, pageRows);
  const next = rows.length > pageRows ? resultCursor(shown) : undefined;
  return {
    title: run.name ?? run.model,
    section: "evals",
    lead: run.name === null ? undefined : run.model,
    action: isOpen(run) && request.may("member") ? cancelForm(run, request) : null,
    scripts: ["refresh.js"],
    body: (
      <>
        <Live id="run" on={isOpen(run)}>
          <RunFacts run={run} request={request} />
        </Live>
        <h2>Results</h2>
        {shown.length === 0
          ? (
            <p class="muted">
              {isOpen(run) ? "None yet: they appear here." : "Nothing was judged."}
            </p>
          )
          : <Table label="Results" head={head}>{shown.map((result) => resultLine(result))}</Table>}
        {next === undefined
          ? null
          : (
            <LinkLine href={`${address}/${run.evalRunId}?after=${encodeURIComponent(next)}`}>
              Next
            </LinkLine>
          )}
      </>
    ),
  };
}

function cancelForm(run: EvalRun, request: PageRequest) {
  return (
    <PostForm action={`${address}/${run.evalRunId}/cancel`} csrf={request.csrf}>
      <button type="submit" class="button button-danger">Cancel evaluation</button>
    </PostForm>
  );
}

function RunFacts({ run, request }: { run: EvalRun; request: PageRequest }) {
  const { counts, createdAt, finishedAt, waiting, error } = run;
  return (
    <>
      {error === null ? null : <p class="notice notice-failed">{error.message}</p>}
      {waiting === null ? null : (
        <p class="notice notice-plain">
          It waits, since a call was refused (<code>{waiting.for}</code>), and tries again{" "}
          <Time at={waiting.until} now={request.now} />.
        </p>
      )}
      <div class="tiles">
        <Tile name="Passed" value={passRate(counts)}>
          {`${count(counts.passed)} passed, ${count(counts.failed)} failed`}
        </Tile>
        <Tile name="Progress" value={`${count(counts.done)} of ${count(counts.total)}`}>
          {isOpen(run)
            ? <Progress label="Progress" done={counts.done} total={counts.total} />
            : `${count(counts.skipped)} skipped, ${count(counts.errors)} errors`}
        </Tile>
        <Tile name="Cost" value={usd(counts.costNanos)}>
          {counts.unpricedCalls === 0
            ? "All prices known"
            : `${count(counts.unpricedCalls)} calls without a price`}
        </Tile>
      </div>
      <dl class="facts">
        <Fact name="State">
          <StateBadge run={run} />
        </Fact>
        <Fact name="Asked for">
          <Time at={createdAt} now={request.now} />
        </Fact>
        {finishedAt === null ? null : (
          <Fact name="Ended">
            <Time at={finishedAt} now={request.now} />
          </Fact>
        )}
        <Fact name="Stored calls">{filtersText(run)}</Fact>
        <Fact name="Graders">
          <ul>
            {run.graders.map((grader) => <li class="breaks">{graderText(grader)}</li>)}
          </ul>
        </Fact>
      </dl>
    </>
  );
}

function filtersText({ filtersText: text }: EvalRun): string {
  const filters = Object.entries(JSON.parse(text) as Record<string, unknown>);
  if (filters.length === 0) return "All";
  return filters.map(([column, value]) => `${column} is ${[value].flat().join(" or ")}`).join(", ");
}

const head = ["Stored call", "Grader", "Verdict", numberColumn("Score"), "What the grader said"];

function resultLine(result: EvalResult) {
  const { transactionId, answerTransactionId, grader, passed, score, detail } = result;
  return (
    <tr>
      <td class="nowrap">
        <CallLink id={transactionId}>
          <code>{short(transactionId)}</code>
        </CallLink>
        {answerTransactionId === null ? null : (
          <>
            {" → "}
            <CallLink id={answerTransactionId}>
              new answer<span class="visually-hidden">{` to ${short(transactionId)}`}</span>
            </CallLink>
          </>
        )}
      </td>
      <td class="breaks">{graderText(grader)}</td>
      <td class="nowrap">
        <Verdict passed={passed} />
      </td>
      <td class="number">{score === null ? "–" : count(score)}</td>
      <td class="wide">{detail ?? <span class="muted">–</span>}</td>
    </tr>
  );
}

function Verdict({ passed }: { passed: boolean | null }) {
  if (passed === null) return <Badge tone="neutral">Can't say</Badge>;
  return passed ? <Badge tone="good">Passed</Badge> : <Badge tone="bad">Failed</Badge>;
}

/** The end of an id, where ids of one moment differ. */
function short(id: string): string {
  return id.length <= 12 ? id : `…${id.slice(-12)}`;
}

const interactionsAddress = "/dashboard/interactions";

/** What stands for a stored call: the way to its page, where the dashboard has such pages. */
function CallLink({ id, children }: { id: string; children?: Child }) {
  const sections: readonly { href: string }[] = entries;
  if (!sections.some(({ href }) => href === interactionsAddress)) return <>{children}</>;
  return <a href={`${interactionsAddress}/${encodeURIComponent(id)}`}>{children}</a>;
}
