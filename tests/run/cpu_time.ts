/**
 * Seconds of the processor, by what Linux counts: a run shares its machine, so that its seconds by
 * the clock say little. All are 0 where there is no `/proc`.
 */

/** The kernel counts in hundredths, on every machine that Deno runs on. */
const ticksPerSecond = 100;

/** What this process's children have taken that have ended and were waited for, and theirs. */
export function cpuSecondsOfEnded(): number {
  return timesOf("self")?.ended ?? 0;
}

/** What all children of this process have taken, those that run as well, and theirs. */
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

/** Undefined for a process that is gone. */
function timesOf(pid: number | "self"): Times | undefined {
  try {
    // The program's name, in parentheses, may hold anything.
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
