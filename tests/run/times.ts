import { cpuSecondsOfChildren } from "./cpu_time.ts";
import type { TestGroup } from "./files.ts";
import { type Gate, type TestOptions, tests } from "./gate.ts";
import { type Outcome, total } from "./outcome.ts";

/** What one test file takes when it runs alone: of the processor, with all programs it starts. */
export interface FileCost {
  readonly file: string;
  readonly cpuSeconds: number;
  readonly seconds: number;
}

/**
 * Runs each file of a group by itself, nothing beside it, so that what the kernel counts meanwhile
 * is its own; the shared database server counts too. In the gate a file costs less by what it loads
 * together with the others of its batch.
 */
export async function timeFiles(
  gate: Gate,
  group: TestGroup,
  options: TestOptions,
  print: (line: string) => void,
): Promise<{ outcome: Outcome; costs: FileCost[] }> {
  const outcomes: Outcome[] = [];
  const costs: FileCost[] = [];
  for (const file of group.files) {
    const before = cpuSecondsOfChildren();
    const outcome = await tests(gate, { ...group, files: [file] }, options);
    const cpuSeconds = cpuSecondsOfChildren() - before;
    const cost = { file, cpuSeconds, seconds: outcome.seconds };
    print(costLine(cost));
    outcomes.push(outcome);
    costs.push(cost);
  }
  const { cpuSeconds, seconds } = sumOf(costs);
  const outcome = {
    ...total(outcomes, false),
    name: group.name,
    ...{ seconds, cpuSeconds },
    notes: outcomes.flatMap(({ notes }) => notes),
    details: outcomes.map(({ details }) => details).filter((text) => text !== "").join("\n"),
  };
  return { outcome, costs };
}

/** The dearest files and folders, and what all take, for people. */
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

/** `tests/http`, `src/base`. */
function folderOf(file: string): string {
  return file.split("/").slice(0, -1).slice(0, 2).join("/");
}
