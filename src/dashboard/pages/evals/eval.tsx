import { parseExactly } from "../../../base/exact_json.ts";
import type { EvalResult, EvalRun } from "../../../evals/eval.ts";
import { readResultCursor, resultCursor } from "../../../evals/eval_cursor.ts";
import { count, counted, usd } from "../../amounts.ts";
import {
  orNotFound,
  type Page,
  type PageContext,
  type PageRequest,
  type Routes,
} from "../../bind.tsx";
import { Badge, Fact, Isolated, LinkLine, PostForm, Table, Tile, Time } from "../../components.tsx";
import { shortText } from "../../format.ts";
import { allPages } from "../../../base/all_pages.ts";
import { type CsvColumns, csvFile } from "../../csv.ts";
import { isOpen, Live, Progress } from "../../live.tsx";
import type { ShownPart } from "../../../records/transcript.ts";
import { graderText } from "./eval_graders.tsx";
import { passRate, StateBadge } from "./evals.tsx";
import { listPath } from "../interactions/view.ts";

const address = "/dashboard/evals";
const pageRows = 50;

/** The page of one evaluation: its progress and its results. */
export function evalRoutes(app: Routes, ctx: PageContext): void {
  app.get(`${address}/:id`, "viewer", (request) => runPage(ctx, request));
  app.get(`${address}/:id/csv`, "viewer", (request) => resultsCsv(ctx, request));
  app.post(`${address}/:id/cancel`, "member", async (_form, request) => {
    const run = await find(ctx, request);
    const { evalRunId } = run;
    const note = request.note("eval.cancelled", run.name ?? run.model);
    await ctx.evals.cancel(request.accountId, evalRunId, note);
    const text = "The evaluation makes no further calls. Results so far stay.";
    return { to: `${address}/${evalRunId}`, notice: { kind: "done", text } };
  });
}

async function find(ctx: PageContext, request: PageRequest): Promise<EvalRun> {
  return orNotFound(await ctx.evals.find(request.accountId, request.param("id")));
}

async function runPage(ctx: PageContext, request: PageRequest): Promise<Page> {
  const run = await find(ctx, request);
  const asked = request.query("after");
  const rows = await ctx.evals.results(request.accountId, run.evalRunId, {
    limit: pageRows + 1,
    ...(asked === undefined ? {} : { after: readResultCursor(asked) }),
  });
  const shown = rows.slice(0, pageRows);
  const calls = byCall(shown);
  // People who may not see prompts see only the verdicts.
  const texts = request.seesPayloads
    ? await textsOf(ctx, request.accountId, calls)
    : new Map<string, ShownTexts>();
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
              {noResults(run)}
            </p>
          )
          : (
            <Table label="Results" head={head} csv={`${address}/${run.evalRunId}/csv`}>
              {calls.map((call) => callLine(call, texts, request.seesPayloads))}
            </Table>
          )}
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

/** Answers with all judgements as CSV, with the texts as the page shows them. */
async function resultsCsv(ctx: PageContext, request: PageRequest): Promise<Response> {
  const { evalRunId } = await find(ctx, request);
  const { accountId } = request;
  const texts = new Map<string, ShownTexts>();
  const read = async (after: EvalResult | undefined, limit: number) => {
    const page = { limit, ...(after ? { after } : {}) };
    const results = await ctx.evals.results(accountId, evalRunId, page);
    texts.clear();
    if (!request.seesPayloads) return results;
    const found = await textsOf(ctx, accountId, byCall(results));
    for (const [call, shown] of found) texts.set(call, shown);
    return results;
  };
  const columns: CsvColumns<EvalResult> = {
    ...judgementColumns,
    ...(request.seesPayloads ? textColumns(texts) : {}),
  };
  return csvFile(`evaluation-${evalRunId}`, columns, allPages(read, pageRows));
}

const judgementColumns: CsvColumns<EvalResult> = {
  transaction_id: ({ transactionId }) => transactionId,
  answer_transaction_id: ({ answerTransactionId }) => answerTransactionId,
  grader: ({ grader }) => graderText(grader),
  passed: ({ passed }) => passed,
  score: ({ score }) => score,
};

/** Columns with questions and answers, for people who may see prompts. */
function textColumns(texts: ReadonlyMap<string, ShownTexts>): CsvColumns<EvalResult> {
  const of = (id: string | null) => id === null ? undefined : texts.get(id);
  return {
    detail: ({ detail }) => detail,
    question: ({ transactionId }) => of(transactionId)?.question ?? null,
    stored_answer: ({ transactionId }) => of(transactionId)?.answer ?? null,
    new_answer: ({ answerTransactionId }) => of(answerTransactionId)?.answer ?? null,
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
          Waiting because a call was refused (<code>{waiting.for}</code>); retries{" "}
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
            : `${count(counts.skipped)} skipped, ${counted(counts.errors, "error")}`}
        </Tile>
        <Tile name="Cost" value={usd(counts.costNanos)}>
          {counts.unpricedCalls === 0
            ? "All prices known"
            : `${counted(counts.unpricedCalls, "call")} without a price`}
        </Tile>
      </div>
      <dl class="facts">
        <Fact name="State">
          <StateBadge run={run} />
        </Fact>
        <Fact name="Requested">
          <Time at={createdAt} now={request.now} />
        </Fact>
        {finishedAt === null ? null : (
          <Fact name="Ended">
            <Time at={finishedAt} now={request.now} />
          </Fact>
        )}
        <Fact name="Stored calls">
          <span>
            <Filters run={run} />
          </span>
        </Fact>
        <Fact name="Graders">
          <ul>
            {run.graders.map((grader) => <li class="breaks">{graderText(grader)}</li>)}
          </ul>
        </Fact>
      </dl>
    </>
  );
}

