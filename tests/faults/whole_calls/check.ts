import { Secret } from "../../../src/base/secret.ts";
import type { Database } from "../../../src/database/database.ts";
import { openDatabase } from "../../../src/database/open.ts";
import { filesWith } from "../../support/files_with.ts";
import { answerCheck } from "../../contracts/fuzz/answers.ts";
import { type FuzzedDocument, operationsOf } from "../../contracts/fuzz/operations.ts";
import { type Attempt, type Errand, isWhole } from "./calls.ts";
import { type CallRow, readRows, show } from "./call_rows.ts";
import { checkModel, type PausesOf } from "./check_model.ts";
import { checkLeftovers, checkMoney } from "./check_store.ts";
import type { Deeds, Deletion } from "./exchange.ts";
import { checkHooks } from "./hooks.ts";
import { markerPattern, type VendorRequest } from "./vendor.ts";
import { type Pause, priceTables, type World } from "./world.ts";

export interface Ended {
  readonly world: World;
  readonly errands: readonly Errand[];
  readonly deeds: Deeds;
}

/** Checks everything once no process runs; returns what is wrong. */
export async function check(ended: Ended): Promise<string[]> {
  const { world } = ended;
  const database = await openDatabase(
    world.databaseUrl === undefined ? undefined : new Secret(world.databaseUrl),
    world.places[0]!.dataDir,
  );
  const analytics = world.analyticsUrl === undefined
    ? database
    : await openDatabase(new Secret(world.analyticsUrl), world.places[0]!.dataDir);
  const problems: string[] = [];
  try {
    const rows = await readRows(analytics);
    const times = new Times(world);
    problems.push(
      ...await checkMoney(database, analytics, rows, ended.deeds),
      ...await checkModel(database, analytics, rows, ended.deeds, pausesOfCalls(ended)),
      ...await checkLeftovers(database, analytics),
      ...checkAttempts(ended, rows, times),
      ...checkVendor(ended, rows, times),
      ...checkIds(ended, rows, times),
      ...await explainIds(database, ended, rows),
      ...checkCosts(ended, rows),
      ...checkErased(ended, rows, times),
      ...await checkHooks(database, world.hooks, ended.deeds.hooks),
      ...await checkOutcomes(database, ended),
      ...checkLogs(world),
      ...checkSchemas(ended),
      ...await checkTexts(database, ended),
      ...analytics === database ? [] : await checkTexts(analytics, ended),
    );
  } finally {
    if (analytics !== database) await analytics.close();
    await database.close();
  }
  return problems;
}

/** When processes ran, and how they ended. */
class Times {
  readonly #starts: World["places"][number]["starts"];

  constructor(world: World) {
    this.#starts = world.places.flatMap(({ starts }) => starts);
  }

  /** The pauses of the processes of these names, or of all. */
  pausesOf(names?: ReadonlySet<string>): readonly Pause[] {
    return this.#starts.flatMap(({ name, pauses }) => names?.has(name) === false ? [] : pauses);
  }

  of(name: string) {
    return this.#starts.find((each) => each.name === name);
  }

  /** Whether any process was killed in this time, or a little later, or paused at all. */
  killedIn(fromMs: number, toMs: number): boolean {
    return this.#starts.some(({ killed, endMs, pauses }) =>
      (killed === true && endMs! >= fromMs - 100 && endMs! <= toMs + 500) ||
      pauses.some((pause) => pause.toMs >= fromMs - 100 && pause.fromMs <= toMs + 500)
    );
  }

  killed(name: string): boolean {
    return this.of(name)?.killed === true;
  }

  /** Whether the process was ending, gone or paused, so that connections to it may fail. */
  ending(name: string, atMs: number): boolean {
    const start = this.of(name);
    // A caller waits for a minute.
    const isPaused = ({ fromMs, toMs }: { fromMs: number; toMs: number }) =>
      fromMs <= atMs && toMs >= atMs - 60_000;
    if (start?.pauses.some(isPaused)) return true;
    const end = start?.endMs;
    return end !== undefined && atMs >= end - 60_000;
  }
}

/**
 * Looks up who made a call: who answered it or, for want of an answer, all that asked a vendor for
 * it. A background call is made by another process than the one that answers.
 */
