import { Agent, request as open } from "node:http";
import { runProgram, type ServiceProcess, startService } from "../tests/support/process.ts";
import { residentBytes } from "../tests/support/resident.ts";
import { temporaryDirectory } from "../tests/support/service_files.ts";
import { fire, type Shot } from "./load.ts";
import { startFlags, startPeer } from "./relay.ts";
import { printTable } from "./table.ts";

const quietMs = 8_000;
const overloadMs = 15_000;
const recoveryMs = 10_000;
const connections = 64;
/** The generator has as many calls under way at most; callers that get no answer leave. */
const maxOutstanding = 3_000;
const callMs = 10_000;
const messages = [{ role: "user", content: "Say a word two hundred times. ".repeat(20) }];

/**
 * Calls at several times of what the service can do, offered whether it answers or not: what it
 * still answers, how it refuses the rest, what others see of it, and how soon all is well again.
 */
export async function benchOverload(): Promise<void> {
  const vendor = await startPeer("bench/programs/mock_vendor.ts", []);
  const env = {
    DENO_V8_FLAGS: await startFlags(),
    DATA_DIR: temporaryDirectory("bench"),
    VENDOR_B_BASE_URL: `http://127.0.0.1:${vendor.port}`,
    VENDOR_B_API_KEY: "sk-bench",
  };
  try {
    await using service = await startService({ env });
    for (
      const args of [
        ["credits", "grant", "--usd", "100000"],
        ["account", "tier", "1", "enterprise", "--rpm", "100000000", "--burst", "100000000"],
      ]
    ) {
      const { code, stderr } = await runProgram({ script: "admin.ts", args, env });
      if (code !== 0) throw new Error(stderr);
    }
    await measure(service, Number(Deno.env.get("TIMES") ?? "5"));
  } finally {
    vendor.process.kill("SIGKILL");
  }
}

async function measure(service: ServiceProcess, times: number): Promise<void> {
  const shot: Shot = {
    baseUrl: service.baseUrl,
    path: "/openai/v1/chat/completions",
    headers: { authorization: `Bearer ${service.firstKey}` },
    body: JSON.stringify({ model: "gpt-4.1", max_tokens: 300, messages }),
  };
  await fire(shot, connections, quietMs / 2);
  const quiet = await fire(shot, connections, quietMs);
  const capacity = quiet.length / (quietMs / 1000);
  const before = await residentBytes(service);
  const probe = probeLivez(service.baseUrl);
  const seen = await offer(shot, capacity * times, overloadMs);
  const peak = await residentBytes(service);
  const recovered = await recovery(shot, capacity);
  const livez = await probe.stop();
  const share = (part: number, whole: number) => `${(100 * part / whole).toFixed(0)} %`;
  printTable(`offered: ${times} times the capacity of ${capacity.toFixed(0)}/s`, [
    ["measure", "ratio", "figure"],
    ["offered", (seen.offered / capacity).toFixed(1), `${seen.offered.toFixed(0)}/s`],
    ["goodput of capacity", share(seen.goodput, capacity), `${seen.goodput.toFixed(0)}/s`],
    ["refused (503) of offered", share(seen.refused, seen.sent), String(seen.refused)],
    ["without Retry-After", share(seen.withoutRetry, seen.sent), String(seen.withoutRetry)],
    ["other answers", share(seen.others, seen.sent), String(seen.others)],
    ["not answered in 10 s", share(seen.unanswered, seen.sent), String(seen.unanswered)],
    ["answered, p50", "", `${percentile(seen.times, 0.5)} ms`],
    ["answered, p99", "", `${percentile(seen.times, 0.99)} ms (quiet ${percentile(quiet, 0.99)})`],
    ["/livez on new connections, worst", "", `${livez.toFixed(0)} ms`],
    ["memory", (peak / before).toFixed(2), `${((peak - before) / 2 ** 20).toFixed(0)} MiB more`],
    ["well again after", "", recovered === undefined ? "not in 10 s" : `${recovered} s`],
  ]);
}

interface Seen {
  sent: number;
  offered: number;
  goodput: number;
  refused: number;
  withoutRetry: number;
  others: number;
  unanswered: number;
  times: number[];
}

async function offer(shot: Shot, perSecond: number, ms: number): Promise<Seen> {
  const agent = new Agent({ keepAlive: true, maxSockets: maxOutstanding });
  const seen = { sent: 0, refused: 0, withoutRetry: 0, others: 0, unanswered: 0 };
  const times: number[] = [];
  const running = new Set<Promise<void>>();
  const began = performance.now();
  while (performance.now() - began < ms) {
    const due = perSecond * (performance.now() - began) / 1000;
    for (; seen.sent < due; seen.sent++) {
      if (running.size >= maxOutstanding) {
        // Nobody waits for these: the offer is what counts.
        seen.unanswered++;
        continue;
      }
      const call = one(shot, agent).then(({ status, retryAfter, ms }) => {
        if (status === 200) times.push(ms);
        else if (status === 0) seen.unanswered++;
        else if (status === 503) {
          seen.refused++;
          if (!retryAfter) seen.withoutRetry++;
        } else seen.others++;
      });
      running.add(call);
      void call.finally(() => running.delete(call));
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const goodput = times.length / (ms / 1000);
  const offered = seen.sent / (ms / 1000);
  agent.destroy();
  await Promise.all(running);
  return { ...seen, offered, goodput, times };
}

function one(
  { baseUrl, path, headers, body }: Shot,
  agent: Agent,
): Promise<{ status: number; retryAfter: boolean; ms: number }> {
  const began = performance.now();
  return new Promise((resolve) => {
    const none = () => resolve({ status: 0, retryAfter: false, ms: 0 });
    const call = open(
      baseUrl + path,
      {
        method: "POST",
        agent,
        timeout: callMs,
        headers: { "content-type": "application/json", ...headers },
      },
      (answer) => {
        answer.on("data", () => {});
        answer.on("error", none);
        answer.on("end", () =>
          resolve({
            status: answer.statusCode ?? 0,
            retryAfter: answer.headers["retry-after"] !== undefined,
            ms: performance.now() - began,
          }));
      },
    );
    call.on("timeout", () => call.destroy());
    call.on("error", none);
    call.end(body);
  });
}

/** The longest wait of one who asks `/livez` from a process of its own. */
function probeLivez(baseUrl: string): { stop(): Promise<number> } {
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "bench/programs/livez_probe.ts", baseUrl],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const worst = new Response(process.stdout).text().then((text) =>
    Math.max(0, ...text.trim().split("\n").map(Number))
  );
  return {
    stop() {
      process.kill("SIGKILL");
      return worst;
    },
  };
}

/** Seconds until half of the capacity, offered, is answered without a refusal for a second. */
async function recovery(shot: Shot, capacity: number): Promise<number | undefined> {
  for (let second = 1; second <= recoveryMs / 1000; second++) {
    const { refused, others, unanswered } = await offer(shot, capacity / 2, 1_000);
    // Those cut off at the end of the second are no failure of the service.
    if (refused + others === 0 && unanswered < capacity / 10) return second;
  }
  return undefined;
}

function percentile(times: readonly number[], part: number): string {
  const sorted = times.toSorted((a, b) => a - b);
  return (sorted[Math.floor(sorted.length * part)] ?? NaN).toFixed(0);
}
