import assert from "@std/assert";
import { runAtOnce, type Step } from "../base/heavy_work.ts";
import type { SseEvent } from "../base/sse.ts";
import type { Steps } from "../base/steps.ts";
import type { CanonicalEvent } from "../dialects/kernel/canonical.ts";
import type { DecodedEvent, StreamDecoder } from "../dialects/kernel/dialect.ts";
import { createStreamDecoder as createChatDecoder } from "../dialects/text/chat/stream_decoder.ts";
import { createStreamDecoder } from "../dialects/text/responses/stream_decoder.ts";
import type { Meter } from "./meter.ts";
import type { Forwarded, StreamPlan } from "./plan/text_plan.ts";
import type { StreamOutput } from "./stream_forwarder.ts";
import { TextStreamListener } from "./text_stream.ts";
import type { VendorCallContext } from "./vendor_call.ts";

const heavy = "x".repeat(1024 * 1024);

/** A listener whose plan passes events on, or translates `events`, and what happens to them. */
function setUp(
  events?: CanonicalEvent[],
  more: Partial<StreamPlan> = {},
  rest: ReturnType<StreamDecoder["end"]> = { events: [], complete: true },
) {
  const did: string[] = [];
  const sent: string[] = [];
  const heard: CanonicalEvent[] = [];
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
  const decoded: DecodedEvent = { events: events ?? [], usageOnly: false, terminal: !!events };
  const decoder: StreamDecoder = {
    *readAhead(json) {
      for (let at = (json as unknown[]).length; at > 1; at--) yield void did.push("ahead");
    },
    decode({ data = "", json, isNotJson }) {
      const what = isNotJson ? "not JSON" : json === undefined ? "text" : "value";
      did.push(`${what} ${Math.ceil(data.length / 2 ** 20)}`);
      return decoded;
    },
    end: () => rest,
  };
  const plan: Partial<StreamPlan> = events ? { forward: translated, takesSlices: true, ...more } : {
    forward: ({ bytes }) => ({ events: [], sent: bytes }),
  };
  const output: StreamOutput = {
    hasBegun: true,
    begin() {},
    mayEnd() {},
    complete: () => void (events && did.push("completed")),
    send(bytes) {
      did.push(`sent ${Math.ceil(bytes.length / 2 ** 20)}`);
      if (events) sent.push(new TextDecoder().decode(bytes));
    },
  };
  const listener = new TextStreamListener({
    vendorCall: {} as VendorCallContext,
    meter: { listen: (more) => void heard.push(...more) } as Partial<Meter> as Meter,
    plan: plan as StreamPlan,
    ...{ decoder, awaitsContent: false, heavyStep: () => step },
  });
  const take = (text: string) => listener.take(new TextEncoder().encode(text), output);
  const end = () => listener.takeLast(output);
  const settle = () => new TextDecoder().decode(listener.end(output));
  return { did, sent, heard, take, end, settle };
}

/** Tells how many events a slice has, their text and their log-probabilities. */
function translated(_event: SseEvent, { events }: DecodedEvent): Forwarded {
  const deltas = events.filter((event) => event.type === "block-delta");
  const text = deltas.map(({ text }) => text).join("");
  const logprobs = deltas.flatMap(({ logprobs = [] }) => logprobs);
  if (text === "untranslatable") throw new Error(text);
  return { events, sent: `${events.length} ${text} ${logprobs.length};` };
}

Deno.test("a large event is parsed in steps, and those around it have their order", async () => {
  const { did, take } = setUp();
  assert.equal(take(`data: 1\n\n`), undefined);
  assert.deepEqual(did.splice(0), ["text 1", "sent 1"]);
  await take(`data: 1\n\ndata: ["${heavy}"]\n\ndata: 2\n\n`);
  assert.deepEqual(did.splice(0, 2), ["text 1", "sent 1"]);
  assert.deepEqual(did, ["steps", "value 2", "sent 2", "3 steps", "text 1", "sent 1"]);
});

Deno.test("what is long in a large event is read in steps before the event is decoded", async () => {
  const { did, take } = setUp();
  await take(`data: ["${heavy}",1,2]\n\n`);
  assert.deepEqual(did, ["steps", "ahead", "ahead", "value 2", "sent 2", "5 steps"]);
});

