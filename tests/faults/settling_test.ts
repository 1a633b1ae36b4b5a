/** Each step between an answer's last byte and its row fails: always one row, and its charge. */
import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import { speech } from "../../src/dialects/media/operations/speech.ts";
import { embeddings } from "../../src/dialects/media/operations/embeddings.ts";
import { passOperation } from "../../src/media/pass_operation.ts";
import { answersOf, framesOf } from "../dialects/recordings.ts";
import { type FakeExchange, startFakeVendor } from "../support/fake_vendor.ts";
import { dialectNames, fourVendorsFiles } from "../support/four_vendors.ts";
import { sample } from "../support/sample.ts";
import { cuts, dependencies, startWorld, steps, type World } from "./settling_world.ts";

const fixtures = new URL("../fixtures/answers/", import.meta.url);
const read = (path: string) => Deno.readTextFileSync(new URL(path, fixtures));

/** Every fault in every pair of dialects; else a sixth of them in each. */
const isLong = Deno.env.get("MATRIX") === "all";

interface Seen {
  what: string;
  point: string | undefined;
  id: string | undefined;
}

Deno.test("whatever fails behind the last byte, in every pair of dialects, whole and streamed: one row, charged as used", async () => {
  let answer: (exchange: FakeExchange) => unknown = () => {};
  await using vendor = await startFakeVendor((exchange) => answer(exchange));
  const files = await fourVendorsFiles(vendor.url);
  await using world = await startWorld(files.env);
  const seen: Seen[] = [];
  const points = [...steps, ...dependencies, ...cuts];
  for (const caller of dialectNames) {
    for (const upstream of dialectNames) {
      for (const stream of [false, true]) {
        // Of each pair a part, which differs, so that between them all are tried often.
        const salt = `${caller} ${upstream} ${stream}`;
        for (const point of [undefined, ...sample(points, { oneOf: 6, salt, all: isLong })]) {
          answer = answering(upstream, stream, () => world.arm(point));
          const { transactionId: id } = await world.send({
            caller,
            ...requestOf(caller, `up-${upstream}/model`, stream),
          });
          world.arm(undefined);
          seen.push({ what: `${upstream} to ${caller}${stream ? ", streamed" : ""}`, point, id });
        }
      }
    }
  }
  await checkSeen(world, seen, (what, point) => what.includes("streamed") && cuts.includes(point));
  console.log(`${seen.length} calls, ${world.fired} faults`);
  assert.ok(world.fired > seen.length / 2, "most of them met their fault");
  // These are for answers without usage, for prices that were a guess, and for answers that have
  // failed already.
  assert.deepEqual(world.neverFired, ["step prompt", "prices.find", "encoder.fail"]);
});

Deno.test("the same for pictures, speech and embeddings", async () => {
  let script: (exchange: FakeExchange) => unknown = () => {};
  await using vendor = await startFakeVendor((exchange) => script(exchange));
  await using world = await startWorld({
    VENDOR_B_BASE_URL: `${vendor.url}/v1`,
    VENDOR_B_API_KEY: "a-key-of-the-vendor",
    STARTING_CREDIT_USD: "1000000",
  });
  const seen: Seen[] = [];
  for (const [what, { answer, run }] of Object.entries(media)) {
    for (const point of [undefined, ...steps, ...dependencies]) {
      script = (exchange) => {
        world.arm(point);
        return answer(exchange);
      };
      const caller = world.callerOf("/media");
      const reply = await run(world, caller).catch(() => undefined);
      await new Response(reply?.body as BodyInit | null).arrayBuffer().catch(() => {});
      await new Promise((resolve) => setTimeout(resolve));
      world.arm(undefined);
      seen.push({ what, point, id: caller.trace.transactionId });
    }
  }
  await checkSeen(world, seen, () => false);
  console.log(`${seen.length} calls, ${world.fired} faults`);
});

