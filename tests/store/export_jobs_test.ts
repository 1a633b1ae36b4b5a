import assert from "@std/assert";
import type { NewExport } from "../../src/exports/export_job.ts";
import { Fault, isStoreAway } from "../../src/shared/fault.ts";
import type { Database } from "../../src/database/database.ts";
import { createExportChunks } from "../../src/exports/store/export_chunks.ts";
import { createExportFiles } from "../../src/exports/store/export_files.ts";
import { createExportJobs } from "../../src/exports/store/export_jobs.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import { startInTurn } from "../support/lock_queue.ts";
import { fillDisk } from "../support/full_disk.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { addWebhook, collect, newAccount, waitingEvents } from "./samples.ts";

const directory = temporaryDirectory("exports");

function order(accountId: number, more: Partial<NewExport["spec"]> = {}): NewExport {
  return {
    requestId: crypto.randomUUID(),
    accountId,
    location: "chunks",
    spec: {
      format: "json",
      tables: ["interactions"],
      filters: { user_id: "somebody" },
      rawCells: false,
      ...more,
    },
    snapshot: "1:1:@2026-11-21T00:00:00.000Z",
  };
}

async function setup(database: Database, options = {}) {
  const accountId = await newAccount(database);
  const jobs = createExportJobs(database, "one/1", options);
  const ready = async (more: Partial<NewExport["spec"]> = {}) => {
    const made = await jobs.create(order(accountId, more));
    const claimed = await jobs.claim();
    assert.equal(await jobs.finish(claimed!.job, 10), true);
    return made.requestId;
  };
  const stateOf = async (id: string) => (await jobs.find(accountId, id))?.state;
  return { accountId, jobs, ready, stateOf };
}

const details = async (database: Database) =>
  (await database.query("select string_agg(detail, '') as text from export_jobs"))[0]!.text;

eachDatabase("a job is claimed once, and again when its worker is silent", async (database) => {
  const { accountId, jobs } = await setup(database);
  const span = { start: new Date("2026-11-01T00:00:00Z"), end: new Date("2026-11-02T00:00:00Z") };
  const made = await jobs.create(order(accountId, span));
  const first = await jobs.claim();
  assert.equal(first?.job.requestId, made.requestId);
  const { filters, start, end } = first!.work;
  assert.deepEqual({ filters, start, end }, { filters: { user_id: "somebody" }, ...span });
  assert.equal(await jobs.claim(), undefined);
  await database.query("update export_jobs set lease_until = clock_timestamp()");
  const second = await jobs.claim();
  assert.equal(second?.job.claim, 2);
  // The first has lost it: it can't renew, end or give back.
  assert.deepEqual(await jobs.renew([first!.job]), new Set());
  assert.equal(await jobs.finish(first!.job, 5), false);
  await jobs.release(first!.job, true);
  assert.deepEqual(await jobs.renew([second!.job]), new Set([made.requestId]));
  assert.equal(await jobs.finish(second!.job, 7), true);
  const found = await jobs.find(accountId, made.requestId);
  assert.deepEqual([found?.state, found?.bytesSize, found?.claim], ["ready", 7, 2]);
  assert.equal(await details(database), '{"filteredBy":["user_id"]}', "the value is gone");
  assert.deepEqual(found?.filteredBy, ["user_id"]);
});

onPostgres("processes that claim at once work on one job of an account", async (database) => {
  const { accountId, jobs } = await setup(database, { maxOpen: 4 });
  for (let round = 0; round < 20; round++) {
    for (let n = 0; n < 4; n++) await jobs.create(order(accountId));
    const claimed = await Promise.all(Array.from({ length: 4 }, () => jobs.claim()));
    assert.equal(claimed.filter((one) => one !== undefined).length, 1, `round ${round}`);
    await database.query("delete from export_jobs");
  }
});

eachDatabase("two processes that claim at once get different jobs", async (database) => {
  const { jobs } = await setup(database);
  const accounts = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => newAccount(database, `a${n}`)));
  for (const account of accounts) await jobs.create(order(account));
  const claimed = await Promise.all(Array.from({ length: 10 }, () => jobs.claim()));
  const got = claimed.flatMap((one) => one ? [one.job.requestId] : []);
  assert.equal(new Set(got).size, got.length);
  while (await jobs.claim());
  for (const account of accounts) assert.equal((await jobs.list(account))[0]?.state, "running");
});

