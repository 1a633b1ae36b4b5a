/** A process dies amid pictures, speech, transcripts and embeddings. */
import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { sha256Hex } from "../../src/base/hash.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { runAdminHere } from "../support/admin.ts";
import { createMigrated, kindsOfThisRun } from "../support/databases.ts";
import { readBooks } from "./books.ts";
import { filesWith } from "../support/files_with.ts";
import { dumpDatabase, postgresAvailability } from "../support/postgres.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { calls, type Row } from "../support/service.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import {
  kinds,
  type MediaCall,
  type MediaVendor,
  mediumOf,
  startMediaVendor,
  steps,
} from "./media_calls.ts";

const { available, reason } = postgresAvailability();
/** With two workers too in the long rounds, as all kills. */
const workerCounts = Number(Deno.env.get("KILLS") ?? 2) > 2 ? [1, 2] : [1];

for (const store of kindsOfThisRun()) {
  const runs = store === "embedded" || available;
  for (const workers of store === "embedded" ? [1] : workerCounts) {
    const where = `${store}, workers: ${workers}${runs ? "" : `; skipped: ${reason}`}`;
    Deno.test({
      name:
        `after kill -9 a call of media is one row with its media, with its repeats one charge, and erased no byte (${where})`,
      ignore: !runs,
      fn: () => killed(store, workers),
    });
  }
}

/** Of a decimal with nine places. */
const usdToNanos = (usd: unknown) => BigInt(String(usd).replace(".", ""));

/** A call of the test, and what its caller got. */
interface Made extends MediaCall {
  readonly user: string;
  isFull: boolean;
}

async function killed(store: "embedded" | "postgres", count: number): Promise<void> {
  const database = store === "postgres" ? await createMigrated() : undefined;
  await using vendor = await startMediaVendor();
  const env = {
    ...vendor.env,
    DATA_DIR: temporaryDirectory("media-kill"),
    ...(database ? { DATABASE_URL: database.url } : {}),
    ...(count > 1 ? { WORKERS: String(count) } : {}),
  };
  const run = crypto.randomUUID();
  const made = kinds.flatMap((kind, number) =>
    steps.map((step): Made => ({
      ...{ kind, step, canary: `canary-${run}-${step}-${number}` },
      ...{ user: `${step} by ann`, isFull: false },
    }))
  );
  try {
    const key = await cutOff({ env, url: database?.url, vendor, made });
    await using service = await startAll(env);
    const rows = await checkRows(service, key, made);
    const charged = await repeatAll(service, key, made);
    const left = async () => {
      const files = await filesWith(env.DATA_DIR, formsOf(run));
      if (!database) return files;
      const dump = await dumpDatabase(database.url);
      return [...files, ...formsOf(run).filter((form) => dump.includes(form))];
    };
    assert.notDeepEqual(await left(), [], "the search finds what is there");
    await erase({ service, key, env }, made, rows);
    assert.equal(await service.stop(), 0);
    assert.deepEqual(await left(), []);
    const { balanceNanos, grantedNanos, leasedNanos, gaps } = await readBooks(
      env.DATA_DIR,
      database?.url,
    );
    assert.equal(grantedNanos - balanceNanos, charged, "the charges of the rows");
    assert.deepEqual([leasedNanos, gaps], [0n, []]);
  } finally {
    await database?.drop();
  }
}

/** Each worker recovers its own journal. */
async function startAll(env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const service = await startService({ env });
  if (env.WORKERS) await service.printed(/all workers answer calls/);
  return service;
}

