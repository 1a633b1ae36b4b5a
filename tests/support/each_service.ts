import { createMigrated } from "./databases.ts";
import { postgresAvailability } from "./postgres.ts";
import { type Environment, startSimulatedService, type TestService } from "./service.ts";

/** Registers a test with a service in front of simulated vendors, once for each kind of database. */
export function eachService(
  name: string,
  env: Environment | (() => Promise<Environment>),
  test: (service: TestService, database: string | undefined) => Promise<void>,
): void {
  const given = () => typeof env === "function" ? env() : Promise.resolve(env);
  Deno.test(`${name} (embedded)`, async () => {
    await using service = await startSimulatedService(await given());
    await test(service, undefined);
  });
  const { available, reason } = postgresAvailability();
  Deno.test({
    name: available ? `${name} (postgres)` : `${name} (postgres; skipped: ${reason})`,
    ignore: !available,
    async fn() {
      const created = await createMigrated();
      try {
        await using service = await startSimulatedService({
          ...await given(),
          DATABASE_URL: created.url,
        });
        await test(service, created.url);
      } finally {
        await created.drop();
      }
    },
  });
}
