import { callControl } from "../../../src/admin/control.ts";
import { createMigrated } from "../../support/databases.ts";
import { type ServiceProcess, startService } from "../../support/process.ts";
import type { KeyName } from "./calls.ts";
import { type HookReceiver, startHookReceiver } from "./hooks.ts";
import { type ScriptedVendors, startScriptedVendors } from "./vendor.ts";

/** Prices in USD per million tokens, so that a token costs so many nano-dollars times 1,000. */
export const priceTables: readonly Record<
  string,
  { input: string; output?: string; max_output_tokens?: number }
>[] = [3, 5].map((factor) => ({
  "vendor-b/gpt-4.1": { input: `${factor * 10}`, output: `${factor * 20}`, max_output_tokens: 100 },
  "vendor-c/claude-haiku-4-5": {
    input: `${factor * 11}`,
    output: `${factor * 23}`,
    max_output_tokens: 100,
  },
  "vendor-d/gemini-2.5-flash": {
    input: `${factor * 13}`,
    output: `${factor * 29}`,
    max_output_tokens: 100,
  },
  "vendor-b/text-embedding-3-small": { input: `${factor * 7}` },
  // Tokens of less than a nano-dollar.
  "vendor-b/gpt-4.1-nano": {
    input: `0.000${factor * 31}`,
    output: `0.000${factor * 137}`,
    max_output_tokens: 100,
  },
})) as never;

/** A time in which a process didn't run. */
export interface Pause {
  readonly fromMs: number;
  readonly toMs: number;
}

/** One place of a process: its directory stays, processes come and go. */
export interface Place {
  readonly number: number;
  readonly dataDir: string;
  service: ServiceProcess | undefined;
  /** Name of the process that runs there. */
  name: string;
  /** Of the processes before. */
  readonly logs: { name: string; text: string }[];
  readonly starts: {
    name: string;
    atMs: number;
    /** The tables that the file of prices had while it started, one of which it has. */
    prices: readonly number[];
    readonly pauses: Pause[];
    endMs?: number;
    killed?: boolean;
  }[];
}

/** `split`: calls have a database of their own. */
export type Kind = "embedded" | "postgres" | "split";

export interface World extends AsyncDisposable {
  readonly folder: string;
  readonly databaseUrl: string | undefined;
  /** Of the database of calls, if it is another. */
  readonly analyticsUrl: string | undefined;
  readonly vendors: ScriptedVendors;
  readonly hooks: HookReceiver;
  readonly places: Place[];
  readonly keys: Map<KeyName, { id: string; key: string; accountId: number }>;
  /** The places with a running process. */
  running(): Place[];
  start(place: Place): Promise<void>;
  /** Ends the process of a place: at once, or as an operator does. */
  end(place: Place, signal: "SIGKILL" | "SIGTERM"): Promise<void>;
  /** Stops the process of a place, which then goes on as if nothing had happened. */
  pause(place: Place, ms: number): Promise<void>;
  admin(...argv: string[]): Promise<unknown>;
  setPrices(index: number): Promise<void>;
}

export async function openWorld(kind: Kind, count: number): Promise<World> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-whole-" });
  const database = kind === "embedded" ? undefined : await createMigrated();
  const analytics = kind === "split" ? await createMigrated() : undefined;
  const vendors = await startScriptedVendors();
  const hooks = startHookReceiver();
  const places: Place[] = Array.from({ length: count }, (_, number) => ({
    number,
    dataDir: `${folder}/${number}`,
    service: undefined,
    name: "",
    logs: [],
    starts: [],
  }));
  let starts = 0;
  const prices = new PriceFile(`${folder}/prices.json`);
  await prices.set(0);
  const common = {
    ...settings,
    PRICES_FILE: prices.path,
    FETCH_ALLOW_HOSTS: new URL(hooks.url).host,
    ...(database ? { DATABASE_URL: database.url } : {}),
    ...(analytics ? { ANALYTICS_DATABASE_URL: analytics.url } : {}),
  };
  const world: World = {
    folder,
    databaseUrl: database?.url,
    analyticsUrl: analytics?.url,
    vendors,
    hooks,
    places,
    keys: new Map(),
    setPrices: (index) => prices.set(index),
    running: () => places.filter(({ service }) => service !== undefined),
    async start(place) {
      const name = `process${++starts}`;
      const env = { ...common, ...vendorsOf(vendors.url, name), DATA_DIR: place.dataDir };
      place.name = name;
      const pricesSince = prices.watch();
      const started = addStart(place, name);
      place.service = await startPatiently(env);
      started.prices = pricesSince();
    },
    end: endProcess,
    pause: pauseProcess,
    async admin(...argv) {
      const place = world.running()[0];
      if (!place) throw new Error("no process runs");
      const result = await callControl(place.dataDir, argv);
      if (!result || result.exitCode !== 0) {
        throw new Error(`${argv.join(" ")}: ${result?.lines.join("\n")}`);
      }
      return result.json;
    },
    async [Symbol.asyncDispose]() {
      for (const place of places) await place.service?.[Symbol.asyncDispose]();
      await vendors[Symbol.asyncDispose]();
      await hooks[Symbol.asyncDispose]();
      await database?.drop();
      await analytics?.drop();
      await Deno.remove(folder, { recursive: true });
    },
  };
  await world.start(places[0]!);
  await setUp(world);
  for (const place of places.slice(1)) await world.start(place);
  return world;
}

