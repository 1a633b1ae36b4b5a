import assert from "@std/assert";
import type { Interaction } from "../../src/shared/interaction.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { onBothDatabases, onPostgres } from "../support/databases.ts";
import { collect, interaction, newAccount, observed } from "./samples.ts";

/** Every column with a value that is easily lost on the way. */
function full(accountId: number): Interaction {
  return {
    transactionId: "txn_full",
    createdAt: new Date("2026-11-21T10:00:00.001Z"),
    requestId: "caller's own 漢 id",
    sessionId: "s",
    userId: "käthe",
    accountId,
    apiKeyId: "key_1",
    app: '"app", with, commas',
    flow: "{flow}",
    cohortId: "cohort\\",
    endpoint: "/v1beta/models/{model}:generateContent",
    dialect: "generate",
    vendor: "vendor-d",
    model: "models/gemini",
    requestedModel: "google/gemini",
    mode: "dual_key",
    stream: true,
    status: "completed",
    httpStatus: 200,
    errorCode: "upstream_stream_truncated",
    finishReason: "tool_calls",
    inputTokens: 4_000_000_000,
    cacheReadTokens: 1,
    cacheWriteTokens: 2,
    outputTokens: 3,
    reasoningTokens: 4,
    totalTokens: Number.MAX_SAFE_INTEGER,
    costNanos: 2n ** 63n - 1n,
    chargedNanos: 9_007_199_254_740_993n,
    billingBasis: "vendor_cost",
    priceVersion: "2026-11-21",
    usageRawText: '{"cost": 1.0, "id": 12345678901234567890, "text": "\\u0000"}',
    translationLoss: ["a[0].b", 'c,"d"', "NULL"],
    latencyMs: 5_000_000_000,
    timeToFirstTokenMs: 12,
    requestText: '{"messages": [ {"b": 1.0, "a": "👩‍👩‍👧 \\ud83d"} ]}',
    responseText: "[]",
    payloadTruncated: true,
  };
}

const zeros = {
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  totalTokens: 0,
  costNanos: 0n,
  httpStatus: 0,
  timeToFirstTokenMs: 0,
  requestText: "",
  responseText: "",
  app: "",
} as const;

onBothDatabases(
  "every column comes back as it was written, nulls as nulls and zeros as zeros",
  async (database) => {
    const accountId = await newAccount(database);
    const interactions = createAnalyticsStore(database);
    const rows = [
      interaction(accountId, "txn_nulls"),
      full(accountId),
      interaction(accountId, "txn_zeros", { ...zeros, createdAt: new Date(Date.UTC(2027, 0)) }),
      interaction(accountId, "txn_refund", {
        chargedNanos: -5n,
        createdAt: new Date(Date.UTC(2028, 0)),
      }),
    ];
    await interactions.insert(rows);
    assert.deepEqual(await collect(interactions.read({ accountId })), rows);
  },
);

onBothDatabases(
  "what PostgreSQL's text can't hold becomes U+FFFD; the row is not lost",
  async (database) => {
    const accountId = await newAccount(database);
    const interactions = createAnalyticsStore(database);
    const bad = "a\u0000b\ud83dc\udc00";
    await interactions.insert([interaction(accountId, "txn_1", {
      requestId: bad,
      sessionId: bad,
      userId: bad,
      app: bad,
      model: bad,
      requestedModel: bad,
      usageRawText: bad,
      translationLoss: [bad],
      requestText: bad,
      responseText: bad,
    })]);
    const [row] = await collect(interactions.read({ accountId, filters: { session_id: [bad] } }));
    const good = "a\ufffdb\ufffdc\ufffd";
    for (
      const field of ["requestId", "sessionId", "userId", "app", "model", "requestText"] as const
    ) {
      assert.equal(row![field], good, field);
    }
    assert.deepEqual(row!.translationLoss, [good]);
  },
);

onBothDatabases(
  "a batch of 500 is written in one transaction, and writing it again changes nothing",
  async (database) => {
    const accountId = await newAccount(database);
    const interactions = createAnalyticsStore(database);
    const rows = Array.from(
      { length: 500 },
      (_, at) =>
        interaction(accountId, `txn_${String(at).padStart(3, "0")}`, { requestText: `${at}` }),
    );
    await interactions.insert(rows);
    const changed = rows.map((row) => ({
      ...row,
      status: "completed" as const,
      requestText: "no",
    }));
    const more = interaction(accountId, "txn_more");
    await interactions.insert([...changed, more]);
    assert.deepEqual(await collect(interactions.read({ accountId })), [...rows, more]);
  },
);

