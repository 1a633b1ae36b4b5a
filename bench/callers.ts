import type { CallerOrder, CallerSight } from "./programs/caller.ts";

/**
 * Warm-up: how long each contender is called before anything is measured, and a gateway again
 * before streams or translated calls are. The runtime optimises its code over the first 20,000
 * calls or so, which makes it three times as fast.
 */
export const firstSeconds = { proxy: 8, gateway: 30 };

/** Runs callers in a process of their own, and returns what they saw. */
export async function callers(order: CallerOrder): Promise<CallerSight> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "bench/programs/caller.ts"],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(order)));
  await writer.close();
  const { success, stdout } = await child.output();
  if (!success) throw new Error("the callers' program failed");
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** A running program of `bench/programs/` that has printed its port. Disposing kills it. */
export interface Peer extends Disposable {
  readonly port: number;
  readonly pid: number;
}

/** Starts a program of the bench; it is killed when this process ends. */
export async function startProgram(script: string, args: readonly string[] = []): Promise<Peer> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", script, ...args],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  const port = Number(new TextDecoder().decode(value));
  if (!(port > 0)) throw new Error(`${script} printed no port`);
  const kill = () => killChild(child);
  globalThis.addEventListener("unload", kill);
  return { port, pid: child.pid, [Symbol.dispose]: kill };
}

export function killChild(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // It is gone already.
  }
}
