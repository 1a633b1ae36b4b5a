import assert from "@std/assert";
import type {
  Claim,
  ReplayState,
  StoredAnswer,
} from "../../src/idempotency/request_fingerprint.ts";
import { replayIdOf } from "../../src/idempotency/request_fingerprint.ts";
import type { Database } from "../../src/database/database.ts";
import { createReplays } from "../../src/idempotency/store/replays.ts";
import { eachDatabase, onBothDatabases, onPostgres } from "../support/databases.ts";
import { asked, erase, request } from "./erasing.ts";
import { newAccount, untilOneWaits } from "./samples.ts";

let made = 0;

function claimOf(accountId: number, more: { requestId?: string; bodyText?: string } = {}): Claim {
  const id = replayIdOf({
    accountId,
    method: "POST",
    path: `/${"long".repeat(2000)}`,
    requestId: "r1",
    bodyText: "{}",
    ...more,
  });
  return { ...id, claimId: `claim-${made++}` };
}

const answer: StoredAnswer = {
  status: 201,
  headers: { "content-type": "text/event-stream", "x-odd": '"\\é' },
  body: Uint8Array.from({ length: 300 }, (_, index) => index % 256),
  streamed: true,
  transactionId: "t1",
};

const stores = (database: Database) => ({ ours: createReplays(database, { processId: "a" }) });

const pass = (database: Database) =>
  database.query("update replays set until = clock_timestamp() - interval '1 ms'", []);

function answerOf(known: ReplayState): StoredAnswer {
  return known.state === "done" ? known.answer : assert.fail(known.state);
}

onBothDatabases("an answer comes back byte for byte, also from a database opened again", async (
  database,
  open,
) => {
  const { ours } = stores(database);
  const account = await newAccount(database);
  const claim = claimOf(account);
  assert.deepEqual(await ours.claim(claim), { state: "free" });
  assert.deepEqual(await ours.find(claim), { state: "running" });
  assert.deepEqual(await ours.finish(claim, answer), { state: "stored" });
  assert.deepEqual(await ours.finish(claim, answer), { state: "stored" }, "said again");
  const { ours: later } = stores(await open());
  for (const known of [await later.claim(claimOf(account)), await later.find(claimOf(account))]) {
    const given = answerOf(known);
    assert.deepEqual({ ...given, body: new Uint8Array(given.body) }, answer);
  }
  const conflict = { state: "conflict" };
  assert.deepEqual(await later.claim(claimOf(account, { bodyText: "{ }" })), conflict);
  assert.deepEqual(await later.find(claimOf(account, { bodyText: "{ }" })), conflict);
  assert.deepEqual(await later.find(claimOf(account, { requestId: "r2" })), { state: "free" });
});

onBothDatabases("an answer of 16 MiB is stored", async (database) => {
  const { ours } = stores(database);
  const claim = claimOf(await newAccount(database));
  const body = new Uint8Array(16 * 1024 * 1024).fill(200);
  await ours.finish(claim, { ...answer, body });
  const given = answerOf(await ours.find(claim));
  assert.equal(given.body.length, body.length);
  assert.ok(given.body.every((byte) => byte === 200));
});

eachDatabase("an answer is given again for 24 hours, then swept", async (database) => {
  const { ours } = stores(database);
  const account = await newAccount(database);
  const claim = claimOf(account);
  await ours.claim(claim);
  await ours.finish(claim, answer);
  const [row] = await database.query(
    "select extract(epoch from until - clock_timestamp())::float8 / 3600 as hours from replays",
    [],
  );
  assert.ok(Math.abs(Number(row!.hours) - 24) < 0.01);
  assert.equal(await ours.sweep(), 0);
  await pass(database);
  assert.deepEqual(await ours.find(claim), { state: "free" });
  assert.equal(await ours.sweep(), 1);
  assert.deepEqual(await database.query("select key from replays", []), []);
  // A claim stays as long after its end: a journal that is recovered late is compared with it.
  await ours.claim(claim);
  for (const [minutes, swept] of [[24 * 60 - 1, 0], [24 * 60, 1]]) {
    await database.query(
      "update replays set until = clock_timestamp() - $1::int * interval '1 minute'",
      [minutes!],
    );
    assert.equal(await ours.sweep(), swept);
  }
});

eachDatabase("the time after which an answer is old begins a new use of the id", async (
  database,
) => {
  const { ours } = stores(database);
  const account = await newAccount(database);
  await ours.finish(claimOf(account), { ...answer, sources: ["t0"] });
  await pass(database);
  const next = claimOf(account, { bodyText: "another" });
  assert.deepEqual(await ours.claim(next), { state: "free" });
  // What is left of the old answer would be erased with its call only.
  assert.deepEqual(
    await database.query("select headers, body, transaction_id, sources from replays"),
    [{ headers: null, body: null, transaction_id: null, sources: null }],
  );
  assert.deepEqual(await ours.find(next), { state: "running" });
  assert.deepEqual(await ours.finish(next, { ...answer, transactionId: null }), {
    state: "stored",
  });
});

