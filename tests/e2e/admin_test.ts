import assert from "@std/assert";
import { callControl } from "../../src/admin/control.ts";
import { claimDataDir } from "../../src/database/data_dir.ts";
import { runProgram } from "../support/process.ts";
import { runAdminHere } from "../support/admin.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { ensureMigrated } from "../support/new_database.ts";
import { temporaryDirectory } from "../support/service_files.ts";

const directory = temporaryDirectory("admin");
const env = { DATA_DIR: `${directory}/data` };
/** The commands don't use them: nobody listens there. */
const proxies = { HTTP_PROXY: "http://127.0.0.1:9", HTTPS_PROXY: "http://127.0.0.1:9" };

/** What a command says and how it ends is the same in both; the program costs a second to start. */
const asProgram = (...args: string[]) =>
  runProgram({ script: "admin.ts", args, env: { ...env, ...proxies } });
const here = (...args: string[]) => runAdminHere({ args, env });

/** Runs with `--json`: one value on standard output, whatever happens. */
async function json(code: number, ...args: string[]): Promise<unknown> {
  return valueOf(code, await here(...args, "--json"));
}

function valueOf(code: number, ended: Awaited<ReturnType<typeof here>>): unknown {
  assert.equal(ended.code, code, ended.stdout + ended.stderr);
  assert.match(ended.stdout, /^[^\n]+\n$/, "one line");
  return JSON.parse(ended.stdout);
}

const wrongCommands = [
  [1, ["key", "revoke", "no-such-id"]],
  [1, ["key", "create", "--name", "x", "--account", "no-such-account"]],
  [1, ["account", "create", "--name", "team"]],
  [2, ["key", "create"]],
  [2, ["key", "create", "--name", "x", "--scope", "no-such-scope"]],
  [2, ["key", "create", "--name", "x", "--expires", "yesterday"]],
  [2, ["key", "frobnicate"]],
  [2, ["key", "list", "--no-such-option"]],
  [2, ["key", "revoke"]],
] as const;

async function showsControls(): Promise<void> {
  const name = "a\x1b[2J\x1b]0;b\x07\x9b31m\nforged";
  await json(0, "key", "create", "--name", name);
  const listed = await here("key", "list");
  assert.equal(listed.code, 0);
  assert.match(listed.stdout, /a\\u001b\[2J\\u001b\]0;b\\u0007\\u009b31m\\u000aforged/);
  const lines = await here("key", "list", "--json");
  const refused = await here("key", "revoke", "\x1b[2J");
  assert.equal(refused.code, 1);
  for (const text of [listed.stdout, lines.stdout, refused.stderr]) {
    assert.doesNotMatch(text.replaceAll("\n", ""), /\p{Cc}/u);
  }
  const keys = JSON.parse(lines.stdout) as Made[];
  assert.ok(keys.some((key) => key.name === name), "as JSON the name is unchanged");
}

