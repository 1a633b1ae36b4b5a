import assert from "@std/assert";
import { startSimulators } from "../../demo/simulators.ts";
import { Random } from "../support/random.ts";
import { postgresAvailability, startPostgres } from "../support/postgres.ts";
import { startTestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { checkBooks, readBooks } from "./books.ts";
import { startLoad, vendorEnvironment } from "./load.ts";

const { available, reason } = postgresAvailability();

Deno.test({
  name:
    `a journal that is full while PostgreSQL is away refuses calls before their vendor hears of them, until it is back${
      available ? "" : ` (skipped: ${reason})`
    }`,
  ignore: !available,
  async fn() {
    const postgres = await startPostgres({ private: true });
    const database = await postgres.createDatabase();
    const simulators = await startSimulators();
    const dataDir = temporaryDirectory("full");
    const service = await startTestService({
      env: {
        DATA_DIR: dataDir,
        DATABASE_URL: database.url,
        JOURNAL_MAX_BYTES: "300000",
        ...vendorEnvironment(simulators),
      },
    });
    try {
      const load = startLoad(service, 4, new Random(3));
      await until(() => load.answers.length > 20);
      await postgres.stop("immediate");
      await until(() => load.answers.some(({ status }) => status === 503));
      await load.stop();
      const refused = load.answers.filter(({ status }) => status !== 200);
      for (const one of refused) assert.match(one.code, /"code":"overloaded"/);
      const asked = () => simulators.requests("vendor-b").length;
      const before = asked();
      for (let times = 0; times < 5; times++) {
        const answer = await service.post("/openai/v1/chat/completions", {
          model: "gpt-4.1",
          messages: [{ role: "user", content: "Hi" }],
        });
        const { error } = await answer.json();
        assert.deepEqual([answer.status, error.type, error.code], [
          503,
          "overloaded_error",
          "overloaded",
        ]);
        assert.equal(answer.headers.get("x-transaction-id"), null);
        assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
      }
      assert.equal(asked(), before, "no vendor was called");
      assert.equal((await service.fetch("/readyz")).status, 503);
      const { json } = await service.admin("journal", "status");
      const status = json as Record<string, unknown>;
      assert.equal(status.max_bytes, 300_000);
      assert.ok(Number(status.bytes) >= 300_000 && Number(status.bytes) < 400_000);
      const metrics = await (await service.fetch("/metrics")).text();
      assert.match(metrics, new RegExp(`^gateway_journal_bytes ${status.bytes}$`, "m"));
      assert.match(metrics, new RegExp(`^gateway_records_waiting ${status.waiting}$`, "m"));
      assert.match(metrics, /^gateway_journal_oldest_seconds \d+(\.\d+)?$/m);
      assert.match(metrics, /^gateway_journal_sync_seconds_count \d{2,}$/m);
      assert.match(metrics, /^gateway_records_rejected_total 0$/m);

      await postgres.start();
      await until(async () => (await service.fetch("/readyz")).status === 200);
      // Until the backlog is stored, new calls could fill the journal again.
      await until(async () => {
        const { json } = await service.admin("journal", "status");
        return (json as { waiting: number }).waiting === 0;
      });
      const again = startLoad(service, 4, new Random(4));
      await until(() => again.answers.length > 20);
      await again.stop();
      assert.deepEqual(again.answers.filter(({ isFull }) => !isFull), []);
      await service.stop();
      checkBooks(await readBooks(dataDir, database.url), [...load.answers, ...again.answers]);
    } finally {
      await service.stop();
      await simulators.close();
      await database.drop();
      await postgres.stop();
    }
  },
});

async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!await done()) {
    assert.ok(performance.now() < deadline, "not within 30 s");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
