import assert from "@std/assert";
import { createByteGate } from "../base/byte_gate.ts";
import { FakeClock } from "../base/clock.ts";
import { runAtOnce } from "../base/heavy_work.ts";
import { Secret } from "../base/secret.ts";
import type { Steps } from "../base/steps.ts";
import { dialects } from "../dialects/text/mod.ts";
import { resolveUnified } from "../vendors/model_name.ts";
import { createRegistry } from "../vendors/registry.ts";
import type { BodyHandlers } from "../vendors/upstream.ts";
import { jobCaller } from "./call_context.ts";
import { Meter } from "./meter.ts";
import { executeText } from "./text_answer.ts";
import type { TextExchange } from "./text_exchange.ts";
import { VendorAccess } from "./vendor_call.ts";

const log = { info() {}, warn() {}, error() {} };
const registry = createRegistry({ "vendor-b": { apiKey: new Secret("a-key") } }, []);

/** Has a chat vendor answer with this text; returns what was metered, and the steps it took. */
async function metered(text: string): Promise<{ meter: Meter; steps: number }> {
  let steps = 0;
  const step = Object.assign(<T>(job: () => T) => runAtOnce(job), {
    async inSteps<T>(job: () => Steps<T>): Promise<T> {
      for (const work = job();; steps++) {
        const { done, value } = work.next();
        if (done) return await Promise.resolve(value as T);
      }
    },
    isHeavy: true,
  });
  const clock = new FakeClock();
  const caller = jobCaller({ clock, heavy: {} as never }, {
    principal: { account: { id: 1 }, key: { onDisconnect: "cancel" } } as never,
    ...{ endpoint: "/chat", requestId: "a-request", sessionId: null, userId: null },
    signal: new AbortController().signal,
  });
  const vendorCall = new VendorAccess({
    ...{ caller: { ...caller, heavyStep: () => step }, key: new Secret("a-key") },
    ...{ target: resolveUnified(registry, "vendor-b/one"), keyPool: undefined, mode: "managed" },
  });
  const meter = new Meter(64 * 2 ** 20, () => 0);
  const exchange = {
    ...{ vendorCall, facts: { stream: false }, isLast: true },
    plan: { upstream: dialects.chat, requestText: "{}", sameDialect: true, quirks: {} },
    call: { requestsLeft: 1, attempted() {}, answered() {}, meter },
  };
  const body = {
    onData(to: BodyHandlers) {
      queueMicrotask(() => {
        to.data(new TextEncoder().encode(text));
        to.end();
      });
    },
    ...{ pause() {}, resume() {}, destroy() {} },
  };
  const answer = { status: 200, headers: {}, attempts: 1, attemptLog: [], body };
  const deps = {
    ...{ log, clock, learned: { learnProven() {}, learnRefusedAddition() {} } },
    upstream: { call: () => Promise.resolve(answer) },
    answers: createByteGate({ capacityBytes: 64 * 2 ** 20 }),
  };
  await assert.rejects(executeText(deps as never, exchange as unknown as TextExchange), {
    code: "upstream_invalid_response",
  });
  return { meter, steps };
}

Deno.test("a whole answer that broke off is completed, and metered, in short steps", async () => {
  const calls = Array.from({ length: 5000 }, (_, index) => ({
    ...{ id: `call_${index}`, type: "function" },
    function: { name: "f", arguments: "{}" },
  }));
  const whole = JSON.stringify({
    choices: [{ message: { role: "assistant", tool_calls: calls } }],
  });
  const { meter, steps } = await metered(whole.slice(0, -9));
  const parts = meter.answer()!.choices[0]!.parts;
  assert.equal(parts.length, 5000);
  assert.ok(steps > 15, `${steps} steps`);
});
