import { cpuSecondsOfChildren } from "./cpu_time.ts";
import { inOrder } from "./files.ts";
import { type Gate, type TestOptions, tests } from "./gate.ts";
import { type Outcome, total } from "./outcome.ts";

/** The time that one test file takes when it runs alone, with all programs that it starts. */
export interface FileCost {
  readonly file: string;
  readonly cpuSeconds: number;
  readonly seconds: number;
}

/**
 * Runs files one by one, so that the processor time that the kernel counts meanwhile
 * is the file's own, including that of the shared database server. In the gate a file takes less,
 * because it shares loaded modules with its batch.
 */
export async function timeFiles(
  gate: Gate,
  files: readonly string[],
  options: TestOptions,
  print: (line: string) => void,
): Promise<{ outcome: Outcome; costs: FileCost[] }> {
  const outcomes: Outcome[] = [];
  const costs: FileCost[] = [];
  for (const file of inOrder(files)) {
    const before = cpuSecondsOfChildren();
    const outcome = await tests(gate, [file], options);
    const cpuSeconds = cpuSecondsOfChildren() - before;
    const cost = { file, cpuSeconds, seconds: outcome.seconds };
    print(costLine(cost));
    outcomes.push(outcome);
    costs.push(cost);
  }
  const { cpuSeconds, seconds } = sumOf(costs);
  const outcome = {
    ...total(outcomes, false),
    name: "tests",
    ...{ seconds, cpuSeconds },
    notes: outcomes.flatMap(({ notes }) => notes),
    details: outcomes.map(({ details }) => details).filter((text) => text !== "").join("\n"),
  };
  return { outcome, costs };
}

/** Formats the files and folders that take most time, and the sum, for people. */
export function costLines(costs: readonly FileCost[], most: number): string {
  const dearest = [...costs].sort((a, b) => b.cpuSeconds - a.cpuSeconds).slice(0, most);
  const folders = [...Map.groupBy(costs, ({ file }) => folderOf(file))]
    .map(([folder, own]) => ({ folder, files: own.length, ...sumOf(own) }))
    .sort((a, b) => b.cpuSeconds - a.cpuSeconds);
  return [
    "dearest files:",
    ...dearest.map(costLine),
    "by folder:",
    ...folders.map(({ folder, files, cpuSeconds }) =>
      `${cpuSeconds.toFixed(1).padStart(8)} CPU s  ${folder} (${files})`
    ),
    `${sumOf(costs).cpuSeconds.toFixed(1).padStart(8)} CPU s  in all (${costs.length})`,
  ].join("\n");
}

function sumOf(costs: readonly FileCost[]): { cpuSeconds: number; seconds: number } {
  return {
    cpuSeconds: costs.reduce((sum, one) => sum + one.cpuSeconds, 0),
    seconds: costs.reduce((sum, one) => sum + one.seconds, 0),
  };
}

function costLine({ file, cpuSeconds, seconds }: FileCost): string {
  return `${cpuSeconds.toFixed(1).padStart(8)} CPU s ${seconds.toFixed(1).padStart(7)} s  ${file}`;
}

/** Returns the first two folders of a path, such as `tests/http` or `src/base`. */
function folderOf(file: string): string {
  return file.split("/").slice(0, -1).slice(0, 2).join("/");
}
