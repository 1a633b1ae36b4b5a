/**
 * Processor time and memory of processes, from Linux's /proc. On other systems (`hasProc` false)
 * these figures are left out.
 */
export const hasProc: boolean = readText("/proc/self/schedstat") !== "";

/** Kinds of threads, as the table names them. `store`: processes of PostgreSQL. */
export const threadKinds = ["main", "workers", "v8", "other", "store"] as const;
export type ThreadKind = typeof threadKinds[number];

/** Nanoseconds of processor time by kind of thread. */
export type CpuTimes = Readonly<Record<ThreadKind, number>>;

/** Returns a process and all its descendants. */
export function processTree(pid: number): number[] {
  const parents = new Map<number, number[]>();
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const parent = Number(statFields(name)[1]);
    parents.set(parent, [...parents.get(parent) ?? [], Number(name)]);
  }
  const found: number[] = [];
  for (const queue = [pid]; queue.length > 0;) {
    const next = queue.pop()!;
    found.push(next);
    queue.push(...parents.get(next) ?? []);
  }
  return found;
}

/** Returns the processor time so far of the trees of `pids`, and of the store's at `storePid`. */
export function cpuTimes(pids: readonly number[], storePid?: number): CpuTimes {
  const times = { main: 0, workers: 0, v8: 0, other: 0, store: 0 };
  for (const pid of pids.flatMap(processTree)) {
    for (const thread of threadsOf(pid)) {
      times[kindOf(thread.name, thread.id === pid)] += thread.nanos;
    }
  }
  for (const pid of storePid === undefined ? [] : processTree(storePid)) {
    for (const thread of threadsOf(pid)) times.store += thread.nanos;
  }
  // Connections that were closed, and workers of autovacuum.
  if (storePid !== undefined) times.store += endedNanos(storePid);
  return times;
}

/** Returns microseconds of processor time per call by kind of thread, between two readings. */
export function cpuPerCall(before: CpuTimes, after: CpuTimes, calls: number): CpuTimes {
  const entries = threadKinds.map((kind) =>
    [kind, Math.max(0, after[kind] - before[kind]) / 1000 / Math.max(1, calls)] as const
  );
  return Object.fromEntries(entries) as CpuTimes;
}

export function total(times: CpuTimes): number {
  return threadKinds.reduce((sum, kind) => sum + times[kind], 0);
}

/** Returns the resident bytes of the trees of these processes; shared pages count for each. */
export function residentBytes(pids: readonly number[]): number {
  const bytes = pids.flatMap(processTree).map((pid) => {
    const kib = /VmRSS:\s+(\d+) kB/.exec(readText(`/proc/${pid}/status`))?.[1];
    return Number(kib ?? 0) * 1024;
  });
  return bytes.reduce((sum, one) => sum + one, 0);
}

function threadsOf(pid: number): { id: number; name: string; nanos: number }[] {
  try {
    return [...Deno.readDirSync(`/proc/${pid}/task`)].map(({ name: id }) => ({
      id: Number(id),
      name: readText(`/proc/${pid}/task/${id}/comm`).trim(),
      nanos: Number(readText(`/proc/${pid}/task/${id}/schedstat`).split(" ")[0]),
    }));
  } catch {
    // It has ended.
    return [];
  }
}

/** Returns the processor time of the ended children of `pid`, to 10 ms. */
function endedNanos(pid: number): number {
  const fields = statFields(pid);
  // cutime and cstime of proc(5).
  return (Number(fields[13] ?? 0) + Number(fields[14] ?? 0)) * 10_000_000;
}

/** Returns the fields after the process's name, which is in parentheses and may hold anything. */
function statFields(pid: number | string): string[] {
  return readText(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ") ?? [];
}

function kindOf(name: string, isFirst: boolean): ThreadKind {
  if (isFirst) return "main";
  if (name.startsWith("worker-")) return "workers";
  return /^(V8|v8|node-V8)/.test(name) ? "v8" : "other";
}

function readText(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}
