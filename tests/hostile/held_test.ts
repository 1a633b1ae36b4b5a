/**
 * What the service holds of a heavy body while its vendor works: the text, and none of the values,
 * which take ten times the memory. Heavy bodies that wait for their vendors would else be let in
 * one after the other until the memory is full.
 */
import assert from "@std/assert";
import v8 from "node:v8";
import vm from "node:vm";
import { startTestService } from "../support/service.ts";

/** Text of 3 MB that becomes a million lists. */
const lists = `[${Array(950_000).fill("[]").join()}]`;
const messages = `[{"role":"user","content":[{"type":"text","text":"a","x":${lists}}]}]`;
const items = messages.replace('"text"', '"input_text"');

/** Of one dialect on both sides, and of two; of a conversation that is kept, too. */
const calls: readonly (readonly [path: string, body: string])[] = [
  ["/chat/v1/chat/completions", `{"model":"vendor-b/gpt-5-mini","messages":${messages}}`],
  ["/chat/v1/chat/completions", `{"model":"vendor-e/gemini-2.5-flash","messages":${messages}}`],
  ["/chat/v1/messages", `{"model":"vendor-b/gpt-5-mini","max_tokens":9,"messages":${messages}}`],
  ["/chat/v1/responses", `{"model":"vendor-c/claude-haiku-5-5","input":${items}}`],
];

Deno.test("a heavy body that waits for its vendor is held as text alone", async () => {
  const ready = Promise.withResolvers<void>();
  let asked = 0;
  const vendor = Deno.serve({ port: 0, onListen() {} }, async (request) => {
    if (request.body) { for await (const _ of request.body); }
    asked++;
    await ready.promise;
    return Response.json({ error: { message: "not today" } }, { status: 400 });
  });
  const base = `http://127.0.0.1:${vendor.addr.port}`;
  await using service = await startTestService({
    env: {
      STARTING_CREDIT_USD: "1000000",
      ...Object.fromEntries(["B", "C", "E"].flatMap((label) => [
        [`VENDOR_${label}_BASE_URL`, base],
        [`VENDOR_${label}_API_KEY`, "sk-of-a-test"],
      ])),
    },
  });
  const collect = collector();
  const before = heapAfter(collect);
  const headers = { "x-translation-mode": "lenient" };
  const sent: Promise<string>[] = [];
  try {
    for (const [path, body] of calls) {
      const already = asked;
      const answered = service.post(path, body, headers).then((answer) => answer.text());
      sent.push(answered);
      let text: string | undefined;
      answered.then((told) => text = told);
      while (asked === already) {
        assert.ok(text === undefined, `${path}: ${text?.slice(0, 300)}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    const held = heapAfter(collect) - before;
    console.log(`${calls.length} calls hold ${(held / 1e6).toFixed(1)} MB`);
    // Text as it came and as it went, and what of it is recorded.
    assert.ok(held < calls.length * 15e6, `${held} bytes`);
  } finally {
    ready.resolve();
    await Promise.allSettled(sent);
    await vendor.shutdown();
  }
});

function collector(): () => void {
  v8.setFlagsFromString("--expose-gc");
  return vm.runInNewContext("gc") as () => void;
}

function heapAfter(collect: () => void): number {
  collect();
  collect();
  return Deno.memoryUsage().heapUsed;
}
