import { stdoutLines } from "../base/log.ts";
import type { Config } from "./config.ts";
import { messageOf } from "../shared/fault.ts";
import { type Server, startServer } from "./serve.ts";

/**
 * Runs the service as a process: starts it, stops it in order on SIGTERM or SIGINT, and ends a
 * start that can't be with one line on standard error and exit code 1.
 */
export async function runServer(readConfig: () => Config): Promise<void> {
  let server: Server;
  const lines = stdoutLines();
  try {
    server = await startServer(readConfig(), (line) => lines.print(line), lines);
  } catch (thrown) {
    await lines.flush();
    console.error(failedStart(thrown));
    Deno.exit(1);
  }
  let stopping = false;
  const stop = () => {
    // Asked twice: somebody doesn't want to wait.
    if (stopping) Deno.exit(1);
    stopping = true;
    server.stop().then(() => Deno.exit(0), (thrown) => {
      console.error(`error: the stop was not clean: ${messageOf(firstError(thrown))}`);
      Deno.exit(1);
    });
  };
  Deno.addSignalListener("SIGTERM", stop);
  Deno.addSignalListener("SIGINT", stop);
}

/** The one line that a start which can't be ends with. */
export function failedStart(thrown: unknown): string {
  return `error: ${messageOf(firstError(thrown)).split("\n")[0]}`;
}

/** What went wrong first, where ending what was begun went wrong after it. */
function firstError(thrown: unknown): unknown {
  let first = thrown;
  while (first instanceof SuppressedError) first = first.suppressed;
  return first;
}
