import assert from "@std/assert";
import { type FakeVendor, startFakeVendor } from "./fake_vendor.ts";

/** A vendor-b of the responses dialect, which knows the calls it got. */
export interface HeldVendor extends FakeVendor {
  /** Returns the number of calls so far whose body contains the words. */
  count(words: string): number;
  reached(words: string, count: number, withinMs?: number): Promise<void>;
  /** Resolves when the service has left so many of these calls. */
  left(words: string, count: number): Promise<void>;
  /** Lets all `[hold]` calls end, including later ones. */
  release(): void;
}

/**
 * Starts a vendor that answers in the responses dialect: calls with `[hold]` after `release`, with
 * `[wait:MS]` after so many milliseconds. It refuses to stream calls with `[whole]`.
 */
export async function startHeldVendor(): Promise<HeldVendor> {
  const gate = Promise.withResolvers<void>();
  const calls: { body: string; left: boolean }[] = [];
  const vendor = await startFakeVendor(async (exchange) => {
    if (exchange.request.method === "GET") return await exchange.answer(200, { data: [] });
    const { body } = exchange.request;
    const call = { body, left: false };
    calls.push(call);
    const said = JSON.parse(body);
    assert.notEqual(said.background, true, "the vendor knows nothing of it");
    void exchange.closed.then(() => call.left = true);
    if (body.includes("[hold]") && !body.includes("And?")) await gate.promise;
    const waitMs = /\[wait:(\d+)\]/.exec(body)?.[1];
    if (waitMs) await pause(Number(waitMs));
    if (body.includes("[whole]") && said.stream === true) {
      const message = "Streaming is not supported with this model.";
      return await exchange.answer(400, { error: { message, param: "stream", code: null } });
    }
    if (said.stream !== true) return await exchange.answer(200, whole);
    await exchange.stream(
      [
        { type: "response.created", response: { ...whole, status: "in_progress", output: [] } },
        { type: "response.completed", response: whole },
      ].map((event, at) =>
        `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: at })}\n\n`
      ),
    );
  });
  const waitUntil = async (isSo: () => boolean, what: string, withinMs = 15_000) => {
    for (let waited = 0; !isSo(); waited += 25) {
      if (waited > withinMs) throw new Error(what);
      await pause(25);
    }
  };
  const having = (words: string) => calls.filter(({ body }) => body.includes(words));
  return Object.assign(vendor, {
    count: (words: string) => having(words).length,
    reached: (words: string, count: number, withinMs?: number) =>
      waitUntil(() => having(words).length >= count, `no ${count} calls '${words}'`, withinMs),
    left: (words: string, count: number) =>
      waitUntil(() => having(words).filter(({ left }) => left).length >= count, `'${words}' stays`),
    release: gate.resolve,
  });
}

const whole = {
  ...{ id: "resp_of_the_vendor", object: "response", created_at: 1, status: "completed" },
  ...{ model: "gpt-4.1", error: null, incomplete_details: null, background: false },
  output: [{
    ...{ type: "message", id: "msg_1", role: "assistant", status: "completed" },
    content: [{ type: "output_text", text: "Held and told.", annotations: [] }],
  }],
  usage: {
    ...{ input_tokens: 12, output_tokens: 4, total_tokens: 16 },
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  },
};

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
