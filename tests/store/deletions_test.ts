import assert from "@std/assert";
import {
  dataTables,
  type DeletionCursor,
  type DeletionRequest,
  type Selectors,
} from "../../src/erasure/deletion.ts";
import { createCohorts } from "../../src/cohorts/store/cohorts.ts";
import type { Database } from "../../src/database/database.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createStoredResponses } from "../../src/relay/conversation/store/stored_responses.ts";
import { migrate } from "../../src/database/migrate.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import {
  eachDatabase,
  onBothDatabases,
  onPostgres,
  productMigrations,
} from "../support/databases.ts";
import { startPostgres } from "../support/postgres.ts";
import {
  asked,
  erase,
  evalCall,
  evaluate,
  fullCall,
  left,
  request,
  startRun,
  storeOf,
} from "./erasing.ts";
import { interaction, newAccount } from "./samples.ts";

eachDatabase("an interaction goes with all that hangs on it, and nothing else does", async (
  database,
) => {
  const [ours, theirs] = [await newAccount(database), await newAccount(database, "theirs")];
  await createAnalyticsStore(database).insert([
    fullCall(ours, "a1", { userId: "ann" }),
    fullCall(ours, "b1", { userId: "bob" }),
    fullCall(theirs, "x1", { userId: "ann" }),
    // Made by an evaluation out of a1; it says nothing of the user.
    fullCall(ours, "answer of a1"),
  ]);
  await evaluate(database, ours, "a1", "answer of a1");
  await evaluate(database, ours, "b1", "answer of b1");
  for (const id of ["a1", "b1"]) {
    await database.query(
      `insert into replays (key, account_id, fingerprint, claim_id, holder, until, status,
         transaction_id) values ($1, $2, 'f', $1, 'h', now() + interval '1 hour', 200, $1)`,
      [id, ours],
    );
    // As it stays of a background call that was cancelled: the answer repeats its instructions.
    await database.query(
      `insert into background_calls (account_id, response_id, transaction_id, created_at,
         api_key_id, state, answer) values ($2, $1, $1, $3, 'k', 'cancelled', '{}')`,
      [id, ours, asked],
    );
  }
  const wanted = request(ours, { userIds: ["ann"] });
  const expected = { interactions: 2, eval_runs: 0, eval_results: 1 };
  assert.deepEqual(await storeOf(database).count(wanted), expected);
  assert.deepEqual(await erase(database, wanted), expected);
  assert.deepEqual(await left(database), {
    interactions: ["b1", "x1"],
    payloads: ["b1", "x1"],
    responses: ["b1", "x1"],
    reasoning: ["b1", "x1"],
    replays: ["b1"],
    results: ["b1"],
  });
  const background = await database.query("select response_id as id from background_calls", []);
  assert.deepEqual(background, [{ id: "b1" }]);
  const receipts = (account: number) => storeOf(database).list(account, { limit: 10 });
  assert.deepEqual([(await receipts(ours)).length, await receipts(theirs)], [1, []]);
  assert.equal(await storeOf(database).find(theirs, wanted.deletionId), undefined);
  assert.deepEqual(await storeOf(database).count(wanted), {
    interactions: 0,
    eval_runs: 0,
    eval_results: 0,
  });
});

eachDatabase(
  "a call of a replica whose clock is ahead goes too, and later ones stay",
  async (db) => {
    const ours = await newAccount(db);
    const after = (seconds: number) => new Date(asked.getTime() + seconds * 1000);
    const calls = createAnalyticsStore(db);
    const call = (id: string, userId: string, seconds: number) =>
      fullCall(ours, id, { userId, createdAt: after(seconds) });
    await calls.insert([call("a1", "ann", -1), call("a2", "ann", 60), call("b1", "bob", 90)]);
    const wanted = request(ours, { userIds: ["ann"] });
    const expected = { interactions: 2, eval_runs: 0, eval_results: 0 };
    assert.deepEqual(await storeOf(db).count(wanted), expected);
    assert.deepEqual(await erase(db, wanted), expected);
    await calls.insert([call("a3", "ann", 61)]);
    assert.deepEqual((await left(db)).interactions, ["a3", "b1"]);
  },
);

