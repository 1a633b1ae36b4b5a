import { openDatabase } from "../../../src/database/open.ts";
import { openPostgres } from "../../../src/database/postgres/postgres.ts";
import { Random } from "../../support/random.ts";
import { attempt, type Errand, isWhole, makeErrand, randomScript, sharedMarkers } from "./calls.ts";
import { check } from "./check.ts";
import { ask, type Deeds, type Exchange } from "./exchange.ts";
import { finishCredits } from "./money_operations.ts";
import { operate } from "./operations.ts";
import { type Kind, openWorld, pauseMs, type World } from "./world.ts";

/** What a seed decides beside the random choices. */
interface HistoryOptions {
  readonly seed: number;
  readonly kind: Kind;
  readonly seconds: number;
  /** Sessions of the database are ended at random moments. */
  readonly isCut: boolean;
  /** Processes are also paused (SIGSTOP), longer than their leases and claims last. */
  readonly isPaused: boolean;
  /** At the end, all calls are repriced by one table. */
  readonly isRepricedLast: boolean;
}

function optionsOf(seed: number): HistoryOptions {
  const kinds = ["postgres", "embedded", "split", "postgres", "split"] as const;
  return {
    ...{ seed, kind: kinds[seed % 5]!, seconds: 30, isCut: seed % 5 > 2 },
    ...{ isPaused: seed % 3 === 1, isRepricedLast: seed % 3 === 0 },
  };
}

interface Load {
  readonly world: World;
  readonly errands: Errand[];
  readonly deeds: Deeds;
  readonly options: HistoryOptions;
  isOver(): boolean;
}

async function callAgainAndAgain({ world, errands, options, isOver }: Load, random: Random) {
  while (!isOver()) {
    const errand = makeErrand(random, options.seed, errands.length);
    errands.push(errand);
    if (errand.own) world.vendors.script(errand.marker, randomScript(random));
    await run(world, errand, random, isOver);
    if (random.chance(20)) await pauseMs(random.below(100));
  }
}

async function run(
  world: World,
  errand: Errand,
  random: Random,
  isOver: () => boolean,
): Promise<void> {
  const repeats = errand.requestId === undefined ? 1 : 1 + random.below(4);
  const secret = world.keys.get(errand.key)!.key;
  const under: Promise<unknown>[] = [];
  for (let index = 0; index < repeats; index++) {
    const places = world.running();
    if (places.length === 0 && !isOver()) {
      await pauseMs(20);
      index--;
      continue;
    }
    const place = random.pick(places);
    if (!place?.service) break;
    const leaveMs = random.chance(12) ? random.below(900) : undefined;
    const conflicting = index > 0 && random.chance(12);
    const made = attempt(errand, { baseUrl: place.service.baseUrl, name: place.name }, secret, {
      leaveMs,
      conflicting,
    });
    if (random.chance(35)) under.push(made);
    else {
      const answer = await made;
      if (errand.background && answer.status === 200) {
        await follow(world, errand, random, answer.text);
      }
      if (answer.status === undefined) await pauseMs(20);
      if (isWhole(answer, errand) && random.chance(60)) break;
    }
    await pauseMs(random.below(30));
  }
  await Promise.all(under);
}

async function follow(world: World, errand: Errand, random: Random, text: string): Promise<void> {
  const { id } = JSON.parse(text);
  const deadline = Date.now() + 8_000;
  while (Date.now() < deadline) {
    const { status, text: state } = await ask(
      { world, random },
      errand.key,
      "GET",
      `/chat/v1/responses/${id}`,
    );
    if (status === 200 && !/"status":"(queued|in_progress)"/.test(state)) return;
    if (status === 404) return;
    if (random.chance(3)) {
      await ask({ world, random }, errand.key, "POST", `/chat/v1/responses/${id}/cancel`);
    } else if (random.chance(2)) {
      errand.isForgotten = true;
      await ask({ world, random }, errand.key, "DELETE", `/chat/v1/responses/${id}`);
    }
    await pauseMs(100);
  }
}

/** Ends processes at random moments and starts them again, or pauses them. */
async function disturb({ world, options, isOver }: Load, random: Random): Promise<string[]> {
  const problems: string[] = [];
  while (!isOver()) {
    await pauseMs(800 + random.below(3_000));
    if (isOver()) break;
    const place = random.pick(world.places);
    if (!place.service) continue;
    if (options.isPaused && random.chance(60)) {
      await world.pause(place, random.pick([1_000, 7_000, 20_000, 40_000]));
      continue;
    }
    try {
      await world.end(place, random.chance(65) ? "SIGKILL" : "SIGTERM");
      if (random.chance(30)) await pauseMs(random.below(1500));
      await world.start(place);
    } catch (thrown) {
      problems.push(String(thrown).slice(0, 500));
    }
  }
  return problems;
}