eachDatabase("an account with many exports does not make others wait", async (database) => {
  const { accountId, jobs } = await setup(database);
  const other = await newAccount(database, "other");
  for (let n = 0; n < 3; n++) await jobs.create(order(accountId));
  const theirs = await jobs.create(order(other));
  await jobs.claim();
  const claimed = await jobs.claim();
  assert.equal(claimed?.job.requestId, theirs.requestId);
  assert.equal(await jobs.claim(), undefined, "one of an account at a time");
  // Theirs has ended; their next one comes before whoever has had a turn as well and asked earlier.
  await jobs.finish(claimed!.job, 1);
  const third = await newAccount(database, "third");
  const newest = await jobs.create(order(third));
  await jobs.create(order(other));
  assert.equal((await jobs.claim())?.job.requestId, newest.requestId);
});

eachDatabase(
  "fifty exports asked for at once: twenty are taken, the others told",
  async (database) => {
    const { accountId, jobs } = await setup(database);
    const asked = await Promise.allSettled(
      Array.from({ length: 50 }, () => jobs.create(order(accountId))),
    );
    assert.equal(asked.filter(({ status }) => status === "fulfilled").length, 20);
    await jobs.create(order(await newAccount(database, "other")));
  },
);

eachDatabase("an account's files have bounds in bytes", async (database) => {
  const { accountId, jobs, ready } = await setup(database, { maxStoredBytes: 15 });
  await ready();
  const second = await ready();
  await assert.rejects(
    jobs.create(order(accountId)),
    (thrown: unknown) => thrown instanceof Fault && thrown.code === "rate_limit_exceeded",
  );
  await jobs.cleared((await jobs.remove(accountId, second))!);
  await jobs.create(order(accountId));
});

eachDatabase(
  "a job fails for good the third time, and waits a little between",
  async (database) => {
    const { accountId, jobs, stateOf } = await setup(database);
    const { requestId } = await jobs.create(order(accountId));
    for (let failures = 1; failures <= 3; failures++) {
      const claimed = await jobs.claim();
      await jobs.release(claimed!.job, true);
      assert.equal(await jobs.claim(), undefined, "not at once");
      await database.query("update export_jobs set not_before = clock_timestamp()");
    }
    assert.equal(await stateOf(requestId), "failed");
    assert.equal(await jobs.claim(), undefined);
  },
);

eachDatabase("a process that ends gives its job back at once", async (database) => {
  const { accountId, jobs, stateOf } = await setup(database);
  const { requestId } = await jobs.create(order(accountId));
  await jobs.release((await jobs.claim())!.job, false);
  assert.equal(await stateOf(requestId), "queued");
  assert.equal((await jobs.claim())?.job.requestId, requestId);
});

eachDatabase("accounts are kept apart, in what their webhooks hear too", async (database) => {
  const { accountId, jobs, ready } = await setup(database);
  const other = await newAccount(database, "other");
  for (const account of [accountId, other]) await addWebhook(database, account);
  const id = await ready();
  assert.equal(await jobs.find(other, id), undefined);
  assert.equal(await jobs.remove(other, id), undefined);
  assert.deepEqual(await jobs.list(other), []);
  assert.deepEqual(await jobs.erase(other, { tables: ["interactions"] }), []);
  assert.equal((await jobs.list(accountId))[0]?.state, "ready");
  const later = await ready();
  assert.deepEqual((await jobs.list(accountId)).map(({ requestId }) => requestId), [later, id]);
  assert.deepEqual(
    await waitingEvents(database),
    [id, later].map((request_id) => [
      ...[`hook of ${accountId}`, "export.ready", { request_id, bytes: 10 }],
    ]),
  );
  // Filters' values go with a job that has ended, and all of them with one that is removed.
  const { requestId } = await jobs.create(order(accountId));
  assert.match(String(await details(database)), /somebody/);
  assert.equal((await jobs.remove(accountId, requestId))?.requestId, requestId);
  const by = '{"filteredBy":["user_id"]}';
  assert.equal(await details(database), `${by}${by}{}`);
});

