import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { FakeExchange } from "../support/fake_vendor.ts";
import { sample } from "../support/sample.ts";
import { type Row, shared } from "../support/service.ts";
import {
  failuresOfTheCaller,
  failuresThatMoveOn,
  streamFailuresThatMoveOn,
  type TargetFailure,
} from "./fallback_failures.ts";
import { answerText, dialectNames, endsWell, finalError, rawRequest } from "./raw_calls.ts";
import { scriptedLabel, startScriptedVendors } from "./scripted_vendors.ts";
import { spokenText, vendorWords } from "./vendor_words.ts";

/** USD per million tokens: the answer of 10 tokens in and 5 out costs another amount at each. */
const prices = { first: { input: "2", output: "8" }, second: { input: "3", output: "9" } };
const costOfSecond = "0.000075000";
const startingNanos = 1_000_000_000_000n;

const service = shared(async () => {
  const path = await Deno.makeTempFile({ suffix: ".json" });
  const rows = dialectNames.flatMap((dialect) =>
    Object.entries(prices).map(([model, row]) => [`${scriptedLabel(dialect)}/${model}`, row])
  );
  await Deno.writeTextFile(path, JSON.stringify(Object.fromEntries(rows)));
  const started = await startScriptedVendors({
    PRICES_FILE: path,
    STARTING_CREDIT_USD: String(startingNanos / 1_000_000_000n),
  });
  const stop = async () => {
    await started.stop();
    await Deno.remove(path);
  };
  return { ...started, stop };
});

interface Pair {
  caller: DialectName;
  first: DialectName;
  second: DialectName;
  stream: boolean;
}

/** Every caller with every two targets, whole and streamed. */
const pairs: readonly Pair[] = dialectNames.flatMap((caller) =>
  dialectNames.flatMap((first) =>
    dialectNames.flatMap((second) =>
      [false, true].map((stream) => ({ caller, first, second, stream }))
    )
  )
);

function nameOf({ caller, first, second, stream }: Pair): string {
  return `${caller} to ${first}, then ${second}${stream ? ", streamed" : ""}`;
}

interface Called {
  response: Response;
  text: string;
  /** Models that were asked, in order. */
  asked: string[];
}

/** Calls the first target with the second as its fallback. */
async function call(
  pair: Pair,
  act: (exchange: FakeExchange) => unknown,
  prompt = "Hello",
): Promise<Called> {
  const { caller, first, second, stream } = pair;
  const asked: string[] = [];
  const word = service().script((exchange) => {
    const isFirst = modelAsked(exchange) === "first";
    asked.push(isFirst ? "first" : "second");
    return isFirst ? act(exchange) : answer(exchange, second, stream);
  });
  const { path, body } = rawRequest(caller, {
    ...{ model: `${scriptedLabel(first)}/first`, prompt: `${prompt} ${word}`, stream },
  });
  const response = await service().post(path, body, {
    "x-fallback-models": `${scriptedLabel(second)}/second`,
  });
  return { response, text: await response.text(), asked };
}

function modelAsked({ request: { path, body } }: FakeExchange): string {
  return /models\/(\w+):/.exec(path)?.[1] ?? String(JSON.parse(body).model);
}

function answer(exchange: FakeExchange, vendor: DialectName, stream: boolean): unknown {
  const { whole, begin, end } = vendorWords[vendor];
  return stream ? exchange.stream([...begin, ...end]) : exchange.answer(200, whole);
}

/** Rows by the transaction that their answers name. */
async function rowsById(): Promise<Map<string, Row[]>> {
  return Map.groupBy(await service().rows(), ({ transaction_id }) => String(transaction_id));
}

/** So many calls at once. */
const concurrency = 24;

async function inTurns<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

/** After five of these in a row the target would be passed over. */
async function recover(pair: Pair): Promise<void> {
  const word = service().script((exchange) => answer(exchange, pair.first, false));
  const { path, body } = rawRequest(pair.caller, {
    ...{ model: `${scriptedLabel(pair.first)}/first`, prompt: word, stream: false },
  });
  const response = await service().post(path, body);
  assert.equal(response.status, 200, await response.text());
}

/** A failure at a pair, with what became of it. */
interface Case {
  pair: Pair;
  failure: TargetFailure;
}

/** In the gate each pair meets an eighth of the failures, others for each; `MATRIX=all` all of them. */
const all = Deno.env.get("MATRIX") === "all";

