import { readConfig } from "./src/main/config.ts";
import { refuseArguments, runServer } from "./src/main/run_server.ts";

/** `deno task start`: serves until it is told to stop. */
refuseArguments("start");
await runServer(readConfig);
