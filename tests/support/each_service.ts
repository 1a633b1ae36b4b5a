import { createMigrated, databasesOfThisRun } from "./databases.ts";
import { postgresAvailability } from "./postgres.ts";
import { type Environment, startSimulatedService, type TestService } from "./service.ts";

type ServiceTest = (service: TestService, database: string | undefined) => Promise<void>;
type GivenEnvironment = Environment | (() => Promise<Environment>);

/**
 * Registers a test with a service in front of simulated vendors, once for each database of this
 * run; see `databasesOfThisRun`.
 */
export function eachService(name: string, env: GivenEnvironment, test: ServiceTest): void {
  const { postgres, embedded } = databasesOfThisRun();
  if (postgres) serviceOnPostgres(name, env, test);
  if (embedded) serviceOnEmbedded(name, env, test);
}

/** Registers it for each kind of database in every run: for what depends on the engine. */
export function serviceOnBoth(name: string, env: GivenEnvironment, test: ServiceTest): void {
  serviceOnPostgres(name, env, test);
  serviceOnEmbedded(name, env, test);
}

function serviceOnEmbedded(name: string, env: GivenEnvironment, test: ServiceTest): void {
  Deno.test(`${name} (embedded)`, async () => {
    await using service = await startSimulatedService(await resolved(env));
    await test(service, undefined);
  });
}

function serviceOnPostgres(name: string, env: GivenEnvironment, test: ServiceTest): void {
  const { available, reason } = postgresAvailability();
  Deno.test({
    name: available ? `${name} (postgres)` : `${name} (postgres; skipped: ${reason})`,
    ignore: !available,
    async fn() {
      const created = await createMigrated();
      try {
        await using service = await startSimulatedService({
          ...await resolved(env),
          DATABASE_URL: created.url,
        });
        await test(service, created.url);
      } finally {
        await created.drop();
      }
    },
  });
}

async function resolved(env: GivenEnvironment): Promise<Environment> {
  return typeof env === "function" ? await env() : env;
}
