import assert from "@std/assert";
import { answerText, rawRequest } from "../matrix/raw_calls.ts";
import { scriptedLabel, scriptedModel, startScriptedVendors } from "../matrix/scripted_vendors.ts";
import type { FakeExchange } from "../support/fake_vendor.ts";
import { shared } from "../support/service.ts";
import { event, streamEvents } from "../support/service_scripted.ts";

/** An account has room for 256 KiB of copies. */
const service = shared(() => startScriptedVendors({ BODIES_IN_FLIGHT_BYTES: String(64 * 1024) }));

async function dropped(): Promise<number> {
  const metrics = await (await service().fetch("/metrics")).text();
  return Number(/^gateway_stream_copies_dropped_total (\d+)$/m.exec(metrics)?.[1]);
}

/** A stream with so much text before its usual events. */
function vendorOf(pieces: number) {
  let asked = 0;
  const act = async (exchange: FakeExchange) => {
    asked++;
    const [begin, ...rest] = streamEvents;
    const delta = { content: "x".repeat(1000) };
    const more = event({ choices: [{ index: 0, delta, finish_reason: null }] });
    await exchange.head(200, { "content-type": "text/event-stream" });
    for (const one of [begin!, ...Array(pieces).fill(more), ...rest]) await exchange.write(one);
    await exchange.end();
  };
  return { act, asked: () => asked };
}

/** How a call asks for a copy, and how the answers of two equal calls are then marked. */
const copies = {
  repeats: {
    headers: () => ({ "x-request-id": crypto.randomUUID() }),
    ...{ mark: "x-idempotent-replay", copied: [null, "true"], made: [null, null] },
  },
  cache: {
    headers: () => ({ "x-cache-ttl": "60" }),
    ...{ mark: "x-cache", copied: ["MISS", "HIT"], made: ["MISS", "MISS"] },
  },
};

for (const [use, { headers: ask, mark, copied, made }] of Object.entries(copies)) {
  for (const hasRoom of [true, false]) {
    Deno.test(`a stream ${hasRoom ? "with" : "without"} room for its copy for the ${use} is whole and charged, and a second one ${hasRoom ? "isn't" : "is too"}`, async () => {
      const at = service();
      const pieces = hasRoom ? 10 : 400;
      const vendor = vendorOf(pieces);
      const { path, body } = rawRequest("chat", {
        model: `${scriptedLabel("chat")}/${scriptedModel}`,
        prompt: `How are you today? ${at.script(vendor.act)}`,
        stream: true,
      });
      const headers = ask();
      const before = await dropped();
      const marks = [];
      const charges = new Map<string, number>();
      for (let call = 0; call < 2; call++) {
        const response = await at.post(path, body, headers);
        const text = answerText("chat", await response.text(), true);
        assert.equal(text.length, pieces * 1000 + "I am well.".length);
        marks.push(response.headers.get(mark));
        const row = await at.row(response.headers.get("x-transaction-id"));
        assert.equal(row.status, "completed");
        charges.set(String(row.transaction_id), Number(row.charged_usd));
      }
      assert.deepEqual(marks, hasRoom ? copied : made);
      assert.equal(vendor.asked(), hasRoom ? 1 : 2);
      assert.equal(await dropped() - before, hasRoom ? 0 : 2);
      const charged = [...charges.values()].filter((usd) => usd > 0);
      assert.equal(charged.length, hasRoom ? 1 : 2);
    });
  }
}
