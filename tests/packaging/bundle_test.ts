import assert from "@std/assert";
import manifest from "../../deno.json" with { type: "json" };
import { embeddedImage, thirdPartyLicenses } from "../../packaging/contents.ts";
import { packageCache } from "../../packaging/licenses.ts";
import { packForNpm } from "../../packaging/npm.ts";
import { openEmbedded } from "../../src/database/embedded/embedded.ts";
import { unpackImage } from "../../src/database/embedded/image.ts";
import { migrate } from "../../src/database/migrate.ts";
import { readMigrations } from "../../src/database/migration_file.ts";
import { startFakeVendor } from "../support/fake_vendor.ts";
import { wholeAnswer } from "../support/service_scripted.ts";
import { startBucket } from "../support/bucket.ts";
import { postgresAvailability, startPostgres } from "../support/postgres.ts";
import { runProgram, type ServiceProcess, startService } from "../support/process.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { isThere } from "../support/is_there.ts";
import { putBundle } from "./put_bundle.ts";

/**
 * The bundle alone, started as services and containers do: that command lets it read itself and its
 * data, and write its data. There is no source tree, and no cache to fall back on.
 */
const directory = temporaryDirectory("bundle");
// A path that has to be quoted in a shell.
const folder = `${directory}/a program`;
// A link, as systemd makes it for a dynamic user.
const state = `${directory}/state`;
await Deno.mkdir(`${directory}/private`);
await Deno.symlink("private", state);
// The demo keeps its data below DATA_DIR.
const dataDir = `${state}/demo`;
await putBundle(folder);
const executable = `${folder}/demeter`;
const cwd = `${directory}/empty`;
await Deno.mkdir(cwd);
const env = {
  DENO: Deno.execPath(),
  DATA_DIR: dataDir,
  DENO_DIR: `${directory}/cache`,
  HOME: cwd,
};

/** Ample, for machines that do a lot beside: the first start has no code cache. */
const timeoutMs = 180_000;

const { available, reason } = postgresAvailability();
const skipped = available ? "" : ` (skipped: ${reason})`;

Deno.test("the bundle serves from an empty directory: calls, dashboard, reference, evaluations", async () => {
  const demo = await startService({
    ...{ executable, args: ["demo", "--empty"], cwd, timeoutMs },
    env: { ...env, DATA_DIR: state },
  });
  const key = demo.firstKey;
  const shown = `New key    DATA_DIR=${dataDir} '${executable}' admin key create`;
  assert.ok(demo.output().includes(shown), "commands begin as it was called");
  await calls(demo, key);
  await pages(demo.baseUrl);
  await document(demo.baseUrl);
  await evaluation(demo, key);
  await commands(demo);
  assert.equal(await demo.stop(), 0, demo.output());
  // On what is there now, without the simulators.
  const NOTIFY_SOCKET = `${directory}/systemd`;
  const systemd = Deno.listenDatagram({ transport: "unixpacket", path: NOTIFY_SOCKET });
  const heard = async () => new TextDecoder().decode((await systemd.receive())[0]);
  const again = await startService({
    executable,
    cwd,
    env: { ...env, NOTIFY_SOCKET },
    timeoutMs,
  });
  assert.equal(await heard(), "READY=1");
  assert.equal(await heard(), "WATCHDOG=1");
  systemd.close();
  assert.equal((await rows(again.baseUrl, key)).length, 7);
  assert.equal(await again.stop(), 0);
  assert.deepEqual([...Deno.readDirSync(cwd)], []);
});

Deno.test({
  name: `the bundle serves with PostgreSQL, two workers and a bucket${skipped}`,
  ignore: !available,
  async fn() {
    const database = await (await startPostgres()).createDatabase();
    await using bucket = await startBucket();
    try {
      await using service = await startService({
        executable,
        timeoutMs,
        cwd,
        env: {
          ...env,
          DATA_DIR: `${dataDir}-postgres`,
          DATABASE_URL: database.url,
          WORKERS: "2",
          ...bucket.env,
        },
      });
      await service.printed(/all workers answer calls workers=2/, timeoutMs);
      const answer = await post(service.baseUrl, service.firstKey, "/api/v1/exports", {
        start_date: "2026-01-01T00:00:00Z",
      });
      assert.match(answer.export_url, /X-Amz-Signature=/);
      assert.deepEqual(await (await fetch(answer.export_url)).json(), []);
      assert.equal(await service.stop(), 0, service.output());
    } finally {
      await database.drop();
    }
  },
});

