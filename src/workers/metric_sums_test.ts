import assert from "@std/assert";
import { interactionRow } from "../../tests/support/interaction_row.ts";
import { CallMetrics } from "../shared/call_metrics.ts";
import { createMetrics, type MetricSnapshot, readMeasures } from "../shared/metrics.ts";
import { MetricSums } from "./metric_sums.ts";

/** A worker that has answered so many calls, as its snapshot comes over the channel. */
async function snapshot(calls: number, oldest = 0): Promise<MetricSnapshot[]> {
  const callMetrics = new CallMetrics();
  const metrics = createMetrics({
    gateway_records_waiting: { help: "Waiting", read: () => calls },
    gateway_journal_oldest_seconds: { help: "Oldest", read: () => oldest, overWorkers: "max" },
    gateway_shed_total: { help: "Shed", kind: "counter", read: () => calls },
  }, callMetrics.families());
  const row = {
    ...interactionRow("t"),
    status: "completed" as const,
    vendor: "vendor-b",
    model: "m",
  };
  for (let call = 0; call < calls; call++) {
    callMetrics.settled(row, { totalMs: 20, vendorMs: 15, overheadMs: 5 });
    metrics.requests.answered("/x", 200, 0.02);
  }
  return JSON.parse(JSON.stringify(await metrics.snapshot()));
}

/** Values by name and labels. */
async function read(sums: MetricSums): Promise<Map<string, number>> {
  const text = await sums.text(
    await readMeasures({
      gateway_workers: { help: "Workers", read: () => 2 },
    }),
  );
  return new Map(
    text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

const calls = 'gateway_calls_total{vendor="vendor-b",model="m",status="completed"}';
const bucket = 'gateway_request_seconds_bucket{le="0.025",route="/x"}';

Deno.test("counters, histograms and gauges of all workers are added up, ages are the oldest", async () => {
  const sums = new MetricSums();
  sums.saw(1, await snapshot(3, 7));
  sums.saw(2, await snapshot(4, 2));
  const values = await read(sums);
  assert.equal(values.get(calls), 7);
  assert.equal(values.get(bucket), 7);
  assert.equal(values.get('gateway_request_seconds_count{route="/x"}'), 7);
  assert.equal(values.get("gateway_records_waiting"), 7);
  assert.equal(values.get("gateway_journal_oldest_seconds"), 7);
  assert.equal(values.get("gateway_workers"), 2);
});

Deno.test("no sum decreases when workers end, however many do; their gauges go", async () => {
  const sums = new MetricSums();
  sums.saw(1, await snapshot(3));
  for (let round = 1; round <= 5; round++) {
    sums.saw(2, await snapshot(4));
    sums.ended(2);
    const values = await read(sums);
    assert.equal(values.get(calls), 3 + 4 * round);
    assert.equal(values.get(bucket), 3 + 4 * round);
    assert.equal(values.get("gateway_shed_total"), 3 + 4 * round);
    assert.equal(values.get("gateway_records_waiting"), 3);
  }
  // One that ends before anybody has looked counts nowhere, and again nothing decreases.
  sums.ended(2);
  assert.equal((await read(sums)).get(calls), 23);
});
