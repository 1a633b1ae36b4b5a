/**
 * The gate, as `deno task test`: everything that must hold of this tree, in one command.
 * Ends with the line `N passed, N failed` and exits 0 only when nothing failed.
 * With arguments it runs just the tests they name: `deno task test src/store "revoked key"`.
 */
import { readArguments } from "./run/arguments.ts";
import { cpuSecondsOfEnded } from "./run/cpu_time.ts";
import { debianMachine, ensurePackages, neededPackages } from "./run/debian.ts";
import { isCi, testEnvironment } from "./run/environment.ts";
import { startDatabaseServer } from "./run/database_server.ts";
import { isUnitTest, testFiles } from "./run/files.ts";
import { bundledProgram, dependencies, type Gate, staticChecks, tests } from "./run/gate.ts";
import { makeMemoryFolder } from "./run/memory_folder.ts";
import { runInMemory } from "./run/memory_mount.ts";
import { type Outcome, outcomeLine, requireMatch, total, totalsLine } from "./run/outcome.ts";
import { Processes } from "./run/processes.ts";
import { slowestLines } from "./run/slowest.ts";
import { costLines, timeFiles } from "./run/times.ts";

async function main(args: readonly string[]): Promise<number> {
  const root = decodeURIComponent(new URL("..", import.meta.url).pathname).replace(/\/$/, "");
  const tempDir = Deno.makeTempDirSync({ prefix: "gate-" });
  // A database server that tests start as another user must be able to pass through.
  Deno.chmodSync(tempDir, 0o711);
  const processes = new Processes();
  const memoryDir = makeMemoryFolder();
  // For the database server of this process, and for the tests.
  if (memoryDir !== undefined) Deno.env.set("TEST_MEMORY_DIR", memoryDir);
  const outer = Deno.env.toObject();
  const env = testEnvironment(outer, tempDir);
  const gate: Gate = { root, processes, env, tempDir, inCi: isCi(outer) };
  // What runs is ended, what would follow fails at once, and the way out is the usual one.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => processes.stop());
  }
  const outcomes: Outcome[] = [];
  const record = (outcome: Outcome) => {
    outcomes.push(outcome);
    print(outcome);
  };
  try {
    await run(gate, args, record);
  } catch (error) {
    record(crashed(error));
  } finally {
    processes.stop();
    for (const folder of [tempDir, memoryDir]) {
      if (folder !== undefined) Deno.removeSync(folder, { recursive: true });
    }
  }
  return finish(outcomes, gate.inCi);
}

async function run(
  gate: Gate,
  args: readonly string[],
  record: (outcome: Outcome) => void,
): Promise<void> {
  const all = testFiles(gate.root);
  const selection = readArguments(args, all);
  const whole = args.length === 0;
  const apt = debianMachine((program, aptArgs) =>
    gate.processes.run(program, aptArgs, {
      cwd: gate.root,
      env: { ...gate.env, DEBIAN_FRONTEND: "noninteractive" },
      silenceMs: 15 * 60_000,
    })
  );
  // Only tests need Debian's packages: everything else runs while they are installed.
  const installed = ensurePackages(neededPackages(gate.root), apt, console.log).then((outcome) => {
    if (outcome !== null) record(outcome);
  });
  console.log("Fetching the npm dependencies that deno.lock names");
  record(await dependencies(gate));
  // The whole run looks at all types in one step.
  const options = { check: !whole, filter: selection.filter };
  if (!whole) await installed;
  if (selection.times) {
    const env = await bundledProgram(gate, record);
    await timed(gate, selection.files, { ...options, check: false, env }, record);
    return;
  }
  if (!whole) {
    const ran: Outcome[] = [];
    const isOther = (file: string) => !isUnitTest(file);
    for (const files of [selection.files.filter(isUnitTest), selection.files.filter(isOther)]) {
      if (files.length === 0) continue;
      const outcome = await tests(gate, files, { ...options, jobs: cores });
      record(outcome);
      ran.push(outcome);
    }
    requireMatch(ran);
    return;
  }
  const checked = staticChecks(gate, record);
  const bundleEnv = await bundledProgram(gate, record);
  await installed;
  const server = await startDatabaseServer(gate.root);
  const env = { ...server.env, ...bundleEnv };
  // While some tests wait for programs, databases and timers, others compute.
  const testing = tests(gate, selection.files, { ...options, jobs: 2 * cores, batched: true, env });
  try {
    await Promise.all([checked, testing.then(record)]);
  } finally {
    await server.stop();
  }
}

/** One file after the other, on a database server of their own, and what each takes. */
async function timed(
  gate: Gate,
  files: readonly string[],
  options: { check: boolean; filter: string | null; env: Readonly<Record<string, string>> },
  record: (outcome: Outcome) => void,
): Promise<void> {
  const server = await startDatabaseServer(gate.root);
  try {
    const alone = { ...options, jobs: 1, env: { ...options.env, ...server.env } };
    const { costs, outcome } = await timeFiles(gate, files, alone, console.log);
    record(outcome);
    console.log(costLines(costs, 30));
  } finally {
    await server.stop();
  }
}

const cores = navigator.hardwareConcurrency;

function print(outcome: Outcome): void {
  console.log(outcomeLine(outcome));
  if (outcome.slowest?.length) console.log(`slowest files:\n${slowestLines(outcome.slowest)}`);
  if (outcome.details !== "") console.log(`\n${outcome.details}\n`);
}

function crashed(error: unknown): Outcome {
  const details = error instanceof Error ? error.message : String(error);
  const notes = [`failed: ${details}`];
  return { name: "gate", passed: 0, failed: 1, skipped: 0, seconds: 0, notes, details: "" };
}

/** Prints the notes and, as the last line, the totals; returns the exit code. */
function finish(outcomes: readonly Outcome[], inCi: boolean): number {
  const totals = total(outcomes, inCi);
  const cpuSeconds = cpuSecondsOfEnded();
  if (cpuSeconds > 0) console.log(`${cpuSeconds.toFixed(0)} CPU s in all`);
  const notes = outcomes.flatMap((outcome) => outcome.notes);
  if (notes.length > 0) console.log(`\n${notes.join("\n")}`);
  if (inCi && notes.some((note) => note.startsWith("skipped"))) {
    console.log("CI is set: what was skipped counts as failed.");
  }
  console.log(`\n${totalsLine(totals)}`);
  return totals.failed === 0 && totals.passed > 0 ? 0 : 1;
}

if (import.meta.main) {
  const script = new URL(import.meta.url);
  Deno.exit(await runInMemory(script, Deno.args) ?? await main(Deno.args));
}