eachDatabase("what runs made of a call goes with it, whatever became of it", async (database) => {
  const [ours, theirs] = [await newAccount(database), await newAccount(database, "theirs")];
  const createdAt = new Date("2026-11-21T10:30:00.000Z");
  await createAnalyticsStore(database).insert([
    fullCall(ours, "t1"),
    fullCall(ours, "t2"),
    evalCall(ours, "failed try of t1", "run/0", { createdAt }),
    evalCall(ours, "answer of t1", "run/0", { createdAt }),
    evalCall(ours, "judge of t1", "run/0/judge-1", { createdAt }),
    evalCall(ours, "answer of t2", "run/1", { createdAt }),
    // A run about calls of another one.
    evalCall(ours, "answer of its answer", "again/0", { createdAt }),
    // Callers name their requests as they like.
    fullCall(ours, "of a caller", { requestId: "run/0", createdAt }),
    evalCall(theirs, "theirs", "run/0", { createdAt }),
  ]);
  await startRun(database, ours, { evalRunId: "run", createdAt, ids: ["t1", "t2"] });
  await startRun(database, ours, { evalRunId: "again", createdAt, ids: ["answer of t1"] });
  const wanted = request(ours, { transactionIds: ["t1"] });
  const expected = { interactions: 5, eval_runs: 0, eval_results: 0 };
  assert.deepEqual(await storeOf(database).count(wanted), expected);
  assert.deepEqual(await erase(database, wanted), expected);
  assert.deepEqual(
    (await left(database)).interactions,
    ["answer of t2", "of a caller", "t2", "theirs"],
  );
});

eachDatabase("media goes with the last call that names it", async (database) => {
  const account = await newAccount(database);
  const media = (name: string) => ({
    sha256: name,
    mimeType: "image/png",
    content: new TextEncoder().encode(name),
  });
  await createAnalyticsStore(database).insert([
    fullCall(account, "t1", { media: [media("shared"), media("own")] }),
    fullCall(account, "t2", { media: [media("shared")] }),
  ]);
  const known = async () =>
    (await database.query("select sha256 from media order by 1", [])).map((row) => row.sha256);
  await erase(database, request(account, { transactionIds: ["t1"] }));
  assert.deepEqual(await known(), ["shared"]);
  const [state] = await database.query("select relations from scrubs", []);
  assert.ok((state!.relations as string[]).includes("media"));
  await erase(database, request(account, { transactionIds: ["t2"] }));
  assert.deepEqual(await known(), []);
});

eachDatabase("a response that continues an erased one goes too, its own call stays", async (db) => {
  const account = await newAccount(db);
  const first = fullCall(account, "t1");
  const continued = (id: string, sources: string[]) => {
    // Recent: the sources of a record older than a week can't be checked any more.
    const call = fullCall(account, id, { createdAt: new Date() });
    return {
      ...call,
      retained: { ...call.retained!, response: { ...call.retained!.response!, sources } },
    };
  };
  const rows = createAnalyticsStore(db);
  await rows.insert([first, continued("t2", ["t1"]), continued("t3", ["t2", "t1"])]);
  await rows.insert([continued("other", ["t9"])]);
  await erase(db, request(account, { transactionIds: ["t1"] }));
  // It was under way, and had the text of the first.
  await rows.insert([continued("t4", ["t1", "t2"])]);
  const { interactions, responses, reasoning } = await left(db);
  assert.deepEqual(interactions, ["other", "t2", "t3", "t4"]);
  assert.deepEqual(responses, ["other"]);
  assert.deepEqual(reasoning, ["other", "t2", "t3", "t4"]);
  assert.equal(await createStoredResponses(db).findResponse(account, "resp t4"), undefined);
});

