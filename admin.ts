import { runAdmin } from "./src/run_admin.ts";

/** `deno task admin …`: the operator's command line (interface.md §1). */
await runAdmin(Deno.args);
