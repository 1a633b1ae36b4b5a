/**
 * Processor time in seconds, as Linux counts it: a run shares its machine, so its seconds by the
 * clock say little. All values are 0 where there is no `/proc`.
 */

/** The kernel counts in hundredths of a second on every machine that Deno supports. */
const ticksPerSecond = 100;

/** Returns the processor time of ended children that were waited for, and of their own children. */
export function cpuSecondsOfEnded(): number {
  return timesOf("self")?.ended ?? 0;
}

/** Returns the processor time of all children, ended or running, and of their own children. */
export function cpuSecondsOfChildren(): number {
  const byParent = Map.groupBy(runningProcesses(), ({ parent }) => parent);
  const ofTree = (pid: number): number =>
    (byParent.get(pid) ?? []).reduce(
      (sum, { pid, times }) => sum + times.own + times.ended + ofTree(pid),
      0,
    );
  return cpuSecondsOfEnded() + ofTree(Deno.pid);
}

interface Times {
  readonly parent: number;
  readonly own: number;
  readonly ended: number;
}

function runningProcesses(): { pid: number; parent: number; times: Times }[] {
  return numbersIn("/proc").flatMap((pid) => {
    const times = timesOf(pid);
    return times === undefined ? [] : [{ pid, parent: times.parent, times }];
  });
}

function numbersIn(folder: string): number[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => Number(name)).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** Reads a process's times; undefined if it has ended. */
function timesOf(pid: number | "self"): Times | undefined {
  try {
    // The program's name, in parentheses, may contain anything.
    const fields = Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ").at(-1)!.split(" ");
    const [parent = 0] = fields.slice(1, 2).map(Number);
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(
      (ticks) => Number(ticks) / ticksPerSecond,
    );
    return { parent, own: user + system, ended: endedUser + endedSystem };
  } catch {
    return undefined;
  }
}
