/** Reads that wait for the records of calls before them: other processes may never write theirs. */
import assert from "@std/assert";
import { createFlushRecords } from "../../records/flush_records.ts";
import { Fault } from "../../shared/fault.ts";
import type { Endpoints } from "../bind.ts";
import { cohortRoutes } from "./cohort.ts";
import { mediaRoutes } from "./media.ts";

const flushRecords = createFlushRecords({
  recorder: { drain: () => new Promise(() => {}) },
  setTimer: (_ms, run) => {
    queueMicrotask(run);
    return () => {};
  },
});

const reads: Record<string, (app: Endpoints) => void> = {
  "media of a call that may not be written": (app) =>
    mediaRoutes(app, { flushRecords, media: { find: () => Promise.resolve() } } as never),
  "sums of a cohort": (app) => cohortRoutes(app, { flushRecords } as never),
};

for (const [name, mount] of Object.entries(reads)) {
  Deno.test(`${name} are refused if the records of before don't come`, async () => {
    let read: ((input: unknown) => unknown) | undefined;
    mount({ bind: (_contract: unknown, handle: typeof read) => read = handle } as never);
    await assert.rejects(
      async () =>
        await read!({
          caller: { principal: { account: { id: 1 } } },
          params: { sha256: "0".repeat(64), cohort_id: "c" },
          query: {},
        }),
      (thrown: unknown) => thrown instanceof Fault && thrown.code === "store_unavailable",
    );
  });
}
