import assert from "@std/assert";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { startSimulators } from "../../demo/simulators.ts";
import { runAdminHere } from "../support/admin.ts";
import { createMigrated } from "../support/databases.ts";
import { postgresAvailability, startPostgres } from "../support/postgres.ts";
import { runProgram, type ServiceProcess, startService } from "../support/process.ts";
import { promisedMs } from "../support/quiet.ts";
import { Random } from "../support/random.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { checkBooks, exportedIds, readBooks } from "./books.ts";
import { type Answer, type Load, startLoad, vendorEnvironment } from "./load.ts";

const { available, reason } = postgresAvailability();

Deno.test({
  name:
    `two workers answer as one, one that is killed comes back, a stop loses nothing, and fewer workers take over what more have left (postgres${
      available ? "" : `; skipped: ${reason}`
    })`,
  ignore: !available,
  async fn() {
    const database = await createMigrated();
    const simulators = await startSimulators();
    const env = {
      DATA_DIR: temporaryDirectory("workers"),
      DATABASE_URL: database.url,
      ...vendorEnvironment(simulators),
    };
    const random = new Random(17);
    const answers: Answer[] = [];
    try {
      const key = await twoWorkers(env, random, answers);
      await cutAll({ ...env, WORKERS: "3" }, key, random, answers);
      // One process alone finds journals of three.
      await using alone = await startService({ env });
      assert.equal(alone.output().match(/recovered the journal and leases/g)?.length, 3);
      assert.deepEqual(await namesIn(`${env.DATA_DIR}/workers`), []);
      const ids = await exportedIds({ baseUrl: alone.baseUrl, key });
      assert.equal(await alone.stop(), 0);
      const books = await readBooks(env.DATA_DIR, database.url);
      checkBooks(books, answers);
      assert.deepEqual(ids.toSorted(), books.rows.map(({ id }) => id).toSorted());
      const cut = books.rows.filter(({ status }) => status === "interrupted").length;
      assert.ok(cut > 0, "calls were cut");
      const whole = answers.filter(({ isFull }) => isFull).length;
      console.log(`${whole} answers received whole, each one row and one charge; ${cut} cut`);
    } finally {
      await simulators.close();
      await database.drop();
    }
  },
});

Deno.test("workers don't start on a database that takes no writes, and say why", {
  ignore: !available,
}, async () => {
  const database = await createMigrated();
  const home = await openPostgres((await startPostgres()).url("postgres"));
  await home.query(`alter database ${database.name} set default_transaction_read_only = on`);
  await home.close();
  const DATA_DIR = temporaryDirectory("read-only");
  try {
    const { code, stdout, stderr } = await runProgram({
      // The source starts its workers by a command of its own; the other tests start the bundle's.
      fromSource: true,
      env: { DATA_DIR, DATABASE_URL: database.url, PORT: "0", WORKERS: "2" },
    });
    assert.notEqual(code, 0);
    assert.match(stdout + stderr, /DATABASE_URL: PostgreSQL accepts no writes \(25006\)/);
    assert.match(stderr, /^error: .*worker.*$/m);
  } finally {
    await database.drop();
  }
});

/** Two workers, of which one is killed under load; then a stop under load. */
async function twoWorkers(
  env: Record<string, string>,
  random: Random,
  answers: Answer[],
): Promise<string> {
  const MODELS_FILE = `${env.DATA_DIR}-models.json`;
  await writeModels(MODELS_FILE, "early");
  await using service = await startService({ env: { ...env, WORKERS: "2", MODELS_FILE } });
  await service.printed(/all workers answer calls/);
  const key = service.firstKey;
  const target = { baseUrl: service.baseUrl, key };
  await grant(env);
  const [, second] = await workersOf(service);
  await readsSeeWhatWasAnswered(target, answers);
  assert.equal(await sumOf(target, /^gateway_calls_total\{.*\} (\d+)$/gm), answers.length);

  await writeModels(MODELS_FILE, "early", "late");
  service.kill("SIGHUP");
  await allKnow(target, "late");

  const load = startLoad(target, 12, random);
  await untilAnswered(load, 40);
  Deno.kill(second!, "SIGKILL");
  await service.printed(/a worker is back worker=2 /);
  const atReturn = load.answers.length;
  assert.ok(atReturn > 40, "the other worker goes on");
  await untilAnswered(load, atReturn + 40);
  assert.equal(await sumOf(target, /^gateway_workers (\d+)$/gm), 2);
  assert.equal(await sumOf(target, /^gateway_worker_restarts_total (\d+)$/gm), 1);
  const atStop = load.answers.length;
  assert.equal(await service.stop(), 0);
  await load.stop();
  const last = load.answers.slice(atStop).filter(({ status }) => status !== null);
  assert.deepEqual(last.filter(({ isFull }) => !isFull), [], "what was under way came to its end");
  answers.push(...load.answers);

  const output = service.output();
  const lines = output.slice(output.indexOf("all workers answer")).trimEnd().split("\n").slice(1);
  for (const line of lines) assert.match(line, /^\d{4}-\d\d-\d\dT[^ ]+Z (info|warn|error) [^\n]+$/);
  for (const worker of [1, 2]) {
    const calls = lines.filter((line) =>
      line.endsWith(` worker=${worker}`) && / info request .* transaction=/.test(line)
    );
    // How many connections each takes is the system's choice.
    assert.ok(calls.length > 0, `worker ${worker} answered no call`);
  }
  assert.equal(output.match(/dmt_/g)?.length, output.match(/API key {3}dmt_/g)!.length * 2);
  assert.equal(output.match(/listens on/g)?.length, 1);
  return key;
}

