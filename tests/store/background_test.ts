import assert from "@std/assert";
import type { NewBackgroundCall } from "../../src/background/background_call.ts";
import { startInTurn } from "../support/lock_queue.ts";
import { createAccounts } from "../../src/keys/store/accounts.ts";
import { createBackgroundCalls } from "../../src/background/store/background.ts";
import type { Database } from "../../src/database/database.ts";
import { lockForErasure } from "../../src/database/erasure_lock.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createStoredResponses } from "../../src/relay/conversation/store/stored_responses.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { interactionRow } from "../support/interaction_row.ts";
import { request, storeOf } from "./erasing.ts";
import { untilOneWaits } from "./samples.ts";

onPostgres(
  "a background call is held by one process, and by another when that is silent",
  async (database) => {
    const accountId = await account(database);
    const first = createBackgroundCalls(database, "first/1");
    const restarted = createBackgroundCalls(database, "first/2");
    const other = createBackgroundCalls(database, "other/1");
    const key = { accountId, responseId: "resp_1" };
    assert.equal((await first.create(newCall(accountId, "resp_1"))).repeated, false);
    assert.deepEqual(await other.claim(10, []), []);
    assert.equal(await other.begin(key), undefined, "who doesn't hold it doesn't begin it");
    const begun = await first.begin(key);
    assert.deepEqual([begun?.state, begun?.attempts, begun?.request.bodyText], [
      "in_progress",
      1,
      '{"input":"Hi."}',
    ]);
    assert.deepEqual(begun?.request.begun, newCall(accountId, "resp_1").request.begun);
    // What an earlier run of the same process held is its own at once.
    assert.deepEqual(await restarted.claim(10, ["resp_1"]), [], "but for what it has already");
    assert.deepEqual(await restarted.claim(10, []), [{ ...key, bodyUnits: 15 }]);
    assert.equal((await first.renew([key])).size, 0);
    assert.equal((await restarted.renew([key])).get("resp_1"), "in_progress");
    await silence(database);
    assert.deepEqual(await other.claim(10, []), [{ ...key, bodyUnits: 15 }]);
    await restarted.renew([key]);
    assert.equal(await restarted.begin(key), undefined, "what is lost can't be renewed");
    assert.equal((await other.begin(key))?.attempts, 2);
    await other.release(key, { ms: 0, uncounted: true });
    assert.equal((await first.find(key))?.state, "queued");
    assert.deepEqual(await first.claim(10, []), [{ ...key, bodyUnits: 15 }]);
  },
);

eachDatabase(
  "a background call ends with its record, once, and a cancelled one keeps no answer",
  async (database) => {
    const accountId = await account(database);
    const store = createBackgroundCalls(database, "one/1");
    const interactions = createAnalyticsStore(database);
    const kept = createStoredResponses(database);
    const recorded = (responseId: string, state: "completed" | "failed", answerText: string) => ({
      ...interactionRow(`txn ${responseId}`, { accountId, status: state }),
      retained: {
        reasoning: [],
        background: { responseId, state, answerText: state === "failed" ? answerText : null },
        ...(state === "failed" ? {} : {
          response: { responseId, inputItemsText: "[]", answerText, itemIds: [], sources: [] },
        }),
      },
    });
    for (const id of ["resp_a", "resp_b", "resp_c"]) await store.create(newCall(accountId, id));
    const keyOf = (responseId: string) => ({ accountId, responseId });
    // Two processes ended it: the first one counts, for row, answer and place alike.
    await interactions.insert([recorded("resp_a", "completed", '{"first":1}')]);
    await interactions.insert([recorded("resp_a", "failed", '{"second":1}')]);
    assert.deepEqual(await store.find(keyOf("resp_a")), {
      ...{ state: "completed", transactionId: "txn resp_a", answerText: null },
    });
    assert.equal((await kept.findResponse(accountId, "resp_a"))?.answerText, '{"first":1}');
    // Cancelled while its answer came.
    assert.equal(await store.cancel(keyOf("resp_b"), '{"cancelled":1}'), true);
    assert.equal(await store.cancel(keyOf("resp_b"), '{"cancelled":2}'), false);
    await interactions.insert([recorded("resp_b", "completed", '{"late":1}')]);
    assert.deepEqual((await store.find(keyOf("resp_b")))?.answerText, '{"cancelled":1}');
    assert.equal(await kept.findResponse(accountId, "resp_b"), undefined);
    // Deleted while its answer came.
    assert.ok(await store.remove(keyOf("resp_c")));
    assert.equal(await store.remove(keyOf("resp_c")), undefined);
    await interactions.insert([recorded("resp_c", "completed", '{"late":1}')]);
    assert.equal(await store.find(keyOf("resp_c")), undefined);
    assert.equal(await kept.findResponse(accountId, "resp_c"), undefined);
    const rows = await database.query(
      "select 1 as one from background_calls where request is not null or body is not null",
    );
    assert.equal(rows.length, 0, "nothing of the requests is left");
    const [count] = await database.query("select count(*) as count from interactions");
    assert.equal(Number(count!.count), 3);
  },
);

