/** Upgrades as operators do them: programs of two neighbouring versions on one database. */
import assert from "@std/assert";
import { startSimulators } from "../../demo/simulators.ts";
import { openEmbedded } from "../../src/database/embedded/embedded.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { eachSite, postgresSite } from "../support/money.ts";
import { runProgram, type ServiceProcess, startService } from "../support/process.ts";

const root = new URL("../../", import.meta.url);
const pathOf = (url: URL) => decodeURIComponent(url.pathname);

/**
 * A version after this one: a copy of the program with more migrations, and how it is started. Of
 * the bundle where the gate has made one: a copied source is compiled whole, as nobody has run it.
 */
async function laterVersion(
  folder: string,
  more: Readonly<Record<string, string>>,
): Promise<{ script: string; args: string[] }> {
  const bundle = Deno.env.get("TEST_BUNDLE");
  const from = bundle ?? pathOf(root);
  const parts = bundle === undefined
    ? ["src", "contracts", "openapi", "migrations", "main.ts", "deno.json", "deno.lock"]
    : ["."];
  const { success } = await new Deno.Command("cp", {
    args: ["-r", ...parts.map((part) => `${from}/${part}`), folder],
  }).output();
  assert.ok(success);
  for (const [name, sql] of Object.entries(more)) {
    await Deno.writeTextFile(`${folder}/migrations/${name}`, sql);
  }
  return bundle === undefined
    ? { script: `${folder}/main.ts`, args: [] }
    : { script: `${folder}/program.js`, args: ["start"] };
}

const names = [...Deno.readDirSync(new URL("migrations/", root))].map(({ name }) => name);
const own = Number(names.sort().at(-1)!.slice(0, 4));

/** A schema version after this one's, as files of migrations write it. */
const after = (steps: number) => String(own + steps).padStart(4, "0");

const next = {
  [`${after(1)}_shop.sql`]: "-- phase: expand\nalter table interactions add column shop text;\n",
  [`${after(2)}_calls_by_shop.sql`]: `-- phase: expand
-- transaction: none
create index concurrently interactions_by_shop on interactions (account_id, shop, created_at)
  where shop is not null;
`,
  [`${after(3)}_shops.sql`]: `-- phase: backfill
with batch as (
  select transaction_id, created_at from interactions
  where (created_at, transaction_id) > (coalesce(nullif(split_part($1, ' ', 1), ''), '-infinity')::timestamptz,
    split_part($1, ' ', 2))
  order by created_at, transaction_id limit $2::bigint
), changed as (
  update interactions i set shop = coalesce(app, 'none') from batch b
  where i.transaction_id = b.transaction_id and i.created_at = b.created_at and i.shop is null
)
select (select to_json(created_at) #>> '{}' || ' ' || transaction_id from batch
    order by created_at desc, transaction_id desc limit 1) as position,
  (select count(*) from batch) as rows;
`,
};

const afterNext = {
  ...next,
  [`${after(4)}_shop_for_app.sql`]: `-- phase: contract
-- works with: ${after(3)}
drop index interactions_by_shop;
`,
};

/** The account's rate is not what is tried here. */
const plenty = `update accounts set requests_per_minute = 60000, burst = 60000,
  changed_at = clock_timestamp(); update rate_buckets set fill = true, version = version + 1`;

/** Makes calls without a pause until it is stopped; throws if one fails. */
function load(service: ServiceProcess, key: string): { stop(atLeast?: number): Promise<number> } {
  let stopped = false;
  let calls = 0;
  const one = async () => {
    while (!stopped) {
      const answer = await fetch(`${service.baseUrl}/openai/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: "gpt-4.1", messages: [{ role: "user", content: "Hi" }] }),
      });
      const text = await answer.text();
      assert.equal(answer.status, 200, text);
      calls++;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const running = Promise.all([one(), one(), one()]);
  running.catch(() => {});
  return {
    async stop(atLeast = 5) {
      while (calls < atLeast) await Promise.race([running, wait(50)]);
      stopped = true;
      await running;
      return calls;
    },
  };
}

postgresSite(
  "two neighbouring versions work side by side while the later one migrates, under load",
  async (site) => {
    const simulators = await startSimulators();
    const folder = await Deno.makeTempDir({ prefix: "versions-" });
    try {
      for (const name of ["later", "latest"]) await Deno.mkdir(`${folder}/${name}`);
      const later = await laterVersion(`${folder}/later`, next);
      const latest = await laterVersion(`${folder}/latest`, afterNext);
      const { baseUrl, apiKey } = simulators.vendors["vendor-b"];
      const more = {
        ...{ VENDOR_B_BASE_URL: baseUrl, VENDOR_B_API_KEY: apiKey, STARTING_CREDIT_USD: "1000" },
      };
      const old = await startService({ env: { ...site.env, ...more } });
      const key = old.firstKey;
      await site.query((database) => database.query(plenty));
      await wait(1500);
      const oldLoad = load(old, key);
      await wait(1000);

      const secondEnv = site.another();
      const start = (version: typeof later, env: Readonly<Record<string, string>>) =>
        startService({ ...version, env: { ...env, ...more }, timeoutMs: 120_000 });
      const newer = await start(later, secondEnv);
      assert.match(newer.output(), new RegExp(`migrating the database step=${own + 3} name=shops`));
      const newerLoad = load(newer, key);
      await newer.printed(/a backfill is complete/);

      // The old version is started again on the schema of the newer one.
      const thirdEnv = site.another();
      const restarted = await startService({ env: { ...thirdEnv, ...more } });
      const restartedLoad = load(restarted, key);
      const counts = await Promise.all([oldLoad.stop(), newerLoad.stop(), restartedLoad.stop()]);
      for (const one of [old, restarted]) assert.equal(await one.stop(), 0);

      // The contract step is applied beside the version before it, which goes on. Before, it fills
      // in what the old version wrote behind the backfill.
      await wait(2000);
      const before = new Date();
      const lastLoad = load(newer, key);
      const last = await start(latest, site.another());
      await lastLoad.stop();
      const [left] = await site.query((database) =>
        database.query(
          `select count(*) filter (where shop is null) as unfilled, count(*) as calls
           from interactions where created_at < $1`,
          [before],
        )
      );
      assert.deepEqual([Number(left!.unfilled), Number(left!.calls)], [
        0,
        counts.reduce((sum, count) => sum + count, 0),
      ]);
      for (const one of [newer, last]) assert.equal(await one.stop(), 0);
      const refused = await runProgram({ env: { ...thirdEnv, PORT: "0" } });
      assert.equal(refused.code, 1);
      assert.match(
        refused.stderr,
        new RegExp(
          `^error: The database was changed by a newer version.*\\(step ${
            own + 4
          } shop_for_app\\).*\\n$`,
        ),
      );
    } finally {
      await simulators.close();
      await Deno.remove(folder, { recursive: true });
    }
  },
);

eachSite(
  "a database of before the first release is refused at the start in one line",
  async (site) => {
    const { DATABASE_URL: url, DATA_DIR: dataDir } = site.env;
    const database = url === undefined
      ? await openEmbedded(`${dataDir}/database`)
      : await openPostgres(url);
    const made = new URL("tests/support/before_release.sql", root);
    await database.query(await Deno.readTextFile(made));
    await database.close();
    const { code, stdout, stderr } = await runProgram({ env: { ...site.env, PORT: "0" } });
    assert.equal(code, 1);
    assert.match(stderr, /^error: The database was made by .* before the first release.*\n$/);
    assert.doesNotMatch(stdout, /dmt_/);
  },
  { empty: true },
);

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
