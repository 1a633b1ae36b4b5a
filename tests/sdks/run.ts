/**
 * `deno task sdks [NAME…] [--write] [--record]`: the SDKs and frameworks of tests/sdks/clients.ts,
 * installed into a temporary folder, pointed at the service by the blocks of docs/sdks.md and asked
 * for each feature on their own vendor and on two others. Prints a table; ends with 1 where a cell
 * fails that tests/sdks/explained.ts doesn't explain, or works that it does. `--write` puts the
 * tables' rows into the page; `--record` writes what was sent to tests/fixtures/sdks, which the gate
 * sends again.
 */
import { startSimulators } from "../../demo/simulators.ts";
import { startTap, type TappedCall } from "../matrix/tap.ts";
import { simulatedEnvironment, startTestService, type TestService } from "../support/service.ts";
import { type Client, clients, embeddingModel, type Lane, modelsOf } from "./clients.ts";
import { explanationsOf } from "./explained.ts";
import { install, type Installed } from "./install.ts";
import { type Feature, features, judge, type SeenCall, type Shown } from "./judge.ts";
import { record } from "./record.ts";
import { type ErrorRow, type ResultRow, writeTables } from "./tables.ts";

const pagePath = `${import.meta.dirname}/../../docs/sdks.md`;
/** Longer than any program takes on a machine that does something else. */
const timeoutMs = Number(Deno.env.get("SDK_SECONDS") ?? 240) * 1000;

/** One program's run: a client, in one of its lanes, on one model. */
interface Cell {
  readonly client: Client;
  readonly lane: Lane;
  readonly model: string;
}

interface Outcome {
  /** What is wrong, by feature; a program that didn't run at all is `program`. */
  readonly problems: ReadonlyMap<string, string>;
  readonly shown: readonly Shown[];
  readonly seen: ReadonlyMap<string, readonly SeenCall[]>;
}

async function main(): Promise<number> {
  const names = Deno.args.filter((one) => !one.startsWith("--"));
  const wanted = clients.filter(({ name }) => names.length === 0 || names.includes(name));
  const page = await Deno.readTextFile(pagePath);
  const kept = Deno.env.get("SDKS_DIR");
  const folder = kept ?? await Deno.makeTempDir({ prefix: "sdks-" });
  const simulators = await startSimulators();
  const env = { ...simulatedEnvironment(simulators), STARTING_CREDIT_USD: "1000" };
  const service = await startTestService({ env });
  const [results, errors]: [ResultRow[], ErrorRow[]] = [[], []];
  let failed = 0;
  try {
    for (const client of wanted) {
      const home = `${folder}/${client.name}`;
      const installed = await install(client, home, blockOf(page, client.name))
        .catch((error: Error) => error);
      if (installed instanceof Error) {
        console.log(`✗ ${client.name} can't be installed: ${installed.message}`);
        failed++;
        continue;
      }
      for (const lane of client.lanes) {
        // Programs wait for most of their time, before they repeat a call.
        const ran = await Promise.all(modelsOf[lane].map(async (model) => {
          const cell = { client, lane, model };
          const outcome = await runCell(cell, { home, installed, service });
          return { cell, outcome, ...describe(cell, outcome) };
        }));
        const failures = ran.filter(({ isFine }) => !isFine).length;
        failed += failures;
        // What failed leaves the page's rows and the gate's recordings as they are.
        if (failures > 0) continue;
        const cells = ran.map(({ text }) => text);
        results.push({ name: client.name, version: versionOf(client), lane, cells });
        const { cell, outcome } = ran[0]!;
        errors.push(errorRow(cell, outcome));
        if (Deno.args.includes("--record")) await record(`${client.name}-${lane}`, outcome.seen);
      }
    }
  } finally {
    await service.stop();
    await simulators.close();
    if (kept === undefined) await Deno.remove(folder, { recursive: true });
  }
  if (Deno.args.includes("--write")) await writeTables(pagePath, results, errors);
  return failed === 0 ? 0 : 1;
}