export function pausesOfCalls({ world, errands }: Pick<Ended, "world" | "errands">): PausesOf {
  const times = new Times(world);
  const answers = errands.flatMap(({ background, attempts }) =>
    background ? [] : attempts.filter((one) => !replayed(one))
  );
  const processes = new Map(
    answers.map(({ headers, process }) => [headers["x-transaction-id"], new Set([process])]),
  );
  const requests = Map.groupBy(world.vendors.requests, ({ marker }) => marker);
  return ({ id, marker, createdMs }) => {
    const sent = marker === undefined ? [] : requests.get(marker) ?? [];
    const senders = sent.filter(({ atMs }) => atMs > createdMs - 100)
      .map(({ sender }) => sender.replace("sk-secret-", ""));
    return times.pausesOf(
      processes.get(id) ?? (senders.length > 0 ? new Set(senders) : undefined),
    );
  };
}

/** Whether a deletion that was answered covers a call, or may cover it. */
function erasure(
  { deeds, world }: Ended,
  errand: Errand,
  attempt: Attempt | undefined,
): "no" | "maybe" | "yes" {
  const accountId = world.keys.get(errand.key)!.accountId;
  const id = attempt?.headers["x-transaction-id"];
  const matches = ({ by, value, accountId: of }: Deletion) =>
    of === accountId &&
    value === { user: errand.user, session: errand.session, transaction: id ?? "unknown" }[by];
  let most: "no" | "maybe" | "yes" = "no";
  for (const deletion of deeds.deletions.filter(matches)) {
    const { startMs, endMs } = deletion;
    if (!attempt || attempt.startMs <= (endMs ?? Infinity)) most = most === "yes" ? "yes" : "maybe";
    const arrived = attempt?.headMs ?? Infinity;
    if (endMs !== undefined && arrived < startMs) most = "yes";
  }
  return most;
}

const replayed = ({ headers }: Attempt) => headers["x-idempotent-replay"] === "true";

function checkAttempts(ended: Ended, rows: readonly CallRow[], times: Times): string[] {
  const problems: string[] = [];
  const byId = new Map(rows.map((row) => [row.id, row]));
  if (byId.size !== rows.length) problems.push("a call has two rows");
  for (const errand of ended.errands) {
    for (const attempt of errand.attempts) {
      const say = (text: string) => problems.push(`${text} | ${describe(errand, attempt)}`);
      const id = attempt.headers["x-transaction-id"];
      if (attempt.ended === "broken" && !times.ending(attempt.process, attempt.endMs)) {
        say(`broken: ${attempt.fault}`);
      }
      if (attempt.status !== undefined && attempt.headers["x-request-id"] === undefined) {
        say("no X-Request-ID");
      }
      if (id === undefined || erasure(ended, errand, attempt) !== "no") continue;
      const row = byId.get(id);
      if (!row) {
        say(`no row of ${id}`);
        continue;
      }
      if (errand.background) continue;
      checkAttempt(errand, attempt, row, say, ended.deeds.repriced);
    }
  }
  return problems;
}

function checkAttempt(
  errand: Errand,
  attempt: Attempt,
  row: CallRow,
  say: (text: string) => void,
  repriced: boolean,
): void {
  if (row.requestId !== attempt.headers["x-request-id"]) say(`row has ${row.requestId}`);
  const told = `row ${row.status} ${row.httpStatus} ${row.errorCode}`;
  if (attempt.ended !== "whole") return;
  if (isWhole(attempt, errand)) {
    // The first caller of an answer that was drained may have left before its head.
    const fits = row.status === "completed" &&
      (row.httpStatus === 200 ||
        (errand.key === "drain" && replayed(attempt) && row.httpStatus === null));
    if (!fits) say(`${told}, caller whole`);
    const charged = attempt.headers["x-charged-usd"];
    // A second answer to one request is not charged; its header has its own cost.
    const isSecond = errand.requestId !== undefined && row.chargedNanos === 0n;
    if (charged !== undefined && !repriced && !isSecond && usd(row.chargedNanos) !== charged) {
      say(`charged ${charged}, row ${usd(row.chargedNanos)}`);
    }
    if (!attempt.text.includes(errand.marker) && !errand.path.endsWith("embeddings")) {
      say("an answer without the marker");
    }
  } else if (attempt.status !== 200) {
    let code: unknown;
    try {
      const { error } = JSON.parse(attempt.text);
      code = error.code;
    } catch {
      say(`unreadable error ${attempt.text.slice(0, 100)}`);
    }
    if (
      row.httpStatus !== attempt.status || !/failed|truncated/.test(row.status) ||
      row.errorCode !== code
    ) {
      say(`${told}, caller ${attempt.status} ${code}`);
    }
  } else if (row.status === "completed") {
    say(`${told}, caller saw a stream that failed: ${attempt.text.slice(-150)}`);
  }
}

