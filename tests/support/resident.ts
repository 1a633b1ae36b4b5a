import type { ServiceProcess } from "./process.ts";

/** What a service took of memory while some work ran, in bytes. */
export interface Measured<T> {
  value: T;
  peak: number;
  seconds: number;
}

/** Looks at the process's resident memory ten times a second while `work` runs. */
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

/** What `deno task start` tells the runtime and the C library below it: both keep memory flat. */
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
