/**
 * Eight accounts attack at once while a ninth makes ordinary calls.
 * `ATTACK_SECONDS=900 deno task test tests/faults/attacks` is the long form. From five minutes on,
 * and on a machine that does nothing else, it judges how long the ninth's calls take as well.
 */
import assert from "@std/assert";
import { callControl } from "../../../src/admin/control.ts";
import { type ServiceProcess, startService } from "../../support/process.ts";
import { mebibytes, residentBytes } from "../../support/resident.ts";
import { temporaryDirectory } from "../../support/service_files.ts";
import type { AttackReport, Orders } from "./attack_worker.ts";
import type { Target } from "./attackers.ts";
import { isQuietMachine } from "../../support/quiet.ts";
import { callAround, type OrdinaryCall, quantile } from "./ordinary.ts";

const seconds = Number(Deno.env.get("ATTACK_SECONDS") ?? 3);
const isTimed = seconds >= 300 && isQuietMachine();
/** The ninth's 99th percentile beside the attacks, by its quiet value. */
const maxTimes = 5;

Deno.test(`eight accounts attack for ${seconds} s, and no call of a ninth fails`, async () => {
  const vendors = worker(new URL("./vendor_worker.ts", import.meta.url));
  const environment = await nextMessage<Record<string, string>>(vendors);
  const dataDir = temporaryDirectory("attacks");
  const service = await startService({
    env: {
      ...environment,
      DATA_DIR: dataDir,
      IDLE_TIMEOUT_MS: "10000",
      STARTING_CREDIT_USD: "1000",
    },
  });
  const attack = worker(new URL("./attack_worker.ts", import.meta.url));
  try {
    const ninth = { baseUrl: service.baseUrl, key: service.firstKey };
    await callAround(ninth, 2);
    // Only what is timed needs many to compare with.
    const quiet = await callAround(ninth, isTimed ? Math.min(seconds, 30) : 1);
    const before = await leftovers(service);
    const targets: Target[] = [];
    for (let at = 1; at <= 8; at++) {
      targets.push(await newAccount(service, dataDir, `attacker ${at}`));
    }
    attack.postMessage({ targets, seconds } satisfies Orders);
    const attacked = nextMessage<AttackReport>(attack);
    const calls = await callAround(ninth, seconds);
    console.log(`attacks: ${JSON.stringify(await attacked)}`);
    // With it go the connections that its client keeps.
    attack.terminate();
    const times = report(quiet, calls);
    assertAllRight(quiet, 1);
    assertAllRight(calls, 10);
    if (isTimed) assert.ok(times <= maxTimes, `p99 is ${times.toFixed(1)} times its quiet value`);
    await assertNothingLeft(service, dataDir, before);
    vendors.postMessage("active");
    assert.equal(await nextMessage<number>(vendors), 0, "calls that a vendor still works on");
    assert.equal(await service.stop(), 0);
  } finally {
    attack.terminate();
    vendors.terminate();
    await service[Symbol.asyncDispose]();
  }
});

function assertAllRight(calls: readonly OrdinaryCall[], least: number): void {
  const failed = calls.filter(({ failure }) => failure !== undefined);
  assert.deepEqual(failed.slice(0, 5), [], `${failed.length} of ${calls.length} calls failed`);
  assert.ok(calls.length >= least, `only ${calls.length} calls`);
}

function report(quiet: readonly OrdinaryCall[], calls: readonly OrdinaryCall[]): number {
  const line = (of: readonly OrdinaryCall[]) =>
    [0.5, 0.99, 1].map((at) => quantile(of, at).toFixed(0)).join(" / ");
  const ratio = quantile(calls, 0.99) / quantile(quiet, 0.99);
  console.log(
    `${calls.length} calls; p50 / p99 / most in ms: quiet ${line(quiet)}, attacked ${
      line(calls)
    }; ` +
      `p99 is ${ratio.toFixed(1)} times its quiet value`,
  );
  return ratio;
}

interface Leftovers {
  sockets: number;
  threads: number;
  resident: number;
}

async function leftovers(service: ServiceProcess): Promise<Leftovers> {
  const at = `/proc/${service.pid}`;
  let sockets = 0;
  for await (const { name } of Deno.readDir(`${at}/fd`)) {
    const target = await Deno.readLink(`${at}/fd/${name}`).catch(() => "");
    if (target.startsWith("socket:")) sockets++;
  }
  const status = await Deno.readTextFile(`${at}/status`);
  const threads = Number(/Threads:\s+(\d+)/.exec(status)?.[1]);
  return { sockets, threads, resident: await residentBytes(service) };
}

/** What attacks used is released within a minute. */
async function assertNothingLeft(
  service: ServiceProcess,
  dataDir: string,
  before: Leftovers,
): Promise<void> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const now = await leftovers(service);
    const { waiting } = (await admin(dataDir, "journal", "status")) as { waiting: number };
    const wrong = [
      now.sockets > before.sockets + 20 ? `${now.sockets} sockets, ${before.sockets} before` : "",
      now.threads > before.threads + 4 ? `${now.threads} threads, ${before.threads} before` : "",
      now.resident > before.resident + 400 * 1024 * 1024
        ? `${mebibytes(now.resident)} MiB resident, ${mebibytes(before.resident)} before`
        : "",
      waiting > 0 ? `${waiting} records wait for the store` : "",
    ].filter((one) => one !== "");
    if (wrong.length === 0) {
      const [was, is] = [before, now].map(({ resident }) => mebibytes(resident));
      return console.log(
        `left: ${now.sockets} sockets, ${now.threads} threads, ${was} → ${is} MiB`,
      );
    }
    assert.ok(performance.now() < deadline, wrong.join("; "));
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function newAccount(service: ServiceProcess, dataDir: string, name: string): Promise<Target> {
  await admin(dataDir, "account", "create", "--name", name);
  const made = await admin(dataDir, "key", "create", "--name", name, "--account", name);
  return { baseUrl: service.baseUrl, key: (made as { key: string }).key };
}

async function admin(dataDir: string, ...argv: string[]): Promise<unknown> {
  const result = await callControl(dataDir, argv);
  assert.equal(result?.exitCode, 0, result?.lines.join("\n"));
  return result!.json;
}

function worker(module: URL): Worker {
  return new Worker(module, { type: "module" });
}

function nextMessage<T>(from: Worker): Promise<T> {
  return new Promise((resolve, reject) => {
    from.addEventListener("message", (event: MessageEvent<T>) => resolve(event.data), {
      once: true,
    });
    from.addEventListener("error", (event) => {
      event.preventDefault();
      reject(new Error(event.message));
    }, { once: true });
  });
}