function checkVendor(ended: Ended, rows: readonly CallRow[], times: Times): string[] {
  const problems: string[] = [];
  const requests = Map.groupBy(ended.world.vendors.requests, ({ marker }) => marker);
  const byMarker = Map.groupBy(rows.filter(({ marker }) => marker), ({ marker }) => marker!);
  for (const errand of ended.errands) {
    if (errand.key === "metadata" || !errand.own) continue;
    const sent = requests.get(errand.marker) ?? [];
    const found = byMarker.get(errand.marker) ?? [];
    const erased = [undefined, ...errand.attempts].some((one) =>
      erasure(ended, errand, one) !== "no"
    );
    const say = (text: string) =>
      problems.push(`${text} | ${errand.attempts.map((one) => describe(errand, one)).join(" ; ")}`);
    const recorded = found.filter(({ cache }) => cache !== "hit").reduce(
      (sum, { attempts }) => sum + (attempts?.length ?? 1),
      0,
    );
    const unsure = found.filter(({ status }) => status === "cancelled" || status === "interrupted");
    const killed = sent.some(({ sender, closedMs }) =>
      times.killed(sender.replace("sk-secret-", "")) &&
      (closedMs ?? Infinity) > times.of(sender.replace("sk-secret-", ""))!.endMs! - 300
    );
    if (erased) continue;
    if (sent.length > 0 && found.length === 0) say(`${sent.length} vendor requests, no row`);
    if (killed || unsure.some(({ status }) => status === "interrupted")) continue;
    // By the time that a background call begins, credit may be spent and its key revoked.
    const unsent = found.filter(({ httpStatus, errorCode }) =>
      errand.background && (httpStatus === 402 || errorCode === "invalid_api_key")
    ).length;
    const repeated = errand.background ? lostRequests(sent, times).length : 0;
    if (sent.length - repeated > recorded || sent.length < recorded - unsure.length - unsent) {
      const ends = sent.map(({ sender }) =>
        times.of(sender.replace("sk-secret-", ""))
      );
      const seen = `${show(found)} ${show(sent)} ${show(ends)}`;
      say(`${sent.length} vendor requests, ${recorded} recorded: ${seen}`);
    }
  }
  return problems;
}

/**
 * Requests for a background call of processes that had ended when another one asked again: even an
 * answer that came may be in the journal of the first until it is started again (2090).
 */
function lostRequests(sent: readonly VendorRequest[], times: Times): readonly VendorRequest[] {
  const startOf = ({ sender }: VendorRequest) => times.of(sender.replace("sk-secret-", ""));
  return sent.filter((one, index) =>
    sent.slice(index + 1).some((later) =>
      later.sender !== one.sender && (startOf(one)?.endMs ?? Infinity) < later.atMs
    )
  );
}

/** What ids of requests promise: one answer, one charge, one vendor request at a time. */
function checkIds(ended: Ended, rows: readonly CallRow[], times: Times): string[] {
  const problems: string[] = [];
  const requests = Map.groupBy(ended.world.vendors.requests, ({ marker }) => marker);
  const byRequest = Map.groupBy(rows, ({ requestId }) => requestId);
  for (const errand of ended.errands) {
    if (errand.requestId === undefined || errand.key === "metadata") continue;
    if (!errand.attempts[0] || errand.isForgotten) continue;
    const say = (text: string) =>
      problems.push(`${text} | ${errand.attempts.map((one) => describe(errand, one)).join(" ; ")}`);
    const answers = errand.attempts.filter((one) => isWhole(one, errand) && !one.conflicting);
    const ids = new Set(answers.map(({ headers }) => headers["x-transaction-id"]));
    const maybeErased = errand.attempts.some((one) => erasure(ended, errand, one) !== "no");
    const [from, to] = [errand.attempts[0]!.startMs, errand.attempts.at(-1)!.endMs];
    const killed = times.killedIn(from, to);
    if (ids.size > 1 && !killed && !maybeErased && !ended.deeds.isCut) say(`${ids.size} answers`);
    const mine = (byRequest.get(errand.requestId) ?? []).filter(({ endpoint }) =>
      endpoint !== "/api/v1/evals"
    );
    const completed = mine.filter(({ status, chargedNanos }) =>
      status === "completed" && chargedNanos > 0n
    );
    // Another body under the same id is another request.
    const isOther = errand.attempts.some(({ conflicting }) => conflicting);
    if (completed.length > 1 && !isOther) say(`${completed.length} completed and charged`);
    if (maybeErased || killed || !errand.own || ended.deeds.isCut) continue;
    const sent = requests.get(errand.marker) ?? [];
    for (const [index, one] of sent.entries()) {
      const before = sent.slice(0, index).find(({ closedMs, vendor, dialect }) =>
        (closedMs ?? Infinity) > one.atMs + 300 &&
        (vendor !== one.vendor || dialect === one.dialect)
      );
      if (before && before.sender !== one.sender) say(`two vendor requests at once`);
    }
  }
  return problems;
}