eachDatabase("what becomes of one job becomes of no other", async (database) => {
  const { accountId, jobs } = await setup(database);
  const other = await newAccount(database, "other");
  await jobs.create(order(other));
  const theirs = (await jobs.claim())!.job;
  // Of the same claim, so they differ by their ids alone.
  const claimed = async () => {
    await jobs.create(order(accountId));
    return (await jobs.claim())!.job;
  };
  await jobs.release(await claimed(), true);
  assert.deepEqual(await jobs.renew([theirs]), new Set([theirs.requestId]), "released");
  const ours = await claimed();
  await jobs.finish(ours, 5);
  assert.equal(await jobs.finish(theirs, 7), true);
  await jobs.remove(accountId, ours.requestId);
  assert.equal((await jobs.find(other, theirs.requestId))?.state, "ready");
  await jobs.remove(other, theirs.requestId);
  await jobs.cleared(ours);
  const leftOver = await jobs.leftOver();
  assert.deepEqual(leftOver.map(({ requestId }) => requestId), [theirs.requestId]);
  // What waits has no file yet, and isn't over.
  const waiting = await jobs.create(order(other));
  await jobs.forget();
  assert.deepEqual((await jobs.list(other)).map(({ requestId }) => requestId), [waiting.requestId]);
  await database.query("update export_jobs set expires_at = clock_timestamp()", []);
  assert.deepEqual(await jobs.list(other), []);
});

eachDatabase("an erasure hits what may hold its rows, and nothing else", async (database) => {
  const { accountId, jobs, ready, stateOf } = await setup(database);
  const at = (day: number) => new Date(Date.UTC(2026, 0, day));
  const open = await ready();
  const january = await ready({ start: at(1), end: at(10) });
  const later = await ready({ start: at(10) });
  const evals = await ready({ tables: ["eval_runs"] });
  const running = (await jobs.create(order(accountId))).requestId;
  assert.equal((await jobs.claim())?.job.requestId, running);
  const waiting = (await jobs.create(order(accountId))).requestId;
  const span = { tables: ["interactions" as const], from: at(5), to: at(9) };
  const hit = await jobs.erase(accountId, span);
  assert.deepEqual(
    new Set(hit.map(({ requestId }) => requestId)),
    new Set([open, january, running]),
  );
  const states = await Promise.all([open, january, later, evals, waiting, running].map(stateOf));
  assert.deepEqual(states, ["deleted", "deleted", "ready", "ready", "queued", "queued"]);
  // Asked again after a failure, it names what may still be left over.
  assert.equal((await jobs.erase(accountId, span)).length, 3);
  for (const job of hit) await jobs.cleared(job);
  assert.deepEqual(await jobs.erase(accountId, span), []);
});

eachDatabase(
  "an erasure hits an export that begins with its call, and none that ends before it",
  async (
    database,
  ) => {
    const { accountId, jobs, ready } = await setup(database);
    const at = new Date("2026-01-05T00:00:00Z");
    const begins = await ready({ start: at });
    await ready({ end: at });
    const hit = await jobs.erase(accountId, { tables: ["interactions"], from: at, to: at });
    assert.deepEqual(hit.map(({ requestId }) => requestId), [begins]);
  },
);

eachDatabase(
  "what was erased or removed while it was written isn't ready afterwards",
  async (database) => {
    const { accountId, jobs, stateOf } = await setup(database);
    const running = async () => {
      await jobs.create(order(accountId));
      return (await jobs.claim())!.job;
    };
    const removed = await running();
    await jobs.remove(accountId, removed.requestId);
    const erased = await running();
    await jobs.erase(accountId, { tables: ["interactions"] });
    for (const job of [removed, erased]) {
      assert.equal(await jobs.finish(job, 10), false);
      await jobs.release(job, true);
    }
    assert.deepEqual(await Promise.all([removed, erased].map((one) => stateOf(one.requestId))), [
      undefined,
      "queued",
    ]);
    // Its end was no failure: it begins again at once.
    assert.equal((await jobs.claim())?.job.requestId, erased.requestId);
  },
);

eachDatabase("an export that erasures stop again and again ends after 20 attempts", async (db) => {
  const { accountId, jobs, stateOf } = await setup(db);
  const { requestId } = await jobs.create(order(accountId));
  const erase = () => jobs.erase(accountId, { tables: ["interactions"] });
  // Attempts at which a store was away, or that a stop of the process ended, don't count.
  for (let attempt = 1; attempt <= 20; attempt++) {
    const { job } = (await jobs.claim())!;
    await jobs.release(job, false);
  }
  for (let attempt = 1; attempt <= 20; attempt++) {
    assert.equal((await jobs.claim())?.job.claim, 20 + attempt);
    assert.match(String(await details(db)), /somebody/);
    assert.deepEqual((await erase()).map((job) => job.requestId), [requestId]);
    assert.equal(await stateOf(requestId), attempt < 20 ? "queued" : "deleted");
  }
  assert.equal(await jobs.claim(), undefined);
  assert.doesNotMatch(String(await details(db)), /somebody/);
  for (const job of await jobs.leftOver()) await jobs.cleared(job);
  assert.equal((await jobs.leftOver()).length, 1, "its writer's file may arrive late");
});

