import { readConfig } from "./src/config.ts";
import { runServer } from "./src/run_server.ts";

/** `deno task start`: serves until it is told to stop. */
await runServer(readConfig);