eachDatabase("more rows than a step takes are erased, and counted once each", async (database) => {
  const account = await newAccount(database);
  const rows = Array.from({ length: 1203 }, (_, at) =>
    interaction(account, `t${at}`, {
      createdAt: new Date(Date.UTC(2026, 9, 1) + at * 1000),
      requestText: "{}",
    }));
  await createAnalyticsStore(database).insert(rows);
  const wanted = request(account, {
    start: new Date("2026-10-01T00:00:01.000Z"),
    end: new Date("2026-10-01T00:20:01.000Z"),
  });
  const expected = { interactions: 1200, eval_runs: 0, eval_results: 0 };
  assert.deepEqual(await storeOf(database).count(wanted), expected);
  assert.deepEqual(await erase(database, wanted), expected);
  assert.deepEqual((await left(database)).interactions, ["t0", "t1201", "t1202"]);
  const span = await storeOf(database).erasedSpan(wanted.deletionId);
  assert.deepEqual(span, {
    tables: ["interactions"],
    from: new Date("2026-10-01T00:00:01.000Z"),
    to: new Date("2026-10-01T00:20:00.000Z"),
  });
});

eachDatabase("a step that begins later passes older calls over, and says how far it came", async (
  database,
) => {
  const account = await newAccount(database);
  const at = (second: number) => new Date(asked.getTime() - 10_000 + second * 1000);
  await createAnalyticsStore(database).insert(
    [1, 2, 3].map((second) => interaction(account, `a${second}`, { createdAt: at(second) })),
  );
  const store = storeOf(database);
  const wanted = request(account, {});
  const deletion = {
    tombstone: await store.add(wanted, "claimed"),
    selectors: wanted.selectors,
  };
  const later = await store.eraseBatch(deletion, at(2));
  assert.deepEqual([later.transactionIds, later.reached], [["a2", "a3"], at(3)]);
  const rest = await store.eraseBatch(deletion);
  assert.deepEqual([rest.transactionIds, rest.isLast], [["a1"], true]);
});

eachDatabase("a later step passes over older results too, and cached answers", async (database) => {
  const account = await newAccount(database);
  const at = (second: number) => new Date(asked.getTime() - 1_000_000 + second * 1000);
  await database.query(
    `insert into eval_results (eval_run_id, created_at, account_id, transaction_id, user_id,
       grader_index, grader)
     select 'run', $2::timestamptz + n * interval '1 second', $1::bigint, 't' || n, 'u', 0, '{}'
     from generate_series(1, 600) as n`,
    [account, at(0)],
  );
  await database.query(
    `insert into cached_answers (account_id, transaction_id, created_at, user_id, key, stored_at,
       until, status, headers, body, streamed, vendor, model, translation_loss, bytes)
     values ($1::bigint, 't', $2::timestamptz, 'u', 'k', $2::timestamptz, $2::timestamptz, 200,
       '{}', '', false, 'v', 'm', '{}', 0)`,
    [account, at(50)],
  );
  const found = async () => {
    const [row] = await database.query(
      `select (select count(*) from cached_answers)::integer as cached,
         (select count(*) from eval_results)::integer as results`,
    );
    return row;
  };
  const store = storeOf(database);
  const wanted = request(account, { userIds: ["u"] });
  const deletion = { tombstone: await store.add(wanted, "claimed"), selectors: wanted.selectors };
  const first = await store.eraseBatch(deletion, at(51));
  assert.deepEqual([first.reached, first.isLast], [at(550), false]);
  assert.deepEqual(await found(), { cached: 1, results: 100 });
  const second = await store.eraseBatch(deletion, first.reached);
  assert.deepEqual([second.reached, second.isLast], [undefined, true]);
  assert.deepEqual(await found(), { cached: 1, results: 50 });
  assert.equal((await store.eraseBatch(deletion)).isLast, true);
  assert.deepEqual(await found(), { cached: 0, results: 0 });
});

eachDatabase("exports of results are looked for by the results' own times", async (database) => {
  const account = await newAccount(database);
  const createdAt = new Date("2026-08-01T10:00:00.000Z");
  await createAnalyticsStore(database).insert([fullCall(account, "t1", { createdAt })]);
  await evaluate(database, account, "t1", "gone");
  const wanted = request(account, { transactionIds: ["t1"] });
  await erase(database, wanted);
  assert.deepEqual(await storeOf(database).erasedSpan(wanted.deletionId), {
    tables: ["interactions", "eval_results"],
    from: createdAt,
    to: new Date("2026-08-01T11:00:00.000Z"),
  });
});

