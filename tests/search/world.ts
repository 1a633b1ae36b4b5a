import { type Label, startSimulators } from "../../demo/simulators.ts";
import { startTap, type Tap, type TappedCall } from "../matrix/tap.ts";
import { type Row, startTestService, type TestService } from "../support/service.ts";

/** A service in front of the simulated vendors that can search, with an ear on both its sides. */
export interface SearchWorld extends TestService {
  /** Where the callers call. */
  address: { url: string; key: string };
  callers: Tap;
  taps: Readonly<Record<string, Tap>>;
  /** Keys that the vendors take. */
  vendorKeys: Readonly<Record<Label, string>>;
  silence(): void;
  /** In USD. */
  balance(): Promise<number>;
  /** Requests of a vendor since the last time. */
  asked(label: Label): TappedCall[];
}

const labels: readonly Label[] = [
  "vendor-a",
  "vendor-b",
  "vendor-c",
  "vendor-d",
  "vendor-f",
  "vendor-g",
];

/** vendor-b is asked by its responses endpoint alone, whoever calls. */
export async function startSearchWorld(prices: Readonly<Record<string, unknown>> = {}) {
  const simulators = await startSimulators();
  const directory = await Deno.makeTempDir({ prefix: "search-" });
  const taps: Record<string, Tap> = Object.fromEntries(
    labels.map((label) => [label, startTap(simulators.vendors[label].baseUrl)]),
  );
  const vendorRow = {
    label: "vendor-b",
    aliases: [],
    base_url: taps["vendor-b"]!.url,
    api_key_env: "VENDOR_B_API_KEY",
    dialects: ["responses"],
    auth: "bearer",
  };
  await Deno.writeTextFile(`${directory}/vendors.json`, JSON.stringify([vendorRow]));
  await Deno.writeTextFile(`${directory}/prices.json`, JSON.stringify(prices));
  const env = Object.fromEntries(labels.flatMap((label) => {
    const name = label.toUpperCase().replace("-", "_");
    return [
      [`${name}_BASE_URL`, taps[label]!.url],
      [`${name}_API_KEY`, simulators.vendors[label].apiKey],
    ];
  }));
  const started = await startTestService({
    env: {
      ...env,
      VENDORS_FILE: `${directory}/vendors.json`,
      PRICES_FILE: `${directory}/prices.json`,
      STARTING_CREDIT_USD: "1000",
    },
  });
  const callers = startTap(started.baseUrl);
  const stop = async () => {
    await callers.close();
    await started.stop();
    await Promise.all(Object.values(taps).map((tap) => tap.close()));
    await simulators.close();
    await Deno.remove(directory, { recursive: true });
  };
  const asked = (label: Label) => taps[label]!.take().filter(({ method }) => method === "POST");
  const world: SearchWorld = {
    ...started,
    address: { url: callers.url, key: started.key },
    callers,
    taps,
    vendorKeys: Object.fromEntries(
      labels.map((label) => [label, simulators.vendors[label].apiKey]),
    ) as Record<Label, string>,
    silence() {
      for (const tap of [callers, ...Object.values(taps)]) tap.take();
    },
    async balance() {
      const { json } = await started.admin("credits", "show");
      return Number((json as { balance_usd: string }).balance_usd);
    },
    asked,
    stop,
    [Symbol.asyncDispose]: stop,
  };
  return world;
}

/** USD per million tokens, and per search. */
export interface Usd {
  search: number;
  input: number;
  read: number;
  write: number;
  output: number;
}

/** What a call costs by its row's tokens. */
export function costOf(row: Row, usd: Usd, searches: number): number {
  const count = (name: string) => Number(row[name] ?? 0);
  const read = count("cache_read_tokens");
  const write = count("cache_write_tokens");
  const plain = count("input_tokens") - read - write;
  const tokens = plain * usd.input + read * usd.read + write * usd.write +
    count("output_tokens") * usd.output;
  return tokens / 1e6 + searches * usd.search;
}
