import { batchesOf, writeBatch } from "./batches.ts";
import { isLongRound } from "./environment.ts";
import { judgeTests } from "./judge.ts";
import { inOrder, isUnitTest } from "./files.ts";
import type { Outcome } from "./outcome.ts";
import type { Ended, Processes } from "./processes.ts";
import { slowestFiles } from "./slowest.ts";

/** What all steps of the gate share. */
export interface Gate {
  readonly root: string;
  readonly processes: Processes;
  /** Environment of every child. */
  readonly env: Readonly<Record<string, string>>;
  /** For reports; removed at the end of the run. */
  readonly tempDir: string;
  readonly inCi: boolean;
}

const minute = 60_000;

/** Downloads the locked dependencies. Fails if `deno.json` and the lock file disagree. */
export async function dependencies(gate: Gate): Promise<Outcome> {
  const ended = await deno(gate, ["install", "--frozen"], 10 * minute);
  const drift = gate.inCi ? await lockDrift(gate) : "";
  if (drift === "") return judged("dependencies", ended);
  const output =
    `deno.lock does not fit deno.json: run 'deno install --frozen=false' and commit it.\n${drift}`;
  return judged("dependencies", { ...ended, ok: false, output: ended.output + output });
}

/**
 * Makes the bundle that tests start as the service, if the tree has one, and returns the
 * environment that tells tests where it is. Without it they start the source.
 */
export async function bundledProgram(
  gate: Gate,
  record: (outcome: Outcome) => void,
): Promise<Readonly<Record<string, string>>> {
  const script = "tests/support/programs/bundle_program.ts";
  if (!fileExists(`${gate.root}/${script}`)) return {};
  const folder = `${gate.tempDir}/program`;
  const outcome = judged(
    "bundle",
    await deno(gate, ["run", "-A", "--frozen", script, folder], 5 * minute),
  );
  record(outcome);
  return outcome.failed === 0 ? { TEST_BUNDLE: folder } : {};
}

/**
 * Checks types, lint, format and, if the tree has one, the drift of the OpenAPI document; each is
 * recorded when it ends. Types take longer than the others together, which run beside them.
 */
export async function staticChecks(
  gate: Gate,
  record: (outcome: Outcome) => void,
): Promise<void> {
  const check = async (name: string, args: readonly string[]) =>
    record(judged(name, await deno(gate, args, 5 * minute)));
  const others = async () => {
    await check("lint", ["lint"]);
    await check("format", ["fmt", "--check"]);
    if (!fileExists(`${gate.root}/openapi/generate.ts`)) return;
    await check("document", ["run", "-A", "--frozen", "openapi/generate.ts", "--check"]);
  };
  await Promise.all([check("types", ["check", "--quiet", "--frozen", "."]), others()]);
}

export interface TestOptions {
  /** Whether Deno checks the types of the files that it runs. */
  readonly check: boolean;
  readonly filter: string | null;
  /** How many files run at a time. */
  readonly jobs: number;
  /** Whether files that load the same modules may share an isolate (`batches.ts`). */
  readonly batched?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs test files; if they aren't batched, either unit tests or others. `DENO_JOBS` in the run's
 * environment overrides `jobs`.
 */
export async function tests(
  gate: Gate,
  files: readonly string[],
  options: TestOptions,
): Promise<Outcome> {
  const report = `${gate.tempDir}/tests.xml`;
  const args = ["test", "-A", "--frozen", "--parallel", `--junit-path=${report}`];
  if (!options.check) args.push("--no-check");
  if (options.filter !== null) args.push(`--filter=${options.filter}`);
  const silenceMs = isLongRound(gate.env) ? 60 * minute : 5 * minute;
  if (!options.batched && files.every(isUnitTest)) {
    args.push("--sanitize-ops", "--sanitize-resources");
  }
  const ordered = inOrder(files);
  const modules = options.batched
    ? await Promise.all(
      batchesOf(ordered).map((batch, number) =>
        writeBatch(batch, { root: gate.root, folder: gate.tempDir, name: String(number) })
      ),
    )
    : ordered;
  const jobs = Math.min(options.jobs, modules.length);
  const env = { DENO_JOBS: String(jobs), ...gate.env, ...options.env };
  const ended = await deno({ ...gate, env }, [...args, ...modules], silenceMs);
  const junit = fileExists(report) ? await Deno.readTextFile(report) : "";
  const isFiltered = options.filter !== null;
  const outcome = judgeTests("tests", files, ended, junit, { isFiltered });
  return { ...outcome, slowest: files.length > 10 ? slowestFiles(ended.output, 30) : [] };
}

/** Runs Deno by `Deno.execPath()`, since a machine with only Node has no `deno` in PATH. */
function deno(gate: Gate, args: readonly string[], silenceMs: number): Promise<Ended> {
  return gate.processes.run(Deno.execPath(), args, { cwd: gate.root, env: gate.env, silenceMs });
}

async function lockDrift(gate: Gate): Promise<string> {
  if (!fileExists(`${gate.root}/.git`)) return "";
  const options = { cwd: gate.root, env: gate.env, silenceMs: minute };
  const status = await gate.processes.run(
    "git",
    ["status", "--porcelain", "--", "deno.lock"],
    options,
  );
  return status.ok ? status.output.trim() : "";
}

function judged(name: string, ended: Ended): Outcome {
  return {
    name,
    passed: ended.ok ? 1 : 0,
    failed: ended.ok ? 0 : 1,
    skipped: 0,
    seconds: ended.seconds,
    cpuSeconds: ended.cpuSeconds,
    notes: ended.ok ? [] : [`failed ${name}`],
    details: ended.ok ? "" : ended.output.trimEnd(),
  };
}

function fileExists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