eachDatabase("the tables that are named, and a table without the column has no match", async (
  db,
) => {
  const account = await newAccount(db);
  const fill = async () => {
    await db.query("delete from erased_calls; delete from tombstones; delete from eval_results");
    await db.query(
      `insert into eval_runs (eval_run_id, created_at, account_id, api_key_id, model, filters,
         graders, state, counts) values ('run', $2, $1, 'k', 'm', '{}', '[]', 'done', '{}')
       on conflict do nothing`,
      [account, new Date("2026-11-21T10:30:00.000Z")],
    );
    await createAnalyticsStore(db).insert([fullCall(account, "t1", { sessionId: "s" })]);
    await evaluate(db, account, "t1", "gone");
  };
  const cases: [DeletionRequest["tables"], Selectors, number[]][] = [
    [["eval_results"], { sessionIds: ["s"] }, [0, 0, 1]],
    [["eval_runs"], { sessionIds: ["s"] }, [0, 0, 0]],
    [["interactions"], { sessionIds: ["s"] }, [1, 0, 1]],
    [dataTables, { sessionIds: ["s"] }, [1, 0, 1]],
    [dataTables, { transactionIds: ["t1", "t1", "t7"] }, [1, 0, 1]],
    [["eval_runs", "eval_results"], { start: new Date("2026-11-21T10:30:00Z") }, [0, 1, 1]],
    [dataTables, { end: new Date("2026-11-21T10:30:00Z") }, [1, 0, 1]],
    [dataTables, { end: asked }, [1, 1, 1]],
    [dataTables, { end: asked, sessionIds: ["s"] }, [1, 0, 1]],
    [dataTables, { end: asked, sessionIds: ["s"], transactionIds: ["t2"] }, [0, 0, 0]],
  ];
  for (const [tables, selectors, [interactions, eval_runs, eval_results]] of cases) {
    await fill();
    const wanted = request(account, selectors, { tables });
    const expected = { interactions, eval_runs, eval_results };
    const what = JSON.stringify([tables, selectors]);
    assert.deepEqual(await storeOf(db).count(wanted), expected, `counted: ${what}`);
    assert.deepEqual(await erase(db, wanted), expected, `erased: ${what}`);
  }
});

onBothDatabases(
  "what was asked for is not to be read any more once it is done",
  async (database) => {
    const account = await newAccount(database);
    const wanted = request(account, {
      userIds: ["ann@example.org"],
      sessionIds: ["session-of-ann"],
    });
    await storeOf(database).add(wanted, "claimed");
    const all = async () => {
      const tables = ["deletions", "tombstones", "scrubs", "erased_calls"];
      const texts = await Promise.all(
        tables.map((table) =>
          database.query(
            `select coalesce(string_agg(t::text, ' '), '') as text from ${table} t`,
            [],
          )
        ),
      );
      return texts.map(([row]) => String(row!.text)).join("\n");
    };
    assert.match(await all(), /ann@example\.org/, "a deletion that waits must know");
    await storeOf(database).finish(wanted.deletionId);
    assert.doesNotMatch(await all(), /ann/);
  },
);

onPostgres("a claim reads the receipts of an account once, however many of it wait", async (db) => {
  const account = await newAccount(db);
  for (let waiting = 0; waiting < 20; waiting++) {
    await storeOf(db).add(request(account, { end: asked }));
  }
  await db.query(
    `insert into deletions
       (deletion_id, account_id, state, selectors_hash, requested_at, attempts, completed_at)
     select n, $1, 'done', '', $2, 1, $2 from generate_series(1, 2000) as n`,
    [account, asked],
  );
  await db.query("analyze deletions");
  const read = await db.transaction(async (tx) => {
    assert.ok(await storeOf({ ...db, query: tx.query }).claim());
    const [row] = await tx.query(
      `select seq_tup_read + idx_tup_fetch as read from pg_stat_xact_user_tables
       where relname = 'deletions'`,
    );
    return Number(row!.read);
  });
  assert.ok(read < 5_000, `${read} rows were read`);
}, { fresh: true });