/** The file of prices: one table at a time, changed in one step, one change after the other. */
class PriceFile {
  readonly #tables: number[] = [];
  /** How many of the changes have been made. */
  #made = 0;
  #changing = Promise.resolve();

  constructor(readonly path: string) {}

  set(table: number): Promise<void> {
    return this.#changing = this.#changing.then(async () => {
      this.#tables.push(table);
      await Deno.writeTextFile(`${this.path}.next`, JSON.stringify(priceTables[table]));
      await Deno.rename(`${this.path}.next`, this.path);
      this.#made = this.#tables.length;
    });
  }

  /** Returns a function that returns the tables which the file has had from now on. */
  watch(): () => readonly number[] {
    const from = this.#made - 1;
    return () => this.#tables.slice(from);
  }
}

/** Short times, since a history is short. */
const settings = {
  MASTER_KEY: btoa("k".repeat(32)),
  LEASE_SECONDS: "5",
  FIRST_BYTE_TIMEOUT_MS: "1500",
  IDLE_TIMEOUT_MS: "1200",
  BACKGROUND_CALL_TIMEOUT_MS: "2500",
  KEEP_ALIVE_MS: "400",
};

/** The vendor key names the process, so that vendors know who asked. */
function vendorsOf(url: string, name: string): Record<string, string> {
  return Object.fromEntries(["b", "c", "d"].flatMap((letter) => [
    [`VENDOR_${letter.toUpperCase()}_BASE_URL`, `${url}/vendor-${letter}/v1`],
    [`VENDOR_${letter.toUpperCase()}_API_KEY`, `sk-secret-${name}`],
  ]));
}

/** Starts again if the database went away meanwhile. */
async function startPatiently(env: Record<string, string>): Promise<ServiceProcess> {
  for (let left = 8;; left--) {
    try {
      return await startService({ env });
    } catch (thrown) {
      if (left === 0 || !/database|session|DATABASE_URL/.test(String(thrown))) throw thrown;
    }
  }
}

async function endProcess(place: Place, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  const { service, name } = place;
  if (!service) return;
  const killed = signal === "SIGKILL";
  place.service = undefined;
  if (killed) {
    service.kill(signal);
    await service.status;
  } else {
    const code = await service.stop();
    if (code !== 0) throw new Error(`${name} ended with ${code}`);
  }
  Object.assign(place.starts.at(-1)!, { endMs: Date.now(), killed });
  place.logs.push({ name, text: service.output() });
}

function addStart({ starts }: Place, name: string): Place["starts"][number] {
  const started = { name, atMs: Date.now(), prices: [0, 1], pauses: [] };
  starts.push(started);
  return started;
}

async function pauseProcess({ service, starts }: Place, ms: number): Promise<void> {
  const fromMs = Date.now();
  service?.kill("SIGSTOP");
  await pauseMs(ms);
  service?.kill("SIGCONT");
  starts.at(-1)!.pauses.push({ fromMs, toMs: Date.now() });
}

async function setUp({ places, keys, admin }: World): Promise<void> {
  keys.set("first", { id: "", key: places[0]!.service!.firstKey, accountId: 1 });
  await admin("credits", "grant", "--usd", "100");
  await admin("account", "create", "--name", "team");
  await admin("account", "tier", "team", "enterprise", "--rpm", "100000", "--burst", "100000");
  await admin("account", "create", "--name", "slow");
  await admin("credits", "grant", "--usd", "0.12", "--account", "team");
  await admin("credits", "grant", "--usd", "1", "--account", "slow");
  const create = async (name: KeyName, ...argv: string[]) => {
    const made = await admin("key", "create", "--name", name, ...argv) as {
      id: string;
      key: string;
      account_id: number;
    };
    keys.set(name, { id: made.id, key: made.key, accountId: made.account_id });
  };
  await create("admin", "--scope", "admin");
  await create("team", "--account", "team");
  await create("capped", "--cap-day-usd", "0.05");
  await create("metadata", "--record", "metadata");
  await create("drain", "--on-disconnect", "drain");
  await create("cached", "--cache-ttl", "600");
  await create("slow", "--account", "slow");
  await admin("budget", "set", "--on", "app:shop", "--per", "day", "--usd", "60");
  await admin("budget", "set", "--on", "user:user-1", "--per", "day", "--usd", "0.02");
  const folder = places[0]!.dataDir;
  for (const account of [[], ["--account", "team"], ["--account", "slow"]]) {
    const spec = JSON.stringify({
      targets: [{ model: "vendor-b/gpt-4.1", weight: 2 }, {
        model: "vendor-c/claude-haiku-4-5",
        weight: 1,
      }],
      fallbacks: ["vendor-d/gemini-2.5-flash"],
    });
    const result = await callControl(folder, ["model", "set", "pair", ...account], spec);
    if (result?.exitCode !== 0) throw new Error(result?.lines.join("\n"));
  }
}

export const pauseMs = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
