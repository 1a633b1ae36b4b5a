import assert from "@std/assert";
import {
  exportFileMissing,
  type ExportFiles,
  type ExportJob,
  type ExportJobStore,
} from "./export_job.ts";
import type { Log } from "../base/log.ts";
import type { ExportSource } from "./export_source.ts";
import { Fault } from "../shared/fault.ts";
import { Exports } from "./exports.ts";
import { createExportQueue } from "./runner.ts";

/** One job in memory, with the rules of the store that matter here. */
function memoryJobs() {
  const said: string[] = [];
  let job: ExportJob | undefined;
  const isOurs = (given: ExportJob) => job?.state === "running" && job.claim === given.claim;
  const now = () => Promise.resolve(job && { ...job });
  const jobs: Partial<ExportJobStore> = {
    create: ({ requestId, accountId, location, spec: { format, tables } }) => {
      const [createdAt, expiresAt] = [new Date(), new Date()];
      const created = { requestId, accountId, location, format, tables, createdAt, expiresAt };
      job = { ...created, state: "queued", claim: 0, bytesSize: 0, filteredBy: [] };
      return Promise.resolve({ ...job });
    },
    claim: () => {
      if (job?.state !== "queued") return Promise.resolve(undefined);
      job = { ...job, state: "running", claim: job.claim + 1 };
      const { accountId, format } = job;
      const tables = ["interactions"] as const;
      const work = { accountId, format, tables, filters: {}, rawCells: false, snapshot: "" };
      return Promise.resolve({ job: { ...job }, work });
    },
    renew: (given) =>
      Promise.resolve(new Set(given.filter(isOurs).map(({ requestId }) => requestId))),
    finish: (given, bytesSize) => {
      const ours = isOurs(given);
      if (ours) job = { ...job!, state: "ready", bytesSize };
      return Promise.resolve(ours);
    },
    release: (given, failed) => {
      said.push(failed ? "failed" : "given back");
      if (isOurs(given)) job = { ...job!, state: failed ? "failed" : "queued" };
      return Promise.resolve();
    },
    find: now,
    erase: () => {
      if (job?.state === "running") job = { ...job, state: "queued" };
      else if (job?.state === "ready") job = { ...job, state: "deleted" };
      return Promise.resolve(job ? [{ ...job }] : []);
    },
    leftOver: () => Promise.resolve(job?.state === "deleted" ? [{ ...job }] : []),
    cleared: () => Promise.resolve(void said.push("cleared")),
    forget: () => Promise.resolve(void said.push("forgotten")),
  };
  return { jobs: jobs as ExportJobStore, jobNow: () => job, said };
}

function memoryFiles() {
  const files = new Map<string, number>();
  const disk = { isAway: false };
  const location: ExportFiles = {
    async save({ requestId, claim }, bytes) {
      let length = 0;
      files.set(`${requestId}.${claim}`, length);
      for await (const piece of bytes) length += piece.length;
      files.set(`${requestId}.${claim}`, length);
      return length;
    },
    async *read({ requestId, claim }) {
      const length = files.get(`${requestId}.${claim}`);
      if (length === undefined) throw exportFileMissing(requestId);
      yield new Uint8Array(length);
      if (disk.isAway) throw new Error("the disk is away");
    },
    remove: ({ requestId, claim }, which) => {
      if (disk.isAway) return Promise.reject(new Error("the disk is away"));
      for (let one = which === "this" ? claim : 1; one <= claim; one++) {
        files.delete(`${requestId}.${one}`);
      }
      return Promise.resolve();
    },
  };
  return { files, disk, place: location };
}

function setup(
  source: Partial<ExportSource> = {},
  { jobs, jobNow, said }: ReturnType<typeof memoryJobs> = memoryJobs(),
  warn: Log["warn"] = (message) => void said.push(message),
) {
  const { files, disk, place: location } = memoryFiles();
  const exports = new Exports({
    jobs,
    source: {
      snapshot: () => Promise.resolve(""),
      count: () => Promise.resolve(0),
      async *read() {},
      ...source,
    },
    stores: { files: location },
    defaultLocation: "files",
    log: { warn },
    newId: () => "job",
    pause: () => new Promise((resolve) => setImmediate(resolve)),
  });
  return { exports, files, disk, said, jobNow };
}

const order = { format: "json", tables: ["interactions"], filters: {}, rawCells: false } as const;
const stays = new AbortController().signal;

