/** What `COPY` makes of a CSV export with raw cells, on a real PostgreSQL. */
import assert from "@std/assert";
import { columnKinds, interactionColumns } from "../../contracts/data/export_tables.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createFairReads } from "../../src/database/fair_reads.ts";
import { createExportSource } from "../../src/exports/store/export_source.ts";
import { exportBytes } from "../../src/exports/text.ts";
import type { Database } from "../../src/database/database.ts";
import { onPostgres } from "../support/databases.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { collect, interaction, newAccount } from "../store/samples.ts";

const directory = temporaryDirectory("copy");

const sqlTypes: Readonly<Record<string, string>> = {
  text: "text",
  word: "text",
  number: "bigint",
  boolean: "boolean",
  timestamp: "timestamptz",
  usd: "numeric(30, 9)",
  json: "jsonb",
};

const awkward = [
  "",
  " ",
  "=1+1",
  "-5",
  "\\N",
  "\\.",
  "a,b",
  'say "x"',
  "line\nline\r\nline\r",
  "\t=x",
  "NULL",
  "Grüße 漢字 🎈",
  "'quoted'",
];

onPostgres("an export with raw cells, copied back, gives the same rows", async (database) => {
  const accountId = await newAccount(database);
  await createAnalyticsStore(database).insert(
    awkward.map((text, n) =>
      interaction(accountId, `txn_${String(n).padStart(2, "0")}`, {
        userId: text,
        sessionId: n % 2 === 0 ? null : text,
        requestId: text,
        costNanos: n === 0 ? null : BigInt(n) * 1_000_000_001n,
        translationLoss: [text],
        usageRawText: n === 1 ? null : JSON.stringify({ text }),
        requestText: JSON.stringify({ messages: [{ content: text }], n: 1.5 }, null, 2),
        responseText: n === 3 ? '{"cut":"in the mid' : JSON.stringify([text]),
        payloadTruncated: n === 3,
      })
    ),
  );
  const csv = await exported(database, accountId, "csv");
  const path = `${directory}/export.csv`;
  await Deno.writeFile(path, csv);
  const columns = interactionColumns.map((name) =>
    `${name} ${sqlTypes[columnKinds.interactions[name]]}`
  );
  await database.query(`create table copied (${columns.join(", ")})`);
  await copyIn(database, path);
  const rows = await database.query("select row_to_json(c)::text as row from copied c");
  const copied = rows.map((row) => JSON.parse(String(row.row)));
  const json = JSON.parse(new TextDecoder().decode(await exported(database, accountId, "json")));
  assert.equal(copied.length, awkward.length);
  for (const [n, row] of json.entries()) {
    assert.deepEqual(normal(copied[n]), normal(row), `row ${n}`);
  }
});

async function exported(database: Database, accountId: number, format: "json" | "csv") {
  const source = createExportSource({
    ...{ analytics: createAnalyticsStore(database), database },
    reads: createFairReads(database),
  });
  const pieces = await collect(exportBytes(source, {
    accountId,
    format,
    tables: ["interactions"],
    filters: {},
    rawCells: true,
    snapshot: await source.snapshot(),
  }));
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/** With the program that people use for it. */
async function copyIn(database: Database, path: string): Promise<void> {
  const [row] = await database.query(
    "select current_database() as name, inet_server_port() as port",
  );
  const { code, stderr } = await new Deno.Command("psql", {
    args: [
      "--no-psqlrc",
      "--set=ON_ERROR_STOP=1",
      "--host=127.0.0.1",
      `--port=${row!.port}`,
      "--username=gateway",
      `--dbname=${row!.name}`,
      `--command=\\copy copied from '${path}' with (format csv, header true)`,
    ],
    env: { PGPASSWORD: "test-password" },
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
}

/** Times and amounts in one way of writing. */
function normal(row: Record<string, unknown>): Record<string, unknown> {
  return {
    ...row,
    created_at: new Date(String(row.created_at)).toISOString(),
    cost_usd: row.cost_usd === null ? null : Number(row.cost_usd),
    charged_usd: Number(row.charged_usd),
  };
}