Deno.test("what a large event holds is translated a slice at a time", async () => {
  const at = { choice: 0, block: 0 };
  const logprobs = Array(1200).fill({ token: "a", logprob: 0, bytes: [97], top: [] });
  const { did, sent, take } = setUp([
    ...Array.from({ length: 600 }, () => ({ type: "block-end", ...at }) as const),
    { type: "block-delta", ...at, text: "said", logprobs },
    { type: "block-end", ...at },
  ]);
  await take(`data: ["${heavy}"]\n\n`);
  assert.deepEqual(sent, ["512  0;", "89 said 512;", "1  512;", "2  176;"]);
  assert.deepEqual(did, [
    ...["steps", "value 2", "sent 1", "sent 1", "sent 1", "completed", "sent 1", "6 steps"],
  ]);
});

Deno.test("all of a large event is metered, also what follows a slice that can't be translated", async () => {
  const at = { choice: 0, block: 0 };
  const events: CanonicalEvent[] = [
    { type: "block-delta", ...at, text: "untranslatable" },
    ...Array.from({ length: 600 }, () => ({ type: "block-end", ...at }) as const),
    { type: "usage", usage: { input: 1, output: 2 } },
  ];
  const { heard, take } = setUp(events);
  await assert.rejects(async () => await take(`data: ["${heavy}"]\n\n`));
  assert.deepEqual(heard, events);
});

Deno.test("a large event is changed in steps before it is forwarded, and metered if that fails", async () => {
  const usage: CanonicalEvent = { type: "usage", usage: { input: 1, output: 2 } };
  const changes: string[] = [];
  const { did, take } = setUp([usage], {
    *changeAhead({ data }) {
      for (let part = 0; part < 3; part++) yield void changes.push(data!.slice(0, 3));
    },
  });
  await take(`data: 1\n\ndata: ["${heavy}"]\n\n`);
  assert.deepEqual(changes, Array(3).fill('["x'));
  assert.equal(did.at(-1), "6 steps");
  const failing = setUp([usage], {
    changeAhead() {
      throw new Error("unchangeable");
    },
  });
  await assert.rejects(async () => await failing.take(`data: ["${heavy}"]\n\n`));
  assert.deepEqual(failing.heard, [usage]);
});

Deno.test("a small event that means much is translated a slice at a time, before what follows it", async () => {
  const end = { type: "block-end", choice: 0, block: 0 } as const;
  const { did, sent, take } = setUp(Array(600).fill(end));
  await take("data: 1\n\ndata: 2\n\n");
  const slices = ["text 1", "sent 1", "completed", "sent 1", "4 steps"];
  assert.deepEqual(did, [...slices, ...slices]);
  assert.deepEqual(sent, ["512  0;", "88  0;", "512  0;", "88  0;"]);
});

Deno.test("a small event that ends long calls is translated a call at a time", async () => {
  const ends = (blocks: number) =>
    Array.from(
      { length: blocks },
      (_, block) => ({ type: "block-end", choice: 0, block }) as const,
    );
  const unitsOfCall = (block: number) => block < 3 ? 600_000 : 100;
  const { did, sent, take } = setUp(ends(10), { unitsOfCall });
  await take("data: 1\n\n");
  assert.deepEqual(sent, ["1  0;", "1  0;", "1  0;", "7  0;"]);
  assert.deepEqual(did.at(-1), "6 steps");
  const short = setUp(ends(10), { unitsOfCall: () => 100 });
  assert.equal(short.take("data: 1\n\n"), undefined);
});

Deno.test("long calls that end with the stream are translated a call at a time", async () => {
  const at = (block: number) => ({ type: "block-end", choice: 0, block }) as const;
  const rest = { events: [at(0), at(1), at(2)], complete: true };
  const { did, sent, heard, end, settle } = setUp([], {
    unitsOfCall: () => 600_000,
    forwardRun: (_bytes, events) => ({ events, sent: `${events.length};` }),
    end: (events) => ({ events, sent: `${events.length} left` }),
  }, rest);
  await end();
  assert.deepEqual(sent, ["1;", "1;", "1;"]);
  assert.deepEqual(did.at(-1), "4 steps");
  assert.equal(end(), undefined);
  assert.equal(settle(), "0 left");
  assert.deepEqual(heard, rest.events);
});

