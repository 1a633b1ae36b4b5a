import assert from "@std/assert";
import { eachDatabase } from "../support/databases.ts";
import { asked, erase, request, storeOf } from "./erasing.ts";
import { addWebhook, newAccount, waitingEvents } from "./samples.ts";

/** Tables that are erased by their own columns, without a call's record, and how a row is made. */
const tables = {
  cached_answers: `(key, account_id, transaction_id, created_at, session_id, user_id, until,
   status, headers, body, streamed, vendor, model, translation_loss, bytes)
 select id, account, id, at, who, who, at, 200, '{}', '', false, 'v', 'm', '{}', 0`,
  background_calls: `(response_id, account_id, transaction_id, created_at, session_id, user_id,
   api_key_id, state, request)
 select id, account, id, at, who, who, 'k', 'queued', '{}'`,
  eval_results: `(eval_run_id, account_id, transaction_id, created_at, session_id, user_id,
   grader_index, grader)
 select 'run', account, id, at, who, who, 0, '{}'`,
  // Erased with the background call of the same transaction.
  replays: `(key, account_id, transaction_id, fingerprint, claim_id, holder, until)
 select id, account, id, 'f', id, 'h', at`,
};

eachDatabase("what a deletion doesn't name stays", async (database) => {
  const [ours, theirs] = [await newAccount(database), await newAccount(database, "theirs")];
  const [before, after] = [-1000, 1000].map((ms) => new Date(asked.getTime() + ms));
  const rows = [
    { id: "a", account: ours, user: "ann", at: before },
    { id: "b", account: ours, user: "bob", at: before },
    { id: "later", account: ours, user: "ann", at: after },
    { id: "x", account: theirs, user: "ann", at: before },
  ];
  const store = storeOf(database);
  const as = (name: string, deletionId: string) => ({
    ...{ accountId: ours, actor: { personId: name, name }, action: "data.deleted" as const },
    ...{ subject: deletionId, detail: "", at: asked },
  });
  const waiting = request(ours, { userIds: ["bob"] });
  await store.add({ ...waiting, audit: as("first", waiting.deletionId) });
  await addWebhook(database, ours);
  for (
    const selectors of [
      { userIds: ["ann"] },
      { sessionIds: ["ann"] },
      { transactionIds: ["a", "later", "x"] },
    ]
  ) {
    for (const [table, insert] of Object.entries(tables)) {
      await database.query(`delete from ${table}`);
      await database.query(
        `insert into ${table} ${insert} from unnest($1::text[], $2::bigint[], $3::text[],
           $4::timestamptz[]) as r (id, account, who, at)`,
        [
          rows.map(({ id }) => id),
          rows.map(({ account }) => account),
          rows.map(({ user }) => user),
          rows.map(({ at }) => at!),
        ],
      );
    }
    const wanted = request(ours, selectors);
    const audited = { ...wanted, audit: as("second", wanted.deletionId) };
    const counts = { interactions: 0, eval_runs: 0, eval_results: 1 };
    assert.deepEqual(await store.count(wanted), counts);
    assert.deepEqual(await erase(database, audited), counts);
    for (const table of Object.keys(tables)) {
      const stayed = await database.query(`select transaction_id as id from ${table} order by 1`);
      assert.deepEqual(stayed.map(({ id }) => id), ["b", "later", "x"], table);
    }
    const done = await database.query(
      `select actor, selectors, holder from audit_log join deletions on deletion_id = subject
         where subject = $1 and action = 'data.deletion_done'`,
      [wanted.deletionId],
    );
    assert.deepEqual(done, [{ actor: "second", selectors: null, holder: null }]);
    assert.deepEqual((await waitingEvents(database)).at(-1), [
      ...[`hook of ${ours}`, "deletion.done", { request_id: wanted.deletionId, counts }],
    ]);
    const other = await store.find(ours, waiting.deletionId);
    assert.deepEqual([other?.state, other?.counts.eval_results], ["queued", 0]);
  }
});
