import { measured, mebibytes, residentBytes } from "../tests/support/resident.ts";
import { startGateway } from "./gateway.ts";
import type { HoldersOrder, HoldersSight } from "./programs/stream_holders.ts";
import { startProgram } from "./callers.ts";
import type { Figures } from "./figures.ts";

const streams = Number(Deno.env.get("STREAMS") ?? 3_000);
const heldSeconds = Number(Deno.env.get("HELD_SECONDS") ?? 45);
const perSecond = 300;
const messages = [{ role: "user", content: "Say a word each second. ".repeat(20) }];

/**
 * Holds streams open, each with one chunk per second: measures their memory, and the delay that the
 * gateway adds to a chunk.
 */
export async function benchHeldStreams(figures: Figures): Promise<void> {
  const rows = [["lane", "held", "over idle", "late p50", "p99", "p99.9", "most", "CPU"]];
  const lanes = (Deno.env.get("LANES") ?? "same,translated").split(",");
  for (const lane of lanes) rows.push(await hold(figures, lane));
  figures.add("held_streams", `${streams} streams, a chunk a second, ${heldSeconds} s`, rows);
}

async function hold(figures: Figures, lane: string): Promise<string[]> {
  using vendor = await startProgram("bench/programs/slow_vendor.ts", [String(heldSeconds)]);
  const env = {
    CALLS_IN_FLIGHT_MAX: String(2 * streams),
    STREAMS_PER_ACCOUNT_MAX: String(2 * streams),
  };
  await using gateway = await startGateway({ store: "embedded", vendorPort: vendor.port, env });
  const model = lane === "same" ? "gpt-4.1" : "vendor-b/gpt-4.1";
  const order: HoldersOrder = {
    port: gateway.port,
    from: ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"],
    path: lane === "same" ? "/openai/v1/chat/completions" : "/chat/v1/messages",
    headers: { authorization: `Bearer ${gateway.key}` },
    body: JSON.stringify({ model, max_tokens: 300, stream: true, messages }),
    streams,
    perSecond,
  };
  const since = new Date();
  const idle = await residentBytes(gateway);
  const cpuBefore = cpuSeconds(gateway.pid);
  const { value: { begun, seen }, peak, seconds } = await measured(gateway, () => holders(order));
  const cpu = (cpuSeconds(gateway.pid) - cpuBefore) / seconds;
  const { late, whole, broken, refused } = seen;
  if (broken > 0) figures.fail(`held streams, ${lane}: ${broken} broke`);
  await gateway.stored();
  gateway.remember({ name: `held streams, ${lane}`, answered: whole, since, until: new Date() });
  for (const wrong of await gateway.proveCharged()) figures.fail(wrong);
  return [
    lane,
    `${begun} begun, ${whole} whole${refused > 0 ? `, ${refused} refused first` : ""}`,
    `${mebibytes(peak - idle)} MiB`,
    ...[late.p50, late.p99, late.p999, late.most].map((ms) => `${ms} ms`),
    `${(100 * cpu).toFixed(0)} % of a core`,
  ];
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