eachDatabase("answers are erased by their calls", async (database) => {
  const { ours } = stores(database);
  const account = await newAccount(database);
  for (const requestId of ["r1", "r2", "r3"]) {
    await ours.finish(claimOf(account, { requestId }), { ...answer, transactionId: requestId });
  }
  assert.equal(await ours.erase(["r1", "r3", "unknown"]), 2);
  assert.deepEqual(await database.query("select transaction_id from replays", []), [
    { transaction_id: "r2" },
  ]);
});

onPostgres("an answer that stays locked keeps no other from being erased", async (database) => {
  const { ours } = stores(database);
  const account = await newAccount(database);
  for (const requestId of ["r1", "r2", "r3"]) {
    await ours.finish(claimOf(account, { requestId }), { ...answer, transactionId: requestId });
  }
  let isOver = false;
  const { erased, left } = await database.transaction(async (tx) => {
    await tx.query("select from replays where transaction_id = 'r2' for update");
    // The id of the third is used again, for another call.
    await tx.query("update replays set transaction_id = 'r4' where transaction_id = 'r3'");
    const erased = ours.erase(["r1", "r2", "r3"]).finally(() => isOver = true);
    await untilOneWaits(database, () => isOver);
    return { erased, left: await database.query("select transaction_id as id from replays") };
  });
  assert.deepEqual(left.map(({ id }) => id).sort(), ["r2", "r3"]);
  assert.equal(await erased, 2);
  assert.deepEqual(await database.query("select transaction_id as id from replays"), [{
    id: "r4",
  }]);
});

eachDatabase("an answer whose call was never recorded is erased by any selector", async (db) => {
  const { ours } = stores(db);
  const account = await newAccount(db);
  const callOf = (requestId: string, userId: string | null = null) => ({
    ...{ accountId: account, transactionId: `call of ${requestId}`, createdAt: asked },
    ...{ sessionId: `session of ${requestId}`, userId },
  });
  const finish = (requestId: string, call: ReturnType<typeof callOf>) => {
    const { transactionId } = call;
    return ours.finish(claimOf(account, { requestId }), { ...answer, transactionId }, call);
  };
  const given = async () => {
    const rows = await db.query("select transaction_id as id from replays order by id");
    return rows.map(({ id }) => id);
  };
  for (const id of ["r1", "r2", "r3"]) await finish(id, callOf(id, `user of ${id}`));
  await finish("later", { ...callOf("later"), createdAt: new Date(asked.getTime() + 1) });
  await erase(db, request(account, { userIds: ["user of r1"] }));
  assert.deepEqual(await given(), ["call of later", "call of r2", "call of r3"]);
  await erase(db, request(account, { sessionIds: ["session of r2"] }));
  assert.deepEqual(await given(), ["call of later", "call of r3"]);
  await erase(db, request(account, { transactionIds: ["call of r3"] }));
  assert.deepEqual(await given(), ["call of later"]);
  assert.deepEqual(await finish("r1", callOf("r1", "user of r1")), {
    ...{ state: "stored", isGone: true },
  }, "of a process that doesn't know of the deletion yet");
  assert.deepEqual(await given(), ["call of later"]);
  await erase(db, request(account, { start: new Date(asked.getTime() - 1) }));
  assert.deepEqual(await given(), ["call of later"]);
  await ours.claim(claimOf(account, { requestId: "later" }));
  await pass(db);
  await ours.claim(claimOf(account, { requestId: "later" }));
  assert.deepEqual(await db.query("select created_at, session_id, user_id from replays"), [
    { created_at: null, session_id: null, user_id: null },
  ], "nothing of the old answer stays in the new claim");
});

eachDatabase("an answer goes with any call whose text it repeats", async (database) => {
  const { ours } = stores(database);
  const account = await newAccount(database);
  const finish = (requestId: string, sources: string[]) =>
    ours.finish(claimOf(account, { requestId }), { ...answer, transactionId: requestId, sources });
  const left = async () => {
    const rows = await database.query("select transaction_id as id from replays order by 1", []);
    return rows.map(({ id }) => id);
  };
  for (const [id, sources] of [["r1", ["a", "b"]], ["r2", ["c"]], ["r3", []]] as const) {
    assert.deepEqual(await finish(id, [...sources]), { state: "stored" });
  }
  assert.equal(await ours.erase(["b", "unknown"]), 1);
  assert.deepEqual(await left(), ["r2", "r3"]);
  // Erased while the answer was made.
  await database.query("insert into erased_calls (transaction_id) values ('b')", []);
  assert.deepEqual(await finish("r4", ["a", "b"]), { state: "stored", isGone: true });
  assert.deepEqual(await finish("r5", ["a"]), { state: "stored" });
  assert.deepEqual(await left(), ["r2", "r3", "r5"]);
  // Another request under the same id repeats nothing.
  await pass(database);
  await finish("r5", []);
  assert.equal(await ours.erase(["a"]), 0);
});

