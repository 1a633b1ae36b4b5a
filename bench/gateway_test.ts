import assert from "@std/assert";
import { createRecords } from "../src/records/store/records.ts";
import { eachDatabase } from "../tests/support/databases.ts";
import { interaction, newAccount } from "../tests/store/samples.ts";
import { chargeDifferences } from "./gateway.ts";
import { readBenchOptions } from "./options.ts";

eachDatabase("the bench sees each call that was not recorded or not charged", async (database) => {
  const accountId = await newAccount(database);
  const since = new Date("2026-11-21T10:00:00Z");
  const until = new Date("2026-11-21T10:01:00Z");
  const made = (id: string, chargedNanos: bigint, createdAt = since) =>
    interaction(accountId, id, { createdAt, status: "completed", chargedNanos });
  await createRecords(database).insert([
    ...["a", "b", "c"].map((id) => made(id, 7n)),
    made("later", 7n, until),
    interaction(accountId, "cut off", { createdAt: since, status: "cancelled" }),
  ]);
  const differ = (answered: number) =>
    chargeDifferences(database, { name: "cell", answered, since, until });
  assert.deepEqual(await differ(3), []);
  assert.match((await differ(4)).join(), /completed rows: 3 instead of 4/);
  await database.query("delete from ledger_entries where interaction_id = 'b'");
  const uncharged = await differ(3);
  assert.equal(uncharged.length, 2);
  assert.match(uncharged.join(), /settled charges: 2 instead of 3.*nano-dollars: 14 instead of 21/);
  await createRecords(database).insert([made("dear", 8n)]);
  assert.match((await differ(4)).join(), /prices of one and the same call: 2 instead of 1/);
}, { fresh: true });

Deno.test("the bench's options are read, and an error names the wrong one", () => {
  const options = readBenchOptions(["relay", "--peers", "bare,postgres", "--rounds", "2"]);
  assert.deepEqual([options.names, options.peers, options.rounds], [
    ["relay"],
    ["bare", "postgres"],
    2,
  ]);
  const part = readBenchOptions([
    "dashboard",
    "--pages",
    "overview,session",
    "--stores",
    "embedded",
  ]);
  assert.deepEqual([part.pages, part.stores, part.rounds], [
    ["overview", "session"],
    ["embedded"],
    undefined,
  ]);
  assert.throws(() => readBenchOptions(["--seconds", "0"]), /--seconds 0: expected a whole number/);
  assert.throws(() => readBenchOptions(["--speed", "2"]), /--speed/);
});
