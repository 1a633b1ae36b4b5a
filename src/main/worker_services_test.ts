import assert from "@std/assert";
import { createWorkerServices } from "./worker_services.ts";

Deno.test("a worker stops waiting for its records when the worker that asked does", async () => {
  const signals: (AbortSignal | undefined)[] = [];
  const { answerWorkers } = createWorkerServices(
    {
      recorder: {
        drain: (_, signal) => {
          signals.push(signal);
          return new Promise(() => {});
        },
      },
    } as Parameters<typeof createWorkerServices>[0],
  );
  const asked = answerWorkers("flush", { accountId: 7, timeoutMs: 5 });
  await assert.rejects(asked, { code: "store_unavailable" });
  void answerWorkers("flush", { accountId: 7 });
  assert.deepEqual(signals.map((signal) => signal?.aborted), [true, undefined]);
});
