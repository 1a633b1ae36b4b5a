import type { ServiceProcess } from "./process.ts";

/** The result of some work, with the service's highest memory use meanwhile in bytes. */
export interface Measured<T> {
  value: T;
  peak: number;
  seconds: number;
}

/** Measures the process's resident memory ten times a second while `work` runs. */
export async function measured<T>(
  service: Pick<ServiceProcess, "pid">,
  work: () => Promise<T>,
): Promise<Measured<T>> {
  let peak = 0;
  const look = async () => peak = Math.max(peak, await residentBytes(service));
  const timer = setInterval(look, 100);
  const began = performance.now();
  try {
    const value = await work();
    await look();
    return { value, peak, seconds: (performance.now() - began) / 1000 };
  } finally {
    clearInterval(timer);
  }
}

export async function residentBytes(service: Pick<ServiceProcess, "pid">): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${service.pid}/status`);
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/**
 * Returns the environment that makes a process use memory as under `deno task start`: its variables
 * for the C library, and its V8 flags.
 */
export function asStarted(): Record<string, string> {
  const { tasks } = JSON.parse(Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)));
  const [before, flags] = tasks.start.split(" deno run ");
  return {
    ...Object.fromEntries(before.split(" ").map((one: string) => one.split("="))),
    DENO_V8_FLAGS: /--v8-flags=(\S+)/.exec(flags)![1]!,
  };
}

export function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(0);
}
