/** Web search of each vendor, asked for by the official client libraries of each dialect. */
import assert from "@std/assert";
import { startTap, type Tap } from "../matrix/tap.ts";
import { type Label, startSimulators } from "../../demo/simulators.ts";
import { type Row, shared, startTestService } from "../support/service.ts";
import {
  chatSearcher,
  generateSearcher,
  messagesSearcher,
  responsesSearcher,
  type Searcher,
} from "./clients.ts";

/** Vendors that can search, with the dialect in which the service asks them. */
const vendors = [
  {
    label: "vendor-b",
    model: "gpt-5.6-sol",
    dialect: "responses",
    usd: { search: 0.01, input: 4, read: 0.4, write: 5, output: 20 },
  },
  {
    label: "vendor-c",
    model: "claude-sonnet-4-6",
    dialect: "messages",
    usd: { search: 0.01, input: 3, read: 0.3, write: 3.75, output: 15 },
  },
  {
    label: "vendor-d",
    model: "gemini-3.8-flash",
    dialect: "generate",
    usd: { search: 0.014, input: 0.75, read: 0.075, write: 0.75, output: 3.75 },
  },
  // Says itself what it charges.
  { label: "vendor-f", model: "openai/gpt-5-mini", dialect: "chat", usd: undefined },
] as const satisfies readonly { label: Label; model: string; dialect: string; usd: unknown }[];

/** Prices by the bundled table: tokens in USD per million. */
function costOf(row: Row, usd: NonNullable<typeof vendors[number]["usd"]>): number {
  const count = (name: string) => Number(row[name] ?? 0);
  const read = count("cache_read_tokens");
  const write = count("cache_write_tokens");
  const plain = count("input_tokens") - read - write;
  const tokens = plain * usd.input + read * usd.read + write * usd.write +
    count("output_tokens") * usd.output;
  return tokens / 1e6 + 2 * usd.search;
}

/** What can't be carried of the requests in `clients.ts`. */
function lossesOf(client: string, dialect: string): string | null {
  return client === "@anthropic-ai/sdk" && dialect === "generate" ? "tools[0].max_uses" : null;
}

const service = shared(async () => {
  const simulators = await startSimulators();
  const directory = await Deno.makeTempDir({ prefix: "search-" });
  const file = `${directory}/vendors.json`;
  const taps = Object.fromEntries(
    vendors.map(({ label }) => [label, startTap(simulators.vendors[label].baseUrl)]),
  ) as Record<string, Tap>;
  await Deno.writeTextFile(
    file,
    JSON.stringify([{
      label: "vendor-b",
      aliases: [],
      base_url: taps["vendor-b"]!.url,
      api_key_env: "VENDOR_B_API_KEY",
      dialects: ["responses"],
      auth: "bearer",
    }]),
  );
  const env = Object.fromEntries(
    (["vendor-a", ...vendors.map(({ label }) => label)] as Label[]).flatMap((label) => {
      const name = label.toUpperCase().replace("-", "_");
      const { apiKey, baseUrl } = simulators.vendors[label];
      return [
        [`${name}_BASE_URL`, taps[label]?.url ?? baseUrl],
        [`${name}_API_KEY`, apiKey],
      ];
    }),
  );
  const started = await startTestService({
    env: { ...env, VENDORS_FILE: file, STARTING_CREDIT_USD: "1000" },
  });
  const callers = startTap(started.baseUrl);
  const address = { url: callers.url, key: started.key };
  const stop = async () => {
    await callers.close();
    await started.stop();
    await Promise.all(Object.values(taps).map((tap) => tap.close()));
    await simulators.close();
    await Deno.remove(directory, { recursive: true });
  };
  const silence = () => {
    for (const tap of [callers, ...Object.values(taps)]) tap.take();
  };
  const balance = async () => {
    const { json } = await started.admin("credits", "show");
    return Number((json as { balance_usd: string }).balance_usd);
  };
  return {
    ...started,
    address,
    callers,
    taps,
    silence,
    balance,
    [Symbol.asyncDispose]: stop,
    stop,
  };
});

const searchers: readonly ((address: { url: string; key: string }) => Searcher)[] = [
  chatSearcher,
  responsesSearcher,
  messagesSearcher,
  generateSearcher,
];

const said = /^finding \d – naïve 東京 😀 is confirmed$/;

for (const searcher of searchers) {
  const { name } = searcher({ url: "http://x.invalid", key: "dmt_x" });
  for (const { label, model, dialect, usd } of vendors) {
    for (const way of ["whole", "stream"] as const) {
      Deno.test(`${name} on ${label} (${dialect}), ${way}: two searches with their sources`, async () => {
        const { address, silence, callers, taps, row } = service();
        silence();
        const before = await service().balance();
        const client = searcher(address);
        const found = await client[way](`${label}/${model}`, "Rivers of Öland? [search:2]");
        assert.match(found.text, /^Das Web 🌍 says of “Rivers of Öland\?”: finding 1/);
        // The first passage has two sources, the second one.
        assert.equal(found.sources.length, 3, JSON.stringify(found.sources));
        for (const source of found.sources) {
          assert.match(source.url, /^https:\/\/news\.example\/\d+$/);
          assert.match(source.title, /^Page \d+ – „/);
          // Messages callers know the place of other vendors' sources by their block alone.
          if (source.passage === undefined) assert.equal(client.name, "@anthropic-ai/sdk");
          else assert.match(source.passage, said);
        }
        assert.equal(new Set(found.sources.map(({ url }) => url)).size, 3);
        if (name !== "openai, chat" && dialect !== "chat") {
          const queries = ["Rivers of Öland? 1", "Rivers of Öland? 2"];
          assert.equal(found.queries.join(" · "), queries.join(" · "));
        }
        if (found.searches !== undefined) assert.equal(found.searches, 2);
        else assert.equal(name, "@google/genai");
        const [call] = callers.take().filter(({ method }) => method === "POST");
        assert.equal(taps[label]!.take().filter(({ method }) => method === "POST").length, 1);
        const transaction = call!.headers.get("x-transaction-id");
        assert.equal(call!.headers.get("x-translation-loss"), lossesOf(name, dialect));
        const record = await row(transaction);
        assert.equal(record.status, "completed");
        assert.equal(record.charged_usd, record.cost_usd);
        if (usd) assert.ok(Math.abs(Number(record.cost_usd) - costOf(record, usd)) < 1.1e-9);
        else assert.equal(record.billing_basis, "vendor_cost");
        const lost = before - await service().balance();
        assert.ok(Math.abs(lost - Number(record.charged_usd)) < 1e-9, `the balance lost ${lost}`);
      });
    }
  }
}