eachDatabase("the account with the fewest recent deletions comes first", async (db) => {
  const [busy, quiet] = [await newAccount(db, "busy"), await newAccount(db, "quiet")];
  await db.query(
    `insert into deletions
       (deletion_id, account_id, state, selectors_hash, requested_at, attempts, completed_at)
     select 'busy ' || n, $1::bigint, 'done', '', $3::timestamptz, 1, clock_timestamp()
       from generate_series(1, 2) as n
     union all select 'quiet ' || n, $2::bigint, 'done', '', $3::timestamptz, 1,
       clock_timestamp() - interval '61 minutes' from generate_series(1, 3) as n`,
    [busy, quiet, asked],
  );
  const store = storeOf(db);
  const accounts = [busy, quiet, quiet, quiet];
  for (const [at, account] of accounts.entries()) {
    await store.add(request(account, { end: asked }, { requestedAt: new Date(+asked + at) }));
  }
  const order: (number | undefined)[] = [];
  for (const _ of accounts) order.push((await store.claim())?.tombstone.accountId);
  // The third time both have two, and the busy one asked first.
  assert.deepEqual(order, [quiet, quiet, busy, quiet]);
});

eachDatabase("receipts are kept apart, and listed from the latest", async (db) => {
  const account = await newAccount(db);
  const analytics = createAnalyticsStore(db);
  await analytics.insert([fullCall(account, "t1"), fullCall(account, "t2")]);
  const store = storeOf(db);
  const wanted = ["t1", "t2", "none"].map((id, at) =>
    request(account, { transactionIds: [id] }, { requestedAt: new Date(+asked + (at % 2)) })
  );
  const deletions = [];
  for (const one of wanted) {
    deletions.push({ tombstone: await store.add(one, "claimed"), selectors: one.selectors });
  }
  const receipts = async () =>
    await Promise.all(wanted.map(async ({ deletionId }) => {
      const { counts, expectedCount } = (await store.find(account, deletionId))!;
      return [counts.interactions, expectedCount];
    }));
  await store.expect(deletions[0]!);
  assert.deepEqual(await receipts(), [[0, 1], [0, null], [0, null]]);
  while (!(await store.eraseBatch(deletions[0]!)).isLast);
  assert.deepEqual(await receipts(), [[1, 1], [0, null], [0, null]]);
  for (const deletion of deletions) await store.expect(deletion);
  assert.deepEqual(await receipts(), [[1, 1], [0, 1], [0, 0]]);
  // Another attempt finds fewer rows, such as those that retention has left.
  await db.query("delete from interactions");
  await store.expect(deletions[1]!);
  assert.deepEqual(await receipts(), [[1, 1], [0, 1], [0, 0]]);
  const [first, second, third] = wanted.map(({ deletionId }) => deletionId);
  const latest = [second, ...[first, third].toSorted().reverse()];
  const listed: string[] = [];
  let after: DeletionCursor | undefined;
  for (let page = 0; page < 3; page++) {
    const [one] = await store.list(account, { limit: 1, ...(after ? { after } : {}) });
    listed.push(one!.deletionId);
    after = one;
  }
  assert.deepEqual(listed, latest);
  assert.deepEqual(await store.list(account, { limit: 1, after: after! }), []);
});

eachDatabase("an account's waiting deletions are bounded, and no other's are", async (db) => {
  const [account, other] = [await newAccount(db), await newAccount(db, "theirs")];
  await db.query(
    `insert into deletions (deletion_id, account_id, state, selectors_hash, requested_at, attempts)
     select n, $1, 'queued', '', $2, 0 from generate_series(1, 100) as n`,
    [account, asked],
  );
  await assert.rejects(storeOf(db).add(request(account, { end: asked })), /100 deletions waiting/);
  await storeOf(db).add(request(other, { end: asked }));
});

