/** The launchers: `./demeter` of a checkout, where npx brings Deno, and that of the npm package. */
import assert from "@std/assert";
import { createMigrated } from "../support/databases.ts";
import { isThere } from "../support/is_there.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { npmLauncher } from "../../packaging/npm.ts";
import { commandOf, startService } from "../support/process.ts";
import { temporaryDirectory } from "../support/service_files.ts";

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname).replace(/\/$/, "");
const directory = temporaryDirectory("launcher");
const needed = ["node", "npm", "npx", "sh", "dirname", "readlink"];

const path = Deno.env.get("PATH")!.split(":");
const found = needed.map((name) => path.map((each) => `${each}/${name}`).find(isThere));
const { available, reason } = postgresAvailability();
const missing = [
  ...needed.filter((_, at) => found[at] === undefined),
  ...available ? [] : [reason],
];

Deno.test({
  name: `SIGTERM to ./demeter ends the service, also where npx brings Deno${
    missing.length === 0 ? "" : ` (skipped: no ${missing.join(", ")})`
  }`,
  ignore: missing.length > 0,
  async fn() {
    const database = await createMigrated();
    const dataDir = `${directory}/data`;
    await using service = await startService({
      executable: `${root}/demeter`,
      args: ["start"],
      migrates: false,
      env: { ...await machineWithoutDeno(), DATABASE_URL: database.url, DATA_DIR: dataDir },
      timeoutMs: 180_000,
    });
    try {
      assert.equal((await fetch(`${service.baseUrl}/readyz`)).status, 200);
      assert.ok(processesOf(dataDir).length > 0, "it is found by its environment");
      service.kill("SIGTERM");
      await untilNone(dataDir);
      assert.equal((await service.status).code, 0, service.output());
    } finally {
      // What outlives its parent would outlive the test, and keep its database.
      for (const pid of processesOf(dataDir)) Deno.kill(pid, "SIGKILL");
      await service.status;
      await database.drop();
    }
  },
});

Deno.test({
  name: `kill -9 of npm's launcher stops the service that it has started${
    missing.length === 0 ? "" : ` (skipped: no ${missing.join(", ")})`
  }`,
  ignore: missing.length > 0,
  async fn() {
    const database = await createMigrated();
    const dataDir = `${directory}/launched`;
    const launcher = `${directory}/demeter.mjs`;
    await Deno.writeTextFile(launcher, npmLauncher());
    await using service = await startService({
      executable: found[needed.indexOf("node")]!,
      args: [launcher, "start"],
      migrates: false,
      env: { DENO: await runtimeOfCheckout(), DATABASE_URL: database.url, DATA_DIR: dataDir },
    });
    try {
      service.kill("SIGKILL");
      await untilNone(dataDir);
      assert.doesNotMatch(service.output(), /error/);
    } finally {
      for (const pid of processesOf(dataDir)) Deno.kill(pid, "SIGKILL");
      await service.status;
      await database.drop();
    }
  },
});

/** A runtime for npm's launcher: runs this checkout whatever program it is given. */
async function runtimeOfCheckout(): Promise<string> {
  const { args } = commandOf({}, Deno.env.get("TEST_BUNDLE"));
  const runtime = `${directory}/runtime.sh`;
  const words = [Deno.execPath(), ...args].map((word) => `'${word}'`);
  await Deno.writeTextFile(runtime, `#!/bin/sh\nexec ${words.join(" ")}\n`, { mode: 0o755 });
  return runtime;
}

/** A `PATH` with Node.js and no Deno, npm's packages of this machine and Deno's. */
async function machineWithoutDeno(): Promise<Record<string, string>> {
  const bin = `${directory}/bin`;
  await Deno.mkdir(bin);
  for (const [at, name] of needed.entries()) {
    await Deno.symlink(await Deno.realPath(found[at]!), `${bin}/${name}`);
  }
  const { denoDir } = JSON.parse(await output(Deno.execPath(), "info", "--json"));
  return {
    ...{ PATH: bin, DENO_DIR: denoDir },
    npm_config_cache: (await output("npm", "config", "get", "cache")).trim(),
    npm_config_prefer_offline: "true",
  };
}

async function output(program: string, ...args: string[]): Promise<string> {
  const { stdout } = await new Deno.Command(program, { args, stderr: "null" }).output();
  return new TextDecoder().decode(stdout);
}

/** Every process that was started with this directory, whatever its parent is now. */
function processesOf(dataDir: string): number[] {
  return [...Deno.readDirSync("/proc")].map(({ name }) => Number(name)).filter((pid) => {
    try {
      return Deno.readTextFileSync(`/proc/${pid}/environ`).includes(`\0DATA_DIR=${dataDir}\0`);
    } catch {
      return false;
    }
  });
}

async function untilNone(dataDir: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (processesOf(dataDir).length > 0) {
    assert.ok(performance.now() < deadline, "a process goes on a minute later");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