eachDatabase("a restarted process writes at once what its earlier run was writing", async (db) => {
  const { accountId, jobs } = await setup(db);
  const writing = await jobs.create(order(accountId));
  const waiting = await jobs.create(order(accountId));
  const claimed = await jobs.claim();
  assert.equal(claimed?.job.requestId, writing.requestId);
  if (db.kind === "postgres") {
    assert.equal(await createExportJobs(db, "two/1").claim(), undefined, "one job of an account");
  }
  const next = createExportJobs(db, "one/2");
  const again = await next.claim();
  assert.deepEqual([again?.job.requestId, again?.job.claim], [writing.requestId, 2]);
  assert.equal(await next.claim([writing.requestId]), undefined, "the other job waits for it");
  assert.equal(await jobs.finish(claimed!.job, 10), false);
  assert.equal(await next.finish(again!.job, 10), true);
  assert.equal((await next.claim())?.job.requestId, waiting.requestId);
});

eachDatabase("a job that waits for its next attempt survives an erasure", async (database) => {
  const { accountId, jobs } = await setup(database);
  const made = order(accountId);
  await jobs.create(made);
  await jobs.release((await jobs.claim())!.job, false);
  const [hit] = await jobs.erase(accountId, { tables: ["interactions"] });
  assert.equal(hit?.state, "queued");
  await jobs.cleared(hit!);
  const { filters, rawCells } = (await jobs.claim())!.work;
  assert.deepEqual({ filters, rawCells }, { filters: made.spec.filters, rawCells: false });
});

eachDatabase(
  "a late sweep forgets no file of a later attempt, nor one in use",
  async (database) => {
    const { accountId, jobs } = await setup(database);
    const hasFile = async () =>
      (await database.query("select has_file from export_jobs"))[0]!.has_file;
    await jobs.create(order(accountId));
    const first = (await jobs.claim())!.job;
    await jobs.cleared(first);
    assert.equal(await hasFile(), true, "it is being written");
    await jobs.release(first, false);
    const second = (await jobs.claim())!.job;
    await jobs.release(second, false);
    await jobs.cleared(first);
    assert.equal(await hasFile(), true, "the second attempt's");
    await jobs.cleared(second);
    assert.equal(await hasFile(), false);
    const third = (await jobs.claim())!.job;
    await jobs.finish(third, 10);
    await jobs.cleared(third);
    assert.equal(await hasFile(), true, "its account may fetch it");
    await database.query("update export_jobs set expires_at = clock_timestamp()");
    await jobs.cleared(third);
    assert.equal(await hasFile(), false);
  },
);

eachDatabase("what is over is swept: first the file, then the job", async (database) => {
  const { accountId, jobs, ready } = await setup(database);
  const id = await ready();
  const removed = await ready();
  await jobs.remove(accountId, removed);
  assert.deepEqual((await jobs.leftOver()).map(({ requestId }) => requestId), [removed]);
  await database.query("update export_jobs set expires_at = clock_timestamp()");
  assert.equal(await jobs.find(accountId, id), undefined);
  await jobs.forget();
  const left = await jobs.leftOver();
  assert.deepEqual(new Set(left.map(({ requestId }) => requestId)), new Set([id, removed]));
  for (const job of left) await jobs.cleared(job);
  await jobs.forget();
  assert.deepEqual(await database.query("select * from export_jobs"), []);
});

eachDatabase(
  "a repeated request gets its first job, unless that failed or is gone",
  async (database) => {
    const { accountId, jobs } = await setup(database, { maxOpen: 1 });
    const repeat = (requestHash = "hash", account = accountId) =>
      jobs.create({ ...order(account), requestHash });
    const first = await repeat();
    assert.equal((await repeat()).requestId, first.requestId);
    const other = await repeat("hash", await newAccount(database, "other"));
    assert.notEqual(other.requestId, first.requestId);
    const { job } = (await jobs.claim())!;
    await jobs.finish(job, 10);
    assert.equal((await repeat()).state, "ready");
    const another = await repeat("another hash");
    assert.notEqual(another.requestId, first.requestId);
    await jobs.remove(accountId, another.requestId);
    await jobs.remove(accountId, first.requestId);
    const second = await repeat();
    assert.notEqual(second.requestId, first.requestId);
    await database.query(
      "update export_jobs set state = 'ready', created_at = created_at - interval '24 hours'",
    );
    assert.notEqual((await repeat()).requestId, second.requestId);
  },
);

