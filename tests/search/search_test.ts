/** Web search of each vendor, asked for by the official client libraries of each dialect. */
import assert from "@std/assert";
import type { Label } from "../../demo/simulators.ts";
import { shared } from "../support/service.ts";
import {
  chatSearcher,
  generateSearcher,
  messagesSearcher,
  responsesSearcher,
  type Searcher,
} from "./clients.ts";
import { costOf, startSearchWorld } from "./world.ts";

/**
 * Vendors that can search, with the dialect in which the service asks them and the prices of a model
 * whose prices have no end.
 */
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
    model: "gemini-3.1-pro-preview",
    dialect: "generate",
    usd: { search: 0.014, input: 2, read: 0.2, write: 2, output: 12 },
  },
  // Says itself what it charges.
  { label: "vendor-f", model: "openai/gpt-5-mini", dialect: "chat", usd: undefined },
  {
    label: "vendor-g",
    model: "grok-4.3",
    dialect: "responses",
    usd: { search: 0.005, input: 1.25, read: 0.2, write: 1.25, output: 2.5 },
  },
] as const satisfies readonly { label: Label; model: string; dialect: string; usd: unknown }[];

/** What can't be carried of the requests in `clients.ts`. */
function lossesOf(client: string, dialect: string): string | null {
  return client === "@anthropic-ai/sdk" && dialect === "generate" ? "tools[0].max_uses" : null;
}

const service = shared(() => startSearchWorld());

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
    // Chat callers reach xAI's chat endpoint, which doesn't search.
    if (label === "vendor-g" && name === "openai, chat") continue;
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
        if (usd) assert.ok(Math.abs(Number(record.cost_usd) - costOf(record, usd, 2)) < 1.1e-9);
        else assert.equal(record.billing_basis, "vendor_cost");
        const lost = before - await service().balance();
        assert.ok(Math.abs(lost - Number(record.charged_usd)) < 1e-9, `the balance lost ${lost}`);
      });
    }
  }
}