onBothDatabases(
  "a process that starts again has its claims back at once",
  async (database, open) => {
    const account = await newAccount(database);
    await createReplays(database, { processId: "a" }).claim(claimOf(account));
    const again = createReplays(await open(), { processId: "a" });
    assert.deepEqual(await again.claim(claimOf(account, { bodyText: "other" })), { state: "free" });
  },
);

onPostgres("a claim is another process's until it is released or no longer renewed", async (
  database,
) => {
  const account = await newAccount(database);
  const [ours, theirs] = ["a", "b"].map((processId) => createReplays(database, { processId }));
  const first = claimOf(account);
  await ours!.claim(first);
  const second = claimOf(account);
  assert.deepEqual(await theirs!.claim(second), { state: "running" });
  assert.deepEqual(await theirs!.claim(claimOf(account, { bodyText: "x" })), { state: "conflict" });
  assert.equal(await theirs!.release(second), false);
  assert.deepEqual(await theirs!.claim(second), { state: "running" }, "released by its own only");
  assert.equal(await ours!.release(first), true);
  assert.deepEqual(await theirs!.claim(second), { state: "free" });
  // Ours comes late with an answer: theirs is under way.
  assert.deepEqual(await ours!.finish(first, answer), { state: "held" });
  await pass(database);
  await theirs!.renew([second, first]);
  assert.deepEqual(await ours!.claim(claimOf(account)), { state: "running" });
  await theirs!.finish(second, { ...answer, transactionId: "t2" });
  assert.equal(await theirs!.release(second), false);
  assert.deepEqual(await ours!.finish(first, answer), { state: "duplicate", transactionId: "t2" });
  const other = claimOf(account, { bodyText: "x" });
  assert.deepEqual(await ours!.finish(other, answer), { state: "conflict" });
  await pass(database);
  await theirs!.renew([second]);
  assert.deepEqual(await ours!.find(first), { state: "free" }, "an answer is not renewed");
});

onPostgres("a claim that is being changed is renewed later, and holds up no other one", async (
  database,
) => {
  const account = await newAccount(database);
  const { ours } = stores(database);
  const claims = ["changing", "beside"].map((requestId) => claimOf(account, { requestId }));
  for (const claim of claims) await ours.claim(claim);
  const states = async () => {
    await ours.renew(claims);
    return await Promise.all(claims.map(async (claim) => (await ours.find(claim)).state));
  };
  await pass(database);
  await database.transaction(async (tx) => {
    await tx.query("select from replays where key = $1 for update", [claims[0]!.key]);
    assert.deepEqual(await states(), ["free", "running"]);
  });
  assert.deepEqual(await states(), ["running", "running"]);
});

onPostgres(
  "a claim that took over another is released by its own claim only, and never an answer",
  async (
    database,
  ) => {
    const account = await newAccount(database);
    const [ours, theirs] = ["a", "b"].map((processId) => createReplays(database, { processId }));
    const [first, second, third] = [claimOf(account), claimOf(account), claimOf(account)];
    await ours!.claim(first);
    await pass(database);
    assert.deepEqual(await theirs!.claim(second), { state: "free" });
    assert.equal(await ours!.release(first), false);
    assert.deepEqual(await ours!.claim(third), { state: "running" });
    assert.deepEqual(await theirs!.finish(second, answer), { state: "stored" });
    assert.equal(await theirs!.release(second), false);
    assert.equal(answerOf(await ours!.claim(third)).transactionId, "t1");
  },
);

onPostgres("of claims at once by eight processes exactly one is granted", async (
  database,
  open,
) => {
  const account = await newAccount(database);
  const databases = [database, await open(), await open(), await open()];
  const processes = Array.from(
    { length: 8 },
    (_, index) => createReplays(databases[index % 4]!, { processId: `process ${index}` }),
  );
  for (let round = 0; round < 20; round++) {
    const requestId = `round ${round}`;
    const known = await Promise.all(
      processes.map((process) => process.claim(claimOf(account, { requestId }))),
    );
    const states = known.map(({ state }) => state).sort();
    assert.deepEqual(states, ["free", ...Array(7).fill("running")]);
  }
});
