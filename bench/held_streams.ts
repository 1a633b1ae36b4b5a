import { runProgram, startService } from "../tests/support/process.ts";
import { asStarted, measured, mebibytes, residentBytes } from "../tests/support/resident.ts";
import { temporaryDirectory } from "../tests/support/service_files.ts";
import type { HoldersOrder, HoldersSight } from "./programs/stream_holders.ts";
import { startPeer } from "./relay.ts";
import { printTable } from "./table.ts";

const streams = Number(Deno.env.get("STREAMS") ?? 3_000);
const heldSeconds = Number(Deno.env.get("HELD_SECONDS") ?? 45);
const perSecond = 300;
const messages = [{ role: "user", content: "Say a word each second. ".repeat(20) }];

/**
 * Streams that are held open, each with a chunk a second: how much memory they take, and how late a
 * chunk gets that nothing but the gateway stands in the way of.
 */
export async function benchHeldStreams(): Promise<void> {
  const rows = [["lane", "held", "over idle", "late p50", "p99", "p99.9", "most", "CPU"]];
  const lanes = (Deno.env.get("LANES") ?? "same,translated").split(",");
  for (const lane of lanes) rows.push(await hold(lane));
  printTable(`${streams} streams, a chunk a second, ${heldSeconds} s`, rows);
}

async function hold(lane: string): Promise<string[]> {
  const vendor = await startPeer("bench/programs/slow_vendor.ts", [String(heldSeconds)]);
  const env = {
    ...asStarted(),
    DATA_DIR: temporaryDirectory("bench"),
    VENDOR_B_BASE_URL: `http://127.0.0.1:${vendor.port}`,
    VENDOR_B_API_KEY: "sk-bench",
    CALLS_IN_FLIGHT_MAX: String(2 * streams),
    STREAMS_PER_ACCOUNT_MAX: String(2 * streams),
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
    const model = lane === "same" ? "gpt-4.1" : "vendor-b/gpt-4.1";
    const order: HoldersOrder = {
      port: Number(new URL(service.baseUrl).port),
      from: ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"],
      path: lane === "same" ? "/openai/v1/chat/completions" : "/chat/v1/messages",
      headers: { authorization: `Bearer ${service.firstKey}` },
      body: JSON.stringify({ model, max_tokens: 300, stream: true, messages }),
      streams,
      perSecond,
    };
    const idle = await residentBytes(service);
    const cpuBefore = cpuSeconds(service.pid);
    const { value: { begun, seen }, peak, seconds } = await measured(service, () => holders(order));
    const cpu = (cpuSeconds(service.pid) - cpuBefore) / seconds;
    const { late, whole, broken } = seen;
    return [
      lane,
      `${begun} begun, ${whole} whole${broken > 0 ? `, ${broken} BROKEN` : ""}`,
      `${mebibytes(peak - idle)} MiB`,
      ...[late.p50, late.p99, late.p999, late.most].map((ms) => `${ms} ms`),
      `${(100 * cpu).toFixed(0)} % of a core`,
    ];
  } finally {
    vendor.process.kill("SIGKILL");
  }
}

async function holders(order: HoldersOrder): Promise<{ begun: number; seen: HoldersSight }> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "bench/programs/stream_holders.ts", JSON.stringify(order)],
    stderr: "inherit",
  }).output();
  const [first, last] = new TextDecoder().decode(stdout).trim().split("\n");
  return { begun: JSON.parse(first!).begun, seen: JSON.parse(last!) };
}

function cpuSeconds(pid: number): number {
  const [, fields] = Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ");
  const [user, system] = fields!.split(" ").slice(11, 13).map(Number);
  return (user! + system!) / 100;
}