Deno.test("the commands reach the server that owns the embedded database, and work without one", async (t) => {
  const service = await startTestService({ env });
  await t.step("key create gives id, key, prefix, name and account, once", async () => {
    const args = ["key", "create", "--name", "ci", "--scope", "status", "--json"];
    const made = valueOf(0, await asProgram(...args)) as Made;
    assert.deepEqual(Object.keys(made), ["id", "key", "prefix", "name", "account_id"]);
    assert.ok(made.key.startsWith(made.prefix) && made.name === "ci");
    assert.equal(await statusOf(service, made.key), 200);
    const listed = await json(0, "key", "list") as Made[];
    assert.deepEqual(listed.map((one) => one.name), ["first key", "ci"]);
    assert.ok(!JSON.stringify(listed).includes(made.key));
    // Refused at once: the server that owns the database has done it itself.
    assert.deepEqual(await json(0, "key", "revoke", made.id), { id: made.id, revoked: true });
    assert.equal(await statusOf(service, made.key), 401);
    assert.deepEqual(await json(0, "key", "revoke", made.id), { id: made.id, revoked: true });
  });
  await t.step("account create and list", async () => {
    const account = await json(0, "account", "create", "--name", "team");
    assert.deepEqual(account, { id: 2, name: "team", tier: "free" });
    const accounts = await json(0, "account", "list");
    assert.deepEqual(accounts, [{ id: 1, name: "default", tier: "enterprise" }, account]);
    const made = await json(0, "key", "create", "--name", "x", "--account", "team") as Made;
    assert.equal(made.account_id, 2);
  });
  await t.step("without --json the output is lines for people, with the key", async () => {
    const made = await here("key", "create", "--name", "for people");
    assert.deepEqual([made.code, made.stderr], [0, ""]);
    assert.match(made.stdout, /^dmt_\w+\nKey 'for people' \(.*\) of account 'default'\./);
  });
  await t.step(
    "a name with a terminal's control sequences is shown and not executed",
    showsControls,
  );
  await t.step("what fails exits 1, and wrong usage exits 2, in either form", async () => {
    for (const [code, args] of wrongCommands) {
      const value = await json(code, ...args);
      const text = JSON.stringify(value);
      assert.ok(/"error"|"revoked":false/.test(text), text);
    }
    const words = await asProgram("key", "create");
    assert.deepEqual([words.code, words.stdout], [2, ""]);
    assert.equal(words.stderr, "--name is missing\nSee 'deno task admin help key create'.\n");
    const none = await here();
    assert.deepEqual([none.code, none.stdout], [2, ""]);
    assert.match(none.stderr, /usage: deno task admin COMMAND/);
  });
  await t.step("migrate says that a server has the database", migrateBesideServer);
  await service.stop();
  await t.step("with no server running the command opens the database itself", async () => {
    const listed = valueOf(0, await asProgram("key", "list", "--json")) as Made[];
    const names = listed.map((one) => one.name);
    assert.deepEqual(names.slice(0, 4), ["first key", "ci", "x", "for people"]);
    assert.deepEqual(await json(0, "migrate"), { migrated: true });
  });
  await t.step("a webhook's private host is refused by the command's own settings", refusesHost);
  await t.step("beside a server that is only starting it says to repeat it", listBesideStart);
  await t.step("a wrong environment value is one line there, too", async () => {
    const ended = await runProgram({
      script: "admin.ts",
      args: ["key", "list"],
      env: { ...env, PORT: "x" },
    });
    assert.deepEqual([ended.code, ended.stdout], [1, ""]);
    assert.match(ended.stderr, /^error: PORT=x is not valid: [^\n]*\n$/);
  });
});

async function listBesideStart(): Promise<void> {
  const starting = await claimDataDir(env.DATA_DIR);
  const ended = await here("key", "list");
  await starting.release();
  assert.deepEqual([ended.code, ended.stdout], [1, ""]);
  assert.match(ended.stderr, /^error: DATA_DIR=\S+ is held by process \d+: .* repeat this one in /);
}

async function migrateBesideServer(): Promise<void> {
  const ended = await here("migrate");
  assert.deepEqual([ended.code, ended.stdout], [1, ""]);
  assert.match(ended.stderr, /^(error: )?DATA_DIR=\S+ is held by process \d+/);
  assert.match(
    (await here("migrate", "now")).stderr,
    /^unexpected 'now'\nSee 'deno task admin help migrate'\.\n$/,
  );
}

async function refusesHost(): Promise<void> {
  const args = ["webhook", "add", "--url", "http://hooks.internal/x"];
  const { code, stderr } = await here(...args);
  assert.equal(code, 2);
  assert.match(
    stderr,
    /a host in FETCH_ALLOW_HOSTS, which a command reads from its own environment/,
  );
  const allowed = { ...env, FETCH_ALLOW_HOSTS: "hooks.internal" };
  assert.equal((await runAdminHere({ args, env: allowed })).code, 0);
}

