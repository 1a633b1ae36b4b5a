import assert from "@std/assert";
import { Fault } from "../../src/shared/fault.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import type { ClaimedRun, EvalItem, EvalWork } from "../../src/evals/eval.ts";
import type { Database } from "../../src/database/database.ts";
import { createEvalWork } from "../../src/evals/store/eval_work.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { openEvalWorld } from "../support/eval_world.ts";
import { startInTurn } from "../support/lock_queue.ts";
import { interaction, newAccount } from "./samples.ts";

const codeOf = (code: string) => (thrown: unknown) =>
  thrown instanceof Fault && thrown.code === code;

eachDatabase(
  "a run is about the account's own calls, never about those of evaluations",
  async (database) => {
    const world = await openEvalWorld(database);
    const other = await newAccount(database, "other");
    await world.store(5, (n) => ({ app: n % 2 ? "odd" : "even" }));
    await createAnalyticsStore(database).insert([
      interaction(other, "theirs", { app: "odd" }),
      interaction(world.accountId, "of an evaluation", { app: "odd", endpoint: "/api/v1/evals" }),
    ]);
    const select = { accountId: world.accountId, filters: { app: ["odd"] } };
    await world.create({ select });
    const chosen = () =>
      database.query(
        "select transaction_id, position from eval_items order by eval_run_id, position",
      );
    assert.deepEqual((await chosen()).map((row) => row.transaction_id), ["txn-0001", "txn-0003"]);
    await database.query("delete from eval_runs");
    assert.deepEqual(await chosen(), [], "items go with their run");
    const [start, end] = [1, 4].map((second) => new Date(Date.UTC(2026, 10, 21, 10, 0, second)));
    await world.create({
      select: { accountId: world.accountId, start: start!, end: end! },
      limit: 2,
    });
    assert.deepEqual(await chosen(), [
      { transaction_id: "txn-0002", position: 0 },
      { transaction_id: "txn-0003", position: 1 },
    ]);
  },
);

eachDatabase("runs stored earlier lose filter values that may name a person", async (database) => {
  const world = await openEvalWorld(database);
  const upgraded = async (filters: unknown): Promise<unknown> => {
    const id = await world.create();
    await database.query("update eval_runs set filters = $2 where eval_run_id = $1", [
      ...[id, JSON.stringify(filters)],
    ]);
    await database.query(await Deno.readTextFile("migrations/0034_eval_filters.sql"));
    const ofRun = "select filters from eval_runs where eval_run_id = $1";
    return JSON.parse(String((await database.query(ofRun, [id]))[0]!.filters));
  };
  const odd = 'a "]\\" \0 ,"user_id":"';
  assert.deepEqual(
    await upgraded({
      ...{ app: '"user_id":"x"', user_id: odd, model: [odd], session_id: [odd, "[b]", "c"] },
      ...{ request_id: [], status: "completed" },
    }),
    {
      ...{ app: '"user_id":"x"', user_id: null, model: [odd], session_id: null },
      ...{ request_id: null, status: "completed" },
    },
  );
  const numbers = { user_id: 4917, session_id: -1.5e-7, request_id: true, http_status: 500 };
  assert.deepEqual(
    await upgraded({ ...numbers, app: '"user_id":5' }),
    {
      ...{ user_id: null, session_id: null, request_id: null, http_status: 500 },
      ...{ app: '"user_id":5' },
    },
  );
  assert.deepEqual(await upgraded({ user_id: [4917, "x", false] }), { user_id: null });
});

eachDatabase(
  "a repeated request is the same run for a day; with another body it is a conflict",
  async (database) => {
    const world = await openEvalWorld(database);
    await world.store(2);
    const id = await world.create({ requestId: "r" });
    assert.equal(await world.create({ requestId: "r" }), id);
    const many = await Promise.all([1, 2, 3, 4].map(() => world.create({ requestId: "at once" })));
    assert.equal(new Set(many).size, 1);
    await assert.rejects(
      world.create({ requestId: "r", requestHash: "other" }),
      codeOf("idempotency_conflict"),
    );
    const other = await newAccount(database, "other");
    const theirs = { accountId: other, select: { accountId: other }, requestHash: "other" };
    assert.notEqual(await world.create({ ...theirs, requestId: "r" }), id, "each account's own");
    await database.query("update eval_runs set created_at = created_at - interval '25 hours'");
    assert.notEqual(await world.create({ requestId: "r", requestHash: "other" }), id);
  },
);

eachDatabase("an account has at most a hundred runs that have not ended", async (database) => {
  const world = await openEvalWorld(database);
  await world.store(1);
  const ids: string[] = [];
  for (let n = 0; n < 100; n++) ids.push(await world.create());
  await assert.rejects(world.create(), codeOf("rate_limit_exceeded"));
  const act = { action: "eval.cancelled", subject: "run", detail: "", at: new Date() };
  const audit = { ...act, accountId: world.accountId, actor: { personId: null, name: "ann" } };
  for (let time = 0; time < 2; time++) await world.evals.cancel(world.accountId, ids[0]!, audit);
  const acts = await database.query("select subject from audit_log where action = $1", [
    act.action,
  ]);
  assert.equal(acts.length, 1, "what has ended isn't cancelled again");
  await world.create();
  await assert.rejects(world.create(), codeOf("rate_limit_exceeded"), "one was cancelled");
  // A run about nothing has ended when it begins.
  const other = await newAccount(database, "other");
  const empty = await world.create({ accountId: other, select: { accountId: other } });
  assert.equal((await world.evals.find(other, empty))?.state, "done");
});

