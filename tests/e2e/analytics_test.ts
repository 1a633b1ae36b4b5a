import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { postgresAvailability, startPostgres } from "../support/postgres.ts";
import { startSimulatedService, startTestService } from "../support/service.ts";

const { available, reason } = postgresAvailability();
const skipped = available ? "" : ` (skipped: ${reason})`;

Deno.test({
  name:
    `with a database of its own interactions, payloads and media stand there, money and keys in the other${skipped}`,
  ignore: !available,
  fn: () =>
    withDatabases(async (main, analytics) => {
      await using service = await startSimulatedService({
        DATABASE_URL: main,
        ANALYTICS_DATABASE_URL: analytics,
      });
      const picture = Buffer.concat([
        Buffer.from("89504e470d0a1a0a", "hex"),
        Buffer.alloc(99_992, 7),
      ]);
      const url = `data:image/png;base64,${picture.toString("base64")}`;
      const content = [{ type: "text", text: "canary" }, { type: "image_url", image_url: { url } }];
      const answer = await service.post("/chat/v1/chat/completions", {
        model: "vendor-b/gpt-4.1",
        messages: [{ role: "user", content }],
      });
      assert.equal(answer.status, 200, await answer.text());
      const transaction = answer.headers.get("x-transaction-id");
      const row = await service.row(transaction);
      assert.equal(row.transaction_id, transaction);
      const named = JSON.stringify(row.request).match(/\/api\/v1\/media\/\w{64}/)![0];
      const media = await service.fetch(named);
      assert.equal((await media.arrayBuffer()).byteLength, 100_000);
      const kept = await service.post("/openai/v1/responses", { model: "gpt-4.1", input: "hello" });
      const { id } = await kept.json();
      await service.rows();
      assert.equal((await service.fetch(`/openai/v1/responses/${id}`)).status, 200);
      const counts = (database: string) => countRows(database);
      assert.deepEqual(await counts(main), {
        accounts: 1,
        api_keys: 1,
        settles: 2,
        interactions: 0,
        interaction_payloads: 0,
        kept_responses: 1,
        media: 0,
        media_refs: 0,
      });
      assert.deepEqual(await counts(analytics), {
        accounts: 0,
        api_keys: 0,
        settles: 0,
        interactions: 2,
        interaction_payloads: 2,
        kept_responses: 0,
        media: 1,
        media_refs: 1,
      });
    }),
});

Deno.test({
  name: `an analytics database that can't be reached stops the start by its variable${skipped}`,
  ignore: !available,
  fn: () =>
    withDatabases(async (main) => {
      const started = startTestService({
        env: {
          DATABASE_URL: main,
          ANALYTICS_DATABASE_URL: "postgres://u:hidden@127.0.0.1:1/nowhere",
        },
      });
      await assert.rejects(started, (thrown: unknown) => {
        const { message } = thrown as Error;
        return /^ANALYTICS_DATABASE_URL: .*127\.0\.0\.1:1/.test(message) &&
          !message.includes("hidden");
      });
    }),
});

Deno.test({
  name:
    `calls go on while the database of interactions takes no writes: ready all the same${skipped}`,
  ignore: !available,
  fn: () =>
    withDatabases(async (main, analytics) => {
      await using service = await startSimulatedService({
        DATABASE_URL: main,
        ANALYTICS_DATABASE_URL: analytics,
      });
      const server = await openPostgres((await startPostgres()).url("postgres"));
      const name = new URL(analytics).pathname.slice(1);
      const call = async () => {
        const body = { model: "gpt-4.1", messages: [{ role: "user", content: "hello" }] };
        const answer = await service.post("/openai/v1/chat/completions", body);
        assert.equal(answer.status, 200, await answer.text());
      };
      const ready = async () => (await service.fetch("/readyz")).status;
      try {
        await call();
        assert.equal((await service.rows()).length, 1);
        await server.query(`alter database ${name} set default_transaction_read_only = on`);
        await server.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1",
          [name],
        );
        await call();
        assert.equal(await ready(), 200);
        const read = { start_date: "2020-01-01T00:00:00Z" };
        const refused = await service.post("/api/v1/exports", read);
        assert.equal(refused.status, 503);
        await refused.body?.cancel();
        await call();
        assert.equal(await ready(), 200);
        assert.match(service.log.join("\n"), /the database is unavailable: records are queued/);
        await server.query(`alter database ${name} reset default_transaction_read_only`);
        assert.equal((await service.rows()).length, 3);
      } finally {
        await server.close();
      }
    }),
});

async function withDatabases(
  run: (main: string, analytics: string) => Promise<void>,
): Promise<void> {
  const server = await startPostgres();
  const [main, analytics] = [await server.createDatabase(), await server.createDatabase()];
  try {
    await run(main.url, analytics.url);
  } finally {
    await main.drop();
    await analytics.drop();
  }
}

async function countRows(url: string): Promise<Record<string, number>> {
  const database = await openPostgres(url);
  const tables = {
    accounts: "accounts",
    api_keys: "api_keys",
    settles: "ledger_entries where kind = 'settle'",
    interactions: "interactions",
    interaction_payloads: "interaction_payloads",
    kept_responses: "kept_responses",
    media: "media",
    media_refs: "media_refs",
  };
  const counts: Record<string, number> = {};
  for (const [name, from] of Object.entries(tables)) {
    const [row] = await database.query(`select count(*) as count from ${from}`);
    counts[name] = Number(row!.count);
  }
  await database.close();
  return counts;
}