/** The client's block of docs/sdks.md. */
export function blockOf(page: string, name: string): string {
  const found = new RegExp(`^\`\`\`\\w+ sdk=${name}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(page);
  if (!found) throw new Error(`docs/sdks.md has no block for ${name}`);
  return found[1]!;
}

/** Of the first package: `openai==3.54.0` and `ai@7.0.173` as 3.54.0 and 7.0.173. */
function versionOf({ packages: [first = ""] }: Client): string {
  return first.split(/==|(?<=.)@|:/).at(-1)!.replace(/^v/, "");
}

interface World {
  readonly home: string;
  readonly installed: Installed;
  readonly service: TestService;
}

async function runCell(cell: Cell, { home, installed, service }: World): Promise<Outcome> {
  const tap = startTap(service.baseUrl);
  const since = new Date().toISOString();
  // A prompt that a vendor fails some times has to be this run's own.
  const run = crypto.randomUUID().slice(0, 8);
  const asks = Object.entries(features).map(([name, { ask }]) => [
    name,
    name === "repeated" ? `${run} ${ask}` : ask,
  ]);
  const { lines, isWhole, end } = await runProgram(home, installed, {
    ...{ BASE: tap.url, KEY: service.key, MODEL: cell.model, LANE: cell.lane },
    ...{
      MISSING: cell.model.replace(/\/.*/, "/none"),
      ASKS: JSON.stringify(Object.fromEntries(asks)),
    },
    EMBEDDING: embeddingModel(cell.lane, cell.model) ?? "",
  });
  await tap.close();
  const seen = await callsByFeature(tap.take(), service, since);
  const problems = new Map<string, string>();
  for (const shown of lines) {
    const problem = judge(shown, seen.get(shown.feature) ?? []);
    if (problem !== undefined) problems.set(shown.feature, problem);
  }
  if (!isWhole) problems.set("program", end);
  return { problems, shown: lines, seen };
}

async function callsByFeature(
  calls: readonly TappedCall[],
  service: TestService,
  since: string,
): Promise<Map<string, SeenCall[]>> {
  const rows = (await service.rows()).filter(({ created_at }) => String(created_at) >= since);
  const seen = new Map<string, SeenCall[]>();
  for (const call of calls) {
    const named = Object.entries(features).find(([, { mark }]) => mark.test(call.requestText));
    if (call.method !== "POST" || !named) continue;
    const id = call.headers.get("x-transaction-id");
    const row = rows.find(({ transaction_id }) => transaction_id === id);
    seen.set(named[0], [...seen.get(named[0]) ?? [], { call, row }]);
  }
  return seen;
}

async function runProgram(
  home: string,
  { command, env }: Installed,
  more: Readonly<Record<string, string>>,
): Promise<{ lines: Shown[]; isWhole: boolean; end: string }> {
  const [program, ...args] = command;
  const { PATH = "" } = Deno.env.toObject();
  const child = new Deno.Command(program!, {
    ...{ args, cwd: home, clearEnv: true },
    env: { HOME: home, PATH, TERM: "dumb", ...env, ...more },
    ...{ stdin: "null", stdout: "piped", stderr: "piped" },
  }).spawn();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, timeoutMs);
  const { code, stdout, stderr } = await child.output();
  clearTimeout(timer);
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  const lines = out!.split("\n").filter((line) => line.startsWith('{"')).map((line) =>
    JSON.parse(line) as Shown
  ).filter(({ feature }) => feature in features);
  const end = isLate ? `no end after ${timeoutMs / 1000} s` : `code ${code}`;
  const isWhole = code === 0 && lines.length > 0;
  return { lines, isWhole, end: `${end}: ${(out! + err!).trim().slice(-400)}` };
}

/** A cell's text in the table, and whether all that fails in it is explained, and nothing else. */
function describe({ client, lane, model }: Cell, { problems, shown }: Outcome) {
  const name = `${client.name} ${lane} ${model}`;
  const explained = new Map(
    explanationsOf(client.name, lane, model).flatMap(({ features, why }) =>
      features.map((feature) => [feature as string, why] as const)
    ),
  );
  for (const [feature, problem] of problems) {
    const why = explained.get(feature);
    const text = why ?? problem.replaceAll("\n", " ");
    console.log(`${why === undefined ? "✗" : "–"} ${name} ${feature}: ${text}`);
  }
  const mended = [...explained.keys()].filter((feature) => !problems.has(feature));
  for (const feature of mended) console.log(`✗ ${name} ${feature}: works, though explained`);
  if (problems.size === 0) console.log(`✓ ${name}: ${shown.length} features`);
  const isFine = mended.length === 0 && [...problems.keys()].every((one) => explained.has(one));
  const text = problems.size === 0 ? "✓" : `all but ${[...problems.keys()].join(", ")}`;
  return { text, isFine };
}

function errorRow({ client, lane }: Cell, { shown, seen }: Outcome): ErrorRow {
  const classOf = (feature: Feature) => shown.find((one) => one.feature === feature)?.thrown ?? "–";
  const repeated = shown.find(({ feature }) => feature === "repeated");
  const asked = (feature: Feature) => seen.get(feature)?.length ?? 0;
  return {
    ...{ name: client.name, lane, missing: classOf("missing"), limited: classOf("limited") },
    broken: classOf("broken"),
    requestId: shown.some(({ request_id }) => request_id !== undefined),
    repeats: repeated !== undefined && asked("repeated") > 1,
    times: asked("limited"),
  };
}

if (import.meta.main) Deno.exit(await main());