Deno.test("a new database of the bundle has all of its migrations", async () => {
  const fresh = `${directory}/fresh`;
  unpackImage(new URL(embeddedImage, `file://${folder}/`), fresh);
  const database = await openEmbedded(fresh);
  try {
    const migrations = await readMigrations(new URL("migrations/", `file://${folder}/`));
    assert.ok(migrations.length > 0);
    assert.deepEqual(await migrate(database, migrations), []);
    // Nothing else tells it from one that a start has migrated: the next release's step follows.
    const next = { version: 9999, name: "next", sql: "create table next ()" };
    assert.deepEqual(
      await migrate(database, [...migrations, { ...next, phase: "expand" }]),
      ["next"],
    );
  } finally {
    await database.close();
  }
});

Deno.test("the bundle has the license of each package in it, and no path of the machine it was made on", async () => {
  const licenses = await Deno.readTextFile(`${folder}/${thirdPartyLicenses}`);
  const { path: cache } = await packageCache(".");
  const names = new Set<string>();
  for (const { name } of [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".js"))) {
    const code = await Deno.readTextFile(`${folder}/${name}`);
    assert.ok(!code.includes(cache), name);
    for (
      const [, path] of code.matchAll(/^\/\/ npm\/[\w.-]+\/((?:@[\w.-]+\/)?[\w.-]+\/[\d.]+)\//gm)
    ) {
      names.add(path!.replace(/\/(?=[^/]*$)/, " "));
    }
  }
  assert.ok(names.size > 40, `${names.size} packages`);
  for (const name of names) assert.ok(licenses.includes(`\n${name}\n`), name);
  assert.match(licenses, /^hono [\d.]+\n\nMIT License\n\nCopyright .*Yusuke Wada/m);
  assert.match(licenses, /^@electric-sql\/pglite [\d.]+\n/m);
  assert.match(licenses, /^PostgreSQL\n\n.*\n.*\n\nPortions Copyright/m);
});

