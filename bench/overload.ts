import { runProgram, type ServiceProcess, startService } from "../tests/support/process.ts";
import { asStarted, residentBytes } from "../tests/support/resident.ts";
import { temporaryDirectory } from "../tests/support/service_files.ts";
import type { CrowdOrder, CrowdSight } from "./programs/crowd.ts";
import { startProgram } from "./callers.ts";
import type { Figures } from "./figures.ts";

const quietMs = Number(Deno.env.get("QUIET_MS") ?? 8_000);
const overloadMs = Number(Deno.env.get("OVERLOAD_MS") ?? 15_000);
const recoveryMs = 10_000;
const quietConnections = 64;
/** Connections of the crowd, about as many as one address may have. */
const most = 2_000;
const messages = [{ role: "user", content: "Say a word two hundred times. ".repeat(20) }];

/**
 * Offers calls at several times the service's capacity, whether it answers or not. Measures what it
 * still answers, how it refuses the rest, what other callers notice, and how soon it recovers.
 */
export async function benchOverload(figures: Figures): Promise<void> {
  const cores = await separateCores();
  using vendor = await startProgram("bench/programs/mock_vendor.ts");
  await pin(vendor.pid, cores?.others);
  const env = {
    ...asStarted(),
    DATA_DIR: temporaryDirectory("bench"),
    VENDOR_B_BASE_URL: `http://127.0.0.1:${vendor.port}`,
    VENDOR_B_API_KEY: "sk-bench",
  };
  await using service = await startService({ env });
  await pin(service.pid, cores?.service);
  for (
    const args of [
      ["credits", "grant", "--usd", "100000"],
      ["account", "tier", "1", "enterprise", "--rpm", "100000000", "--burst", "100000000"],
    ]
  ) {
    const { code, stderr } = await runProgram({ script: "admin.ts", args, env });
    if (code !== 0) throw new Error(stderr);
  }
  const times = Number(Deno.env.get("TIMES") ?? "5");
  const kinds = (Deno.env.get("CONNECTIONS") ?? "kept,new").split(",");
  for (const kind of kinds) await measure(figures, service, times, kind === "kept");
}

async function measure(
  figures: Figures,
  service: ServiceProcess,
  times: number,
  keep: boolean,
): Promise<void> {
  const order = {
    port: Number(new URL(service.baseUrl).port),
    path: "/openai/v1/chat/completions",
    headers: { authorization: `Bearer ${service.firstKey}` },
    body: JSON.stringify({ model: "gpt-4.1", max_tokens: 300, messages }),
    keep,
  };
  await offer({ ...order, perSecond: 0, most: quietConnections, ms: quietMs / 2 });
  const quietRun = runSeconds(service);
  const quiet = await offer({ ...order, perSecond: 0, most: quietConnections, ms: quietMs });
  const perRunSecond = (quiet.answers["200"] ?? 0) / quietRun();
  const capacity = (quiet.answers["200"] ?? 0) / (quietMs / 1000);
  const before = await residentBytes(service);
  const probe = await probeLivez(service);
  const run = runSeconds(service);
  const seen = await offer({ ...order, perSecond: capacity * times, most, ms: overloadMs });
  const goodPerRunSecond = (seen.answers["200"] ?? 0) / run();
  const peak = await residentBytes(service);
  const recovered = await recovery(order, capacity);
  const livez = await probe.stop();
  const { 200: good = 0, 503: refused = 0, lost = 0, waited = 0, ...others } = seen.answers;
  const { sent, unsent } = seen;
  const unanswered = sent - sum(Object.values(seen.answers)) + lost + waited;
  const share = (part: number, whole = sent + unsent) => `${(100 * part / whole).toFixed(0)} %`;
  const goodput = good / (overloadMs / 1000);
  const { answered, busy } = seen;
  figures.add(
    "overload",
    `${times} times the capacity of ${capacity.toFixed(0)}/s, ${keep ? "kept" : "new"} connections`,
    [
      ["measure", "ratio", "figure"],
      ["goodput of capacity", share(goodput, capacity), `${goodput.toFixed(0)}/s`],
      // On a machine with other load this says more than figures by the clock.
      [
        "the same per processor second of the service",
        share(goodPerRunSecond, perRunSecond),
        `${goodPerRunSecond.toFixed(0)} of ${perRunSecond.toFixed(0)}`,
      ],
      ["refused (503) of offered", share(refused), String(refused)],
      ["refused, p50, p99", "", `${seen.refused.p50} ms, ${seen.refused.p99} ms`],
      ["without Retry-After", share(seen.withoutRetry), String(seen.withoutRetry)],
      ["other answers", share(sum(Object.values(others))), String(sum(Object.values(others)))],
      ["connection lost", share(lost), String(lost)],
      ["not answered", share(unanswered - lost), String(unanswered - lost)],
      [`not sent, ${most} being under way`, share(unsent), String(unsent)],
      ["answered, p50, p99", "", `${answered.p50} ms, ${answered.p99} ms`],
      ["answered in quiet, p50, p99", "", `${quiet.answered.p50} ms, ${quiet.answered.p99} ms`],
      ["/livez on new connections, worst", "", livez],
      ["memory", (peak / before).toFixed(2), `${((peak - before) / 2 ** 20).toFixed(0)} MiB more`],
      ["recovered after", "", recovered === undefined ? "not in 10 s" : `${recovered} s`],
      ["the generator's part of a processor", share(busy, 1), `${share(quiet.busy, 1)} in quiet`],
    ],
  );
  const codes = Object.entries(seen.codes).map(([code, calls]) => `${code}: ${calls}`);
  console.log(`not answered 200: ${codes.join(", ") || "none"}`);
  if (Deno.env.get("DBG")) await Deno.writeTextFile("/tmp/svc.log", service.output());
}

