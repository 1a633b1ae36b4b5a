import assert from "@std/assert";
import { startSimulators } from "../../demo/simulators.ts";
import { createMigrated } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { startService } from "../support/process.ts";
import { openSocket } from "../support/response_socket.ts";
import { startTestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { checkBooks, readBooks } from "./books.ts";
import { vendorEnvironment } from "./load.ts";

const { available, reason } = postgresAvailability();

Deno.test({
  name:
    `a service killed in the middle of a WebSocket's answer leaves one row, and charges what was answered once${
      available ? "" : `; skipped: ${reason}`
    }`,
  ignore: !available,
  async fn() {
    const dataDir = temporaryDirectory("socket-kill");
    const database = await createMigrated();
    const simulators = await startSimulators();
    const env = {
      DATA_DIR: dataDir,
      DATABASE_URL: database.url,
      ...vendorEnvironment(simulators),
    };
    const model = "vendor-b/gpt-4.1";
    try {
      {
        await using service = await startService({ env });
        const at = { baseUrl: service.baseUrl, key: service.firstKey };
        const socket = await openSocket(at);
        // One that ended, and one that is cut.
        await socket.ask({ model, input: "[say:whole]" });
        socket.send({ type: "response.create", model, input: "[long:5000] [drip:5] On and on" });
        await socket.until("response.output_text.delta");
        service.kill("SIGKILL");
        await service.status;
        assert.equal(await socket.closed, 1006);
      }
      {
        await using service = await startTestService({ env });
        await service.stop();
      }
      const books = await readBooks(dataDir, database.url);
      checkBooks(books, []);
      const rows = books.rows.map(({ status, chargedNanos }) => [status, chargedNanos > 0n]);
      // What nobody can count any more is not charged (docs/keys-and-credit.md).
      assert.deepEqual(rows.toSorted(), [["completed", true], ["interrupted", false]]);
      assert.equal(books.settles.filter(({ chargedNanos }) => chargedNanos > 0n).length, 1);
    } finally {
      await simulators.close();
      await database.drop();
    }
  },
});
