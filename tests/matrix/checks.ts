import assert from "@std/assert";
import type { Row } from "../support/service.ts";
import { checkGrammar } from "./grammar.ts";
import type { Library } from "./library.ts";
import { type MatrixService, prices } from "./service.ts";
import type { TappedCall } from "./tap.ts";
import { type MatrixVendor, upstreamDialect } from "./vendors.ts";
import { rawUsage, type Tokens, tokensOf } from "./wire.ts";

/** A call as all sides saw it. */
export interface SeenCall {
  row: Row;
  caller: TappedCall;
  vendor: TappedCall;
  tokens: Tokens;
}

/**
 * Checks what the calls since the last check left behind: one row each, with the tokens that the
 * vendor itself reported, their cost, the same tokens in the caller's answer, and streams that
 * obey their dialect's grammar.
 */
export async function checkCalls(
  service: MatrixService,
  vendor: MatrixVendor,
  dialect: Library["dialect"],
): Promise<SeenCall[]> {
  const callers = posts(service.callers.take());
  const vendors = posts(service.vendorTaps[vendor.label].take());
  assert.equal(callers.length, vendors.length, "one vendor call for each call");
  const seen: SeenCall[] = [];
  for (const [index, caller] of callers.entries()) {
    const call = { caller, vendor: vendors[index]! };
    const row = await service.row(caller.headers.get("x-transaction-id"));
    seen.push({ ...call, row, tokens: checkRow(row, vendor, dialect, call) });
  }
  return seen;
}

function checkRow(
  row: Row,
  vendor: MatrixVendor,
  dialect: Library["dialect"],
  seen: { caller: TappedCall; vendor: TappedCall },
): Tokens {
  assert.deepEqual(
    [row.status, row.http_status, row.error_code, row.vendor, row.dialect, row.mode],
    ["completed", 200, null, vendor.label, dialect, "managed"],
  );
  assert.equal(row.requested_model, `${vendor.label}/${row.model}`);
  // Chat calls that vendor-b's chat endpoint is known to refuse go by its other one.
  const isRerouted = dialect === "chat" && seen.vendor.path.endsWith("/responses");
  const upstream = isRerouted ? "responses" : upstreamDialect(vendor, dialect);
  assert.equal(isRerouted, isRerouted && vendor.label === "vendor-b");
  const raw = rawUsage(upstream, seen.vendor.text());
  if (!raw) throw new Error("The vendor reported no usage");
  assert.deepEqual(row.usage_raw, raw);
  const tokens = tokensOf(upstream, raw, vendor.label === "vendor-g");
  assert.deepEqual(
    {
      input: row.input_tokens,
      cached: row.cache_read_tokens ?? 0,
      output: row.output_tokens,
      reasoning: row.reasoning_tokens ?? 0,
    },
    tokens,
  );
  assert.equal(row.total_tokens, tokens.input + tokens.output);
  assert.ok(tokens.input > 0 && tokens.output > 0);
  const believed = vendor.label === "vendor-f";
  assert.equal(row.billing_basis, believed ? "vendor_cost" : "reported");
  assert.equal(row.cost_usd, believed ? nanos(Number(raw.cost) * 1e9) : costOf(tokens));
  assert.equal(row.charged_usd, row.cost_usd);
  if (upstream !== dialect) checkOurStream(dialect, seen.caller, tokens);
  // Of the chat dialect's streams the chunk that was not asked for is left out.
  else if (dialect !== "chat") assert.equal(seen.caller.text(), asShown(dialect, seen));
  checkCallersView(dialect, seen.caller, tokens, vendor.label === "vendor-g");
  return tokens;
}

/** The vendor's bytes, but for what was asked of it in the caller's stead (interface.md §4). */
function asShown(
  dialect: Library["dialect"],
  { caller, vendor }: Pick<SeenCall, "caller" | "vendor">,
): string {
  const asked = JSON.parse(caller.requestText) as Record<string, unknown>;
  const text = vendor.text();
  // Its clients compare the model that answered with the one that they asked.
  if (dialect === "messages" && caller.path.startsWith("/chat/")) {
    return text.replace(/"model":"[^"]*"/, `"model":${JSON.stringify(asked.model)}`);
  }
  if (dialect !== "responses" || asked.store === false) return text;
  const stored = text.replaceAll(/"store":false/g, '"store":true');
  const include = Array.isArray(asked.include) ? asked.include : [];
  return include.includes("reasoning.encrypted_content")
    ? stored
    : stored.replaceAll(/,"encrypted_content":"[^"]*"/g, "");
}

/** A translated stream obeys its dialect's grammar, and says that it ended well. */
function checkOurStream(dialect: Library["dialect"], caller: TappedCall, tokens: Tokens): void {
  if (!/event-stream/.test(caller.headers.get("content-type") ?? "")) return;
  const said = checkGrammar(dialect, caller.text(), JSON.parse(caller.requestText));
  assert.equal(said.ending, "finished");
  if (!said.usage) return;
  const { input, output } = said.usage;
  assert.deepEqual({ input, output }, { input: tokens.input, output: tokens.output });
}

/** The caller reads the same tokens, unless it did not ask for any in its stream. */
function checkCallersView(
  dialect: Library["dialect"],
  caller: TappedCall,
  tokens: Tokens,
  additive: boolean,
): void {
  const told = rawUsage(dialect, caller.text());
  if (!told) return;
  // The vendor's own bytes keep the vendor's own way of counting.
  const { input, output } = tokensOf(dialect, told, additive && dialect === "chat");
  assert.deepEqual({ input, output }, { input: tokens.input, output: tokens.output });
}

function posts(calls: readonly TappedCall[]): TappedCall[] {
  return calls.filter(({ method }) => method === "POST");
}

/** Decimal USD: a token of 1 USD per million costs 1000 nano-dollars. */
function costOf({ input, cached, output }: Tokens): string {
  return nanos(
    1000 * ((input - cached) * prices.input + cached * prices.cache_read + output * prices.output),
  );
}

function nanos(amount: number): string {
  return (Math.round(amount) / 1e9).toFixed(9);
}
