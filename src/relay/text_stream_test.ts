import assert from "@std/assert";
import { runAtOnce, type Step } from "../base/heavy_work.ts";
import type { Steps } from "../base/steps.ts";
import type { DecodedEvent, StreamDecoder } from "../dialects/kernel/dialect.ts";
import type { Meter } from "./meter.ts";
import type { StreamPlan } from "./plan/text_plan.ts";
import type { StreamOutput } from "./stream_forwarder.ts";
import { TextStreamListener } from "./text_stream.ts";
import type { VendorCallContext } from "./vendor_call.ts";

const heavy = "x".repeat(1024 * 1024);

/** A listener whose plan passes events on, and what happens to them. */
function setUp() {
  const did: string[] = [];
  /** Counts the steps, which the test would have to wait for otherwise. */
  const step: Step = Object.assign(<T>(job: () => T) => runAtOnce(job), {
    isHeavy: true,
    inSteps: async <T>(job: () => Steps<T>) => {
      const steps = job();
      let count = 1;
      let made = steps.next();
      for (; !made.done; made = steps.next()) count++;
      did.push(count > 8 ? "steps" : `${count} steps`);
      return await made.value;
    },
  });
  const none: DecodedEvent = { events: [], usageOnly: false, terminal: false };
  const decoder: StreamDecoder = {
    decode({ data = "", json }) {
      did.push(`${json === undefined ? "text" : "value"} ${Math.ceil(data.length / 2 ** 20)}`);
      return none;
    },
    end: () => ({ events: [], complete: true }),
  };
  const plan: Partial<StreamPlan> = {
    forward: ({ bytes }) => ({ events: [], sent: bytes }),
  };
  const output: StreamOutput = {
    hasBegun: true,
    begin() {},
    complete() {},
    send: (bytes) => void did.push(`sent ${Math.ceil(bytes.length / 2 ** 20)}`),
  };
  const listener = new TextStreamListener({
    vendorCall: {} as VendorCallContext,
    meter: { listen() {} } as Partial<Meter> as Meter,
    plan: plan as StreamPlan,
    ...{ decoder, awaitsContent: false, heavyStep: () => step },
  });
  const take = (text: string) => listener.take(new TextEncoder().encode(text), output);
  return { did, take, end: () => listener.takeLast(output) };
}

Deno.test("a large event is parsed in steps, and those around it have their order", async () => {
  const { did, take } = setUp();
  assert.equal(take(`data: 1\n\n`), undefined);
  assert.deepEqual(did.splice(0), ["text 1", "sent 1"]);
  await take(`data: 1\n\ndata: ["${heavy}"]\n\ndata: 2\n\n`);
  assert.deepEqual(did.splice(0, 2), ["text 1", "sent 1"]);
  assert.deepEqual(did, ["steps", "value 2", "sent 2", "text 1", "sent 1"]);
});

Deno.test("a large event that isn't JSON is left to the decoder, one that holds too much fails", async () => {
  const { did, take } = setUp();
  await take(`data: ["${heavy}\n\n`);
  assert.deepEqual(did.splice(0), ["text 2", "sent 2"]);
  await assert.rejects(
    async () => await take(`data: [${"0,".repeat(2_000_000)}0]\n\n`),
    { code: "upstream_invalid_response" },
  );
  assert.deepEqual(did, []);
});

Deno.test("a large last event without its blank line counts if it is whole", async () => {
  const { did, take, end } = setUp();
  take(`data: ["${heavy}"]\n`);
  await end();
  assert.deepEqual(did.splice(0), ["steps", "value 2", "sent 2"]);
  assert.equal(await end(), undefined);
  take(`data: ["${heavy}`);
  await end();
  assert.deepEqual(did, []);
});
