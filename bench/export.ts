import { fill, type FilledDatabase } from "./calls.ts";
import { startProgram } from "./callers.ts";
import type { Figures } from "./figures.ts";
import { type Gateway, postgresMissing, startGateway } from "./gateway.ts";
import type { BenchOptions } from "./options.ts";
import { residentBytes } from "./processes.ts";

interface Run {
  rows: number;
  bytes: number;
  seconds: number;
}

/** The rows that an export writes: those of the caller's account, oldest first. */
const copied: Readonly<Record<string, string>> = {
  plain: "select * from interactions where account_id = 1 order by created_at, transaction_id",
  payloads: `select i.*, p.request, p.response from interactions i
    left join interaction_payloads p using (transaction_id, created_at)
    where account_id = 1 order by i.created_at, i.transaction_id`,
};

/** Compares exports over HTTP with `psql \copy` of the same rows into a file, in turns. */
export async function benchExport(figures: Figures, options: BenchOptions): Promise<void> {
  const missing = postgresMissing();
  if (missing !== undefined) return console.log(`export skipped: ${missing}`);
  using vendor = await startProgram("bench/programs/mock_vendor.ts");
  const all = options.rows ?? 200_000;
  for (const kind of ["plain", "payloads"] as const) {
    await using gateway = await startGateway({
      store: "postgres",
      vendorPort: vendor.port,
      async fill(database) {
        await fill(database, all);
        if (kind === "payloads") await fillPlainPayloads(database);
        await database.query("vacuum analyze");
      },
    });
    await measure(figures, options, gateway, kind);
  }
}

async function measure(
  figures: Figures,
  { rounds = 3 }: BenchOptions,
  gateway: Gateway,
  kind: "plain" | "payloads",
): Promise<void> {
  const file = `${gateway.dataDir}/copied.csv`;
  const ways: Record<string, () => Promise<Run>> = {
    "psql \\copy, csv": () => copy(gateway, copied[kind]!, file),
    "export, csv": () => download(gateway, "csv", kind),
    "export, json": () => download(gateway, "json", kind),
  };
  // A round that isn't counted: otherwise the first would read the disk for the others.
  for (const run of Object.values(ways)) await run();
  const idle = residentBytes([gateway.pid]);
  let peak = idle;
  const watch = setInterval(() => peak = Math.max(peak, residentBytes([gateway.pid])), 500);
  const found = Object.entries(ways).map(([name, run]) => ({ name, run, runs: [] as Run[] }));
  for (let round = 0; round < rounds; round++) {
    for (const { run, runs } of found) runs.push(await run());
  }
  clearInterval(watch);
  const made = found.map(({ name, runs }) => {
    const rows = runs.reduce((sum, one) => sum + one.rows, 0);
    const seconds = runs.reduce((sum, one) => sum + one.seconds, 0);
    const bytes = runs.reduce((sum, one) => sum + one.bytes, 0);
    return {
      ...{ name, payloads: kind === "payloads", rows: runs[0]!.rows, bytes: runs[0]!.bytes },
      rows_per_second: Math.round(rows / seconds),
      mib_per_second: Math.round(bytes / seconds / 2 ** 20),
    };
  });
  const counts = new Set(made.map(({ rows }) => rows));
  if (counts.size > 1) figures.fail(`exports have ${[...counts].join(" and ")} rows`);
  const first = made[0]!;
  figures.add(
    "export",
    `${first.rows} rows ${kind === "payloads" ? "with" : "without"} payloads, ${
      ((peak - idle) / 2 ** 20).toFixed(0)
    } MiB over idle`,
    [
      ["way", "of \\copy, rows", "rows/s", "MiB/s", "MiB"],
      ...made.map((one) => [
        one.name,
        (one.rows_per_second / first.rows_per_second).toFixed(2),
        String(one.rows_per_second),
        String(one.mib_per_second),
        (one.bytes / 2 ** 20).toFixed(0),
      ]),
    ],
    made,
  );
}

async function copy({ databaseUrl }: Gateway, select: string, file: string): Promise<Run> {
  const began = performance.now();
  const { success, stdout, stderr } = await new Deno.Command("psql", {
    args: [
      ...["--no-psqlrc", "--set=ON_ERROR_STOP=1", `--dbname=${databaseUrl}`],
      `--command=\\copy (${select.replaceAll(/\s+/g, " ")}) to '${file}' with (format csv, header)`,
    ],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  const seconds = (performance.now() - began) / 1000;
  const rows = Number(/COPY (\d+)/.exec(new TextDecoder().decode(stdout))?.[1]);
  return { rows, bytes: (await Deno.stat(file)).size, seconds };
}

/** Downloads in a process of its own, as `psql` is one: it counts rows and drops the bytes. */
async function download(
  gateway: Gateway,
  format: "csv" | "json",
  kind: "plain" | "payloads",
): Promise<Run> {
  const began = performance.now();
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "bench/programs/download.ts"],
    env: {
      ...{ BASE_URL: gateway.baseUrl, KEY: gateway.key, FORMAT: format },
      ...(kind === "plain" ? { PAYLOADS: "no" } : {}),
    },
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("the download failed");
  const { rows, bytes } = JSON.parse(new TextDecoder().decode(stdout));
  return { rows, bytes, seconds: (performance.now() - began) / 1000 };
}

/** Inserts about 2.5 KB for each call: a prompt and the answer of `mock_vendor.ts`. */
async function fillPlainPayloads(database: FilledDatabase): Promise<void> {
  await database.query(
    `insert into interaction_payloads (transaction_id, created_at, request, response)
     select transaction_id, created_at,
       '{"model":"gpt-4.1","max_tokens":300,"messages":[{"role":"user","content":"' || md5(transaction_id)
         || repeat(' Say a word two hundred times.', 20) || '"}]}',
       '{"id":"' || request_id || '","object":"chat.completion","created":1,"model":"gpt-4.1","choices":'
         || '[{"index":0,"message":{"role":"assistant","content":"' || repeat('word ', 200)
         || '"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":200}}'
     from interactions`,
  );
}
