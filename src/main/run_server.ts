import { stdoutLines } from "../base/log.ts";
import type { Config } from "./config.ts";
import { messageOf } from "../shared/fault.ts";
import { type Server, startServer } from "./serve.ts";

/**
 * Runs the service as a process: starts it, and stops it gracefully on SIGTERM or SIGINT; SIGHUP has
 * it read `MODELS_FILE` again where there is one. A failed start prints one line on standard error and exits with 1.
 */
export async function runServer(readConfig: () => Config): Promise<void> {
  let server: Server;
  const lines = stdoutLines({ lingerMs: 20 });
  let config: Config;
  try {
    config = readConfig();
    server = await startServer(config, (line) => lines.print(line), lines);
  } catch (thrown) {
    await lines.flush();
    console.error(failedStart(thrown));
    Deno.exit(1);
  }
  let stopping = false;
  const stop = () => {
    // The second signal stops at once.
    if (stopping) Deno.exit(1);
    stopping = true;
    server.stop().then(() => Deno.exit(0), (thrown) => {
      console.error(`error: the stop was not clean: ${messageOf(firstError(thrown))}`);
      Deno.exit(1);
    });
  };
  Deno.addSignalListener("SIGTERM", stop);
  Deno.addSignalListener("SIGINT", stop);
  // Without the file it keeps its usual meaning: the terminal is gone.
  if (config.modelsFile !== undefined) {
    Deno.addSignalListener("SIGHUP", () => void server.reload());
  }
}

/** The line that a failed start ends with. */
export function failedStart(thrown: unknown): string {
  return `error: ${messageOf(firstError(thrown)).split("\n")[0]}`;
}

/** The original error, if cleanup has failed after it. */
function firstError(thrown: unknown): unknown {
  let first = thrown;
  while (first instanceof SuppressedError) first = first.suppressed;
  return first;
}
