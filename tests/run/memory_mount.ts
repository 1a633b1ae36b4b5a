import { memoryHasRoom, readText } from "./memory_folder.ts";

/**
 * Runs this program once more, with its temporary files in memory, and gives its exit code; undefined
 * where that can't be, or where they are in memory already.
 *
 * What tests start as programs must keep its files outside `/dev`, and a file system of one's own
 * needs root. It is mounted for the second program alone, and gone with it.
 */
export async function runInMemory(
  script: URL,
  args: readonly string[],
): Promise<number | undefined> {
  if (Deno.build.os !== "linux" || Deno.uid() !== 0 || !memoryHasRoom()) return undefined;
  const folder = Deno.makeTempDirSync({ prefix: "gate-" });
  // A database server that tests start as another user must be able to pass through.
  Deno.chmodSync(folder, 0o711);
  try {
    if (isInMemory(folder) || !await canMount(folder)) return undefined;
    return await mounted(folder, [Deno.execPath(), "run", "-A", script.pathname, ...args]);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** Whether a path is on a file system in memory. */
export function isInMemory(path: string, mounts = readText("/proc/mounts")): boolean {
  let nearest = { point: "", type: "" };
  for (const line of mounts.split("\n")) {
    const [, point = "none", type = ""] = line.split(" ");
    const isAbove = `${path}/`.startsWith(point === "/" ? point : `${point}/`);
    // Of two at one point the later one is seen.
    if (isAbove && point.length >= nearest.point.length) nearest = { point, type };
  }
  return nearest.type === "tmpfs";
}

/** A container's root may not be allowed to. */
async function canMount(folder: string): Promise<boolean> {
  try {
    const { success } = await command(folder, ["true"], "null").output();
    return success;
  } catch {
    return false;
  }
}

async function mounted(folder: string, program: readonly string[]): Promise<number> {
  const child = command(folder, program, "inherit").spawn();
  const listeners = (["SIGINT", "SIGTERM"] as const).map((signal) => {
    const passOn = () => child.kill(signal);
    Deno.addSignalListener(signal, passOn);
    return () => Deno.removeSignalListener(signal, passOn);
  });
  const { code } = await child.status;
  for (const remove of listeners) remove();
  return code;
}

/** Is told to stop when this process is killed. */
function command(
  folder: string,
  program: readonly string[],
  output: "inherit" | "null",
): Deno.Command {
  const mount = `mount -t tmpfs -o mode=711 tmpfs "$TMPDIR" && exec "$@"`;
  return new Deno.Command("unshare", {
    args: ["--mount", "setpriv", "--pdeathsig", "TERM", "sh", "-c", mount, "sh", ...program],
    env: { TMPDIR: folder },
    ...{ stdin: "null", stdout: output, stderr: output },
  });
}