/** Makes all calls and kills the service amid them; gives its first key. */
async function cutOff({ env, url, vendor, made }: {
  env: Record<string, string>;
  url: string | undefined;
  vendor: MediaVendor;
  made: readonly Made[];
}): Promise<string> {
  await using service = await startAll(env);
  const key = service.firstKey;
  const granted = await runAdminHere({ args: ["credits", "grant", "--usd", "100"], env });
  assert.equal(granted.code, 0, granted.stderr);
  // Records wait at the first byte of media: their transaction is open when the process dies.
  const other = url === undefined ? undefined : await openPostgres(url);
  const lock = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = other?.transaction(async (tx) => {
    await tx.query("lock table media in access exclusive mode");
    locked.resolve();
    await lock.promise;
  });
  if (other) await locked.promise;
  const under = made.map((one) => call(service, key, one));
  const whole = under.filter((_, at) => made[at]!.step === "whole");
  await Promise.all(whole);
  const held = made.length - whole.length;
  for (let left = 2000; vendor.stopped < held; left--) {
    assert.ok(left > 0, `${vendor.stopped} of ${held} calls are held`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const pids = childrenOf(service);
  service.kill("SIGKILL");
  for (const pid of pids) Deno.kill(pid, "SIGKILL");
  await service.status;
  vendor.release();
  await Promise.all(under);
  lock.resolve();
  await holding;
  await other?.close();
  return key;
}

/** `isFull` says afterwards whether its caller got all of the answer. */
async function call(service: ServiceProcess, key: string, made: Made): Promise<void> {
  const body = made.kind.body(made);
  const isForm = body instanceof FormData;
  if (isForm) body.set("user", made.user);
  const headers = {
    authorization: `Bearer ${key}`,
    "x-session-id": made.user,
    "x-request-id": made.canary,
    ...(isForm ? {} : { "content-type": "application/json" }),
  };
  try {
    const answer = await fetch(service.baseUrl + made.kind.path, {
      ...{ method: "POST", headers },
      body: isForm ? body : JSON.stringify({ ...body, user: made.user }),
    });
    const text = Buffer.from(await answer.arrayBuffer()).toString("latin1");
    assert.equal(answer.status, 200, `${made.kind.name}: ${text.slice(0, 500)}`);
    made.isFull = true;
  } catch (thrown) {
    if (thrown instanceof assert.AssertionError) throw thrown;
  }
}

/** Gives the rows, each checked against what its caller got. */
async function checkRows(
  service: ServiceProcess,
  key: string,
  made: readonly Made[],
): Promise<Row[]> {
  const at = calls({ baseUrl: service.baseUrl, key });
  const rows = await at.rows();
  assert.equal(rows.length, made.length, "each call is one row");
  for (const one of made) {
    const where = `${one.kind.name}, ${one.step}`;
    const [row, ...others] = rowsOf(rows, one) as [Row];
    assert.equal(others.length, 0, where);
    assert.equal(one.isFull, one.step === "whole", where);
    assert.equal(row.status, one.isFull ? "completed" : "interrupted", where);
    assert.equal(Number(row.charged_usd) > 0, one.isFull, `${where}: ${row.charged_usd}`);
    assert.equal(row.payload_truncated, false, where);
    const wanted = [
      ...(one.kind.asks ? [mediumOf(one.canary, "asked")] : []),
      ...(one.kind.gets && one.isFull ? [mediumOf(one.canary, "answered")] : []),
    ].map((bytes) => sha256Hex(bytes)).toSorted();
    const text = JSON.stringify([row.request, row.response]);
    const named = [...text.matchAll(/"sha256":"([0-9a-f]{64})"/g)].map(([, hash]) => hash!);
    assert.deepEqual(named.toSorted(), wanted, where);
    for (const hash of named) {
      const answer = await at.fetch(`/api/v1/media/${hash}`);
      assert.equal(answer.status, 200, where);
      assert.equal(sha256Hex(new Uint8Array(await answer.arrayBuffer())), hash, where);
    }
  }
  return rows;
}

const rowsOf = (rows: readonly Row[], { canary }: Made) =>
  rows.filter((row) => JSON.stringify(row.request).includes(canary));

/** Sends each call again as it was; gives what all of them were charged. */
async function repeatAll(
  service: ServiceProcess,
  key: string,
  made: readonly Made[],
): Promise<bigint> {
  await Promise.all(made.map((one) => call(service, key, one)));
  const rows = await calls({ baseUrl: service.baseUrl, key }).rows();
  for (const one of made) {
    const where = `${one.kind.name}, ${one.step}`;
    assert.ok(one.isFull, where);
    // A call that ended without its answer for repeats being stored is made again, for nothing.
    const charges = rowsOf(rows, one).filter((row) => Number(row.charged_usd) > 0);
    assert.deepEqual(charges.map(({ status }) => status), ["completed"], where);
  }
  return rows.reduce((sum, row) => sum + usdToNanos(row.charged_usd), 0n);
}

/** Erases the calls that were cut in their middle by their ids, then all by their sessions. */
async function erase(
  { service, key, env }: { service: ServiceProcess; key: string; env: Record<string, string> },
  made: readonly Made[],
  rows: readonly Row[],
): Promise<void> {
  const at = calls({ baseUrl: service.baseUrl, key });
  const json = { "content-type": "application/json" };
  const byId = made.filter(({ step }) => step === "middle").flatMap((one) => rowsOf(rows, one))
    .map((row) => String(row.transaction_id));
  const sessions = [...new Set(made.map(({ user }) => user))];
  for (const scope of [{ transaction_ids: byId }, { session_ids: sessions }]) {
    const answer = await at.fetch("/api/v1/data", {
      ...{ method: "DELETE", headers: json },
      body: JSON.stringify({ ...scope, confirm: true }),
    });
    assert.equal(answer.status, 200, await answer.clone().text());
    await answer.body?.cancel();
  }
  assert.deepEqual(await at.rows(), []);
  for (const one of made) {
    for (const whose of ["asked", "answered"] as const) {
      const hash = sha256Hex(mediumOf(one.canary, whose));
      const answer = await at.fetch(`/api/v1/media/${hash}`);
      assert.equal(answer.status, 404);
      await answer.body?.cancel();
    }
  }
  const scrubbed = await runAdminHere({ args: ["scrub"], env });
  assert.equal(scrubbed.code, 0, scrubbed.stderr);
}

/** The canary as text, in the digits of a dump, and in base64 from each of its three places. */
function formsOf(canary: string): string[] {
  const bytes = Buffer.from(canary);
  return [
    canary,
    bytes.toString("hex"),
    ...[0, 1, 2].map((skipped) => bytes.subarray(skipped, 30 + skipped).toString("base64")),
  ];
}

/** The process ids of its workers, if it has some. */
function childrenOf({ pid }: ServiceProcess): number[] {
  const text = Deno.readTextFileSync(`/proc/${pid}/task/${pid}/children`);
  return text.trim().split(" ").filter((one) => one !== "").map(Number);
}
