/** The texts that the database makes of rows for an export, against the records that were written. */
import assert from "@std/assert";
import { interactionColumns } from "../../contracts/data/export_tables.ts";
import { nanosToUsd } from "../../src/base/money.ts";
import type { Database } from "../../src/database/database.ts";
import { createFairReads } from "../../src/database/fair_reads.ts";
import { createExportSource } from "../../src/exports/store/export_source.ts";
import { exportBytes } from "../../src/exports/text.ts";
import { fieldOfColumn } from "../../src/records/columns.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import type { ExportSpec } from "../../src/exports/export_spec.ts";
import { columnsWithoutPayloads } from "../../src/exports/export_spec.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { collect, interaction, newAccount, observed } from "./samples.ts";

async function exported(
  database: Database,
  accountId: number,
  format: ExportSpec["format"],
  options: Partial<ExportSpec> = {},
) {
  const analytics = createAnalyticsStore(database);
  const source = createExportSource({ analytics, database, reads: createFairReads(database) });
  const snapshot = await source.snapshot();
  const work = { accountId, format, filters: {}, rawCells: true, snapshot, ...options };
  const pieces = await collect(exportBytes(source, { ...work, tables: ["interactions"] }));
  return await new Blob(pieces).text();
}

/** The row of a record by the rules of the interface, with nothing of the code under test. */
function expectedRow(row: SettledCall): Record<string, unknown> {
  const shown = (value: unknown) =>
    value instanceof Date
      ? value.toISOString()
      : typeof value === "bigint"
      ? nanosToUsd(value)
      : value ?? null;
  const cut = (text: string | null) => {
    try {
      return text === null ? null : JSON.parse(text);
    } catch {
      return text;
    }
  };
  const fields: Readonly<Record<string, keyof SettledCall>> = fieldOfColumn;
  return {
    ...Object.fromEntries(
      interactionColumns.map((name) => [name, shown(row[fields[name] ?? "requestId"])]),
    ),
    usage_raw: row.usageRawText === null ? null : JSON.parse(row.usageRawText),
    request: cut(row.requestText),
    response: cut(row.responseText),
  };
}

/** All of ASCII, what JSON and CSV treat apart, and signs of two, three and four bytes. */
const awkward = [
  ...Array.from({ length: 127 }, (_, code) => String.fromCharCode(code + 1)),
  ...[
    "",
    " ",
    "\u0080",
    "\u2028\u2029",
    "ß",
    "漢字",
    "🎈",
    "\ufeff",
    '\\"',
    "\\u0041",
    "NULL",
    "\\N",
    "=1,2",
    '=HYPERLINK("x")',
    "-1",
    "+a\r\n",
    "\t=1",
    ...["＝1", "＋1", "－1", "＠A1"],
    'Ω,ß"',
  ],
];

const wide: Partial<SettledCall> = {
  stream: true,
  httpStatus: 200,
  inputTokens: Number.MAX_SAFE_INTEGER,
  cacheReadTokens: 0,
  totalTokens: 123_456_789,
  costNanos: 9_007_199_254_740_993n,
  chargedNanos: 1n,
  latencyMs: 2 ** 40,
  attempts: [{ vendor: "v", model: 'm"\n', http_status: null, error_code: null, ms: 3 }],
};

/** Each text in each column that may hold it, beside values that are absent, empty or large. */
function awkwardRows(accountId: number): SettledCall[] {
  return awkward.map((text, n) =>
    interaction(accountId, `txn_${String(n).padStart(3, "0")}`, {
      ...(n % 2 === 0 ? wide : {}),
      createdAt: new Date(Date.UTC(2026, 10, 21, 0, 0, 0, n * 7)),
      requestId: text,
      sessionId: text,
      userId: n % 3 === 0 ? null : text,
      app: text,
      cohortId: text,
      model: text,
      translationLoss: n % 4 === 0 ? [] : [text, '{"a,b"}', "null"],
      usageRawText: n % 5 === 0 ? null : JSON.stringify({ text, n: 1.5 }),
      requestText: n % 7 === 0 ? null : JSON.stringify({ text }, null, n % 2),
      responseText: n % 6 === 0 ? `{"cut":"${"x".repeat(n)}` : JSON.stringify([text]),
      payloadTruncated: n % 6 === 0,
    })
  );
}