eachDatabase(
  "files of a job that is removed while it is written are removed again for some minutes",
  async (database) => {
    const { accountId, jobs } = await setup(database);
    const { requestId } = await jobs.create(order(accountId));
    await jobs.claim();
    const removed = (await jobs.remove(accountId, requestId))!;
    await jobs.cleared(removed);
    const left = async () => (await jobs.leftOver()).map(({ requestId }) => requestId);
    assert.deepEqual(await left(), [requestId], "its writer's file may arrive late");
    await database.query("update export_jobs set not_before = clock_timestamp()");
    await jobs.cleared(removed);
    assert.deepEqual(await left(), []);
    // Erased while it was written, and removed before it began again.
    const erased = await jobs.create(order(accountId));
    await jobs.claim();
    for (const job of await jobs.erase(accountId, { tables: ["interactions"] })) {
      await jobs.cleared(job);
    }
    await jobs.cleared((await jobs.remove(accountId, erased.requestId))!);
    assert.deepEqual(await left(), [erased.requestId]);
  },
);

eachDatabase("an account may have so many waiting, and keep so many", async (database) => {
  const { accountId, jobs, ready } = await setup(database, { maxOpen: 2, maxStored: 3 });
  const refused = (said: RegExp) =>
    assert.rejects(jobs.create(order(accountId)), (thrown: unknown) => {
      assert.equal((thrown as Fault).code, "rate_limit_exceeded");
      return said.test((thrown as Fault).message);
    });
  await jobs.create(order(accountId));
  await jobs.create(order(accountId));
  await refused(/2 exports waiting/);
  while (true) {
    const claimed = await jobs.claim();
    if (!claimed) break;
    await jobs.finish(claimed.job, 1);
  }
  const id = await ready();
  await refused(/keeps 3 exports/);
  assert.equal((await jobs.remove(accountId, id))?.requestId, id);
  assert.equal(await jobs.remove(accountId, id), undefined, "it is gone");
  await jobs.create(order(accountId));
});

async function* pieces(sizes: readonly number[]) {
  let n = 0;
  for (const size of sizes) {
    yield await Promise.resolve(new Uint8Array(size).map(() => byteAt(n++)));
  }
}

async function* reversed(bytes: Uint8Array) {
  yield await Promise.resolve(bytes.toReversed());
}

/** No two parts of a file are alike. */
function byteAt(n: number): number {
  return n ^ (n >> 8) ^ (n >> 16);
}

eachDatabase("both places keep files byte for byte, and read any part", async (database) => {
  const { accountId, jobs } = await setup(database);
  const mebibyte = 1024 * 1024;
  const sizes = [1, mebibyte - 1, mebibyte + 7, 100, 3 * mebibyte];
  const whole = new Uint8Array(sizes.reduce((a, b) => a + b)).map((_, n) => byteAt(n));
  const other = await newAccount(database, "other");
  const places = [createExportChunks(database), createExportFiles(`${directory}/${accountId}`)];
  for (const [index, place] of places.entries()) {
    await jobs.create({
      ...order(accountId),
      location: index ? "files" : "chunks",
    });
    const { job } = (await jobs.claim())!;
    assert.equal(await place.save(job, pieces(sizes)), whole.length);
    const again = { ...job, claim: job.claim + 1 };
    await database.query("update export_jobs set claim = $2 where request_id = $1", [
      ...[again.requestId, again.claim],
    ]);
    await place.save(again, pieces([5]));
    await place.remove(again, "this");
    await assert.rejects(collect(place.read(again, 0, 1)));
    await jobs.finish(again, whole.length);
    await jobs.create({ ...order(other), location: index ? "files" : "chunks" });
    const theirs = (await jobs.claim())!.job;
    assert.equal(await place.save(theirs, reversed(whole)), whole.length);
    await jobs.finish(theirs, whole.length);
    assert.equal((await collect(place.read(theirs, 0, 1)))[0]![0], whole.at(-1));
    const parts = [[0, whole.length], [0, 1], [mebibyte - 1, mebibyte + 1], [5_000_000, 5_000_001]];
    for (const [start, end] of [...parts, [whole.length - 1, whole.length], [7, 7]]) {
      const read = await collect(place.read(job, start!, end!));
      const joined = new Uint8Array(
        await new Blob(read as Uint8Array<ArrayBuffer>[]).arrayBuffer(),
      );
      assert.deepEqual(joined, whole.slice(start, end), `${start}–${end}`);
    }
    const beyond = collect(place.read(job, whole.length - 1, whole.length + 1));
    await assert.rejects(beyond, /shorter than it was/);
    await place.remove(again, "all");
    await place.remove(again, "all");
    await assert.rejects(collect(place.read(job, 0, 1)), { code: "export_not_found" });
    assert.equal((await collect(place.read(theirs, 0, 1)))[0]![0], whole.at(-1));
  }
});

