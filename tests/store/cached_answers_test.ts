import assert from "@std/assert";
import type { Database } from "../../src/database/database.ts";
import type { CachedAnswer } from "../../src/response_cache/cached_answer.ts";
import { accountLimits } from "../../src/response_cache/cached_answer.ts";
import { createCachedAnswers } from "../../src/response_cache/store/cached_answers.ts";
import type { SelectableCall } from "../../src/shared/interaction.ts";
import { eachDatabase } from "../support/databases.ts";
import { asked, erase, request, storeOf } from "./erasing.ts";
import { newAccount } from "./samples.ts";

const answer: CachedAnswer = {
  status: 201,
  headers: { "content-type": "text/event-stream", "x-odd": '"\\é' },
  body: Uint8Array.from({ length: 300 }, (_, index) => index % 256),
  streamed: true,
  record: new TextEncoder().encode('{"text":"\\u0000é"}'),
  vendor: "vendor-c",
  model: "claude",
  finishReason: "length",
  losses: ["top_k", "messages[0].name"],
};

function callOf(accountId: number, id: string, more: Partial<SelectableCall> = {}): SelectableCall {
  const nobody = { sessionId: null, userId: null };
  return { accountId, transactionId: id, createdAt: asked, ...nobody, ...more };
}

const ages = (database: Database, seconds: number) =>
  database.query(
    "update cached_answers set stored_at = stored_at - $1::bigint * interval '1 second', until = until - $1::bigint * interval '1 second'",
    [seconds],
  );

eachDatabase("an answer comes back byte for byte, also in a database opened again", async (
  database,
  open,
) => {
  const account = await newAccount(database);
  const store = createCachedAnswers(database);
  assert.equal(await store.find({ key: "k", ttlSeconds: 60 }), undefined);
  assert.ok(await store.put({ key: "k", ttlSeconds: 60 }, callOf(account, "t"), answer));
  const { ageSeconds, ...found } = (await store.find({ key: "k", ttlSeconds: 60 }))!;
  // The drivers have their own kinds of arrays.
  const [body, record] = [Uint8Array.from(found.body), Uint8Array.from(found.record!)];
  assert.deepEqual({ ...found, body, record }, answer);
  assert.ok(ageSeconds >= 0 && ageSeconds < 30);
  assert.equal(await store.find({ key: "l", ttlSeconds: 60 }), undefined);
  const again = createCachedAnswers(await open());
  const later = (await again.find({ key: "k", ttlSeconds: 60 }))!;
  assert.deepEqual(Uint8Array.from(later.body), answer.body);
});

eachDatabase("both lifetimes count: the writer's and the reader's", async (database) => {
  const account = await newAccount(database);
  const store = createCachedAnswers(database);
  const find = (ttlSeconds: number) => store.find({ key: "k", ttlSeconds });
  await store.put({ key: "k", ttlSeconds: 100 }, callOf(account, "t"), answer);
  await ages(database, 50);
  assert.ok([50, 51].includes((await find(86_400))!.ageSeconds));
  assert.equal(await find(50), undefined, "too old for this reader");
  assert.equal(await store.sweep(), 0);
  await ages(database, 50);
  assert.equal(await find(86_400), undefined, "too old for its writer");
  assert.equal(await store.sweep(), 1);
  assert.equal(await store.sweep(), 0);
});

eachDatabase("a later answer takes the place of the one before", async (database) => {
  const account = await newAccount(database);
  const store = createCachedAnswers(database);
  await store.put({ key: "k", ttlSeconds: 100 }, callOf(account, "t1"), answer);
  await ages(database, 50);
  const later: CachedAnswer = {
    ...{ status: 200, headers: { "x-other": "1" }, body: new Uint8Array([1, 2]), streamed: false },
    ...{ vendor: "vendor-b", model: "gpt", finishReason: "stop", losses: ["seed"] },
  };
  const call = callOf(account, "t2", {
    ...{ sessionId: "s", userId: "u" },
    createdAt: new Date(0),
  });
  await store.put({ key: "k", ttlSeconds: 300 }, call, later);
  const { ageSeconds, ...found } = (await store.find({ key: "k", ttlSeconds: 10 }))!;
  assert.deepEqual({ ...found, body: Uint8Array.from(found.body) }, later);
  assert.ok(ageSeconds < 30);
  const columns = `transaction_id, session_id, user_id, created_at, bytes,
    extract(epoch from until - stored_at)::integer as seconds`;
  const { transactionId: transaction_id, sessionId: session_id, userId: user_id } = call;
  assert.deepEqual(await database.query(`select ${columns} from cached_answers`), [
    { transaction_id, session_id, user_id, created_at: call.createdAt, bytes: 2n, seconds: 300 },
  ]);
  await store.put({ key: "with a record", ttlSeconds: 1 }, call, answer);
  const [{ bytes }] = await database.query("select max(bytes) as bytes from cached_answers") as [
    { bytes: bigint },
  ];
  assert.equal(bytes, BigInt(answer.body.length + answer.record!.length));
  await erase(database, request(account, { transactionIds: ["t1"] }));
  assert.ok(await store.find({ key: "k", ttlSeconds: 10 }), "the first call has nothing here");
});