Deno.test("a command in a wrong folder says so and makes nothing", async () => {
  const empty = `${directory}/wrong`;
  for (
    const args of [["account", "list"], ["key", "create", "--name", "x"], ["export"], ["migrate"]]
  ) {
    const ended = await runAdminHere({ args, env: { DATA_DIR: empty } });
    assert.deepEqual([ended.code, ended.stdout], [1, ""]);
    assert.match(
      ended.stderr,
      /^(error: )?There is no data in .*wrong and no server at it: set DATA_DIR /,
    );
    await assert.rejects(Deno.stat(empty), Deno.errors.NotFound);
  }
  await Deno.mkdir(`${empty}/demo/database`, { recursive: true });
  const beside = await runAdminHere({ args: ["account", "list"], env: { DATA_DIR: empty } });
  assert.match(beside.stderr, /\(the demo's is .*\/wrong\/demo\)/);
});

Deno.test({
  name: "a user who may not read the data is told so, not that there is none",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const data = `${directory}/unreadable`;
    await Deno.mkdir(data, { mode: 0 });
    await Deno.mkdir(`${directory}/another/demo`, { recursive: true });
    await Deno.chmod(`${directory}/another/demo`, 0);
    const deno = [Deno.execPath(), "run", "-A", "--no-check", "admin.ts"];
    // Root reads everything unless it gives up these capabilities.
    const plain = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"];
    const [program, ...words] = Deno.uid() === 0 ? [...plain, ...deno] : deno;
    const refused =
      /^error: DATA_DIR=\S+ can't be used \(Permission denied [^\n]+\): [^\n]+ as the user who owns it\.\n$/;
    const cases = [
      { path: data, args: ["key", "list"], said: refused },
      { path: data, args: ["health"], said: refused },
      // Another user's demo isn't what the command is about.
      {
        path: `${directory}/another`,
        args: ["key", "list"],
        said: /^error: There is no data in .*another and/,
      },
    ];
    for (const { path, args, said } of cases) {
      const { code, stdout, stderr } = await new Deno.Command(program!, {
        args: [...words, ...args],
        env: { DATA_DIR: path, DATABASE_URL: "" },
      }).output();
      assert.deepEqual([code, stdout.length], [1, 0]);
      assert.match(new TextDecoder().decode(stderr), said);
    }
  },
});

Deno.test("a command beside a server on PostgreSQL, or at its first start, says what to do", async () => {
  const path = `${directory}/journal-only`;
  const claim = await claimDataDir(path);
  await claim.describe({ address: "http://127.0.0.1:4321" });
  const ended = await runAdminHere({ args: ["migrate"], env: { DATA_DIR: path } });
  await claim.release();
  assert.equal(ended.code, 1);
  assert.match(
    ended.stderr,
    /The server at http:\/\/127\.0\.0\.1:4321 .*: set DATABASE_URL .* starting .*, repeat this/,
  );
});

Deno.test({
  name: "a command leaves a database alone that belongs to another user, and says whose it is",
  ignore: Deno.uid() !== 0,
  async fn() {
    const data = `${directory}/of-user-12345`;
    await ensureMigrated(data);
    const chown = (uid: number) =>
      new Deno.Command("chown", { args: ["-R", `${uid}`, data] }).output();
    await chown(12345);
    for (const args of [["key", "list"], ["export"], ["migrate"]]) {
      const ended = await runAdminHere({ args, env: { DATA_DIR: data } });
      assert.deepEqual([ended.code, ended.stdout], [1, ""]);
      assert.match(
        ended.stderr,
        /^(error: )?The data in \S+ belongs to user 12345, [^\n]+: start the service [^\n]+ \(sudo -u '#12345' …\)\.\n$/,
      );
    }
    assert.deepEqual([...Deno.readDirSync(data)].map(({ name }) => name), ["database"]);
    await chown(0);
    const ended = await runAdminHere({ args: ["account", "list"], env: { DATA_DIR: data } });
    assert.equal(ended.code, 0, ended.stderr);
  },
});

Deno.test("help needs neither settings that are right nor data", async () => {
  const { code, stdout, stderr } = await runProgram({
    script: "admin.ts",
    args: ["key", "create", "--help"],
    env: { DATA_DIR: `${directory}/none`, PORT: "x" },
  });
  assert.deepEqual([code, stderr], [0, ""]);
  assert.match(
    stdout,
    /^Creates an API key[^]*--cap-day-usd X[^]*Example:\n {2}deno task admin key create /,
  );
  await assert.rejects(Deno.stat(`${directory}/none`), Deno.errors.NotFound);
});

Deno.test("nobody but the data directory's owner can send commands to a server, nor does a copy of it reach it", async () => {
  await using service = await startTestService();
  const listed = ["key", "list"];
  assert.equal((await callControl(service.dataDir, listed))?.exitCode, 0);
  const copy = temporaryDirectory("copy");
  await Deno.copyFile(`${service.dataDir}/control.json`, `${copy}/control.json`);
  assert.equal(await callControl(copy, listed), undefined);
  const path = `${service.dataDir}/control.json`;
  const { mode } = await Deno.stat(path);
  assert.equal((mode ?? 0) & 0o777, 0o600);
  const { address, token } = JSON.parse(await Deno.readTextFile(path));
  assert.match(address, /^http:\/\/127\.0\.0\.1:\d+$/);
  const send = (authorization: string) =>
    fetch(address, {
      method: "POST",
      headers: { authorization },
      body: JSON.stringify({ argv: listed, input: "" }),
    });
  for (const wrong of ["", "Bearer ", `Bearer ${token}x`, service.key]) {
    const answer = await send(wrong);
    assert.deepEqual([answer.status, await answer.text()], [404, ""]);
  }
  assert.equal((await send(`Bearer ${token}`)).status, 200);
});

interface Made {
  id: string;
  key: string;
  prefix: string;
  name: string;
  account_id: number;
}

async function statusOf(service: TestService, key: string): Promise<number> {
  const answer = await fetch(`${service.baseUrl}/api/v1/status`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await answer.text();
  return answer.status;
}