/** Ends sessions of the databases at random moments, so that nobody learns what became of a write. */
async function cutSessions({ world, isOver }: Load, random: Random): Promise<void> {
  const urls = [world.databaseUrl, world.analyticsUrl].filter((url) => url !== undefined);
  if (urls.length === 0) return;
  const databases = await Promise.all(urls.map((url) => openPostgres(url)));
  while (!isOver()) {
    await pauseMs(200 + random.below(2_000));
    await random.pick(databases).query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
       and pid <> pg_backend_pid() and backend_type = 'client backend' and random() < $1::float8`,
      [random.pick([0.1, 0.3, 0.3, 1])],
    );
  }
  for (const database of databases) await database.close();
}

async function quiet(world: World, problems: string[]): Promise<void> {
  for (const place of world.places) if (!place.service) await world.start(place);
  const random = new Random(1);
  const deadline = Date.now() + 120_000;
  for (;;) {
    const left = world.databaseUrl === undefined ? 0 : await unfinished(world.databaseUrl);
    const busy = await busyWith({ world, random });
    if (world.vendors.open === 0 && left === 0 && busy.length === 0) break;
    if (Date.now() > deadline) {
      problems.push(
        `not quiet: ${world.vendors.open} vendor requests, ${left} pieces of work, ${busy}`,
      );
      break;
    }
    await pauseMs(200);
  }
  await pauseMs(3_000);
}

/** What the service itself says is under way; an evaluation may wait for credit for days. */
async function busyWith(exchange: Pick<Exchange, "world" | "random">): Promise<readonly string[]> {
  const isBusy = {
    "/api/v1/exports": ({ state }) => state === "queued" || state === "running",
    "/api/v1/evals": ({ state, waiting }) =>
      state === "queued" || (state === "running" && waiting === null),
    "/api/v1/admin/webhooks": ({ waiting }) => waiting !== 0,
  } satisfies Record<string, (one: Record<string, unknown>) => boolean>;
  const busy: string[] = [];
  for (const [path, isOneBusy] of Object.entries(isBusy)) {
    const key = path.includes("/admin/") ? "admin" : "first";
    const { status, text } = await ask(exchange, key, "GET", path);
    const data = status === 200 ? JSON.parse(text).data as Record<string, unknown>[] : [];
    if (status !== 200 || data.some(isOneBusy)) busy.push(path);
  }
  return busy;
}

/** Work that goes on without callers; leases of a killed process stay until they expire. */
async function unfinished(url: string): Promise<number> {
  const database = await openPostgres(url);
  try {
    const [row] = await database.query(
      `select (select count(*) from background_calls where request is not null)
         + (select count(*) from deletions where state <> 'done')
         + (select count(*) from export_jobs where state in ('queued', 'running'))
         + (select count(*) from leases where amount_nanos <> 0)
         + (select count(*) from key_leases where amount_nanos <> 0)
         + (select count(*) from budget_leases where amount_nanos <> 0) as count`,
    );
    return Number(row!.count);
  } finally {
    await database.close();
  }
}

/**
 * A lease that a slow machine kept from being renewed in time is left to expire in the store. On
 * PostgreSQL `quiet` has waited until it was swept; the embedded database shows it only now.
 */
async function takeBackExpired({ databaseUrl, places, start, end }: World): Promise<void> {
  const [place] = places;
  if (databaseUrl !== undefined || !place) return;
  const endedAt = new Date();
  const database = await openDatabase(undefined, place.dataDir);
  const [row] = await database.query(
    `select count(*) as count from (select amount_nanos, expires_at from leases
       union all select amount_nanos, expires_at from key_leases
       union all select amount_nanos, expires_at from budget_leases) as all_leases
     where amount_nanos <> 0 and expires_at < $1`,
    [endedAt],
  );
  await database.close();
  if (Number(row!.count) === 0) return;
  await start(place);
  await end(place, "SIGTERM");
}

/** Carries out the history of a seed; returns what is wrong afterwards, and a summary. */
export async function carryOut(seed: number): Promise<{ problems: string[]; summary: string }> {
  const options = optionsOf(seed);
  await using world = await openWorld(options.kind, options.kind === "embedded" ? 1 : 2 + seed % 2);
  const deeds: Deeds = {
    deletions: [],
    outcomes: [],
    unexpected: [],
    done: new Map(),
    repriced: false,
    hooks: [],
    money: { credits: [], closures: [], isClosing: false },
    isCut: options.isCut,
  };
  const errands: Errand[] = [];
  const random = (number: number) => new Random(seed * 100 + number);
  for (let index = 0; index < sharedMarkers; index++) {
    world.vendors.script(`mark-${seed}-shared-${index}`, randomScript(random(index)));
  }
  const load: Load = { world, errands, deeds, options, isOver: endOf(errands, options) };
  const disturbed = disturb(load, random(60));
  await Promise.all([
    ...Array.from({ length: 14 }, (_, index) => callAgainAndAgain(load, random(10 + index))),
    ...Array.from({ length: 3 }, (_, index) => operateAgainAndAgain(load, random(70 + index))),
    ...options.isCut ? [cutSessions(load, random(61))] : [],
  ]);
  const problems = await disturbed;
  await quiet(world, problems);
  await finishCredits({ world, errands, deeds, random: random(62), seed });
  if (options.isRepricedLast) await repriceAll(world, deeds);
  problems.push(...await outside(world));
  for (const place of world.places) await world.end(place, "SIGTERM");
  await takeBackExpired(world);
  problems.push(...deeds.unexpected, ...await check({ world, errands, deeds }));
  return { problems, summary: summaryOf(load) };
}

/** A history is over after some seconds; on a busy machine later, after as many calls as usual. */
function endOf(errands: readonly Errand[], { seconds }: HistoryOptions): () => boolean {
  const beganMs = Date.now();
  return () => {
    const passed = (Date.now() - beganMs) / 1000;
    return passed > 4 * seconds || (passed > seconds && errands.length > 400);
  };
}

async function operateAgainAndAgain({ isOver, ...load }: Load, random: Random): Promise<void> {
  const { seed } = load.options;
  while (!isOver()) {
    await pauseMs(random.below(400));
    await operate({ ...load, random, seed });
  }
}

/** After this, every call whose vendor reported its usage costs what the table says. */
async function repriceAll(world: World, deeds: Deeds): Promise<void> {
  const table = deeds.money.credits.length % 2;
  await world.setPrices(table);
  await world.admin("reprice", "--since", "2020-01-01");
  deeds.repriced = true;
  deeds.lastPrices = table;
}

function summaryOf({ world, errands, deeds, options }: Load): string {
  const { seed, kind, isCut, isPaused } = options;
  const attempts = errands.flatMap((errand) => errand.attempts.map((one) => ({ errand, one })));
  const statuses = Map.groupBy(attempts, ({ one }) => `${one.status ?? one.ended}`);
  const whole = attempts.filter(({ errand, one }) => isWhole(one, errand)).length;
  const list = (of: Iterable<readonly [string, unknown]>) =>
    [...of].map(([name, count]) => `${name}: ${count}`).join(", ");
  return `seed ${seed}, ${kind}${isCut ? " with sessions cut" : ""}${
    isPaused ? " with pauses" : ""
  }: ${attempts.length} requests, ` +
    `${world.vendors.requests.length} to vendors, ${whole} answered whole (${
      list([...statuses].map(([status, all]) => [status, all.length] as const))
    }), starts ${world.places.map(({ starts }) => starts.length)}, ${list(deeds.done)}`;
}

/** What the service says of itself: usage, export and balance agree. */
async function outside(world: World): Promise<string[]> {
  const problems: string[] = [];
  const random = new Random(2);
  for (const key of ["first", "team", "slow"] as const) {
    const rows = JSON.parse(
      (await ask({ world, random }, key, "POST", "/api/v1/exports", {
        start_date: "2020-01-01T00:00:00Z",
      })).text,
    ) as { charged_usd: string }[];
    const nanos = (text: string) => BigInt(text.replace(".", ""));
    const exported = rows.reduce((sum, row) => sum + nanos(row.charged_usd), 0n);
    const usage = JSON.parse(
      (await ask({ world, random }, key, "GET", "/api/v1/usage?group_by=day")).text,
    );
    const labels = JSON.parse(
      (await ask({ world, random }, key, "GET", "/api/v1/usage?group_by=app,user,cohort")).text,
    );
    const credits = JSON.parse((await ask({ world, random }, key, "GET", "/api/v1/credits")).text);
    const say = (text: string) => problems.push(`${key}: ${text}`);
    if (usage.total.charged_usd !== labels.total.charged_usd) {
      say(`usage by day ${usage.total.charged_usd}, by labels ${labels.total.charged_usd}`);
    }
    if (usage.total.calls !== labels.total.calls) {
      say(`calls by day ${usage.total.calls}, by labels ${labels.total.calls}`);
    }
    if (nanos(usage.total.charged_usd) < exported) {
      say(`export ${exported}, usage ${usage.total.charged_usd}`);
    }
    const today = credits.charged_today_usd ?? credits.today_usd ?? JSON.stringify(credits);
    if (today !== usage.total.charged_usd) {
      say(`credits ${JSON.stringify(credits)}, usage ${usage.total.charged_usd}`);
    }
  }
  return problems;
}
