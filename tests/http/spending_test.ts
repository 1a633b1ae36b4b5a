import assert from "@std/assert";
import { flatPrices } from "../support/money.ts";
import { shared, type TestService } from "../support/service.ts";
import {
  event,
  type Script,
  type ScriptedCall,
  type ScriptedService,
  startScriptedService,
  streamEvents,
  wholeAnswer,
} from "../support/service_scripted.ts";

const service = shared(() => startScriptedService());
/** Here a call costs a cent, whatever it says. */
const flat = shared(async () => startScriptedService({ PRICES_FILE: await flatPrices("0.01") }));

const whole: Script = (exchange) => exchange.answer(200, wholeAnswer);

async function balanceOf(at: TestService): Promise<number> {
  const { json } = await at.admin("credits", "show");
  return Number((json as { balance_usd: string }).balance_usd);
}

async function errorOf({ response }: ScriptedCall) {
  const { error } = await response.json();
  return { status: response.status, type: error?.type, code: error?.code, message: error?.message };
}

/** Rows of the calls that a key made, once there are so many. */
async function rowsOf(at: TestService, keyId: string, count: number) {
  for (let attempt = 0; attempt < 1200; attempt++) {
    const rows = await at.rows({ api_key_id: keyId });
    if (rows.length >= count) return rows;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`never ${count} rows`);
}

Deno.test("a daily cap lets through what fits under it, counts calls in flight, and no other key's", async () => {
  const capped = await flat().createKey("--cap-day-usd", "0.05");
  const headers = { authorization: `Bearer ${capped.key}` };
  const had = await balanceOf(flat());
  const calls = await Promise.all(
    Array.from({ length: 20 }, () => flat().call(whole, { headers })),
  );
  const admitted = calls.filter(({ response }) => response.status === 200);
  assert.equal(admitted.length, 5);
  for (const call of calls.filter((one) => !admitted.includes(one))) {
    const { status, type, code, message } = await errorOf(call);
    assert.deepEqual([status, type, code], [402, "billing_error", "spend_cap_exceeded"]);
    assert.match(message, /daily spend cap of 0\.050000000 USD does not cover this call/);
    assert.equal(call.tries.length, 0);
  }
  await rowsOf(flat(), capped.id, 5);
  assert.equal((had - await balanceOf(flat())).toFixed(9), "0.050000000");
  // The account's other keys go on, and so does this one with a vendor key of its own.
  assert.equal((await flat().call(whole)).response.status, 200);
  const dual = { authorization: `Bearer ${capped.key};sk-of-the-caller` };
  assert.equal((await flat().call(whole, { headers: dual })).response.status, 200);
});

Deno.test("a monthly cap holds too, and what a failed call had set aside is free again", async () => {
  const capped = await flat().createKey("--cap-month-usd", "0.02");
  const headers = { authorization: `Bearer ${capped.key}` };
  const failing: Script = (exchange) => exchange.answer(400, { error: { message: "No." } });
  for (let times = 0; times < 5; times++) {
    assert.equal((await flat().call(failing, { headers })).response.status, 400);
  }
  for (const status of [200, 200, 402]) {
    const call = await flat().call(whole, { headers });
    assert.equal(call.response.status, status);
    if (status === 402) assert.match((await errorOf(call)).message, /monthly spend cap/);
  }
});

Deno.test("a vendor that reports more than was set aside is paid, and the next call is 402", async () => {
  await using own = await startScriptedService({ STARTING_CREDIT_USD: "0.003" });
  // Some times what was set aside, which could be true; see tests/matrix/disputed_test.ts.
  const usage = { prompt_tokens: 2000, completion_tokens: 5, total_tokens: 2005 };
  const dear: Script = (exchange) => exchange.answer(200, { ...wholeAnswer, usage });
  const more = { body: { max_tokens: 10 } };
  assert.equal((await own.call(dear, more)).response.status, 200);
  const [row] = await own.rows();
  assert.deepEqual([row!.charged_usd, row!.billing_basis], ["0.004040000", "reported"]);
  assert.equal((await balanceOf(own)).toFixed(9), "-0.001040000");
  const next = await errorOf(await own.call(whole, more));
  assert.deepEqual([next.status, next.code], [402, "insufficient_credits"]);
  assert.match(
    next.message,
    /and 0\.000000000 USD is left\. Grant credit, set a lower output limit/,
  );
});

type Policy = "cancel" | "drain";

/** Long enough to see that a vendor is still asked after its caller left. */
const still = () => new Promise<string>((resolve) => setTimeout(resolve, 300, "still there"));