/** Every process is killed at once under load. */
async function cutAll(
  env: Record<string, string>,
  key: string,
  random: Random,
  answers: Answer[],
): Promise<void> {
  await using service = await startService({ env });
  await service.printed(/all workers answer calls/);
  const workers = await workersOf(service);
  const load = startLoad({ baseUrl: service.baseUrl, key }, 12, random);
  await untilAnswered(load, 40);
  await untilEachAnswers(service, { baseUrl: service.baseUrl, key }, workers.length, answers);
  service.kill("SIGKILL");
  for (const pid of workers) Deno.kill(pid, "SIGKILL");
  await service.status;
  await load.stop();
  answers.push(...load.answers);
  assert.deepEqual((await namesIn(`${env.DATA_DIR}/workers`)).toSorted(), ["2", "3"]);
}

/** Each worker needs a call to recover; the load's connections may all be to some of them. */
async function untilEachAnswers(
  service: ServiceProcess,
  target: { baseUrl: string; key: string },
  workers: number,
  answers: Answer[],
): Promise<void> {
  const hasAnswered = (worker: number) =>
    new RegExp(`info request .* transaction=.* worker=${worker}$`, "m").test(service.output());
  const all = Array.from({ length: workers }, (_, at) => at + 1);
  const deadline = performance.now() + 60_000;
  while (!all.every(hasAnswered)) {
    assert.ok(performance.now() < deadline, "a worker answers nothing for 60 s");
    answers.push(await callOnce(target));
  }
}

/** Each call and each read has a connection of its own, which either worker may take. */
async function readsSeeWhatWasAnswered(
  target: { baseUrl: string; key: string },
  answers: Answer[],
): Promise<void> {
  for (let call = 0; call < 12; call++) {
    const answer = await callOnce(target);
    answers.push(answer);
    const rows = await (await fresh(target, "/api/v1/exports", {
      start_date: "2020-01-01T00:00:00Z",
    })).json() as { transaction_id: string }[];
    assert.equal(rows.length, call + 1);
    assert.ok(rows.some((row) => row.transaction_id === answer.transactionId));
  }
}

/** A call by a connection of its own. */
async function callOnce(target: { baseUrl: string; key: string }): Promise<Answer> {
  const path = "/openai/v1/chat/completions";
  const answered = await fresh(target, path, {
    model: "gpt-4.1",
    messages: [{ role: "user", content: "[long:2] Hi" }],
  });
  const transactionId = answered.headers.get("x-transaction-id");
  await answered.text();
  return { path, status: answered.status, transactionId, isFull: true, code: "" };
}

async function writeModels(path: string, ...names: string[]): Promise<void> {
  const models = names.map((name) => [name, { targets: ["vendor-b/gpt-4.1"] }]);
  await Deno.writeTextFile(path, JSON.stringify(Object.fromEntries(models)));
}

/** A signal to the parent reaches each worker, before any of them looks at the file by itself. */
async function allKnow(
  { baseUrl, key }: { baseUrl: string; key: string },
  model: string,
): Promise<void> {
  const deadline = performance.now() + promisedMs(4_000);
  for (let known = 0; known < 12;) {
    const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const headers = { authorization: `Bearer ${key}` };
    const list = await (await fetch(`${baseUrl}/chat/v1/models`, { client, headers })).text();
    known = list.includes(`"${model}"`) ? known + 1 : 0;
    assert.ok(performance.now() < deadline, "a worker knows nothing of it");
  }
}

async function fresh(
  { baseUrl, key }: { baseUrl: string; key: string },
  path: string,
  body: unknown,
): Promise<Response> {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const answer = await fetch(baseUrl + path, {
    ...{ method: "POST", client, body: JSON.stringify(body) },
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  });
  assert.equal(answer.status, 200, path);
  return answer;
}

/** The sum of a metric's values; the same whichever worker is asked. */
async function sumOf({ baseUrl }: { baseUrl: string }, pattern: RegExp): Promise<number> {
  const sums = new Set<number>();
  for (let read = 0; read < 4; read++) {
    const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
    const text = await (await fetch(`${baseUrl}/metrics`, { client })).text();
    sums.add([...text.matchAll(pattern)].reduce((sum, [, value]) => sum + Number(value), 0));
  }
  assert.equal(sums.size, 1, [...sums].join());
  return [...sums][0]!;
}

/** Process ids of the workers in the order of their start, which isn't that of the ids: those wrap. */
async function workersOf({ pid }: ServiceProcess): Promise<number[]> {
  const text = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`);
  return text.trim().split(" ").map(Number);
}

async function namesIn(path: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name);
}

async function untilAnswered(load: Load, count: number): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (load.answers.length < count) {
    assert.ok(performance.now() < deadline, `only ${load.answers.length} answers in 60 s`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function grant(env: Record<string, string>): Promise<void> {
  const { code, stderr } = await runAdminHere({ args: ["credits", "grant", "--usd", "1000"], env });
  assert.equal(code, 0, stderr);
}