Deno.test("a job whose rows are erased while it is written starts over, and leaves only the new file", async () => {
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  let reads = 0;
  const { exports, files } = setup({
    async *read() {
      if (++reads > 1) return;
      yield [["x".repeat(200_000)]];
      reached.resolve();
      await goOn.promise;
      yield [["erased"]];
    },
  });
  const waiting = exports.finished(await exports.start(1, order, "job"), stays);
  await reached.promise;
  assert.equal(await exports.eraseExports(1, { tables: ["interactions"] }), 1);
  assert.deepEqual([...files.keys()], []);
  goOn.resolve();
  const done = await waiting;
  assert.deepEqual([done?.state, done?.claim, reads], ["ready", 2, 2]);
  assert.deepEqual([...files.keys()], ["job.2"]);
});

Deno.test("the log says why an answer that had begun broke off", async () => {
  const logged: unknown[] = [];
  const { exports, disk } = setup(
    {
      async *read() {
        yield [["x".repeat(200_000)]];
        if (disk.isAway) throw new Error("the rows are away");
      },
    },
    memoryJobs(),
    (...line) => void logged.push(line),
  );
  const job = (await exports.finished(await exports.start(7, order, "job"), stays))!;
  disk.isAway = true;
  const file = await exports.read(job, 0, job.bytesSize);
  await assert.rejects(Array.fromAsync(file), /the disk is away/);
  const direct = await exports.write(7, order);
  await assert.rejects(Array.fromAsync(direct), /the rows are away/);
  // A caller who leaves is no failure.
  await (await exports.read(job, 0, job.bytesSize)).return(undefined);
  const said = "an export's answer broke off";
  assert.deepEqual(logged, [
    [said, { account: 7, id: "job", reason: "the disk is away" }],
    [said, { account: 7, id: undefined, reason: "the rows are away" }],
  ]);
});

Deno.test("a file that is missing is noticed before an answer begins", async () => {
  const { exports, files } = setup();
  const job = (await exports.finished(await exports.start(1, order, "job"), stays))!;
  const [piece] = await Array.fromAsync(await exports.read(job, 0, job.bytesSize));
  assert.equal(piece!.length, job.bytesSize);
  files.clear();
  await assert.rejects(exports.read(job, 0, job.bytesSize), { code: "export_not_found" });
  const elsewhere = { ...job, location: "bucket" as const };
  await assert.rejects(exports.read(elsewhere, 0, 1), { code: "export_not_found" });
});

Deno.test("an erased file is distinguished from one that never existed", async () => {
  const { exports, files } = setup();
  const job = await exports.start(1, order, "job");
  await exports.finished(job, stays);
  await exports.eraseExports(1, { tables: ["interactions"] });
  assert.deepEqual([...files.keys()], []);
  await assert.rejects(exports.finished(job, stays), /held data that was erased/);
  await assert.rejects(exports.ready(1, "job"), /held data that was erased/);
});

Deno.test("an erased file that can't be removed fails the erasure, and is swept later", async () => {
  const { exports, files, disk, said } = setup();
  await exports.finished(await exports.start(1, order, "job"), stays);
  disk.isAway = true;
  await assert.rejects(exports.eraseExports(1, { tables: ["interactions"] }), /disk is away/);
  await exports.sweep();
  // A job that counts as cleared is never looked at again.
  assert.deepEqual(said.splice(0), ["an export's file could not be deleted", "forgotten"]);
  // A bucket may be away for days, or for good.
  await exports.sweep();
  assert.deepEqual(said.splice(0), ["forgotten"], "logged once");
  disk.isAway = false;
  await exports.sweep();
  assert.deepEqual(said, ["cleared", "forgotten"]);
  assert.deepEqual([...files.keys()], []);
});

Deno.test("a store that goes away gives the job back, without counting it as a failure", async () => {
  let isAway = true;
  const { exports, said } = setup({
    async *read() {
      if (isAway) throw new Fault("store_unavailable");
      yield [["row"]];
    },
  });
  const job = await exports.start(1, order, "job");
  isAway = false;
  assert.equal((await exports.finished(job, stays))?.state, "ready");
  assert.deepEqual(said.filter((one) => one !== "given back"), []);
});

Deno.test("a file whose job became ready stays, though the store's answer was lost", async () => {
  const memory = memoryJobs();
  const { finish } = memory.jobs;
  const lostAnswer = async (...args: Parameters<typeof finish>) => {
    await finish(...args);
    throw new Fault("store_unavailable");
  };
  const jobs = { ...memory.jobs, finish: lostAnswer };
  const { exports, files } = setup({}, { ...memory, jobs });
  const job = await exports.start(1, order, "job");
  const ready = await exports.finished(job, stays);
  assert.equal(ready?.state, "ready");
  assert.deepEqual([...files], [["job.1", ready!.bytesSize]]);
});