/** Begins a stream, leaves after the first words, and lets the vendor go on if it is still asked. */
async function leaveInTheMiddle(
  at: ScriptedService,
  key: string,
  policy: Policy,
): Promise<() => string> {
  const connection = new AbortController();
  const gone = Promise.withResolvers<void>();
  let vendorSaw = "";
  const { response } = await at.call(async (exchange) => {
    await exchange.head(200, { "content-type": "text/event-stream" });
    await exchange.write(streamEvents[0]!);
    await exchange.write(event({ choices: [{ index: 0, delta: { content: "One word" } }] }));
    await gone.promise;
    const left = exchange.closed.then(() => "the caller left");
    // However long a busy service takes to see that its caller left.
    vendorSaw = await (policy === "cancel" ? left : Promise.race([left, still()]));
    for (const one of streamEvents.slice(2)) await exchange.write(one);
    await exchange.end();
  }, { stream: true, headers: { authorization: `Bearer ${key}` }, signal: connection.signal });
  const reader = response.body!.getReader();
  let text = "";
  while (!text.includes("One word")) {
    text += new TextDecoder().decode((await reader.read()).value);
  }
  connection.abort();
  gone.resolve();
  return () => vendorSaw;
}

Deno.test("a caller who leaves pays for what was produced, or for all of it with drain", async () => {
  for (const policy of ["cancel", "drain"] as const) {
    const { id, key } = await service().createKey("--on-disconnect", policy);
    const had = await balanceOf(service());
    const saw = await leaveInTheMiddle(service(), key, policy);
    const [row] = await rowsOf(service(), id, 1);
    const drained = policy === "drain";
    assert.equal(saw(), drained ? "still there" : "the caller left");
    assert.equal(row!.status, "cancelled");
    assert.deepEqual(
      [row!.billing_basis, row!.output_tokens],
      drained ? ["reported", 5] : ["estimated", 2],
    );
    // 10 tokens in and 5 out at 2 and 8 USD a million; what was cut is counted.
    if (drained) assert.equal(row!.charged_usd, "0.000060000");
    assert.ok(Number(row!.charged_usd) > 0);
    assert.equal((had - await balanceOf(service())).toFixed(9), row!.charged_usd);
  }
});

Deno.test("a caller who leaves before the answer began pays nothing, or for all of it with drain", async () => {
  for (const policy of ["cancel", "drain"] as const) {
    const { id, key } = await service().createKey("--on-disconnect", policy);
    const connection = new AbortController();
    const asked = Promise.withResolvers<void>();
    const calling = service().call(async (exchange) => {
      asked.resolve();
      await (policy === "cancel" ? exchange.closed : still());
      await exchange.answer(200, wholeAnswer);
    }, { headers: { authorization: `Bearer ${key}` }, signal: connection.signal });
    await asked.promise;
    connection.abort();
    await assert.rejects(calling);
    const [row] = await rowsOf(service(), id, 1);
    assert.deepEqual([row!.status, row!.http_status], ["cancelled", null]);
    const expected = policy === "drain" ? "0.000060000" : "0.000000000";
    assert.equal(row!.charged_usd, expected, policy);
  }
});

Deno.test("a caller who leaves before a stream began has got no status, and pays for all of it with drain", async () => {
  const { id, key } = await service().createKey("--on-disconnect", "drain");
  const connection = new AbortController();
  const asked = Promise.withResolvers<void>();
  const calling = service().call(async (exchange) => {
    asked.resolve();
    await still();
    await exchange.stream(streamEvents);
  }, { stream: true, headers: { authorization: `Bearer ${key}` }, signal: connection.signal });
  await asked.promise;
  connection.abort();
  await assert.rejects(calling);
  const [row] = await rowsOf(service(), id, 1);
  assert.deepEqual([row!.http_status, row!.charged_usd], [null, "0.000060000"]);
});

Deno.test("an answer with more parts or choices than are read is refused, and charged by its text", async () => {
  const choice = { index: 0, message: { role: "assistant", content: "One word" } };
  const parts = Array(10_001).fill({ type: "text", text: "One word" });
  const answers = [
    { choices: [{ ...choice, message: { ...choice.message, content: parts } }] },
    { choices: Array(129).fill(choice) },
  ];
  const { usage, ...unreported } = wholeAnswer;
  for (const one of answers) {
    for (const answer of [{ ...unreported, ...one }, { ...one, usage }]) {
      const { id, key } = await service().createKey();
      const headers = { authorization: `Bearer ${key}` };
      const call = await service().call((exchange) => exchange.answer(200, answer), { headers });
      assert.equal((await errorOf(call)).code, "upstream_invalid_response");
      const [row] = await rowsOf(service(), id, 1);
      const isReported = "usage" in answer;
      assert.equal(row!.billing_basis, isReported ? "reported" : "estimated");
      if (isReported) assert.equal(row!.charged_usd, "0.000060000");
      else assert.ok(Number(row!.output_tokens) > 1000, String(row!.output_tokens));
    }
  }
});

Deno.test("an expiry date ends a key in the middle of its use", async () => {
  // Long enough for a machine that stands still for seconds to make the key and one call.
  const expires = new Date(Date.now() + 10_000).toISOString();
  const { key } = await service().createKey("--expires", expires);
  const headers = { authorization: `Bearer ${key}` };
  assert.equal((await service().call(whole, { headers })).response.status, 200);
  await new Promise((resolve) => setTimeout(resolve, Date.parse(expires) - Date.now() + 100));
  const late = await errorOf(await service().call(whole, { headers }));
  assert.deepEqual([late.status, late.code], [401, "invalid_api_key"]);
});