eachDatabase("another account's background call can't be seen, ended or recorded", async (
  database,
) => {
  const accountId = await account(database);
  const otherId = await account(database, "other");
  const store = createBackgroundCalls(database, "one/1");
  const repeatable = { requestId: "once", requestHash: "a" };
  await store.create({ ...newCall(accountId, "resp"), repeatable });
  const theirs = { accountId: otherId, responseId: "resp" };
  assert.equal(await store.find(theirs), undefined);
  assert.equal(await store.begin(theirs), undefined);
  assert.equal(await store.cancel(theirs, "{}"), false);
  assert.equal(await store.remove(theirs), undefined);
  await store.release(theirs, { ms: 0, uncounted: false });
  await store.endUnrecorded(theirs, "{}");
  const background = { responseId: "resp", state: "failed", answerText: "{}" } as const;
  await createAnalyticsStore(database).insert([{
    ...interactionRow("txn theirs", { accountId: otherId }),
    retained: { reasoning: [], background },
  }]);
  assert.equal((await store.find({ accountId, responseId: "resp" }))?.state, "queued");
  // Neither their ids of requests nor how many they may have has to do with one another.
  const other = { ...newCall(otherId, "resp 2"), repeatable, most: 1 };
  assert.deepEqual(await store.create(other), { responseId: "resp 2", repeated: false });
});

eachDatabase(
  "a repeat of a background request has the first one's id, and an account its bound",
  async (database) => {
    const accountId = await account(database);
    const store = createBackgroundCalls(database, "one/1");
    const repeatable = { requestId: "once", requestHash: "a" };
    const create = (responseId: string, more: Partial<NewBackgroundCall> = {}) =>
      store.create({ ...newCall(accountId, responseId), most: 2, ...more });
    assert.deepEqual(await create("resp_1", { repeatable }), {
      ...{ responseId: "resp_1", repeated: false },
    });
    assert.deepEqual(await create("resp_2", { repeatable }), {
      ...{ responseId: "resp_1", repeated: true },
    });
    await assert.rejects(
      () => create("resp_3", { repeatable: { ...repeatable, requestHash: "b" } }),
      /X-Request-ID/,
    );
    const ids = ["resp_4", "resp_5", "resp_6", "resp_7"];
    const tried = await Promise.allSettled(ids.map((id) => create(id)));
    assert.equal(tried.filter(({ status }) => status === "fulfilled").length, 1);
    // A deleted one is created again, though it takes room until it has ended.
    const first = { accountId, responseId: "resp_1" };
    assert.ok(await store.remove(first));
    await assert.rejects(() => create("resp_8", { repeatable }), /2 unfinished/);
    await store.endUnrecorded(first, "{}");
    assert.deepEqual(await create("resp_8", { repeatable }), {
      ...{ responseId: "resp_8", repeated: false },
    });
  },
);

onPostgres("of two background calls at once one gets the last place", async (database) => {
  const accountId = await account(database);
  const store = createBackgroundCalls(database, "one/1");
  const create = (id: string) => () =>
    store.create({ ...newCall(accountId, id), most: 1 }).then(() => "stored", () => "refused");
  // Lets both count the calls, and neither store its own.
  const held = "lock table background_calls in share mode";
  const ends = await startInTurn(database, held, create("resp_1"), create("resp_2"));
  assert.deepEqual(ends, ["stored", "refused"]);
});

onPostgres("a background call begins before an erasure or after it", async (database, open) => {
  const accountId = await account(database);
  const erasing = await open();
  let isCreated = false;
  const creating = await erasing.transaction(async (tx) => {
    await lockForErasure(tx);
    const created = createBackgroundCalls(database, "one/1").create(newCall(accountId, "resp_1"))
      .then(() => isCreated = true);
    await untilOneWaits(tx, () => isCreated);
    assert.equal(isCreated, false, "its request stays though its user was erased");
    return { created };
  });
  assert.ok(await creating.created);
});

eachDatabase("a background call that is about to be erased isn't begun", async (database) => {
  const accountId = await account(database);
  const store = createBackgroundCalls(database, "first/1");
  for (const userId of ["ann", "bob"]) {
    const call = newCall(accountId, userId);
    const begun = { ...call.request.begun, userId };
    await store.create({ ...call, request: { ...call.request, begun } });
  }
  const requestedAt = new Date(createdAt.getTime() + 1);
  await storeOf(database).add(request(accountId, { userIds: ["ann"] }, { requestedAt }), "queued");
  // Its process is killed; the one that starts then has read no erasure from before its start.
  const restarted = createBackgroundCalls(database, "first/2");
  assert.equal((await restarted.claim(10, [])).length, 2);
  assert.equal(await restarted.begin({ accountId, responseId: "ann" }), undefined);
  assert.equal((await restarted.begin({ accountId, responseId: "bob" }))?.attempts, 1);
});

/** Of now: a repeat means the same request for a day. */
const createdAt = new Date();

function newCall(accountId: number, responseId: string): NewBackgroundCall {
  return {
    ...{ accountId, responseId, answerText: "{}", repeatable: undefined, most: 10 },
    request: {
      ...{ bodyText: '{"input":"Hi."}', path: "/chat/v1/responses", vendor: null },
      ...{ headers: { "openai-beta": "x" }, hasOwnKey: false },
      begun: interactionRow(`txn ${responseId}`, { accountId, createdAt }),
    },
  };
}

async function account(database: Database, name = "own"): Promise<number> {
  const limits = { requestsPerMinute: 60, burst: 100 };
  return (await createAccounts(database).create({ name, tier: "free", ...limits })).id;
}

/** As after half a minute without a word. */
async function silence(database: Database): Promise<void> {
  await database.query("update background_calls set claimed_until = now() - interval '1 second'");
}