onPostgres("one process is at a deletion at a time, and another takes a dead one's", async (db) => {
  const account = await newAccount(db);
  const worker = (id: string) => storeOf(db, createAnalyticsStore(db), id);
  const [store, two, three] = [worker("one/1"), worker("two/1"), worker("three/1")];
  const [first, second] = [request(account, { userIds: ["a"] }), request(account, { end: asked })];
  await store.add(first);
  await store.add({ ...second, requestedAt: new Date(asked.getTime() + 1) });
  assert.equal((await store.waiting()).count, 2);
  const claimed = await store.claim();
  assert.equal(claimed?.tombstone.deletionId, first.deletionId);
  assert.deepEqual(claimed?.selectors, first.selectors);
  const other = await two.claim();
  assert.equal(other?.tombstone.deletionId, second.deletionId);
  assert.deepEqual(other?.selectors, second.selectors, "times too");
  assert.equal(await three.claim(), undefined);
  // Its thousandth failure, after days.
  await db.query("update deletions set attempts = 1024 where deletion_id = $1", [first.deletionId]);
  await store.postpone(first.deletionId);
  assert.equal(await three.claim(), undefined, "it waits after a failure");
  await two.release(second.deletionId);
  assert.equal((await three.claim())?.tombstone.deletionId, second.deletionId);
  const restarted = worker("three/2");
  assert.equal((await restarted.claim())?.tombstone.deletionId, second.deletionId, "at once");
  assert.deepEqual(await three.renew([second.deletionId]), new Set());
  assert.deepEqual(await restarted.renew([second.deletionId]), new Set([second.deletionId]));
  await db.query("update deletions set held_until = clock_timestamp() - interval '1 second'");
  assert.equal((await worker("four/1").claim())?.tombstone.deletionId, first.deletionId);
  await store.finish(first.deletionId);
  await store.finish(second.deletionId);
  assert.deepEqual(await store.waiting(), { count: 0, oldest: null });
  assert.equal(await worker("five/1").claim(), undefined);
});

async function postLinked(
  database: Database,
  accountId: number,
  links: Record<string, { transactionId?: string; sessionId?: string }>,
  createdAt = new Date("2026-11-21T11:00:00.000Z"),
): Promise<void> {
  await createCohorts(database, createAnalyticsStore(database)).post({
    ...{ accountId, apiKeyId: "k", cohortId: "c", requestId: crypto.randomUUID() },
    items: Object.entries(links).map(([itemId, { transactionId = null, sessionId = null }]) => (
      { type: "clicks", label: null, valueNanos: 1n, itemId, transactionId, sessionId }
    )),
  });
  await database.query(
    "update cohort_outcomes set created_at = $1 where item_id = any($2::text[])",
    [createdAt, Object.keys(links)],
  );
}

async function outcomesLeft(database: Database): Promise<string[]> {
  const rows = await database.query("select item_id from cohort_outcomes order by item_id");
  return rows.map(({ item_id }) => String(item_id));
}

onBothDatabases(
  "outcomes go with the call that they name, and with their session's last call",
  async (database) => {
    const [ours, theirs] = [await newAccount(database), await newAccount(database, "theirs")];
    await createAnalyticsStore(database).insert([
      interaction(ours, "a1", { sessionId: "a", userId: "ann" }),
      interaction(ours, "a2", { sessionId: "a", userId: "ann" }),
      interaction(ours, "b1", { sessionId: "b" }),
      interaction(ours, "s1", { sessionId: "shared", userId: "ann" }),
      interaction(ours, "s2", { sessionId: "shared", userId: "bob" }),
      interaction(theirs, "x1", { sessionId: "a", userId: "ann" }),
    ]);
    await postLinked(database, ours, {
      "of a1": { transactionId: "a1" },
      "of a": { sessionId: "a" },
      "of b": { sessionId: "b" },
      "of b1": { transactionId: "b1" },
      "of shared": { sessionId: "shared" },
      "of none": {},
    });
    await postLinked(database, theirs, { "theirs": { sessionId: "a" } });
    // The deletion covers what was there when it was asked for.
    await postLinked(database, ours, { "as of then": { sessionId: "a" } }, asked);
    await postLinked(database, ours, { "late": { sessionId: "a" } }, new Date(+asked + 300_001));
    await erase(database, request(ours, { transactionIds: ["a1"] }));
    const without = (...names: string[]) =>
      ["as of then", "late", "of a", "of b", "of b1", "of none", "of shared", "theirs"].filter(
        (name) => !names.includes(name),
      );
    assert.deepEqual(await outcomesLeft(database), without());
    await erase(database, request(ours, { userIds: ["ann"] }));
    assert.deepEqual(await outcomesLeft(database), without("as of then", "of a"));
    await erase(database, request(ours, { userIds: ["bob"] }));
    assert.deepEqual(await outcomesLeft(database), without("as of then", "of a", "of shared"));
    await erase(database, request(ours, { start: new Date(0) }));
    assert.deepEqual(await outcomesLeft(database), ["late", "of none", "theirs"]);
    const [{ relations }] = await database.query("select relations from scrubs") as [
      { relations: string[] },
    ];
    assert.ok(relations.includes("cohort_outcomes"));
  },
);

