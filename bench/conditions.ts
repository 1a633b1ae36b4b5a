import { release } from "node:os";

/** Returns the conditions of a measurement, in the form that public benchmarks of gateways use. */
export function conditions(): Record<string, string | number> {
  return {
    taken_at: new Date().toISOString().slice(0, 16) + "Z",
    processors: navigator.hardwareConcurrency,
    processor: fieldOf("/proc/cpuinfo", "model name") || Deno.build.arch,
    memory_gib: Math.round(Deno.systemMemoryInfo().total / 2 ** 30),
    system: `${Deno.build.os} ${release()}`,
    load_before: Math.round(Deno.loadavg()[0]! * 10) / 10,
    deno: Deno.version.deno,
    v8: Deno.version.v8,
    commit: commitOf(),
    recording: "on, with payloads",
    billing: "on, from prepaid credit",
    journal_sync: "always",
    vendor: "on this machine, answers at once",
  };
}

function fieldOf(path: string, name: string): string {
  try {
    const line = Deno.readTextFileSync(path).split("\n").find((one) => one.startsWith(name));
    return line?.split(":")[1]?.trim() ?? "";
  } catch {
    return "";
  }
}

function commitOf(): string {
  try {
    const args = ["describe", "--always", "--dirty"];
    const { stdout } = new Deno.Command("git", { args, stderr: "null" }).outputSync();
    return new TextDecoder().decode(stdout).trim();
  } catch {
    return "unknown";
  }
}