/** Says why a run has no results. */
function noResults(run: EvalRun): string {
  if (isOpen(run)) return "None yet: they appear here.";
  if (run.counts.total === 0) return "No stored call matched.";
  return run.counts.done > 0 ? "The results were erased." : "Nothing was judged.";
}

function Filters({ run: { filtersText } }: { run: EvalRun }) {
  const filters = Object.entries(parseExactly(filtersText) as Record<string, unknown>);
  if (filters.length === 0) return <>All</>;
  return (
    <>
      {filters.map(([column, value], at) => (
        <>
          {`${at === 0 ? "" : ", "}${column} ${value === null ? "(value not stored)" : "is "}`}
          {value === null ? null : <Isolated texts={[value].flat().map(String)} between="or" />}
        </>
      ))}
    </>
  );
}

const head = ["Question", "Stored answer", "New answer", "Verdict"];

interface JudgedCall {
  transactionId: string;
  answerTransactionId: string | null;
  results: EvalResult[];
}

/** Groups results by their calls; they come in the order of calls. */
function byCall(results: readonly EvalResult[]): JudgedCall[] {
  const calls: JudgedCall[] = [];
  for (const result of results) {
    const { transactionId, answerTransactionId } = result;
    const last = calls.at(-1);
    if (last?.transactionId === transactionId) {
      last.answerTransactionId ??= answerTransactionId;
      last.results.push(result);
    } else calls.push({ transactionId, answerTransactionId, results: [result] });
  }
  return calls;
}

interface ShownTexts {
  question: string | undefined;
  answer: string | undefined;
}

/** The largest payload, in bytes, that is read for a line; a call's own page shows larger ones. */
const maxPayload = 64 * 1024;
/** How many characters of a text a line shows. */
const maxText = 600;

async function textsOf(
  ctx: PageContext,
  accountId: number,
  calls: readonly JudgedCall[],
): Promise<ReadonlyMap<string, ShownTexts>> {
  const ids = calls.flatMap(({ transactionId, answerTransactionId }) =>
    answerTransactionId === null ? [transactionId] : [transactionId, answerTransactionId]
  );
  const { interactions, readTranscript, flushRecords } = ctx.interactions;
  await flushRecords().catch(() => {});
  const rows = await interactions.texts(accountId, [...new Set(ids)], maxPayload);
  return new Map(
    await Promise.all(rows.map(async ({ transactionId, dialect, request, response }) => {
      const transcript = await readTranscript(dialect, { request, response });
      const asked = transcript.request?.turns.findLast(({ role }) => role === "user");
      const texts = {
        question: textOf(asked?.parts),
        answer: textOf(transcript.answers?.[0]?.parts),
      };
      return [transactionId, texts] as const;
    })),
  );
}

function textOf(parts: readonly ShownPart[] | undefined): string | undefined {
  const text = parts?.flatMap((part) => part.type === "text" ? [part.text] : []).join("\n").trim();
  if (text === undefined || text === "") return undefined;
  return shortText(text, maxText);
}

function callLine(
  { transactionId, answerTransactionId, results }: JudgedCall,
  texts: ReadonlyMap<string, ShownTexts>,
  seesPayloads: boolean,
) {
  const stored = texts.get(transactionId);
  const replied = answerTransactionId === null ? undefined : texts.get(answerTransactionId);
  return (
    <tr class="judged">
      <td class="wide">
        <ShownText text={stored?.question} />
        <a href={callAddress(transactionId)}>
          <code>{short(transactionId)}</code>
        </a>
      </td>
      <td class="wide">
        <ShownText text={stored?.answer} />
      </td>
      <td class="wide">
        <ShownText text={replied?.answer} />
        {answerTransactionId === null ? null : (
          <a href={callAddress(answerTransactionId)}>
            new answer<span class="visually-hidden">{` to ${short(transactionId)}`}</span>
          </a>
        )}
      </td>
      <td class="wide">
        <ul class="verdicts">
          {results.map(({ grader, passed, score, detail }) => (
            <li>
              <Verdict passed={passed} /> <span class="breaks">{graderText(grader)}</span>
              {score === null ? null : ` ${count(score)}`}
              {detail === null || !seesPayloads ? null : <div class="muted breaks">{detail}</div>}
            </li>
          ))}
        </ul>
      </td>
    </tr>
  );
}

function ShownText({ text }: { text: string | undefined }) {
  return text === undefined
    ? <span class="muted">–</span>
    : <div tabindex={0} class="judged-text">{text}</div>;
}

function Verdict({ passed }: { passed: boolean | null }) {
  if (passed === null) return <Badge tone="neutral">Can't say</Badge>;
  return passed ? <Badge tone="good">Passed</Badge> : <Badge tone="bad">Failed</Badge>;
}

/** Shortens an id to its end, since ids of the same moment differ only there. */
function short(id: string): string {
  return id.length <= 12 ? id : `…${id.slice(-12)}`;
}

function callAddress(id: string): string {
  return `${listPath}/${encodeURIComponent(id)}`;
}
