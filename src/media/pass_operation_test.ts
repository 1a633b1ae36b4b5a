import assert from "@std/assert";
import { runAtOnce, type Step } from "../base/heavy_work.ts";
import type { Steps } from "../base/steps.ts";
import { embeddings } from "../dialects/media/operations/embeddings.ts";
import type { OperationContext } from "./operations.ts";
import { passOperation } from "./pass_operation.ts";

Deno.test("a large request and its answer are read in turns with other calls", async () => {
  /** The steps of each heavy work. */
  const heavy: number[] = [];
  const step: Step = Object.assign(<T>(job: () => T) => runAtOnce(job), {
    isHeavy: true,
    inSteps: async <T>(job: () => Steps<T>) => {
      const steps = job();
      let taken = 1;
      let made = steps.next();
      for (; !made.done; made = steps.next()) taken++;
      heavy.push(taken);
      return await made.value;
    },
  });
  const vendor = {
    ...{ label: "vendor-b", aliases: [], quirks: {} },
    operations: { embeddings: { path: "/embeddings" } },
  };
  const principal = { account: { id: 1 }, key: { models: [] } };
  const caller = { header: () => undefined, trace: {}, principal, heavyStep: () => step };
  const answer = JSON.stringify({
    object: "list",
    data: [{ object: "embedding", index: 0, embedding: Array(1_000_000).fill(0.25) }],
    usage: { prompt_tokens: 5, total_tokens: 5 },
  });
  const asked: unknown[] = [];
  let reported: unknown;
  const ctx = {
    vendorCall: { target: { model: "m", vendor }, caller },
    meter: { report: (usage: unknown) => reported = usage },
    ask: ({ body }: { body: unknown }) => {
      asked.push(body);
      return { status: 200, headers: { "content-type": "application/json" } };
    },
    read: () => new TextEncoder().encode(answer),
  } as unknown as OperationContext;
  const deps = {
    targetHealth: { isCooling: () => false },
    mediaInlineBytes: 65_536,
    operations: {
      run: (
        { targets }: { targets: unknown[] },
        work: (ctx: OperationContext, target: unknown) => unknown,
      ) => work(ctx, targets[0]),
    },
  };
  const body = { model: "m", input: Array(2_000).fill(Array(490).fill(12_345)) };
  const sent = { body, text: JSON.stringify(body) };
  const passed = await passOperation(
    deps as never,
    { caller, operation: embeddings, vendor, sent } as never,
  );
  assert.deepEqual(asked, [sent.text]);
  assert.equal((passed as unknown as { recordText: string }).recordText, answer);
  assert.equal((reported as { input: number }).input, 5);
  // The request for the plan, its tokens, and again for the vendor; the answer's text and values.
  assert.equal(heavy.length, 5, String(heavy));
  assert.ok(heavy.every((steps) => steps >= 2), String(heavy));
});
