import assert from "@std/assert";
import type { Database, SqlRow } from "../../database/database.ts";
import { eraseBefore, Partitions, partitionsInUse } from "./partitions.ts";

const failure = (code: string) => Object.assign(new Error("of the database"), { code });

/** A database that answers each statement with what `rowsOf` gives for it, and notes it. */
function answering(rowsOf: (text: string) => SqlRow[] = () => []) {
  const asked: string[] = [];
  const query = async (text: string, values: readonly unknown[] = []) => {
    await new Promise((resolve) => setImmediate(resolve));
    if (text.includes("pg_try_advisory_xact_lock")) return [{ mine: true }];
    const words = text.replace(/\s+/g, " ");
    asked.push(words === "select open_month($1)" ? (values[0] as Date).toISOString() : words);
    return rowsOf(text);
  };
  const transaction = <T>(work: (tx: { query: typeof query }) => Promise<T>) => work({ query });
  return { asked, database: { query, transaction } as unknown as Database };
}

const october = { createdAt: new Date("2026-10-31T23:59:59.999Z") };
const november = { createdAt: new Date("2026-11-01T00:00:00.000Z") };

Deno.test("a month is opened once, and again where retention dropped it before the rows came", async () => {
  const { asked, database } = answering();
  const partitions = new Partitions(database);
  let attempts = 0;
  const write = () => {
    attempts++;
    asked.push("write");
    return attempts === 2 ? Promise.reject(failure("23514")) : Promise.resolve(attempts);
  };
  const months = [october, november].map(({ createdAt }) => createdAt.toISOString());
  assert.equal(await partitions.writing([october, november, october], write), 1);
  assert.deepEqual(asked.splice(0), [...months, "write"]);
  assert.equal(await partitions.writing([november], write), 3);
  assert.deepEqual(asked.splice(0), ["write", months[1], "write"]);
});

Deno.test("rows whose partition keeps disappearing are given up, those with another failure at once", async () => {
  for (const [code, attempts] of [["23514", 20], ["40001", 1]] as const) {
    let tried = 0;
    const partitions = new Partitions(answering().database);
    const writing = partitions.writing([november], () => {
      tried++;
      return Promise.reject(failure(code));
    });
    await assert.rejects(writing, { code });
    assert.equal(tried, attempts);
  }
});

Deno.test("months in use come with both sizes, the latest first, and no other table", async () => {
  const row = (parent: string, name: string, bytes: bigint) => ({ parent, name, bytes });
  const { database } = answering(() => [
    row("interactions", "interactions_2026_09", 10n),
    row("interaction_payloads", "interaction_payloads_2026_12", 7n),
    row("interactions", "interactions_2026_12", 5n),
    row("interactions", "interactions_default", 99n),
  ]);
  assert.deepEqual(await partitionsInUse(database), [
    { month: new Date("2026-12-01T00:00:00Z"), usageBytes: 5, payloadBytes: 7 },
    { month: new Date("2026-09-01T00:00:00Z"), usageBytes: 10, payloadBytes: 0 },
  ]);
});

/** What erasing before the middle of October does, where `fails` throws for some statements. */
async function erased(fails: (text: string) => void = () => {}) {
  const { asked, database } = answering((text) => {
    fails(text);
    if (text.includes("pg_inherits")) {
      const names = ["2026_08", "2026_09", "2026_10", "2026_11"].map((one) =>
        `interaction_payloads_${one}`
      );
      return [...names, "interaction_payloads; drop table accounts"].map((name) => ({ name }));
    }
    if (text.includes("as blocks")) return [{ blocks: 20n }];
    return text.includes("delete") ? [{}, {}] : [];
  });
  const limit = new Date("2026-10-15T12:00:00Z");
  const counts = await eraseBefore(database, "interaction_payloads", limit);
  const changes = asked.flatMap((text) => {
    const [, month] = /(?:drop table if exists|delete from) \w+_(\d{4}_\d\d)/.exec(text) ?? [];
    return month === undefined ? [] : [`${text.split(" ")[0]} ${month}`];
  });
  return { counts, changes };
}

const october3 = ["delete 2026_10", "delete 2026_10", "delete 2026_10"];

Deno.test("months before the limit's are dropped, its rows go in batches, later ones stay", async () => {
  assert.deepEqual(await erased(), {
    counts: { partitions: 2, rows: 6, relations: ["interaction_payloads_2026_10"] },
    changes: ["drop 2026_08", "drop 2026_09", ...october3],
  });
});

Deno.test("a month that is being read is emptied instead, one that is gone has nothing to erase", async () => {
  const { counts, changes } = await erased((text) => {
    if (text.includes("exists interaction_payloads_2026_08")) throw failure("55P03");
    if (text.includes("from interaction_payloads_2026_08")) throw failure("42P01");
    if (text.includes("exists interaction_payloads_2026_09")) throw failure("55P03");
  });
  const relations = ["interaction_payloads_2026_09", "interaction_payloads_2026_10"];
  assert.deepEqual(counts, { partitions: 0, rows: 12, relations });
  const september3 = october3.map((one) => one.replace("10", "09"));
  assert.deepEqual(changes, [
    ...["drop 2026_08", "delete 2026_08", "drop 2026_09"],
    ...[...september3, ...october3],
  ]);
});

Deno.test("whatever else fails ends the erasure", async () => {
  for (const statement of ["drop table if exists", "delete from"]) {
    const erasing = erased((text) => {
      if (text.includes(statement)) throw failure("57P01");
    });
    await assert.rejects(erasing, { code: "57P01" });
  }
});