Deno.test("an event of less than a megabyte with many values is parsed in steps", async () => {
  const { did, take } = setUp();
  assert.equal(take(`data: [${"10000000000000,".repeat(4_500)}0]\n\n`), undefined);
  did.length = 0;
  await take(`data: [${"1000000000000,".repeat(5_500)}0]\n\n`);
  assert.equal(did[0], "2 steps");
});

Deno.test("a large event that isn't JSON is parsed once, one that holds too much fails", async () => {
  const { did, take } = setUp();
  await take(`data: ["${heavy}\n\n`);
  assert.deepEqual(did.splice(0), ["not JSON 2", "sent 2", "3 steps"]);
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
  assert.deepEqual(did.splice(0), ["steps", "value 2", "sent 2", "3 steps"]);
  assert.equal(await end(), undefined);
  take(`data: ["${heavy}`);
  await end();
  assert.deepEqual(did, []);
});

Deno.test("what was written for a vendor's tool is metered, also if the caller leaves amid it", () => {
  const heard: CanonicalEvent[] = [];
  const listener = new TextStreamListener({
    vendorCall: {} as VendorCallContext,
    meter: { listen: (more) => void heard.push(...more) } as Partial<Meter> as Meter,
    plan: { forward: (_event, { events }) => ({ events, sent: "" }) } as Partial<
      StreamPlan
    > as StreamPlan,
    ...{ decoder: createStreamDecoder({}), awaitsContent: false },
  });
  const piece = { type: "response.apply_patch_call_operation_diff.delta", output_index: 0 };
  const data = JSON.stringify({ ...piece, item_id: "i-1", delta: "+one" });
  const output: StreamOutput = {
    hasBegun: true,
    begin() {},
    mayEnd() {},
    complete() {},
    send() {},
  };
  listener.take(new TextEncoder().encode(`data: ${data}\n\n`), output);
  listener.settle();
  const block = heard.find((one) => one.type === "block-start");
  assert.equal(block?.content.kind, "vendor");
});

Deno.test("similar events are taken together, also behind others in the same piece", () => {
  const event = (delta: object, reason: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  const said = Array.from({ length: 100 }, (_, index) => event({ content: `word ${index} ` }));
  const thought = said.map((text) => text.replace("content", "reasoning"));
  const first = event({ role: "assistant", content: "" });
  const piece = [first, ...thought, ...said, event({}, "stop"), "data: [DONE]\n\n"].join("");
  const decoder = createChatDecoder({});
  const decode = decoder.decode.bind(decoder);
  let alone = 0;
  decoder.decode = (event) => (alone++, decode(event));
  const heard: CanonicalEvent[] = [];
  const sent: string[] = [];
  let hasBegun = false;
  const listener = new TextStreamListener({
    vendorCall: {} as VendorCallContext,
    meter: { listen: (more) => void heard.push(...more) } as Partial<Meter> as Meter,
    plan: {
      forward: ({ bytes }, { events }) => ({ events, sent: bytes }),
      forwardRun: (bytes, events) => ({ events, sent: bytes }),
    } as Partial<StreamPlan> as StreamPlan,
    ...{ decoder, awaitsContent: false },
  });
  listener.take(new TextEncoder().encode(piece), {
    get hasBegun() {
      return hasBegun;
    },
    begin: () => hasBegun = true,
    mayEnd() {},
    complete() {},
    send: (bytes) => void sent.push(new TextDecoder().decode(bytes)),
  });
  assert.equal(sent.join(""), piece);
  const text = heard.map((one) => one.type === "block-delta" ? one.text : "").join("");
  assert.equal(text, said.map((_, index) => `word ${index} `).join("").repeat(2));
  // One by one: the first ones, from which the form is learned, those of the change, and the end.
  assert.ok(alone < 30, `${alone} of 203 events were taken one by one`);
});