/** `mayDiffer`: the rest of the answer doesn't come any more, so that less was used. */
async function checkSeen(
  world: World,
  seen: readonly Seen[],
  mayDiffer: (what: string, point: string) => boolean,
): Promise<void> {
  const { charges, chargedNanos } = await world.books();
  const wrong: string[] = [];
  const asUsed = new Map<string, bigint>();
  for (const { what, point, id } of seen) {
    const found = charges.get(String(id)) ?? [];
    const [charged = 0n] = found;
    if (point === undefined) asUsed.set(what, charged);
    const expected = asUsed.get(what)!;
    if (found.length !== 1) wrong.push(`${found.length} rows: ${what}, ${point}`);
    else if (charged === 0n) wrong.push(`charged nothing: ${what}, ${point}`);
    else if (charged !== expected && !mayDiffer(what, String(point))) {
      wrong.push(`charged ${charged} for ${expected}: ${what}, ${point}`);
    }
  }
  assert.deepEqual(wrong, []);
  assert.equal(charges.size, seen.length);
  const sum = [...charges.values()].flat().reduce((all, one) => all + one, 0n);
  assert.equal(sum, chargedNanos, "rows and ledger say the same");
  assert.deepEqual(await world.services.stores.ledger.check(), []);
}

/** The vendor has read the request when the fault is armed: nothing before fails by it. */
function answering(vendor: DialectName, stream: boolean, arm: () => void) {
  return async (exchange: FakeExchange) => {
    arm();
    if (!stream) {
      return await exchange.answer(200, JSON.parse(read(`${vendor}/parallel-tools.json`)));
    }
    const [payloads = []] = answersOf(read(`${vendor}/parallel-tools.chunks.txt`));
    await exchange.stream(framesOf(vendor, payloads), { "content-type": "text/event-stream" });
  };
}

function requestOf(caller: DialectName, model: string, stream: boolean) {
  const tail = stream ? ":stream" : "";
  const user = { role: "user", content: "What is the weather like?" };
  const bodies: Record<DialectName, unknown> = {
    chat: { model, stream, max_tokens: 1000, messages: [user] },
    responses: { model, stream, max_output_tokens: 1000, input: [user] },
    messages: { model, stream, max_tokens: 1000, messages: [user] },
    generate: {
      model,
      stream,
      contents: [{ role: "user", parts: [{ text: "What is the weather like?" }] }],
      generationConfig: { maxOutputTokens: 1000 },
    },
  };
  return { body: bodies[caller], tail };
}

interface Medium {
  answer(exchange: FakeExchange): unknown;
  run(world: World, caller: ReturnType<World["callerOf"]>): Promise<{ body: unknown }>;
}

const picture = "iVBORw0KGgo".padEnd(400, "A");

const media: Readonly<Record<string, Medium>> = {
  pictures: {
    answer: (exchange) => exchange.answer(200, { created: 1, data: [{ b64_json: picture }] }),
    run: ({ calls }, caller) => {
      const body = { model: "vendor-b/gpt-image-2", prompt: "A boat" };
      const bodyText = JSON.stringify(body);
      return calls.generateImages({
        caller,
        body: body as never,
        bodyText,
        addressOf: (hash) => hash,
      });
    },
  },
  "unified speech": {
    answer: (exchange) =>
      exchange.answer(200, new Uint8Array(4800), { "content-type": "audio/pcm" }),
    run: ({ calls }, caller) => {
      const body = { model: "vendor-b/tts-1", input: "Hello" };
      return calls.generateSpeech({
        caller,
        body: body as never,
        bodyText: JSON.stringify(body),
        isBinary: false,
      });
    },
  },
  "speech, streamed": {
    answer: (exchange) =>
      exchange.stream([new Uint8Array(2400), new Uint8Array(2400)], {
        "content-type": "audio/mpeg",
      }),
    run: ({ calls, services }, caller) => {
      const body = { model: "tts-1", voice: "alloy", input: "Hello" };
      return passOperation({
        ...{ ...calls, ...services.keys, ...services.routing },
        targetHealth: services.targetHealth,
        registry: services.vendors.registry,
        mediaInlineBytes: 65536,
      }, {
        caller,
        operation: speech,
        vendor: services.vendors.registry.find("vendor-b"),
        sent: { body, text: JSON.stringify(body) },
      });
    },
  },
  vectors: {
    answer: (exchange) =>
      exchange.answer(200, {
        object: "list",
        data: [{ object: "embedding", index: 0, embedding: [0.1, 0.2] }],
        usage: { prompt_tokens: 3000, total_tokens: 3000 },
      }),
    run: ({ calls, services }, caller) => {
      const body = { model: "text-embedding-3-small", input: "Hello" };
      return passOperation({
        ...{ ...calls, ...services.keys, ...services.routing },
        targetHealth: services.targetHealth,
        registry: services.vendors.registry,
        mediaInlineBytes: 65536,
      }, {
        caller,
        operation: embeddings,
        vendor: services.vendors.registry.find("vendor-b"),
        sent: { body, text: JSON.stringify(body) },
      });
    },
  },
};