Deno.test("any other failure is logged, and reported to the waiting caller", async () => {
  const { exports, said, files } = setup({
    async *read() {
      yield [["row"]];
      throw new Error("a bug");
    },
  });
  const job = await exports.start(1, order, "job");
  await assert.rejects(exports.finished(job, stays), {
    code: "internal_error",
    message: /could not be written/,
  });
  assert.deepEqual(said, ["an export failed", "failed"]);
  assert.deepEqual([...files.keys()], []);
});

Deno.test("a bucket that a job is for and that is gone fails it as an unavailable store", async () => {
  const { exports, said } = setup();
  const job = await exports.start(1, order, "bucket");
  await assert.rejects(exports.finished(job, stays), { code: "store_unavailable" });
  assert.deepEqual(said, ["an export failed", "failed"]);
});

Deno.test("four files are written at a time; files of earlier attempts, and of jobs that were taken away, are removed", async () => {
  const gate = Promise.withResolvers<number>();
  const removed: string[] = [];
  let claims = 0;
  const claimed = () => ({ job: { requestId: `${++claims}`, claim: claims, location: "files" } });
  const queue = createExportQueue({
    jobs: {
      claim: () => Promise.resolve(claims < 6 ? claimed() : undefined),
      finish: ({ requestId }: ExportJob) => Promise.resolve(requestId !== "1"),
    } as unknown as ExportJobStore,
    source: {} as ExportSource,
    stores: {
      files: {
        save: () => gate.promise,
        read: () => assert.fail("unused"),
        remove: ({ requestId, claim }, which) =>
          Promise.resolve(void removed.push(`${which} of ${requestId} ${claim}`)),
      },
    },
    log: { warn: (message) => assert.fail(message) },
  });
  await queue.claim();
  assert.deepEqual([claims, removed], [4, ["all of 2 1", "all of 3 2", "all of 4 3"]]);
  gate.resolve(1);
  await queue.drain(Infinity);
  assert.equal(removed.at(-1), "this of 1 1");
});

Deno.test("who leaves while a file is written is waited for no more; the job goes on", async () => {
  const goOn = Promise.withResolvers<void>();
  const { exports, jobNow } = setup({
    async *read() {
      await goOn.promise;
      yield [["row"]];
    },
  });
  const job = await exports.start(1, order, "job");
  const caller = new AbortController();
  const waiting = exports.finished(job, caller.signal);
  caller.abort();
  assert.equal(await waiting, undefined);
  assert.equal(jobNow()?.state, "running");
  goOn.resolve();
  assert.equal((await exports.finished(job, stays))?.state, "ready");
});

Deno.test("an end gives jobs back, and takes no more", async () => {
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const { exports, jobNow } = setup({
    async *read() {
      yield [["x".repeat(200_000)]];
      reached.resolve();
      await goOn.promise;
      yield [["x".repeat(200_000)]];
    },
  });
  await exports.start(1, order, "job");
  await reached.promise;
  goOn.resolve();
  await exports.close();
  await exports.tick();
  assert.deepEqual([jobNow()?.state, exports.running], ["queued", 0]);
});

Deno.test("a stream that has ended, failed or been left makes room for another of its account", async () => {
  let fails: "never" | "at once" | "later" = "never";
  const { exports } = setup({
    async *read() {
      if (fails === "at once") throw new Error("a bug");
      yield [["x".repeat(200_000)]];
      if (fails === "later") throw new Error("a bug");
      yield [["x".repeat(200_000)]];
    },
  });
  for (let round = 0; round < 5; round++) {
    fails = "never";
    for await (const _piece of await exports.write(1, order));
    for await (const _piece of await exports.write(1, order)) break;
    fails = "later";
    const stream = await exports.write(1, order);
    await assert.rejects(async () => {
      for await (const _piece of stream);
    }, /a bug/);
    fails = "at once";
    await assert.rejects(exports.write(1, order), /a bug/);
  }
});

Deno.test("a fifth stream of an account waits until one of four has ended, however far they are read", async () => {
  const { exports } = setup({
    async *read() {
      for (let row = 0; row < 4; row++) yield [["x".repeat(200_000)]];
    },
  });
  const streams = await Promise.all(Array.from({ length: 4 }, () => exports.write(1, order)));
  for (const stream of streams) {
    for (let piece = 0; piece < 2; piece++) assert.equal((await stream.next()).done, false);
  }
  let hasBegun = false;
  const fifth = exports.write(1, order).then((stream) => (hasBegun = true, stream));
  await (await exports.write(2, order)).return(undefined);
  assert.equal(hasBegun, false);
  await streams[0]!.return(undefined);
  await (await fifth).return(undefined);
});
