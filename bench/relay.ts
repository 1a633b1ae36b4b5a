import { postgresAvailability, startPostgres } from "../tests/support/postgres.ts";
import { runProgram, startService } from "../tests/support/process.ts";
import { temporaryDirectory } from "../tests/support/service_files.ts";
import { fire, type Shot } from "./load.ts";
import { printTable } from "./table.ts";

const warmMs = 4_000;
const measuredMs = 8_000;
const messages = [{ role: "user", content: "Say a word two hundred times. ".repeat(20) }];
const body = JSON.stringify({ model: "gpt-4.1", max_tokens: 300, messages });
const streamed = JSON.stringify({ model: "gpt-4.1", max_tokens: 300, stream: true, messages });
const unified = JSON.stringify({ model: "vendor-b/gpt-4.1", max_tokens: 300, messages });
const unifiedStreamed = JSON.stringify({ ...JSON.parse(unified), stream: true });

/** A kind of call, on the gateway and on the proxy that does nothing. */
interface Cell {
  name: string;
  connections: number;
  path: string;
  body: string;
  /** What the bare proxy gets: the vendor's own form. */
  bareBody: string;
}

const cells: readonly Cell[] = [
  {
    name: "whole, passed through",
    connections: 32,
    path: "/openai/v1/chat/completions",
    body,
    bareBody: body,
  },
  {
    name: "whole, translated from messages",
    connections: 32,
    path: "/chat/v1/messages",
    body: unified,
    bareBody: body,
  },
  {
    name: "200 chunks, passed through",
    connections: 16,
    path: "/openai/v1/chat/completions",
    body: streamed,
    bareBody: streamed,
  },
  {
    name: "200 chunks, translated from messages",
    connections: 16,
    path: "/chat/v1/messages",
    body: unifiedStreamed,
    bareBody: streamed,
  },
  {
    name: "one call at a time",
    connections: 1,
    path: "/openai/v1/chat/completions",
    body,
    bareBody: body,
  },
];

/**
 * Calls through the gateway with everything on (records with payloads, journal on disk, credit,
 * limits) against a proxy on the same runtime that only moves bytes. Vendor, proxy and gateway
 * are processes of their own.
 */
export async function benchRelay(): Promise<void> {
  const vendor = await startPeer("bench/programs/mock_vendor.ts", []);
  const bare = await startPeer("bench/programs/bare_proxy.ts", [String(vendor.port)]);
  try {
    await measure("embedded database", vendor.port, bare.port, {});
    const { available, reason } = postgresAvailability();
    if (!available) return console.log(`PostgreSQL skipped: ${reason}`);
    const created = await (await startPostgres()).createDatabase();
    await measure("PostgreSQL", vendor.port, bare.port, { DATABASE_URL: created.url });
    await created.drop();
  } finally {
    for (const { process } of [bare, vendor]) process.kill("SIGKILL");
  }
}

async function measure(
  title: string,
  vendorPort: number,
  barePort: number,
  more: Record<string, string>,
): Promise<void> {
  const env = {
    ...more,
    DENO_V8_FLAGS: await startFlags(),
    DATA_DIR: temporaryDirectory("bench"),
    VENDOR_B_BASE_URL: `http://127.0.0.1:${vendorPort}`,
    VENDOR_B_API_KEY: "sk-bench",
  };
  await using service = await startService({ env });
  for (
    const args of [["credits", "grant", "--usd", "100000"], [
      "account",
      "tier",
      "1",
      "enterprise",
      "--rpm",
      "100000000",
      "--burst",
      "100000000",
    ]]
  ) {
    const { code, stderr } = await runProgram({ script: "admin.ts", args, env });
    if (code !== 0) throw new Error(stderr);
  }
  const headers = { authorization: `Bearer ${service.firstKey}` };
  const rows = [["calls", "of the bare proxy", "gateway", "bare proxy", "added median"]];
  for (const { name, connections, path, body, bareBody } of cells) {
    const gateway: Shot = { baseUrl: service.baseUrl, path, headers, body };
    const bare: Shot = {
      baseUrl: `http://127.0.0.1:${barePort}`,
      path: "/v1/chat/completions",
      headers,
      body: bareBody,
    };
    const [ours, theirs] = [await timed(gateway, connections), await timed(bare, connections)];
    rows.push([
      `${name} (${connections})`,
      `${(100 * ours.perSecond / theirs.perSecond).toFixed(0)} %`,
      `${ours.perSecond.toFixed(0)}/s`,
      `${theirs.perSecond.toFixed(0)}/s`,
      `${(ours.median - theirs.median).toFixed(2)} ms`,
    ]);
  }
  printTable(title, rows);
}

async function timed(shot: Shot, connections: number) {
  await fire(shot, connections, warmMs);
  const times = (await fire(shot, connections, measuredMs)).toSorted((a, b) => a - b);
  return {
    perSecond: times.length / (measuredMs / 1000),
    median: times[Math.floor(times.length / 2)]!,
  };
}

/** The heap's settings that `deno task start` gives. */
export async function startFlags(): Promise<string> {
  const settings = JSON.parse(await Deno.readTextFile(new URL("../deno.json", import.meta.url)));
  return /--v8-flags=(\S+)/.exec(settings.tasks.start)?.[1] ?? "";
}

export async function startPeer(script: string, args: readonly string[]) {
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", script, ...args],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const { value } = await process.stdout.getReader().read();
  return { process, port: Number(new TextDecoder().decode(value)) };
}
