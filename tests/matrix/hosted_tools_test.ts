/** Each hosted tool of each vendor: charged by a price, or refused by name, in managed mode. */
import assert from "@std/assert";
import { nanosToUsd, parseUsd } from "../../src/base/money.ts";
import { RowChecks } from "../support/row_checks.ts";
import { shared } from "../support/service.ts";
import { hostedAnswer, hostedEvents, tokens } from "./hosted_answers.ts";
import { type HostedRow, hostedRows } from "./hosted_rows.ts";
import { startHostedVendors } from "./hosted_vendors.ts";
import { rawRequest } from "./raw_calls.ts";

const service = shared(() => startHostedVendors());
const checks = new RowChecks();

/** USD per million tokens, as bundled; models whose prices have no end. */
const models = {
  "vendor-b": { name: "gpt-5.4", input: 2.5, output: 15 },
  "vendor-c": { name: "claude-sonnet-4-6", input: 3, output: 15 },
  "vendor-d": { name: "gemini-3.1-pro-preview", input: 2, output: 12 },
  "vendor-f": { name: "openai/gpt-6-luna", input: 10, output: 50 },
  "vendor-g": { name: "grok-4.3", input: 1.25, output: 2.5 },
} as const;

const ownKey = "own-key-of-the-caller";

const isLong = Deno.env.get("MATRIX") === "all";

for (const [index, row] of hostedRows.entries()) {
  const { vendor, dialect, more, refused } = row;
  const name = `${vendor} ${dialect} ${JSON.stringify(more)}`;
  Deno.test(`${refused ? "refused" : "charged"} in managed mode: ${name}`, async () => {
    for (const stream of [false, true]) {
      const before = service().vendor.requests.length;
      const answer = await send(row, stream);
      const text = await answer.text();
      if (refused) {
        assert.equal(answer.status, 400, text);
        const { error } = JSON.parse(text);
        assert.equal(error.code, "unsupported_parameter");
        assert.ok(error.message.startsWith(`${refused.path}: `), error.message);
        assert.ok(error.message.includes(refused.name), error.message);
        assert.equal(service().vendor.requests.length, before, "the vendor was called");
        assert.equal(answer.headers.get("x-transaction-id"), null);
        continue;
      }
      assert.equal(answer.status, 200, text);
      checks.expect(answer, name, (stored) => {
        assert.equal(stored.cost_usd, expectedUsd(row), JSON.stringify(stored.usage_raw));
        assert.equal(stored.charged_usd, stored.cost_usd);
        assert.equal(stored.billing_basis, vendor === "vendor-f" ? "vendor_cost" : "reported");
      });
    }
  });

  Deno.test(`passes with the caller's own key: ${name}`, async () => {
    // Nothing of it depends on how the vendor answers.
    for (const stream of isLong ? [false, true] : [index % 2 === 1]) {
      const answer = await send(row, stream, `${service().key};${ownKey}`);
      assert.equal(answer.status, 200, await answer.text());
      const sent = service().vendor.requests.at(-1)!;
      const body = JSON.parse(sent.body) as Record<string, unknown>;
      for (const [field, value] of Object.entries(more)) {
        if (field !== "input" && field !== "messages") assert.deepEqual(body[field], value, field);
      }
      checks.expect(answer, `${name}, own key`, (stored) => {
        assert.deepEqual([stored.mode, stored.charged_usd], ["dual_key", "0.000000000"]);
      });
    }
  });
}

Deno.test("the charges of all these calls are what the ledger lost", async () => {
  const rows = await service().rows();
  const charged = rows.reduce((sum, row) => sum + parseUsd(String(row.charged_usd), 9), 0n);
  const { json } = await service().admin("credits", "show");
  const { balance_usd } = json as { balance_usd: string };
  assert.equal(balance_usd, nanosToUsd(1000n * 10n ** 9n - charged));
  assert.ok(charged > 0n && rows.length > 200, `${rows.length} rows`);
});

checks.register(service);

/** What an answer to this row costs: its tokens, and its hosted work beside or instead. */
function expectedUsd({ vendor, used }: HostedRow): string {
  const { input, output } = models[vendor];
  const own = (tokens.input * input + tokens.output * output) / 1e6;
  const usd = used?.usd ?? "0";
  const amount = Number.parseFloat(usd);
  const cost = usd.endsWith("in all")
    ? amount
    : usd === "tokens × 1.1"
    ? own * 1.1
    : usd.endsWith("+ tokens")
    ? amount + 2 * own
    : usd.endsWith("instead")
    // 1000 and 100 of the tokens are the other model's.
    ? amount + own - (1000 * input + 100 * output) / 1e6
    : own + amount;
  return cost.toFixed(9);
}

async function send(row: HostedRow, stream: boolean, key = service().key): Promise<Response> {
  const { vendor, dialect, more, used } = row;
  const report = used?.report ?? {};
  const script = service().script((exchange) =>
    stream
      ? exchange.stream(hostedEvents(dialect, report))
      : exchange.answer(200, hostedAnswer(dialect, report))
  );
  const model = `${vendor}/${models[vendor].name}`;
  const { path, body } = rawRequest(dialect, { model, prompt: script, stream, more });
  const text = JSON.stringify(body).replace('"Hello"', `"${script}"`);
  // Below `/chat/v1` this field is the service's own.
  const address = "models" in more ? path.replace("/chat/", `/${vendor}/`) : path;
  return await service().post(address, text, { authorization: `Bearer ${key}` });
}