Deno.test("whatever fails at whichever first target, the second one answers: one row, its charge", async () => {
  const cases: Case[] = pairs.flatMap((pair) =>
    sample(
      [...failuresThatMoveOn, ...(pair.stream ? streamFailuresThatMoveOn : [])],
      { oneOf: 8, salt: nameOf(pair), all },
    ).map((failure) => ({ pair, failure }))
  );
  const byFirst = Map.groupBy(cases, ({ pair }) => pair.first);
  const done: (Case & Called)[] = [];
  // Targets are shared by all calls of this process: one after the other, so that none cools.
  await Promise.all([...byFirst.values()].map(async (list) => {
    for (const [index, { pair, failure }] of list.entries()) {
      if (index % 4 === 3) await recover(pair);
      const called = await call(pair, (exchange) => failure.act(exchange, pair.first));
      done.push({ pair, failure, ...called });
    }
  }));
  const rows = await rowsById();
  for (const { pair, failure, response, text, asked } of done) {
    const what = `${nameOf(pair)}: ${failure.name}: ${text}`;
    const { caller, first, second, stream } = pair;
    assert.equal(response.status, 200, what);
    assert.equal(answerText(caller, text, stream), spokenText, what);
    assert.ok(endsWell(caller, text, stream), what);
    const times = failure.isRepeated ? asked.length - 1 : 1;
    assert.ok(times <= 2, what);
    assert.deepEqual(asked, [...Array(times).fill("first"), "second"], what);
    const answeredBy = `${scriptedLabel(second)}/second`;
    assert.equal(response.headers.get("x-model"), answeredBy, what);
    assert.equal(response.headers.get("x-attempts"), String(asked.length), what);
    const [row, ...others] = rows.get(response.headers.get("x-transaction-id")!) ?? [];
    assert.equal(others.length, 0, what);
    if (!row) throw new Error(`no row: ${what}`);
    const { vendor, model, requested_model, status, error_code, cost_usd, charged_usd } = row;
    assert.deepEqual(
      { vendor, model, requested_model, status, error_code, cost_usd, charged_usd },
      {
        ...{ vendor: scriptedLabel(second), model: "second" },
        ...{ requested_model: `${scriptedLabel(first)}/first`, status: "completed" },
        ...{ error_code: null, cost_usd: costOfSecond, charged_usd: costOfSecond },
      },
      what,
    );
    checkAttempts(row, { pair, failure }, what);
  }
  assert.ok(done.length > (all ? 2_000 : 250), `${done.length} cases`);
});

function checkAttempts(row: Row, { pair, failure }: Case, what: string): void {
  const attempts = row.attempts as Record<string, unknown>[];
  assert.deepEqual(
    attempts.map(({ vendor, model }) => `${vendor}/${model}`),
    [
      ...Array(attempts.length - 1).fill(`${scriptedLabel(pair.first)}/first`),
      `${scriptedLabel(pair.second)}/second`,
    ],
    what,
  );
  const [failed, answered] = attempts.slice(-2);
  assert.ok(failed!.error_code !== null, `${what}: ${JSON.stringify(attempts)}`);
  if (failure.code) assert.equal(failed!.error_code, failure.code, what);
  assert.deepEqual([answered!.http_status, answered!.error_code], [200, null], what);
}

Deno.test("what is wrong with the request ends the call at the first target", async () => {
  const cases = pairs.flatMap((pair) => failuresOfTheCaller.map((failure) => ({ pair, failure })));
  await inTurns(cases, async ({ pair, failure }) => {
    const what = `${nameOf(pair)}: ${failure.name}`;
    const { response, text, asked } = await call(
      pair,
      (exchange) => failure.act(exchange, pair.first),
    );
    assert.ok(response.status >= 400 && response.status < 500, `${what}: ${response.status}`);
    assert.ok(text.includes(failure.code!), `${what}: ${text}`);
    assert.deepEqual(asked, ["first"], what);
  });
});

Deno.test("after the first content no other target is asked: the caller's own form of an error", async () => {
  const streams = pairs.filter(({ stream }) => stream);
  await inTurns(streams, async (pair) => {
    const what = nameOf(pair);
    const { begin, error } = vendorWords[pair.first];
    const { response, text, asked } = await call(
      pair,
      (exchange) => exchange.stream([...begin, error]),
    );
    assert.equal(response.status, 200, what);
    assert.equal(response.headers.get("x-model"), `${scriptedLabel(pair.first)}/first`, what);
    assert.equal(response.headers.get("x-attempts"), null, what);
    assert.ok(finalError(pair.caller, text), `${what}: ${text}`);
    assert.deepEqual(asked, ["first"], what);
  });
});

Deno.test("all that was held is free again, and what was charged is what the rows say", async () => {
  const rows = await service().rows();
  const charged = rows.reduce((sum, { charged_usd }) => sum + nanosOf(String(charged_usd)), 0n);
  const shown = await service().admin("credits", "show");
  const { balance_usd, reserved_usd } = shown.json as Record<string, string>;
  assert.equal(nanosOf(reserved_usd!), 0n);
  assert.equal(startingNanos - nanosOf(balance_usd!), charged);
});

function nanosOf(usd: string): bigint {
  const [whole = "0", fraction = ""] = usd.split(".");
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, "0").slice(0, 9));
}