eachDatabase("runs, results and cancelling are the account's own", async (database) => {
  const world = await openEvalWorld(database);
  const other = await newAccount(database, "other");
  await world.store(2);
  const id = await world.create();
  world.runner().wake();
  await world.until(id, ({ state }) => state === "done");
  assert.equal(await world.evals.find(other, id), undefined);
  assert.deepEqual(await world.evals.list(other, { limit: 9 }), []);
  assert.deepEqual(await world.evals.results(other, id, { limit: 9 }), []);
  const open = await world.create();
  assert.equal(await world.evals.cancel(other, open), undefined);
  assert.notEqual((await world.run(open)).state, "cancelled");
  await world.close();
});

onPostgres(
  "what calls of one run cost at the same moment is counted for each",
  async (database) => {
    const world = await openEvalWorld(database);
    await world.store(2);
    const id = await world.create();
    const analytics = createAnalyticsStore(database);
    const work = createEvalWork(database, { workerId: "one", analytics });
    const run = (await work.claim({ runs: [], accounts: [] }))!;
    const [first, second] = await work.items(run, -1, 2);
    const cost = { costNanos: 7n, unpricedCalls: 0 };
    const graded = {
      outcome: "passed",
      reason: null,
      results: [],
      finishedAt: new Date(),
    } as const;
    await startInTurn(
      database,
      "select from eval_runs for update",
      () => work.finish(run, first!, { ...graded, ...cost }),
      () => work.countCalls(run, second!, [{ ...cost, transactionId: "a" }]),
      () => work.finish(run, second!, { ...graded, ...cost }),
    );
    const { counts } = await world.run(id);
    assert.deepEqual([counts.costNanos, counts.done, counts.passed], [21n, 2, 2]);
  },
);

eachDatabase(
  "what a worker writes changes its item and its run, and nothing of a run that it doesn't hold",
  async (database) => {
    const world = await openEvalWorld(database);
    const other = await newAccount(database, "other");
    await world.store(2);
    await createAnalyticsStore(database).insert([interaction(other, "theirs")]);
    await world.create();
    await world.create({ accountId: other, select: { accountId: other } });
    const analytics = createAnalyticsStore(database);
    const [work, elsewhere] = ["one", "two"].map((workerId) =>
      createEvalWork(database, { workerId, analytics })
    ) as [EvalWork, EvalWork];
    const run = (await work.claim({ runs: [], accounts: [] }))!;
    const beside = (await work.claim({ runs: [run.evalRunId], accounts: [run.accountId] }))!;
    const [item, next] = (await work.items(run, -1, 2)) as [EvalItem, EvalItem];
    const [besideBefore, before] = [await rowsOf(database, beside), await rowsOf(database, run)];
    const wait = { ms: 0, code: "insufficient_credits", message: "no credit" } as const;
    const cost = { costNanos: 7n, unpricedCalls: 0 };
    const done = { outcome: "passed", reason: null, results: [], finishedAt: new Date() } as const;

    // Another worker that has lost its claim.
    assert.equal(await elsewhere.finish(run, next, { ...done, ...cost }), false);
    assert.equal(await elsewhere.stateOf(run), undefined);
    await elsewhere.pause(run, wait);
    await elsewhere.release(run);
    await elsewhere.end(run, "done");
    assert.deepEqual(await rowsOf(database, run), before);

    await work.begin(run, item);
    await work.begin(run, item);
    await work.countTry(run, item, cost);
    await work.countCalls(run, item, [{ ...cost, transactionId: "a" }]);
    const [tried, untouched] = await work.items(run, -1, 2);
    assert.deepEqual([tried, untouched], [{ ...item, attempts: 2, countedCalls: ["a"] }, next]);
    await work.begin(run, item);
    assert.equal((await work.items(run, -1, 1))[0]!.attempts, 2, "a try that began is counted");
    assert.deepEqual(await work.items(run, item.position, 2), [next]);
    const outcomes = ["passed", "failed"] as const;
    for (const outcome of outcomes) {
      assert.equal(await work.finish(run, item, { ...done, ...cost, outcome }), true);
    }
    assert.deepEqual(await work.items(run, -1, 2), [next]);
    const { counts } = await world.run(run.evalRunId);
    assert.deepEqual([counts.costNanos, counts.done, counts.failed], [21n, 1, 0], "counted once");
    for (const leave of [work.release, (one: ClaimedRun) => work.pause(one, wait)]) {
      await leave(run);
      assert.equal(await work.stateOf(run), undefined);
      assert.equal((await work.claim({ runs: [], accounts: [] }))?.evalRunId, run.evalRunId);
    }
    await work.pause(run, { ...wait, ms: 60_000 });
    assert.equal(await work.claim({ runs: [], accounts: [] }), undefined, "not before its time");
    const { waiting } = await world.run(run.evalRunId);
    assert.equal(waiting?.for, wait.code);
    await database.query("update eval_runs set next_at = null where eval_run_id = $1", [
      run.evalRunId,
    ]);
    await work.claim({ runs: [], accounts: [] });
    const error = { code: wait.code, message: wait.message };
    await work.end(run, "failed", error);
    const ended = await world.run(run.evalRunId);
    assert.deepEqual([ended.state, ended.error, ended.waiting], ["failed", error, null]);
    assert.deepEqual(await rowsOf(database, beside), besideBefore);

    await world.evals.cancel(other, beside.evalRunId);
    await work.pause(beside, wait);
    await work.end(beside, "done");
    assert.equal(await work.stateOf(beside), "cancelled", "what was cancelled stays so");
  },
);

/** A run and its items, each as text. */
async function rowsOf(database: Database, { evalRunId }: ClaimedRun): Promise<string[]> {
  const rows = await database.query(
    `select r::text as text from eval_runs r where eval_run_id = $1
     union all select i::text from eval_items i where eval_run_id = $1 order by 1`,
    [evalRunId],
  );
  return rows.map(({ text }) => String(text));
}
