import assert from "@std/assert";
import net from "node:net";
import { Fault } from "../../src/shared/fault.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { postgresAvailability, startPostgres } from "../support/postgres.ts";
import { within } from "../support/within.ts";

const { available, reason } = postgresAvailability();

/** A network between us and a server that resets connections when the test says so. */
async function startNetwork(address: string) {
  const server = new URL(address);
  const port = Number(server.port);
  const links = new Set<net.Socket>();
  const listener = net.createServer((near) => {
    const far = net.connect(port, server.hostname);
    links.add(near);
    for (const [one, other] of [[near, far], [far, near]] as const) {
      one.on("data", (bytes) => other.write(bytes));
      one.on("error", () => {});
      one.on("close", () => other.destroy());
    }
    near.on("close", () => links.delete(near));
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  server.port = String((listener.address() as net.AddressInfo).port);
  return {
    url: server.href,
    reset: () => links.forEach((link) => link.resetAndDestroy()),
    close: () => new Promise<void>((resolve) => listener.close(() => resolve())),
  };
}

Deno.test({
  name:
    `a query that is sent while its connection is being reset ends, and the next gets its own rows${
      available ? "" : ` (skipped: ${reason})`
    }`,
  ignore: !available,
  fn: async () => {
    const created = await (await startPostgres()).createDatabase();
    const network = await startNetwork(created.url);
    const database = await openPostgres(network.url);
    const outcomes = new Map<string, number>();
    const wanted = ["rows", "store_unavailable"];
    const one = async (value: number) => {
      try {
        const sleeping = "select $1::int as value from pg_sleep(0.002)";
        const rows = await database.query(sleeping, [value]);
        assert.deepEqual(rows, [{ value }]);
        return "rows";
      } catch (thrown) {
        if (thrown instanceof Fault) return thrown.code;
        throw thrown;
      }
    };
    try {
      // How many of them get through is the machine's affair: as many rounds as show both.
      const least = () => Math.min(...wanted.map((each) => outcomes.get(each) ?? 0));
      for (let round = 0; round < 30 || (least() < 30 && round < 300); round++) {
        await within(60_000, untilWell(() => database.ping()));
        // One after the other without a pause: one of them meets a connection that is half gone.
        const chain = async () => {
          for (let at = 0; at < 10; at++) {
            const outcome = await within(60_000, one(round * 100 + at));
            outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
          }
        };
        const chains = [chain(), chain(), chain()];
        setTimeout(network.reset, 3 + round % 40);
        await Promise.all(chains);
      }
    } finally {
      await database.close();
      await network.close();
      await created.drop();
    }
    for (const each of wanted) {
      assert.ok((outcomes.get(each) ?? 0) >= 30, JSON.stringify([...outcomes]));
    }
  },
});

async function untilWell(ping: () => Promise<void>): Promise<void> {
  while (await ping().then(() => false, () => true)) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
