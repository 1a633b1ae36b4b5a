import { runAdmin } from "./src/main/run_admin.ts";

/** `deno task admin …`: the operator's command line (interface.md §1). */
await runAdmin(Deno.args);