Deno.test("the bundle says its version, and how it is used", async () => {
  const said = async (...args: string[]) => await runProgram({ executable, args, cwd, env });
  const version = (await said("--version")).stdout;
  assert.match(version, /^demeter \d+\.\d+\.\d+\n$/);
  const help = (await said("--help")).stdout;
  assert.match(help, /^usage: .*demeter' .*--version\]$/m);
  assert.match(help, /^ {2}demo \[--empty\] {2}Starts the service with simulated vendors/m);
  const wrong = await said("serve");
  assert.deepEqual([wrong.code, wrong.stdout], [2, ""]);
  assert.match(wrong.stderr, /^Unknown command 'serve'\. usage: '.*demeter' /);
  // The command of a clone says the same, without Deno.
  const ofClone = (arg: string) =>
    runProgram({
      executable: decodeURIComponent(new URL("../../demeter", import.meta.url).pathname),
      args: [arg],
      cwd,
      env,
    });
  assert.equal((await ofClone("--version")).stdout, version);
  assert.equal(
    (await ofClone("--help")).stdout.split("\n").slice(1).join("\n"),
    help.split("\n").slice(1).join("\n"),
  );
});

async function calls(demo: ServiceProcess, key: string): Promise<void> {
  for (
    const model of ["vendor-b/gpt-4.1", "vendor-c/claude-sonnet-4-6", "vendor-d/gemini-2.5-flash"]
  ) {
    const messages = [{ role: "user", content: '/// APP packaged\n[json:{"title":"a"}]' }];
    const answer = await post(demo.baseUrl, key, "/chat/v1/chat/completions", { model, messages });
    assert.equal(answer.object, "chat.completion");
  }
  const streamed = await fetch(`${demo.baseUrl}/chat/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "vendor-c/claude-sonnet-4-6",
      messages: [{ role: "user", content: "[say:Hello.]" }],
      stream: true,
    }),
  });
  assert.match(await streamed.text(), /"content":"Hel.*data: \[DONE\]\n\n$/s);
}

/** The sign-in page, and every file that it refers to. */
async function pages(baseUrl: string): Promise<void> {
  const page = await (await fetch(`${baseUrl}/dashboard`)).text();
  const files = [...page.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)];
  assert.ok(files.length >= 2, page);
  for (const [, path] of files) await good(`${baseUrl}${path}`);
}

async function document(baseUrl: string): Promise<void> {
  const current = await (await good(`${baseUrl}/openapi.json`)).json();
  assert.equal(current.openapi, "3.1.0");
  assert.equal((await (await good(`${baseUrl}/openapi-3.0.json`)).json()).openapi, "3.0.3");
  const page = await (await good(`${baseUrl}/reference`)).text();
  const files = [...page.matchAll(/(?:href|src)="([^"]+)"/g)];
  assert.ok(files.length >= 3, page);
  for (const [, path] of files) await good(new URL(path!, `${baseUrl}/reference`).href);
}

/** Graders run in a thread of their own, which a bundle has to bring. */
async function evaluation(demo: ServiceProcess, key: string): Promise<void> {
  const started = await post(demo.baseUrl, key, "/api/v1/evals", {
    model: "vendor-b/gpt-4.1",
    filters: { app: "packaged" },
    graders: [
      { type: "regex", pattern: "." },
      { type: "json_schema", schema: { type: "object", required: ["title"] } },
    ],
  });
  for (let look = 0; look < 3_000; look++) {
    const answer = await fetch(`${demo.baseUrl}/api/v1/evals/${started.eval_run_id}`, auth(key));
    const run = await answer.json();
    if (run.state === "done") {
      assert.deepEqual([run.counts.done, run.counts.errors], [3, 0], JSON.stringify(run.counts));
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail("the evaluation did not end");
}

async function commands(demo: ServiceProcess): Promise<void> {
  const admin = async (...args: string[]) => {
    const { code, stdout, stderr } = await runProgram({
      ...{ executable, cwd, env },
      args: ["admin", ...args, "--json"],
    });
    assert.equal(code, 0, stdout + stderr);
    return JSON.parse(stdout);
  };
  assert.deepEqual(await admin("health"), { ready: true, address: demo.baseUrl });
  const { summary } = await admin("prices", "check");
  assert.equal(summary.vendors_unreachable, 0);
  // Outside of what the service may write.
  const exported = await admin("export", "--from", "2026-01-01", "--out", `${directory}/rows.json`);
  assert.equal(exported.rows, 7);
  const { key } = await admin("key", "create", "--name", "ci");
  assert.equal(
    (await good(`${demo.baseUrl}/api/v1/status`, auth(key)).then((a) => a.json())).status,
    "ok",
  );
}

async function rows(baseUrl: string, key: string): Promise<unknown[]> {
  return await post(baseUrl, key, "/api/v1/exports", { start_date: "2026-01-01T00:00:00Z" });
}

async function post(baseUrl: string, key: string, path: string, body: unknown) {
  const answer = await fetch(baseUrl + path, {
    method: "POST",
    body: JSON.stringify(body),
    ...auth(key),
  });
  const text = await answer.text();
  assert.ok(answer.ok, text);
  return JSON.parse(text);
}

function auth(key: string): RequestInit {
  return { headers: { authorization: `Bearer ${key}` } };
}

async function good(address: string, init?: RequestInit): Promise<Response> {
  const answer = await fetch(address, init);
  const body = await answer.bytes();
  assert.equal(answer.status, 200, address);
  assert.ok(body.length > 0, address);
  return new Response(body);
}

const nodeIsThere = await new Deno.Command("npm", { args: ["--version"], stdout: "null" }).output()
  .then(({ success }) => success, () => false);

Deno.test({
  name: `the npm package serves from an empty directory, with demo and admin as arguments${
    nodeIsThere ? "" : " (skipped: npm is not installed)"
  }`,
  ignore: !nodeIsThere,
  async fn() {
    const packed = await packForNpm(folder, `${directory}/packed`);
    assert.match(packed, /\/demeter-gateway-\d+\.\d+\.\d+\.tgz$/);
    const unpack = { args: ["-xzf", packed, "-C", directory] };
    assert.ok((await new Deno.Command("tar", unpack).output()).success);
    const here = `${directory}/package`;
    const { version, bin, dependencies } = JSON.parse(
      await Deno.readTextFile(`${here}/package.json`),
    );
    assert.equal(version, manifest.version);
    assert.deepEqual(dependencies, { deno: Deno.version.deno });
    const executable = `${here}/${bin["demeter-gateway"]}`;
    const empty = `${directory}/empty-npm`;
    await Deno.mkdir(empty);
    // No DATA_DIR: the data is where it is started. The runtime is the one of this test.
    const { DATA_DIR: _, ...own } = { ...env, HOME: empty, DATA_DIR: "" };
    const named = await runProgram({
      executable,
      args: ["--version"],
      cwd: empty,
      env: own,
      timeoutMs,
    });
    assert.deepEqual([named.code, named.stdout], [0, `demeter ${manifest.version}\n`]);
    const options = { executable, cwd: empty, env: { ...own, DATA_DIR: "./data" }, timeoutMs };
    if (Deno.env.get("NPX") === "all") {
      const demo = await startService({ ...options, args: ["demo", "--empty"] });
      await calls(demo, demo.firstKey);
      assert.equal(await demo.stop(), 0, demo.output());
    }
    const first = await startService(options);
    const { firstKey } = first;
    assert.match(first.output(), /New key {4}demeter admin key create/);
    await good(`${first.baseUrl}/api/v1/status`, auth(firstKey)).then((one) => one.body?.cancel());
    const out = `${directory}/rows-npm.json`;
    const args = ["admin", "export", "--from", "2026-01-01", "--out", out];
    const exported = await runProgram({ ...options, args });
    assert.equal(exported.code, 0, exported.stderr);
    if (Deno.env.get("NPX") !== "all") {
      assert.equal(await first.stop(), 0, first.output());
      return;
    }
    const made = await runProgram({
      ...options,
      args: ["admin", "key", "create", "--name", "x", "--json"],
    });
    assert.equal(made.code, 0, made.stderr);
    assert.equal(await first.stop(), 0, first.output());
    const again = await startService(options);
    const { key } = JSON.parse(made.stdout);
    await good(`${again.baseUrl}/api/v1/status`, auth(key)).then((one) => one.body?.cancel());
    assert.equal(await again.stop(), 0, again.output());
    assert.deepEqual([...Deno.readDirSync(empty)].map(({ name }) => name), ["data"]);
  },
});

if (Deno.env.get("NPX") === "all") {
  Deno.test({
    name: `npx starts the tarball in an empty directory of a machine with Node.js alone${
      nodeIsThere ? "" : " (skipped: npm is not installed)"
    }`,
    ignore: !nodeIsThere,
    async fn() {
      await using vendor = await startFakeVendor(({ request, answer }) =>
        request.method === "GET"
          ? answer(200, { object: "list", data: [] })
          : answer(200, wholeAnswer)
      );
      const machine = await machineWithNode();
      const tarball = (await packForNpm(folder, machine.home)).split("/").at(-1)!;
      const npx = `npx ./${tarball}`;
      const options = {
        ...{ executable: "/bin/sh", cwd: machine.home, timeoutMs },
        env: {
          ...machine.env,
          ...{
            VENDOR_B_BASE_URL: `${vendor.url}/v1`,
            VENDOR_B_API_KEY: "sk-of-vendor-b-0123456789",
          },
          // None: the data is in ./data.
          DATA_DIR: "",
        },
      };
      const start = () =>
        startService({
          ...options,
          args: ["-c", `exec ${npx}`],
          env: { ...options.env, PORT: "0" },
        });
      const first = await start();
      // What it prints holds a key, so no failure may show it.
      const says = (text: string) => assert.ok(first.output().includes(text), text);
      says(`sign in: ${npx} admin sign-in)`);
      // The first call as it is printed, and the command as it is printed.
      const [, curl] = /^ {2}(curl .*)$/m.exec(first.output())!;
      const called = await shell(
        curl!,
        { ...options.env, PATH: Deno.env.get("PATH")! },
        options.cwd,
      );
      assert.ok(called.includes(wholeAnswer.choices[0].message.content), called);
      says(`New key    ${npx} admin key create --name <name>\n`);
      const [, command] = /^ {2}New key +(.*)$/m.exec(first.output())!;
      const printed = await shell(command!.replace("<name>", "ci"), options.env, options.cwd);
      const [key] = /dmt_\w+/.exec(printed)!;
      const { firstKey } = first;
      // npx itself dies of the signal; the service ends all the same, and lets its data go.
      assert.ok([0, 143].includes(await first.stop()));
      const again = await start();
      assert.ok(!again.output().includes(firstKey));
      const rows = await (await good(`${again.baseUrl}/api/v1/interactions`, auth(key))).json();
      assert.deepEqual(rows.data.map(({ status }: { status: string }) => status), ["completed"]);
      const help = await shell(`${npx} admin help`, options.env, options.cwd);
      assert.match(help, new RegExp(`^usage: ${npx} admin COMMAND`, "m"));
      await again.stop();
    },
  });
}

/** An empty home whose PATH has Node.js and npm, and npm's cache of this machine to install from. */
async function machineWithNode(): Promise<{ home: string; env: Record<string, string> }> {
  const home = `${directory}/home`;
  const bin = `${directory}/bin`;
  for (const each of [home, bin, `${directory}/npm`]) await Deno.mkdir(each);
  const path = Deno.env.get("PATH")!.split(":");
  for (const name of ["node", "npm", "npx", "sh"]) {
    const there = path.map((each) => `${each}/${name}`).find((each) => isThere(each))!;
    await Deno.symlink(await Deno.realPath(there), `${bin}/${name}`);
  }
  const cache = `${await shell("npm config get cache", {
    PATH: Deno.env.get("PATH")!,
    HOME: Deno.env.get("HOME")!,
  })}`.trim();
  if (isThere(`${cache}/_cacache/index-v5`)) {
    await Deno.symlink(`${cache}/_cacache`, `${directory}/npm/_cacache`);
  }
  const settings = { npm_config_cache: `${directory}/npm`, npm_config_prefer_offline: "true" };
  return { home, env: { PATH: bin, HOME: home, npm_config_yes: "true", ...settings } };
}

async function shell(
  command: string,
  env: Record<string, string>,
  cwd: string = directory,
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("/bin/sh", {
    ...{ args: ["-c", command], env, cwd, clearEnv: true },
  }).output();
  const output = new TextDecoder().decode(stdout);
  assert.ok(success, output + new TextDecoder().decode(stderr));
  return output;
}
