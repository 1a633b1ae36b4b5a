import assert from "@std/assert";
import { createMigrated } from "../support/databases.ts";
import { copyMigrated } from "../support/new_database.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { withFolder } from "./children.ts";

/** The queries' texts are 4.2 MB; a connection holds on to its last ones. */
const maxBytes = 1_000_000;

/**
 * What a query sends and receives must be gone with the next minor collection: else it is copied twice,
 * and the old generation is collected for it (docs/decisions, 0375). Bytes are counted here, not
 * seconds.
 */
async function leavesNothing(database: string): Promise<void> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "tests/store/programs/queries_garbage.ts", database],
    env: { DENO_V8_FLAGS: "--expose-gc,--max-semi-space-size=16,--liftoff-only" },
    stderr: "inherit",
  }).output();
  assert.ok(success);
  const bytes = Number(new TextDecoder().decode(stdout));
  assert.ok(bytes < maxBytes, `${bytes} bytes are left`);
}

const { available, reason } = postgresAvailability();

Deno.test({
  name: `queries leave nothing in the heap (postgres${available ? "" : `; skipped: ${reason}`})`,
  ignore: !available,
  async fn() {
    const created = await createMigrated();
    try {
      await leavesNothing(created.url);
    } finally {
      await created.drop();
    }
  },
});

Deno.test("queries leave nothing in the heap (embedded)", () =>
  withFolder(async (folder) => {
    await copyMigrated(`${folder}/database`);
    await leavesNothing(`${folder}/database`);
  }));
