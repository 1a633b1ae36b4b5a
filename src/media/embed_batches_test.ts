import assert from "@std/assert";
import { embeddings } from "../dialects/media/operations/embeddings.ts";
import { readOperation } from "../dialects/kernel/operation_request.ts";
import { runAtOnce, type Step } from "../base/heavy_work.ts";
import type { Steps } from "../base/steps.ts";
import { embedInBatches } from "./embed_batches.ts";
import type { OperationContext, WholeOperationAnswer } from "./operations.ts";

/** Embeds texts at a vendor whose vectors are like this one; `heavy`: the steps of each heavy work. */
async function embed(count: number, vector: readonly number[]) {
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
  const asked: number[] = [];
  const ctx = {
    vendorCall: { target: { model: "m" }, caller: { heavyStep: () => step } },
    meter: { report() {} },
    ask: ({ body }: { body: string }) => void asked.push(body.split('"parts"').length - 1),
    read: () => {
      const vectors = Array(asked.at(-1)!).fill({ values: vector });
      return new TextEncoder().encode(JSON.stringify({ embeddings: vectors }));
    },
  } as unknown as OperationContext;
  const body = { model: "m", input: Array(count).fill("a") };
  const request = readOperation({ body, text: JSON.stringify(body), model: "m" }, embeddings);
  const answer = await embedInBatches(ctx, request, []) as WholeOperationAnswer;
  return { answer, asked, heavy };
}

Deno.test("many vectors are read and written in turns with other calls", async () => {
  const vector = Array.from({ length: 3072 }, (_, index) => 1 / (index + 3));
  const { answer, asked, heavy } = await embed(150, vector);
  assert.deepEqual(asked, [100, 50]);
  assert.equal(heavy.length, 3, "two answers and the list");
  assert.ok(heavy.every((steps) => steps > 8), String(heavy));
  const { data } = JSON.parse(answer.body as string);
  assert.deepEqual([data.length, data[149]], [150, {
    ...{ object: "embedding", index: 149, embedding: vector },
  }]);
});

Deno.test("a few vectors are read and written at once", async () => {
  const { answer, heavy } = await embed(2, [0.5, 1]);
  assert.deepEqual(heavy, []);
  assert.equal(JSON.parse(answer.body as string).data.length, 2);
});