/** Separate processors for the service and for all others, so that they don't slow each other. */
interface Cores {
  service: string;
  others: string;
}

/** Divides the processors; undefined with only one, or without `taskset` to assign them. */
async function separateCores(): Promise<Cores | undefined> {
  const count = navigator.hardwareConcurrency;
  const exists = await new Deno.Command("which", { args: ["taskset"], stdout: "null" }).output();
  return exists.success && count > 1
    ? { service: count > 2 ? `0-${count - 2}` : "0", others: String(count - 1) }
    : undefined;
}

/** Restricts a process, with all its threads, to these processors. */
async function pin(pid: number, cores: string | undefined): Promise<void> {
  if (cores === undefined) return;
  const args = ["-a", "-c", "-p", cores, String(pid)];
  await new Deno.Command("taskset", { args, stdout: "null" }).output();
}

/** Returns a function that gives the processor seconds of the service's main thread since now. */
function runSeconds({ pid }: ServiceProcess): () => number {
  const seconds = () => Number(Deno.readTextFileSync(`/proc/${pid}/schedstat`).split(" ")[0]) / 1e9;
  const before = seconds();
  return () => seconds() - before;
}

/** Runs a crowd in a process of its own, and returns what it saw. */
async function offer(order: CrowdOrder): Promise<CrowdSight> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "bench/programs/crowd.ts", JSON.stringify(order)],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  await pin(child.pid, (await separateCores())?.others);
  const { stdout } = await child.output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** Requests `/livez` from a process of its own; `stop` returns the longest wait. */
async function probeLivez(
  { baseUrl, pid }: ServiceProcess,
): Promise<{ stop(): Promise<string> }> {
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "bench/programs/livez_probe.ts", baseUrl, String(pid)],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  await pin(process.pid, (await separateCores())?.others);
  const worst = new Response(process.stdout).text().then((text) => {
    const lines = text.trim().split("\n").map((line) => line.split(" ").map(Number));
    const max = (at: number) => Math.max(0, ...lines.map((line) => line[at] ?? 0)).toFixed(0);
    return `${max(0)} ms (${max(2)} ms of them the service ran)`;
  });
  return {
    stop() {
      process.kill("SIGKILL");
      return worst;
    },
  };
}

/** Offers half the capacity until a second passes without a failure. Returns the seconds taken. */
async function recovery(
  order: Omit<CrowdOrder, "perSecond" | "ms" | "most">,
  capacity: number,
): Promise<string | undefined> {
  const began = performance.now();
  while (performance.now() - began < recoveryMs) {
    const perSecond = capacity / 2;
    const { answers, sent } = await offer({ ...order, perSecond, ms: 1_000, most });
    const { 200: good = 0, ...others } = answers;
    // Calls that are cut off at the end of the second don't count as failures.
    if (sum(Object.values(others)) === 0 && good > sent * 0.8) {
      return ((performance.now() - began) / 1000).toFixed(1);
    }
  }
  return undefined;
}
