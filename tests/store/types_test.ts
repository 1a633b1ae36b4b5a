import assert from "@std/assert";
import type { Database } from "../../src/database/database.ts";
import { onBothDatabases } from "../support/databases.ts";

const odd = "ü 漢字 👩‍👩‍👧 \"quoted\" 'single' back\\slash {a,b} NULL\ttab\nline \u0001 \u{10ffff}";

onBothDatabases(
  "values come back as they were bound, in the same JavaScript types",
  async (database) => {
    const at = new Date("2026-11-21T10:11:12.345Z");
    const [row] = await database.query(
      `select $1::bigint as big, $2::bigint as small, $3::integer as int, $4::numeric as num,
       $5::boolean as yes, $6::timestamptz as at, $7::text as text, $8::text as nothing,
       $9::double precision as float, $10::bytea as bytes`,
      [2n ** 63n - 1n, 7, 42, "12345678901234567890.000000001", true, at, odd, null, 1.5, bytes()],
    );
    assert.deepEqual({ ...row, bytes: [...row!.bytes as Uint8Array] }, {
      big: 2n ** 63n - 1n,
      small: 7n,
      int: 42,
      num: "12345678901234567890.000000001",
      yes: true,
      at,
      text: odd,
      nothing: null,
      float: 1.5,
      bytes: [...bytes()],
    });
  },
);

onBothDatabases("bytes that are part of a larger buffer come back alone", async (database) => {
  const whole = crypto.getRandomValues(new Uint8Array(60_000));
  const part = whole.subarray(1_000, 59_001);
  const select = "select $1::bytea as bytes, octet_length($1::bytea) as length";
  const [row] = await database.query(select, [part]);
  assert.equal(row!.length, part.length);
  assert.deepEqual(row!.bytes, part.slice());
  const isEmbedded = database.kind === "embedded";
  assert.equal(database.sendsBytes ?? false, isEmbedded);
  await database.transaction(async (tx) => {
    assert.equal(tx.sendsBytes ?? false, isEmbedded, "in a transaction as outside of it");
    const [same] = await tx.query(select, [part]);
    assert.deepEqual(same, row);
  });
});

onBothDatabases(
  "arrays keep order, nulls, quotes and the types of their elements",
  async (database) => {
    const [row] = await database.query(
      `select $1::text[] as texts, $2::bigint[] as bigs, $3::timestamptz[] as times,
       $4::boolean[] as flags, $5::text[] as none, $6::text[] as nothing`,
      [[odd, "", "NULL", "a,b", 'q"'], [1n, -(2n ** 63n)], [new Date(0)], [true, false], [], null],
    );
    assert.deepEqual(row, {
      texts: [odd, "", "NULL", "a,b", 'q"'],
      bigs: [1n, -(2n ** 63n)],
      times: [new Date(0)],
      flags: [true, false],
      none: [],
      nothing: null,
    });
    const [literal] = await database.query("select array['a', null]::text[] as texts", []);
    assert.deepEqual(literal, { texts: ["a", null] });
  },
);

onBothDatabases("types hold for statements without values too", async (database) => {
  const rows = await database.query(
    `select 1::bigint as big, array[1, null]::bigint[] as bigs, 1.10::numeric as num,
       timestamptz '2026-01-02 03:04:05+00' as at, null::bigint as nothing`,
  );
  const at = new Date("2026-01-02T03:04:05Z");
  assert.deepEqual(rows, [{ big: 1n, bigs: [1n, null], num: "1.10", at, nothing: null }]);
});

onBothDatabases(
  "times are texts and days in UTC whatever the server's own zone",
  async (database) => {
    const [row] = await database.query(
      `select timestamptz '2026-01-02T23:30:00Z'::text as text,
       date_trunc('day', timestamptz '2026-01-02T23:30:00Z') as day`,
      [],
    );
    assert.deepEqual(row, {
      text: "2026-01-02 23:30:00+00",
      day: new Date("2026-01-02T00:00:00Z"),
    });
  },
);

onBothDatabases(
  "several statements in one text all run, and the last one's rows count",
  async (database) => {
    const rows = await database.query(
      "create table things (x int); insert into things values (1), (2); select x from things order by x",
    );
    assert.deepEqual(rows, [{ x: 1 }, { x: 2 }]);
    assert.deepEqual(await database.query("insert into things values (3); delete from things"), []);
  },
);

onBothDatabases("several statements in one text are one transaction", async (database) => {
  await database.query("create table things (x int)");
  await assert.rejects(database.query("insert into things values (1); select 1/0"), code("22012"));
  assert.deepEqual(await database.query("select x from things", []), []);
});

onBothDatabases("errors carry the database's own code", async (database) => {
  await assert.rejects(database.query("select * from missing", []), code("42P01"));
  await assert.rejects(database.query("selec", []), code("42601"));
  await assert.rejects(database.query("select $1::bigint", ["x"]), code("22P02"));
  await assert.rejects(database.query("select $1::text", ["a\u0000b"]), code("22021"));
  assert.deepEqual(await one(database), [{ one: 1 }], "it works after an error");
});

onBothDatabases("many queries at once each get their own answer", async (database) => {
  const asked = Array.from({ length: 200 }, (_, at) => at);
  const answers = await Promise.all(
    asked.map((at) => database.query("select $1::integer as at", [at])),
  );
  assert.deepEqual(answers, asked.map((at) => [{ at }]));
});

function bytes(): Uint8Array {
  return new Uint8Array([0, 1, 127, 128, 255, 92, 39]);
}

function one(database: Database) {
  return database.query("select 1 as one", []);
}

function code(expected: string) {
  return (thrown: unknown) => (thrown as { code?: unknown }).code === expected;
}