onBothDatabases("a batch with a row that is refused is refused as a whole", async (database) => {
  const accountId = await newAccount(database);
  const interactions = createAnalyticsStore(database);
  const rows = [
    interaction(accountId, "txn_1"),
    interaction(accountId, "txn_2", { latencyMs: NaN }),
  ];
  await assert.rejects(
    interactions.insert(rows),
    (thrown: unknown) => (thrown as { code?: string }).code === "23502",
  );
  assert.deepEqual(await collect(interactions.read({ accountId })), []);
  assert.deepEqual(await database.query("select 1 from interaction_payloads", []), []);
});

onBothDatabases("an empty batch asks the database nothing", async (database) => {
  let queries = 0;
  await createAnalyticsStore(observed(database, () => queries++)).insert([]);
  assert.equal(queries, 0);
});

onBothDatabases("payloads that are larger than what is sent at once are stored whole", async (
  database,
) => {
  const accountId = await newAccount(database);
  const texts = Array.from({ length: 20 }, (_, at) => `${at}:${"x".repeat(64 * 1024)}`);
  texts.push("y".repeat(1024 * 1024), "\\N", "\\.", 'tab\tline\nreturn\r"\\"\\\\n🙂', "");
  const rows = texts.map((requestText, at) =>
    interaction(accountId, `txn_${String(at).padStart(2, "0")}`, { requestText })
  );
  await createAnalyticsStore(database).insert(rows);
  const stored = await database.query(
    "select request from interaction_payloads order by transaction_id",
  );
  assert.deepEqual(stored.map(({ request }) => request), texts);
});

onBothDatabases(
  "of a call that comes twice in a batch the first one is written",
  async (database) => {
    const accountId = await newAccount(database);
    const [first, second] = ["first", "second"].map((model) =>
      interaction(accountId, "a", { model, requestText: model })
    );
    await createAnalyticsStore(database).insert([first!, second!]);
    const rows = await database.query(
      "select i.model, p.request from interactions i join interaction_payloads p using (transaction_id)",
    );
    assert.deepEqual(rows, [{ model: "first", request: "first" }]);
  },
);

onBothDatabases("rows are looked up only where one of a batch exists, and such a row stays", async (
  database,
) => {
  const accountId = await newAccount(database);
  const [first, second] = ["first", "second"].map((model) =>
    ["a", "b", "c"].map((id) => interaction(accountId, id, { model, requestText: model }))
  ) as [Interaction[], Interaction[]];
  let lookUps = 0;
  const counted = createAnalyticsStore({
    ...database,
    query: (...statement) => database.query(...statement),
    transaction: (work) =>
      database.transaction((tx) =>
        work({
          ...tx,
          query(...statement) {
            if (/'interactions' as table/.test(statement[0])) lookUps++;
            return tx.query(...statement);
          },
        })
      ),
  });
  await counted.insert(first.slice(0, 2));
  assert.equal(lookUps, 0);
  await counted.insert(second.slice(1));
  assert.equal(lookUps, 1);
  const rows = await database.query(
    `select transaction_id as id, i.model, p.request
     from interactions i join interaction_payloads p using (transaction_id) order by 1`,
  );
  const row = (id: string, model: string) => ({ id, model, request: model });
  assert.deepEqual(rows, [row("a", "first"), row("b", "first"), row("c", "second")]);
  const [sum] = await database.query(
    "select calls::int as calls from usage_sums where part = 'all' and span = 'day'",
  );
  assert.equal(sum!.calls, 3);
});

onPostgres("rows that another process writes at the same time are found the next time", async (
  database,
  open,
) => {
  const accountId = await newAccount(database);
  const rows = ["a", "b", "c"].map((id) => interaction(accountId, id));
  const other = createAnalyticsStore(await open());
  let times = 0;
  const raced = createAnalyticsStore({
    ...database,
    transaction: (work) =>
      database.transaction((tx) =>
        work({
          ...tx,
          async copyIn(...given) {
            if (times++ === 0) await other.insert(rows.slice(1));
            await tx.copyIn(...given);
          },
        })
      ),
  });
  await raced.insert(rows);
  assert.ok(times > 1);
  const ids = async (table: string) =>
    (await database.query(`select transaction_id as id from ${table} order by 1`))
      .map(({ id }) => id);
  assert.deepEqual(await ids("interactions"), ["a", "b", "c"]);
  assert.deepEqual(await ids("interaction_payloads"), ["a", "b", "c"]);
  const [sums] = await database.query(
    "select sum(calls)::bigint as calls from usage_sums where part = 'all' and span = 'day'",
  );
  assert.equal(sums!.calls, 3n);
});
