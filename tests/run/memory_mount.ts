import { isInMemory, memoryHasRoom } from "./memory_folder.ts";

/**
 * Runs `script` in a second process whose temporary files are in memory, and returns its exit code;
 * undefined if that isn't possible, or if they are in memory already.
 *
 * `/dev/shm` wouldn't do, because services that tests start can't have files below `/dev`. Mounting
 * another file system takes root. Only the second process sees the mount, which ends with it.
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

/** Whether this process may mount: root in a container may lack the right. */
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

/** A command that mounts the folder and runs a program, which gets SIGTERM if we are killed. */
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