eachDatabase(
  "outcomes of a session or call that is named go though none is stored, also by its tombstone",
  async (database) => {
    const account = await newAccount(database);
    await postLinked(database, account, {
      ...Object.fromEntries(
        Array.from({ length: 900 }, (_, n) => [`many-${n}`, { sessionId: "gone" }]),
      ),
      "other": { sessionId: "other" },
      "both": { sessionId: "other", transactionId: "t" },
      "of a call": { transactionId: "unstored" },
    });
    // Evaluations only: outcomes belong to the interactions.
    await erase(database, request(account, { sessionIds: ["gone"] }, { tables: ["eval_runs"] }));
    assert.equal((await outcomesLeft(database)).length, 903);
    await erase(database, request(account, { sessionIds: ["gone"], userIds: ["ann"] }));
    assert.equal((await outcomesLeft(database)).length, 903);
    await erase(database, request(account, { sessionIds: ["gone"] }));
    assert.deepEqual(await outcomesLeft(database), ["both", "of a call", "other"]);
    await erase(database, request(account, { transactionIds: ["unstored"] }));
    assert.deepEqual(await outcomesLeft(database), ["both", "other"]);
    // As after a restore: only hashes of the selectors are known.
    const wanted = request(account, { sessionIds: ["other"] });
    const store = storeOf(database);
    const tombstone = await store.add(wanted, "claimed");
    while (!(await store.eraseBatch({ tombstone, selectors: null })).isLast);
    assert.deepEqual(await outcomesLeft(database), []);
  },
);

eachDatabase("an outcome that is later only by the database's clock goes too", async (database) => {
  const account = await newAccount(database);
  await createAnalyticsStore(database).insert([
    interaction(account, "a1", { sessionId: "a", userId: "ann" }),
  ]);
  const post = (name: string, ms: number) =>
    postLinked(database, account, { [name]: { sessionId: "a" } }, new Date(+asked + ms));
  await post("earlier", 300_000);
  const wanted = request(account, { userIds: ["ann"] });
  const store = storeOf(database);
  const tombstone = await store.add(wanted, "claimed");
  await post("later", 300_001);
  while (!(await store.eraseBatch({ tombstone, selectors: wanted.selectors })).isLast);
  assert.deepEqual(await outcomesLeft(database), ["later"]);
});

onPostgres("with calls in a database of their own outcomes go with them too", async (main) => {
  const server = await startPostgres();
  const created = await server.createDatabase();
  const other = await openPostgres(created.url);
  try {
    await migrate(other, await productMigrations());
    const account = await newAccount(main);
    const analytics = createAnalyticsStore(other, main);
    await analytics.insert([interaction(account, "a1", { sessionId: "a", userId: "ann" })]);
    await postLinked(main, account, { "of a": { sessionId: "a" }, "of b": { sessionId: "b" } });
    await erase(main, request(account, { userIds: ["ann"] }), analytics);
    assert.deepEqual(await outcomesLeft(main), ["of b"]);
    const body = await createCohorts(main, analytics).readModels(account, "c");
    assert.deepEqual([body.models.length, body.unattributed[0]?.count], [0, 1n]);
  } finally {
    await other.close();
    await created.drop();
  }
});
