/**
 * Exports of many rows from a process of its own: memory stays flat. `EXPORT_ROWS` says how many;
 * the long round takes 1,000,000, and has jobs write CSV too, which the gate asks for directly only.
 */
import assert from "@std/assert";
import { firstKey, inDatabase } from "../support/export_processes.ts";
import { writeManyRows } from "../support/many_rows.ts";
import { createMigrated, databasesOfThisRun } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { asStarted, measured, mebibytes, residentBytes } from "../support/resident.ts";

const rows = Number(Deno.env.get("EXPORT_ROWS") ?? "20000");
const isLong = rows > 20_000;
const limitBytes = 100 * 1024 * 1024;
const start = "2020-01-01T00:00:00Z";
const range = { start: "2026-01-01", end: "2027-01-01" };

if (databasesOfThisRun().embedded) {
  Deno.test(`${rows} rows in constant memory (embedded)`, async () => {
    const dataDir = await Deno.makeTempDir({ prefix: "exports-size-" });
    try {
      await prove({ DATA_DIR: dataDir }, undefined, dataDir);
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  });
}

const { available, reason } = postgresAvailability();
Deno.test({
  name: `${rows} rows in constant memory (postgres${available ? "" : `; skipped: ${reason}`})`,
  ignore: !available,
  async fn() {
    const created = await createMigrated();
    const dataDir = await Deno.makeTempDir({ prefix: "exports-size-" });
    try {
      await prove({ DATA_DIR: dataDir, DATABASE_URL: created.url }, created.url, dataDir);
    } finally {
      await created.drop();
      await Deno.remove(dataDir, { recursive: true });
    }
  },
});

async function prove(env: Record<string, string>, url: string | undefined, dataDir: string) {
  const key = await firstKey(env);
  await inDatabase(url, dataDir, (database) => writeManyRows(database, 1, rows));
  await using service = await startService({ env: { ...env, ...asStarted() }, timeoutMs: 120_000 });
  const ask = asker(service, key);
  // What the first requests load is there for all that follow.
  await drain(await ask({ start_date: "2100-01-01T00:00:00Z" }));
  await drain(await ask({ range: { start: "2020-01-01", end: "2020-01-01" } }));
  const idle = await residentBytes(service);
  for (const format of ["json", "csv"] as const) {
    const direct = await measured(
      service,
      async () => await drain(await ask({ start_date: start, format })),
    );
    report(`${format} direct`, direct, idle);
    assert.ok(direct.value.lines >= rows, `${direct.value.lines} lines`);
    assert.ok(direct.peak - idle <= limitBytes, `${mebibytes(direct.peak - idle)} MiB over idle`);
    if (format === "csv" && !isLong) continue;
    const job = await measured(service, async () => await (await ask({ range, format })).json());
    report(`${format} job`, { ...job, value: { length: job.value.bytes_size } }, idle);
    assert.equal(job.value.bytes_size, direct.value.length);
    const path = `/api/v1/exports/${job.value.request_id}/stream`;
    const stream = await measured(
      service,
      async () => await drain(await fetch(service.baseUrl + path, { headers: bearer(key) })),
    );
    report(`${format} stream`, stream, idle);
    assert.equal(stream.value.length, job.value.bytes_size);
    for (const { peak } of [job, stream]) {
      assert.ok(peak - idle <= limitBytes, `${mebibytes(peak - idle)} MiB over idle`);
    }
  }
}

function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}

function asker(service: ServiceProcess, key: string) {
  return async (body: unknown) => {
    const answer = await fetch(`${service.baseUrl}/api/v1/exports`, {
      method: "POST",
      headers: { ...bearer(key), "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    assert.equal(answer.status, 200);
    return answer;
  };
}

async function drain(answer: Response): Promise<{ length: number; lines: number }> {
  let length = 0;
  let lines = 0;
  for await (const piece of answer.body!) {
    length += piece.length;
    for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines++;
  }
  return { length, lines };
}

function report(
  what: string,
  { value, peak, seconds }: { value: { length: number }; peak: number; seconds: number },
  idle: number,
): void {
  console.log(
    `${rows} rows, ${what}: ${mebibytes(value.length)} MiB in ${seconds.toFixed(1)} s, ` +
      `${mebibytes(peak - idle)} MiB over the idle ${mebibytes(idle)} MiB`,
  );
}