eachDatabase(
  "an answer whose call a program of before has erased is not given",
  async (database) => {
    const account = await newAccount(database);
    const store = createCachedAnswers(database);
    await store.put({ key: "k", ttlSeconds: 60 }, callOf(account, "t"), answer);
    await database.query("insert into erased_calls (transaction_id) values ('t')", []);
    assert.equal(await store.find({ key: "k", ttlSeconds: 60 }), undefined);
  },
);

eachDatabase("a call's answers are removed for its account alone", async (database) => {
  const account = await newAccount(database);
  const other = await newAccount(database, "other");
  const store = createCachedAnswers(database);
  await store.put({ key: "k", ttlSeconds: 60 }, callOf(account, "t"), answer);
  assert.equal(await store.remove(other, "t"), 0);
  assert.equal(await store.remove(account, "u"), 0);
  assert.equal(await store.remove(account, "t"), 1);
  assert.equal(await store.find({ key: "k", ttlSeconds: 60 }), undefined);
});

const selections = {
  transaction: { transactionIds: ["t"] },
  session: { sessionIds: ["s"] },
  user: { userIds: ["u\u0000"] },
  time: { start: new Date(asked.getTime() - 1), end: new Date(asked.getTime() + 1) },
} as const;

for (const [name, selectors] of Object.entries(selections)) {
  // Here no call has a row: another process may be about to write it.
  eachDatabase(
    `an answer is erased with the call that made it, by ${name}`,
    async (database) => {
      const account = await newAccount(database);
      const other = await newAccount(database, "other");
      const store = createCachedAnswers(database);
      const named = { sessionId: "s", userId: "u\u0000" };
      const put = (key: string, owner: number, id: string, more: Partial<SelectableCall> = {}) =>
        store.put({ key, ttlSeconds: 60 }, callOf(owner, id, more), answer);
      await put("erased", account, "t", named);
      await put("another account's", other, "t", named);
      await put("another call's", account, "t2", {
        createdAt: new Date(asked.getTime() - 60_000),
      });
      await erase(database, request(account, selectors));
      const left = await database.query("select key from cached_answers order by key", []);
      assert.deepEqual(left.map(({ key }) => key), ["another account's", "another call's"]);
      assert.equal(await put("again", account, "t", named), false, "it is stored no more");
      assert.equal(await store.find({ key: "again", ttlSeconds: 60 }), undefined);
    },
  );
}

eachDatabase("an erasure in the middle of a write finds the answer", async (database, open) => {
  const account = await newAccount(database);
  // The embedded database has one owner.
  const other = database.kind === "postgres" ? await open() : database;
  const store = createCachedAnswers(database);
  for (let round = 0; round < 20; round++) {
    const id = `t${round}`;
    const wanted = request(account, { transactionIds: [id] });
    await Promise.all([
      store.put({ key: id, ttlSeconds: 60 }, callOf(account, id), answer),
      erase(other, wanted),
    ]);
    assert.equal(await store.find({ key: id, ttlSeconds: 60 }), undefined, id);
  }
  assert.equal((await storeOf(database).waiting()).count, 0);
});

eachDatabase("the oldest answers of an account go first", async (database) => {
  const account = await newAccount(database);
  const other = await newAccount(database, "other");
  const store = createCachedAnswers(database);
  for (const [key, owner] of [["a", account], ["b", account], ["c", account], ["d", other]]) {
    await store.put({ key: String(key), ttlSeconds: 60 }, callOf(Number(owner), "t"), answer);
  }
  assert.equal(await store.trim(account), 0);
  // The two newest fill the room by themselves.
  await database.query("update cached_answers set bytes = $1::bigint / 2", [accountLimits.bytes]);
  assert.equal(await store.trim(account), 1);
  const left = await database.query("select key from cached_answers order by key", []);
  assert.deepEqual(left.map(({ key }) => key), ["b", "c", "d"]);
  assert.equal(await store.trim(other), 0);
});

eachDatabase("an account has so many answers at most", async (database) => {
  const account = await newAccount(database);
  const store = createCachedAnswers(database);
  await store.put({ key: "newest", ttlSeconds: 60 }, callOf(account, "t"), answer);
  await database.query(
    `insert into cached_answers (key, account_id, transaction_id, created_at, stored_at, until,
       status, headers, body, streamed, vendor, model, translation_loss, bytes)
     select 'old ' || n, account_id, 't' || n, created_at, stored_at - n * interval '1 second',
       until, status, headers, ''::bytea, streamed, vendor, model, translation_loss, 1
     from cached_answers, generate_series(1, $1::integer) n`,
    [accountLimits.answers + 5],
  );
  assert.equal(await store.trim(account), 6);
  assert.ok(await store.find({ key: "newest", ttlSeconds: 60 }));
  const [row] = await database.query("select count(*) as count from cached_answers", []);
  assert.equal(Number(row!.count), accountLimits.answers);
});
