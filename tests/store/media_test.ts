import assert from "@std/assert";
import { sha256Hex } from "../../src/base/hash.ts";
import type { Media } from "../../src/shared/media.ts";
import type { Database, Queryable } from "../../src/database/database.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createMedia, insertMedia } from "../../src/records/store/media.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { interaction, newAccount, untilOneWaits } from "./samples.ts";

function media(fill: number, length = 100_000, mimeType = "image/png"): Media {
  const content = new Uint8Array(length).fill(fill);
  return { sha256: sha256Hex(content), mimeType, content };
}

async function count(database: Database, table: string): Promise<number> {
  const [row] = await database.query(`select count(*) as count from ${table}`);
  return Number(row!.count);
}

eachDatabase("media of many rows is stored once and read in parts", async (database) => {
  const accountId = await newAccount(database);
  const one = { ...media(1), content: crypto.getRandomValues(new Uint8Array(60_000)) };
  one.sha256 = sha256Hex(one.content);
  const rows = [1, 2, 3].map((n) =>
    interaction(accountId, `txn_${n}`, { requestText: "{}", media: [one, media(n)] })
  );
  await createAnalyticsStore(database).insert(rows);
  await createAnalyticsStore(database).insert(rows);
  assert.equal(await count(database, "media"), 4);
  assert.equal(await count(database, "media_refs"), 6);
  const store = createMedia(database);
  assert.deepEqual(await store.find(accountId, one.sha256), {
    bytes: 60_000,
    mimeType: "image/png",
  });
  const parts = [
    ...await store.read(one.sha256, 0, 25_000),
    ...await store.read(one.sha256, 25_000, 25_000),
    ...await store.read(one.sha256, 50_000, 25_000),
  ];
  assert.equal(sha256Hex(new Uint8Array(parts)), one.sha256);
  assert.equal((await store.read(one.sha256, 60_000, 10)).length, 0);
});

eachDatabase(
  "an account sees media that its own payloads name, as they name it",
  async (database) => {
    const [ours, theirs] = [await newAccount(database), await newAccount(database, "theirs")];
    const shared = media(1);
    await createAnalyticsStore(database).insert([
      interaction(ours, "txn_1", { requestText: "{}", media: [shared] }),
      interaction(theirs, "txn_2", {
        requestText: "{}",
        media: [{ ...shared, mimeType: "text/html" }, media(2)],
      }),
    ]);
    const store = createMedia(database);
    assert.equal((await store.find(ours, shared.sha256))?.mimeType, "image/png");
    assert.equal((await store.find(theirs, shared.sha256))?.mimeType, "text/html");
    assert.equal(await store.find(ours, media(2).sha256), undefined);
  },
);

eachDatabase("media goes with the last payload that names it", async (database) => {
  const accountId = await newAccount(database);
  await createAnalyticsStore(database).insert(
    [1, 2, 3].map((n) =>
      interaction(accountId, `txn_${n}`, { requestText: "{}", media: [media(1), media(n)] })
    ),
  );
  const store = createMedia(database);
  const there = async (n: number) => await store.find(accountId, media(n).sha256) !== undefined;
  await database.query("delete from interaction_payloads where transaction_id = any($1::text[])", [
    ["txn_1", "txn_2"],
  ]);
  assert.deepEqual([await there(1), await there(2), await there(3)], [true, false, true]);
  assert.equal(await count(database, "media"), 2);
  await database.query("delete from interaction_payloads");
  assert.equal(await count(database, "media"), 0);
  assert.equal(await count(database, "media_refs"), 0);
});

onPostgres("media that is named while its last name goes stays", async (database, open) => {
  const accountId = await newAccount(database);
  const other = await open();
  const row = (id: string) => interaction(accountId, id, { requestText: "{}", media: [media(1)] });
  for (let round = 0; round < 30; round++) {
    await createAnalyticsStore(database).insert([row(`old_${round}`)]);
    await Promise.all([
      createAnalyticsStore(database).insert([row(`new_${round}`)]),
      other.query("delete from interaction_payloads where transaction_id like 'old%'"),
    ]);
    assert.ok(await createMedia(database).find(accountId, media(1).sha256), `round ${round}`);
    await other.query("delete from interaction_payloads");
    assert.equal(await count(database, "media"), 0);
  }
});

onPostgres("media that a row is about to name is locked until it does", async (database, open) => {
  const accountId = await newAccount(database);
  const other = await open();
  const row = (id: string) => interaction(accountId, id, { requestText: "{}", media: [media(1)] });
  await createAnalyticsStore(database).insert([row("old")]);
  const naming = await database.transaction(async (tx) => {
    let gone: Promise<unknown> | undefined;
    const paused: Queryable = {
      ...tx,
      async query(...statement) {
        const rows = await tx.query(...statement);
        if (statement[0].startsWith("select sha256 from media")) {
          // The last payload that names it goes: it would go too.
          let isGone = false;
          gone = other.query("delete from interaction_payloads").then(() => isGone = true);
          await untilOneWaits(tx, () => isGone);
          assert.equal(isGone, false);
        }
        return rows as never;
      },
    };
    await insertMedia(paused, [row("new")]);
    return { gone };
  });
  await naming.gone;
  assert.ok(await createMedia(database).find(accountId, media(1).sha256));
});

onPostgres(
  "writers of the same media in any order never wait in a circle",
  async (database, open) => {
    const accountId = await newAccount(database);
    const others = await Promise.all(Array.from({ length: 4 }, open));
    const many = Array.from({ length: 8 }, (_, n) => media(n, 70_000));
    await Promise.all(others.map((other, process) =>
      createAnalyticsStore(other).insert(
        Array.from({ length: 10 }, (_, n) =>
          interaction(accountId, `${process}-${n}`, {
            requestText: "{}",
            media: many.toSorted((a, b) =>
              (a.content[0]! * (n + 3 + process)) % 7 - (b.content[0]! * (n + 3 + process)) % 7
            ),
          })),
      )
    ));
    assert.equal(await count(database, "media"), 8);
    assert.equal(await count(database, "media_refs"), 320);
  },
);