/** What the ledger and the table of repeats have of ids that were charged twice. */
async function explainIds(
  database: Database,
  { errands }: Ended,
  rows: readonly CallRow[],
): Promise<string[]> {
  const problems: string[] = [];
  for (const { requestId, key, attempts, isForgotten } of errands) {
    const mine = rows.filter((row) => row.requestId === requestId && row.status === "completed");
    if (requestId === undefined || key === "metadata" || isForgotten) continue;
    if (attempts.some(({ conflicting }) => conflicting)) continue;
    if (mine.filter(({ chargedNanos }) => chargedNanos > 0n).length < 2) continue;
    const entries = await database.query(
      `select interaction_id, kind, amount_nanos, note, created_at from ledger_entries
       where interaction_id = any($1::text[]) order by id`,
      [mine.map(({ id }) => id)],
    );
    const replays = await database.query(
      `select claim_id, holder, until, status, transaction_id, past_claims, charged_claim, created_at
       from replays where transaction_id = any($1::text[])`,
      [mine.map(({ id }) => id)],
    );
    problems.push(`TWICE ${requestId} ${show(entries)} ${show(replays)}`);
  }
  return problems;
}

function checkCosts({ world, deeds }: Ended, rows: readonly CallRow[]): string[] {
  const problems: string[] = [];
  const requests = Map.groupBy(world.vendors.requests, ({ marker }) => marker);
  const starts = new Map(
    world.places.flatMap((place) => place.starts).map((one) => [
      `sk-secret-${one.name}`,
      one.prices,
    ]),
  );
  /** The price tables that a call may have: those of the processes that asked for it. */
  const pricesOf = ({ marker }: CallRow): readonly number[] => {
    if (deeds.lastPrices !== undefined) return [deeds.lastPrices];
    const sent = marker === undefined || deeds.repriced ? undefined : requests.get(marker);
    return [...new Set(sent?.flatMap(({ sender }) => starts.get(sender)!) ?? [0, 1])];
  };
  for (const row of rows) {
    const { marker, status, cache, basis, input, output, costNanos, chargedNanos } = row;
    const say = (text: string) => problems.push(`${text} ${show(row)}`);
    if (cache === "hit" && (costNanos !== 0n || chargedNanos !== 0n || basis !== "none")) {
      say("hit");
    }
    if (chargedNanos !== 0n && chargedNanos !== costNanos) say("charge isn't the cost");
    if (status === "completed" && cache !== "hit" && basis === "reported" && marker) {
      const sent = requests.get(marker)?.find(({ usage }) => usage);
      const tokens = row.endpoint.endsWith("embeddings") ? 0 : sent?.usage?.output;
      if (sent?.usage?.input !== input || (tokens !== output && output !== null)) {
        say(`usage ${show(sent?.usage)}`);
      }
    }
    if (basis === "reported" && input !== null) {
      const costs = pricesOf(row).map((table) => {
        const price = priceTables[table]![`${row.vendor}/${row.model}`];
        if (!price) return -1n;
        return BigInt(input) * BigInt(price.input!) * 1000n +
          BigInt(output ?? 0) * BigInt(price.output ?? 0) * 1000n;
      });
      if (!costs.includes(costNanos!)) say(`cost, expected one of ${costs}`);
    }
  }
  return problems;
}

function checkErased(ended: Ended, rows: readonly CallRow[], _times: Times): string[] {
  const problems: string[] = [];
  const ids = new Set(rows.map(({ id }) => id));
  for (const errand of ended.errands) {
    for (const attempt of errand.attempts) {
      const id = attempt.headers["x-transaction-id"];
      if (id === undefined || replayed(attempt)) continue;
      if (erasure(ended, errand, attempt) === "yes" && ids.has(id)) {
        problems.push(`not erased: ${id} | ${describe(errand, attempt)}`);
      }
    }
  }
  return problems;
}

async function checkOutcomes(database: Database, { deeds, world }: Ended): Promise<string[]> {
  const problems: string[] = [];
  const stored = await database.query("select * from cohort_outcomes");
  const found = Map.groupBy(stored, (row) => String(row.item_id ?? row.id));
  for (const { id, taken, session, key } of deeds.outcomes) {
    const count = found.get(id)?.length ?? 0;
    const erasedBySession = session !== undefined &&
      deeds.deletions.some(({ accountId }) => accountId === world.keys.get(key)!.accountId);
    if (count > 1) problems.push(`outcome ${id} is there ${count} times`);
    if (taken && count === 0 && !erasedBySession) problems.push(`outcome ${id} is missing`);
  }
  return problems;
}

