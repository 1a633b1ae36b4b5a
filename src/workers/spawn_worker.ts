import { spawn } from "node:child_process";
import { programFile, programForm } from "../base/program_files.ts";
import settings from "../../deno.json" with { type: "json" };
import type { WorkerEvents, WorkerProcess } from "./worker_group.ts";

/** The command that starts this program again. */
export interface ProgramCommand {
  path: string;
  args: readonly string[];
}

/**
 * Returns the command that starts a worker: this program's own, without the permission to start
 * programs. From the source it has the flags of `deno task start`; the bundle has its own command.
 */
export function workerCommand(): ProgramCommand {
  if (programForm === "bundle") return { path: pathOf("demeter"), args: ["start"] };
  const command = settings.tasks.start.split(" ");
  // The flags come after the variables for the C library, `deno` and `run`, and before the script.
  const flags = command.slice(command.indexOf("deno") + 2, -1);
  return {
    path: Deno.execPath(),
    args: [
      "run",
      ...flags.map((flag) => flag === "--allow-run" ? "--deny-run" : flag),
      `--config=${pathOf("deno.json")}`,
      pathOf("main.ts"),
    ],
  };
}

/** Whether this process may run the command; a compiled program may start no programs. */
export function mayStart({ path }: ProgramCommand): boolean {
  if (Deno.build.standalone) return false;
  return Deno.permissions.querySync({ name: "run", command: path }).state === "granted";
}

function pathOf(file: string): string {
  return decodeURIComponent(programFile(file).pathname);
}

/**
 * Starts a process with a channel to this one; its output goes where ours goes. When this process
 * ends, however it does, the other one's channel closes.
 */
export function spawnWorker(
  { path, args }: ProgramCommand,
  env: Readonly<Record<string, string>>,
  events: WorkerEvents,
): WorkerProcess {
  const child = spawn(path, [...args], { stdio: ["ignore", "inherit", "inherit", "ipc"], env });
  let hasEnded = false;
  const end = (code: number | null, signal: string | null) => {
    if (hasEnded) return;
    hasEnded = true;
    events.ended({ code, signal });
  };
  child.on("message", (message: unknown) => events.message(message));
  child.on("exit", end);
  // The process could not be started, or a message could not be sent.
  child.on("error", () => {
    if (child.pid === undefined) end(null, null);
  });
  return {
    pid: child.pid ?? 0,
    send: (message) => void child.send(message),
    kill: () => void child.kill("SIGKILL"),
  };
}