eachDatabase(
  "every row of an export is its record, whatever its texts hold",
  async (database) => {
    const accountId = await newAccount(database);
    const rows = awkwardRows(accountId);
    await createAnalyticsStore(database).insert(rows);
    const read = JSON.parse(await exported(database, accountId, "json"));
    assert.equal(read.length, rows.length);
    for (const [at, row] of rows.entries()) {
      assert.deepEqual(
        read[at],
        expectedRow(row),
        `row ${at}`,
      );
    }
  },
);

/** What callers and vendors sent as it may be laid out, and what was cut of it. */
function laidOutRows(accountId: number): SettledCall[] {
  return ["\n", "\r\n", "\r"].flatMap((lineEnd, n) => {
    const body = { model: "m", messages: [{ role: "user", content: "two\r\nlines" }] };
    const text = JSON.stringify(body, null, 2).replaceAll("\n", lineEnd);
    const row = (name: string, more: Partial<SettledCall>) =>
      interaction(accountId, `txn_laid_out_${n}_${name}`, {
        createdAt: new Date(Date.UTC(2026, 10, 23, 0, 0, n)),
        requestText: text,
        responseText: text + lineEnd,
        ...more,
      });
    // The large one comes later than its row, and the last two as cells.
    const large = JSON.stringify({ ...body, user: "x".repeat(100_000) }, null, 1);
    return [
      row("a", {}),
      row("b", { requestText: large }),
      row("c", { responseText: text.slice(0, -4), payloadTruncated: true }),
      row("d", { payloadTruncated: true }),
    ];
  });
}

eachDatabase(
  "a row of jsonl is one line of JSON, however its payloads are laid out",
  async (database) => {
    const accountId = await newAccount(database);
    const rows = laidOutRows(accountId);
    await createAnalyticsStore(database).insert(rows);
    const text = await exported(database, accountId, "jsonl");
    assert.doesNotMatch(text, /\r/);
    const lines = text.trimEnd().split("\n");
    assert.deepEqual(lines.map((line) => JSON.parse(line)), rows.map(expectedRow));
    const whole = JSON.parse(await exported(database, accountId, "json"));
    assert.deepEqual(whole, rows.map(expectedRow));
  },
);

/** The database as a driver shows it that has no bytes: rows come as cells. */
function withoutBytes({ eachRow: _, ...database }: Database): Database {
  return database;
}

/** Payloads that come with their row, that come later, and that may be cut, of all awkward texts. */
function payloadRows(accountId: number): SettledCall[] {
  return awkward.map((text, n) =>
    interaction(accountId, `txn_payload_${String(n).padStart(3, "0")}`, {
      createdAt: new Date(Date.UTC(2026, 10, 22, 0, 0, 0, n)),
      flow: text,
      requestText: n % 3 === 0 ? text : JSON.stringify({ text: text.repeat(n % 2 ? 1 : 9_000) }),
      responseText: n % 5 === 0 ? null : n % 7 === 0 ? "" : `-${JSON.stringify(text)}`,
      payloadTruncated: n % 11 === 0,
    })
  );
}

const orders: readonly [string, ExportSpec["format"], Partial<ExportSpec>][] = [
  ["csv", "csv", {}],
  ["csv with guarded cells", "csv", { rawCells: false }],
  ["json", "json", {}],
  ["jsonl", "jsonl", {}],
  ["csv without payloads", "csv", { columns: columnsWithoutPayloads("interactions") }],
  ["jsonl without payloads", "jsonl", { columns: columnsWithoutPayloads("interactions") }],
  ["json of chosen columns", "json", { columns: ["response", "app", "cost_usd", "request"] }],
  ["csv of one column", "csv", { columns: ["translation_loss"], rawCells: false }],
];

onPostgres("the lines of PostgreSQL are those of this process, byte by byte", async (database) => {
  const accountId = await newAccount(database);
  const rows = [
    ...awkwardRows(accountId),
    ...payloadRows(accountId),
    ...laidOutRows(accountId),
  ];
  rows.push(interaction(accountId, "txn_owed", { chargedNanos: -1_000_000_001n, costNanos: null }));
  await createAnalyticsStore(database).insert(rows);
  // A row of its own without payloads, as their retention leaves it.
  await database.query(
    "delete from interaction_payloads where transaction_id in ('txn_007', 'txn_payload_022')",
  );
  for (const [what, format, options] of orders) {
    let fromDatabase = 0;
    const watched: Database = {
      ...database,
      eachRow: (text, values, onRow, options) =>
        database.eachRow!(text, values, (row) => {
          if (row[0] !== null) fromDatabase++;
          onRow(row);
        }, options),
    };
    const read = await exported(watched, accountId, format, options);
    assert.equal(read, await exported(withoutBytes(database), accountId, format, options), what);
    // The rest are payloads that may be cut; without payloads there are none.
    const cut = options.columns && !options.columns.includes("request")
      ? 0
      : rows.filter((row) => row.payloadTruncated && row.transactionId !== "txn_payload_022")
        .length;
    assert.equal(fromDatabase, rows.length - cut, what);
  }
});

