/** Overhead, vendor's time and first token: the metrics say what the log says (interface.md §9). */
import assert from "@std/assert";
import {
  scriptedModel,
  startScriptedService,
  streamEvents,
  wholeAnswer,
} from "../support/service_scripted.ts";
import { shared } from "../support/service.ts";

const service = shared(startScriptedService);

/** The values of a metric whose lines have these labels. */
async function metric(name: string, labels = ""): Promise<number> {
  return valueIn(await (await service().fetch("/metrics")).text(), name, labels);
}

function valueIn(text: string, name: string, labels: string): number {
  let sum = 0;
  for (const line of text.split("\n")) {
    if (!line.startsWith(`${name}{`) || !line.includes(labels)) continue;
    sum += Number(line.slice(line.lastIndexOf(" ") + 1));
  }
  return sum;
}

/** The log's line of the last call since there were so many lines. */
function lineOf(from: number): string {
  const line = service().log.slice(from).findLast((one) => / info request .*vendor_ms=/.test(one));
  if (line === undefined) throw new Error("The call has no line");
  return line;
}

/** The numbers of a line `time level request key=value …`. */
function fieldsOf(line: string): Record<string, string> {
  return Object.fromEntries(
    [...line.matchAll(/ (\w+)=("[^"]*"|\S+)/g)].map(([, key, value]) => [key!, value!]),
  );
}

const ofModel = `vendor="vendor-b",model="${scriptedModel}"`;

async function sums() {
  const text = await (await service().fetch("/metrics")).text();
  return {
    overhead: valueIn(text, "gateway_overhead_seconds_sum", ofModel),
    vendor: valueIn(text, "gateway_vendor_seconds_sum", ofModel),
    firstToken: valueIn(text, "gateway_time_to_first_token_seconds_sum", ofModel),
    calls: valueIn(text, "gateway_overhead_seconds_count", ofModel),
  };
}

Deno.test("a hundred calls: metrics and log agree, and the vendor's own clock with them", async () => {
  let before = await sums();
  for (let call = 0; call < 100; call++) {
    const stream = call % 2 === 1;
    const heldMs = 3 + call % 5;
    const from = service().log.length;
    let vendorsMs = 0;
    const askedMs = performance.now();
    const { response } = await service().call(async (exchange) => {
      const cameMs = performance.now();
      await new Promise((resolve) => setTimeout(resolve, heldMs));
      if (stream) await exchange.stream(streamEvents.slice(0, -1));
      else {
        vendorsMs = performance.now() - cameMs;
        return await exchange.answer(200, wholeAnswer);
      }
      vendorsMs = performance.now() - cameMs;
    }, { stream });
    await response.text();
    const answeredMs = performance.now() - askedMs;
    assert.equal(response.status, 200);
    const line = lineOf(from);
    const fields = fieldsOf(line);
    const [overhead, vendor] = [Number(fields.overhead_ms), Number(fields.vendor_ms)];
    const firstToken = Number(fields.first_token_ms);
    // The parts lie within the whole, as the caller saw it, and hold what the vendor took.
    assert.ok(overhead + vendor <= answeredMs + 1, `${line} took ${answeredMs}`);
    assert.ok(vendor >= vendorsMs - 1, `${line}: the vendor took ${vendorsMs}`);
    assert.ok(firstToken >= heldMs - 1 && firstToken <= Number(fields.ms) + 1, line);
    // The upload is nobody's, and some hundred bytes.
    assert.ok(Math.abs(Number(fields.ms) - overhead - vendor) <= answeredMs - vendorsMs + 1, line);
    // Call by call, so that one that is too much can't make up for one that is too little.
    const after = await sums();
    assert.equal(after.calls - before.calls, 1);
    const logged = { overhead, vendor, firstToken };
    for (const name of ["overhead", "vendor", "firstToken"] as const) {
      const measuredMs = (after[name] - before[name]) * 1000;
      assert.ok(Math.abs(measuredMs - logged[name]) < 1, `${name}: ${measuredMs}; ${line}`);
    }
    before = after;
  }
});

Deno.test("what the caller takes for its upload is not the gateway's", async () => {
  const body = JSON.stringify({
    model: scriptedModel,
    messages: [{ role: "user", content: "slowly" }],
    x_script: "none",
  });
  const bytes = new TextEncoder().encode(body);
  /** In steps: one that comes late, since the process stood still, is followed by others. */
  const wait = async () => {
    for (let step = 0; step < 4; step++) await new Promise((resolve) => setTimeout(resolve, 100));
  };
  const before = await sums();
  const from = service().log.length;
  const answer = await service().post(
    "/vendor-b/v1/chat/completions",
    new ReadableStream({
      async start(controller) {
        controller.enqueue(bytes.subarray(0, 20));
        await wait();
        controller.enqueue(bytes.subarray(20));
        controller.close();
      },
    }),
  );
  assert.equal(answer.status, 502, "no script");
  await answer.body?.cancel();
  const line = lineOf(from);
  const fields = fieldsOf(line);
  const uploadMs = Number(fields.ms) - Number(fields.overhead_ms) - Number(fields.vendor_ms);
  assert.ok(uploadMs >= 200, line);
  assert.equal((await sums()).calls - before.calls, 1);
});

Deno.test("retries and their pauses count as the vendor's time, a failed call by its status", async () => {
  const failed = () => metric("gateway_calls_total", `${ofModel},status="failed"`);
  const before = await failed();
  const from = service().log.length;
  const { response, tries } = await service().call((exchange) => exchange.answer(503, {}));
  await response.body?.cancel();
  assert.ok(tries.length > 1);
  assert.equal(await failed() - before, 1);
  const line = lineOf(from);
  const { overhead_ms, vendor_ms } = fieldsOf(line);
  // Each pause is tens of milliseconds at least, and our own work none of them.
  assert.ok(Number(vendor_ms) > 10 * (tries.length - 1), line);
  assert.ok(Number(overhead_ms) >= 0, line);
});

Deno.test("tokens are counted by kind, the cost by whose key it was", async () => {
  const read = async () => ({
    input: await metric("gateway_tokens_total", `${ofModel},kind="input"`),
    output: await metric("gateway_tokens_total", `${ofModel},kind="output"`),
    cost: await metric("gateway_cost_usd_total", `${ofModel},mode="managed"`),
  });
  const before = await read();
  const { response } = await service().call((exchange) => exchange.answer(200, wholeAnswer));
  await response.text();
  const after = await read();
  assert.deepEqual([after.input - before.input, after.output - before.output], [10, 5]);
  assert.ok(Math.abs(after.cost - before.cost - 0.00006) < 1e-12);
});