const document: FuzzedDocument = JSON.parse(
  Deno.readTextFileSync(new URL("../../../openapi/openapi.json", import.meta.url)),
);

/** The document describes every answer. */
function checkSchemas({ errands }: Ended): string[] {
  const fits = answerCheck(document);
  const operations = operationsOf(document).filter(({ method }) => method === "POST");
  const problems = new Map<string, string>();
  for (const errand of errands) {
    const path = errand.path.replace(/models\/.*:/, "models/{model}:").replace(/\?.*/, "");
    const operation = operations.find((each) => each.path === path);
    for (const one of errand.attempts) {
      if (one.ended !== "whole") continue;
      const problem = operation === undefined ? `no operation ${path}` : fits(
        operation,
        { target: errand.path, headers: {}, body: undefined } as never,
        { status: one.status!, headers: new Headers(one.headers), text: one.text },
      );
      const expected = problem === "a failure" || problem?.startsWith("a failure in the stream") ||
        /required property 'usage/.test(problem ?? "") ||
        (one.status === 400 && problem === "refused, although the document allows it");
      if (problem !== undefined && !expected) {
        problems.set(
          `${path} ${problem}`,
          `${problem} | ${describe(errand, one)} ${one.text.slice(0, 600)} ${show(one.headers)}`,
        );
      }
    }
  }
  return [...problems.values()].slice(0, 6);
}

const suspicious =
  /TypeError|RangeError|ReferenceError|SyntaxError|[Uu]nhandled|Uncaught|^ {4}at |internal_error|level":"error|Z error /;

function checkLogs({ places }: World): string[] {
  const problems: string[] = [];
  for (const { name, text } of places.flatMap(({ logs }) => logs)) {
    for (const line of text.split("\n")) {
      const leaked = markerPattern.test(line) || /sk-secret-/.test(line);
      if (line.includes("the service's own vendor key does not work")) continue;
      if (suspicious.test(line) || leaked) problems.push(`log of ${name}: ${line.slice(0, 400)}`);
    }
  }
  return problems.slice(0, 10);
}

/** Texts of erased calls are nowhere, and those of calls without recorded content. */
async function checkTexts(database: Database, ended: Ended): Promise<string[]> {
  const { errands, world } = ended;
  const gone = errands.filter((errand) =>
    errand.own &&
    (errand.key === "metadata" ||
      errand.attempts.every((attempt) => erasure(ended, errand, attempt) === "yes"))
  );
  const wanted = new Map(gone.map((errand) => [errand.marker, errand]));
  const problems: string[] = [];
  const tables = await database.query(
    `select oid::regclass::text as name from pg_class
     where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  for (const { name } of tables) {
    const rows = await database.query(
      `select t::text as line from ${name} t where t::text like '%mark-%'
      union all select encode(decode(substr(m[1], 1, length(m[1]) / 2 * 2), 'hex'), 'escape')
        from ${name} t, regexp_matches(t::text, '\\\\x([0-9a-f]{8,})', 'g') as m`,
    );
    for (const { line } of rows) {
      for (const [marker] of String(line).matchAll(new RegExp(markerPattern, "g"))) {
        const errand = wanted.get(marker);
        if (errand) {
          problems.push(
            `${marker} in ${name} | ${errand.attempts.map((one) => describe(errand, one))}`,
          );
        }
      }
    }
  }
  if (world.databaseUrl !== undefined) {
    for (const marker of wanted.keys()) {
      const files = await filesWith(world.folder, [`${marker} `, `${marker}.`]);
      if (files.length > 0) problems.push(`${marker} in ${files}`);
    }
  }
  return problems.slice(0, 12);
}

function usd(nanos: bigint): string {
  const text = String(nanos).padStart(10, "0");
  return `${text.slice(0, -9)}.${text.slice(-9)}`;
}

export function describe(errand: Errand, attempt: Attempt): string {
  const { marker, path, key, user, session, requestId } = errand;
  const { status, process, ended, startMs, headMs, endMs, conflicting } = attempt;
  const id = attempt.headers["x-transaction-id"];
  const body = status === 200 ? "" : attempt.text.slice(0, 160);
  return `${marker} ${path} ${
    errand.stream ? "stream" : ""
  } ${key} ${user} ${session} ${requestId} ${
    conflicting ? "conflicting" : ""
  } @${process} ${status} ${ended} ${startMs} ${(headMs ?? 0) - startMs} ${endMs - startMs} ${id} ${
    replayed(attempt) ? "replay" : ""
  } ${body}`;
}