onPostgres(
  "a row that is erased before its large payload is read is left out",
  async (database) => {
    const accountId = await newAccount(database);
    const requestText = JSON.stringify("x".repeat(100_000));
    const rows = ["txn_1", "txn_2", "txn_3"].map((id) =>
      interaction(accountId, id, { requestText })
    );
    await createAnalyticsStore(database).insert(rows);
    let asked = 0;
    const erasing: Database = {
      ...database,
      async eachRow(...args) {
        if (++asked === 2) {
          await database.query(
            "delete from interactions where transaction_id = 'txn_2'",
          );
        }
        return await database.eachRow!(...args);
      },
    };
    const read = JSON.parse(await exported(erasing, accountId, "json"));
    assert.deepEqual(read.map((row: Record<string, unknown>) => row.transaction_id), [
      "txn_1",
      "txn_3",
    ]);
  },
);

eachDatabase(
  "pages, small payloads and large ones give each row once, in order",
  async (database) => {
    const accountId = await newAccount(database);
    // Three pages; sizes around the border of what comes with its row, and some of half a MiB.
    const lengthOf = (n: number) => n % 100 === 0 ? 512 * 1024 : n % 10 === 0 ? 8_190 + n % 7 : 20;
    const rows = Array.from(
      { length: 1100 },
      (_, n) =>
        interaction(accountId, `txn_${String(n).padStart(4, "0")}`, {
          createdAt: new Date(Date.UTC(2026, 10, 21, 0, 0, Math.floor(n / 600))),
          requestText: JSON.stringify(`${n} `.padEnd(lengthOf(n), "q")),
          responseText: n % 3 === 0 ? null : "[]",
        }),
    );
    for (let from = 0; from < rows.length; from += 100) {
      await createAnalyticsStore(database).insert(rows.slice(from, from + 100));
    }
    let most = 0;
    const add = (lengths: number[]) => most = Math.max(most, lengths.reduce((a, b) => a + b, 0));
    const watched = observed(database, (found) => {
      add(found.map((row) => `${row.request ?? ""}${row.response ?? ""}`.length));
    });
    if (database.eachRow) {
      watched.eachRow = async (text, values, onRow, options) => {
        const lengths: number[] = [];
        await database.eachRow!(text, values, (row) => {
          // The other columns of a row have up to a KiB.
          lengths.push(Math.max(0, (row[0]?.length ?? 0) - 1024));
          onRow(row);
        }, options);
        add(lengths);
      };
    }
    const read = JSON.parse(await exported(watched, accountId, "json"));
    assert.deepEqual(
      read.map((row: Record<string, unknown>) => [row.transaction_id, row.request, row.response]),
      rows.map(({ transactionId, requestText, responseText }) => [
        transactionId,
        JSON.parse(requestText!),
        responseText === null ? null : [],
      ]),
    );
    assert.ok(most <= 4 * 1024 * 1024, `${most} characters of payloads in one answer`);
    const lines = (await exported(database, accountId, "csv")).split("\r\n");
    assert.equal(lines.length, rows.length + 2, "a head, the rows, and nothing behind the last");
  },
);

eachDatabase(
  "a time of more digits than a Date holds loses and repeats no row",
  async (database) => {
    const accountId = await newAccount(database);
    const rows = Array.from({ length: 1005 }, (_, n) => interaction(accountId, `txn_${1e6 - n}`));
    for (let from = 0; from < rows.length; from += 500) {
      await createAnalyticsStore(database).insert(rows.slice(from, from + 500));
    }
    // As a row that was written by a statement of the operator's own may have.
    await database.query(
      `update interactions set created_at = created_at + row_number * interval '1 microsecond'
     from (select transaction_id as id, row_number() over (order by transaction_id) from interactions) n
     where id = transaction_id`,
    );
    const read = JSON.parse(await exported(database, accountId, "json"));
    const ids = new Set(read.map((row: Record<string, unknown>) => row.transaction_id));
    assert.deepEqual([read.length, ids.size], [1005, 1005]);
  },
);