eachDatabase(
  "an attempt that lost its job can write no more into the database",
  async (database) => {
    const { accountId, jobs } = await setup(database);
    const chunks = createExportChunks(database);
    // Another job is being written meanwhile.
    await jobs.create(order(await newAccount(database, "other")));
    assert.equal((await jobs.claim())?.job.claim, 1);
    const claimAgain = async () => {
      await database.query(
        "update export_jobs set lease_until = clock_timestamp() where account_id = $1",
        [accountId],
      );
      assert.equal((await jobs.claim())?.job.claim, 2);
    };
    for (const lose of [(id: string) => jobs.remove(accountId, id), claimAgain]) {
      const { requestId } = await jobs.create(order(accountId));
      const { job } = (await jobs.claim())!;
      const losing = async function* () {
        yield new Uint8Array(1024 * 1024);
        await lose(requestId);
        await chunks.remove(job, "all");
        yield new Uint8Array(1024 * 1024);
      };
      await assert.rejects(chunks.save(job, losing()), /cancelled or claimed by another process/);
      assert.deepEqual(await database.query("select position from export_chunks"), []);
    }
  },
);

onPostgres("a job that is being removed gets no chunk any more", async (database) => {
  const { accountId, jobs } = await setup(database);
  const { requestId } = await jobs.create(order(accountId));
  const { job } = (await jobs.claim())!;
  const [, ended] = await startInTurn(
    database,
    "select from export_jobs for update",
    () => jobs.remove(accountId, requestId),
    () => createExportChunks(database).save(job, pieces([10])).catch(String),
  );
  assert.match(String(ended), /cancelled or claimed by another process/);
  assert.deepEqual(await database.query("select position from export_chunks"), []);
});

onPostgres("a file for which the database has no room is its job's failure", async (database) => {
  const { accountId, jobs } = await setup(database);
  await jobs.create(order(accountId));
  const { job } = (await jobs.claim())!;
  await fillDisk(database, ["export_chunks"]);
  const failed = createExportChunks(database).save(job, pieces([10]));
  await assert.rejects(
    failed,
    (thrown: unknown) => !isStoreAway(thrown) && /no room/.test(String(thrown)),
  );
});

Deno.test("files of exports are their owner's alone", async () => {
  const files = createExportFiles(`${directory}/modes`);
  const name = { requestId: crypto.randomUUID(), claim: 1, format: "csv" } as const;
  await files.save(name, pieces([3]));
  const modes = [`${directory}/modes`, `${directory}/modes/${name.requestId}.1.csv`].map((path) =>
    Deno.statSync(path).mode! & 0o777
  );
  assert.deepEqual(modes, [0o700, 0o600]);
});

Deno.test("a file whose writing fails is not left", async () => {
  const files = createExportFiles(`${directory}/failing`);
  async function* failing() {
    yield new Uint8Array(10);
    throw new Error("the source ended");
  }
  const name = { requestId: crypto.randomUUID(), claim: 1, format: "json" } as const;
  await assert.rejects(files.save(name, failing()), /the source ended/);
  assert.deepEqual([...Deno.readDirSync(`${directory}/failing`)], []);
});

eachDatabase(
  "files that can't be removed, such as a lost bucket's, don't keep others for good",
  async (database) => {
    const { accountId, jobs } = await setup(database, { maxOpen: 1000 });
    for (let n = 0; n < 150; n++) {
      await jobs.create({ ...order(accountId), requestId: `a${n}`, location: "bucket" });
    }
    const ours = await jobs.create({ ...order(accountId), requestId: "z" });
    await database.query("update export_jobs set has_file = true, expires_at = now()");
    const found = new Set<string>();
    for (let look = 0; look < 50; look++) {
      const ids = (await jobs.leftOver()).map(({ requestId }) => requestId);
      assert.ok(ids.includes(ours.requestId));
      for (const id of ids) found.add(id);
    }
    assert.equal(found.size, 151);
  },
);
