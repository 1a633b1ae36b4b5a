/**
 * Runs the pages' commands that stop and start the service, with a folder as the machine. The
 * service runs in this process, the operator's commands run as programs.
 */
import assert from "@std/assert";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { anyDatabase } from "../support/any_database.ts";
import { postgresAvailability, programFolder, startPostgres } from "../support/postgres.ts";
import { startTestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { startFakeVendor } from "../support/fake_vendor.ts";
import { wholeAnswer } from "../support/service_scripted.ts";
import { snippetsOf } from "./snippets.ts";

const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);
/** What stands in `/opt/demeter`: the bundle, if the gate has made it. */
const program = Deno.env.get("TEST_BUNDLE") ?? root.slice(0, -1);

/** The blocks of a page below a heading, in order. */
function blocksOf(page: string, heading: string): string[] {
  const text = Deno.readTextFileSync(`${root}docs/tasks/${page}`);
  const [section = ""] = text.slice(text.indexOf(heading)).slice(heading.length).split(/^## /m);
  return snippetsOf(section).map((block) => block.text);
}

/** The folders of the pages; programs in `bin`, of which `systemctl` asks this test by a file. */
async function makeFolders(place: string, asked: string): Promise<void> {
  for (
    const folder of ["var/lib/private/demeter", "backup", "bin", "opt/demeter", "opt/demeter.new"]
  ) {
    await Deno.mkdir(`${place}/${folder}`, { recursive: true });
  }
  // As systemd makes it for a unit with a dynamic user.
  await Deno.symlink("private/demeter", `${place}/var/lib/demeter`);
  for (const folder of ["demeter", "demeter.new"]) {
    await Deno.symlink(`${program}/demeter`, `${place}/opt/${folder}/demeter`);
    await Deno.writeTextFile(`${place}/opt/${folder}/version`, folder);
  }
  const script = `#!/bin/sh\necho "$1" > ${asked} && while [ -e ${asked} ]; do sleep 0.05; done\n`;
  await Deno.writeTextFile(`${place}/bin/systemctl`, script, { mode: 0o755 });
  const deno = `#!/bin/sh\nexec "${Deno.execPath()}" "$@"\n`;
  await Deno.writeTextFile(`${place}/bin/deno`, deno, { mode: 0o755 });
}

/** A folder in place of `/`, in which `systemctl` stops and starts the service of this test. */
async function machine(env: Record<string, string>) {
  const vendor = await startFakeVendor(({ request, answer }) =>
    request.method === "GET" ? answer(200, { object: "list", data: [] }) : answer(200, wholeAnswer)
  );
  const place = temporaryDirectory("operator");
  const asked = `${place}/asked`;
  await makeFolders(place, asked);
  const start = () =>
    startTestService({
      env: {
        ...{ VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: "sk-vendor-b-0123456789" },
        ...{ DATA_DIR: `${place}/var/lib/demeter`, ...env },
      },
    });
  let service = await start();
  const { key } = service;
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const ask = async (path: string, body?: unknown) => {
    const method = body === undefined ? "GET" : "POST";
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(service.baseUrl + path, { method, headers, ...init });
    const text = await answer.text();
    assert.ok(answer.ok, text);
    return JSON.parse(text);
  };
  return {
    ask,
    place,
    /** A call of an end user. */
    call: (user: string) =>
      ask("/chat/v1/chat/completions", {
        ...{ model: "vendor-b/gpt-4.1", user },
        messages: [{ role: "user", content: `words of ${user}` }],
      }),
    users: async () =>
      (await ask("/api/v1/interactions")).data.map((row: { user_id: string }) => row.user_id)
        .sort(),
    /** Runs a block unchanged, below the folder. */
    async run(block: string, more: Record<string, string> = {}): Promise<string> {
      const text = block.replaceAll(/(?<![\w.])\/(var\/lib|backup|opt)\b/g, `${place}/$1`);
      const child = new Deno.Command("/bin/sh", {
        args: ["-eu", "-c", text],
        ...{ cwd: place, stdout: "piped", stderr: "piped" },
        env: { ...more, PATH: `${place}/bin:${more.PATH ?? Deno.env.get("PATH")}`, NO_COLOR: "1" },
      }).spawn();
      let ended = false;
      const output = child.output().finally(() => ended = true);
      while (!ended) {
        await new Promise((resolve) => setTimeout(resolve, 25));
        const word = await Deno.readTextFile(asked).catch(() => "");
        if (word === "stop\n") await service.stop();
        else if (word === "start\n") service = await start();
        else continue;
        await Deno.remove(asked);
      }
      const { success, stdout, stderr } = await output;
      const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
      assert.ok(success, said);
      return said;
    },
    async [Symbol.asyncDispose]() {
      await service.stop();
      await vendor[Symbol.asyncDispose]();
    },
  };
}

/** What is called after a backup is gone with it, what is erased after it stays erased. */
async function backUpAndRestore(
  heading: string,
  env: Record<string, string>,
  shell: Record<string, string> = {},
  fit: (block: string) => string = (block) => block,
) {
  await using on = await machine(env);
  const [backUp, restore] = blocksOf("back-up-and-restore.md", heading).map(fit);
  await on.call("ann");
  await on.call("customer");
  assert.deepEqual(await on.users(), ["ann", "customer"]);
  await on.run(backUp!, shell);
  const { request_id } = await on.ask("/api/v1/data", { user_id: "customer", reason: "ticket 17" });
  for (let look = 0;; look++) {
    const { state } = await on.ask(`/api/v1/data/requests/${request_id}`);
    if (state === "done") break;
    assert.ok(look < 600, state);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await on.call("bob");
  assert.deepEqual(await on.users(), ["ann", "bob"]);
  await on.run(restore!, shell);
  // The next start erases again, in the background.
  for (let look = 0; (await on.users()).includes("customer"); look++) {
    assert.ok(look < 600, "the customer is back");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.deepEqual(await on.users(), ["ann"]);
  await on.call("ann");
  assert.deepEqual(await on.users(), ["ann", "ann"]);
}

Deno.test("back up and restore, embedded: what was erased since the backup stays erased", () =>
  backUpAndRestore("## Embedded", {}));

const programs = programFolder();
Deno.test({
  name: "back up and restore, PostgreSQL: the service can still make tables" +
    (programs ? "" : ` (skipped: ${postgresAvailability().reason})`),
  ignore: programs === undefined,
  async fn() {
    // A server of its own: it gets a user like the service's, who may do nothing elsewhere.
    const server = await startPostgres({ private: true });
    const { name, url } = await server.createDatabase();
    const { hostname, port, username, password } = new URL(url);
    const shell = {
      ...{ PGHOST: hostname, PGPORT: port, PGUSER: username },
      PGPASSWORD: decodeURIComponent(password),
      PATH: `${programs}:${Deno.env.get("PATH")}`,
    };
    const service = new URL(url);
    [service.username, service.password] = ["plain", "secret-of-plain"];
    const fit = (block: string) =>
      block.replaceAll(/\bgateway$/gm, name).replaceAll("name=gateway ", `name=${name} `)
        .replaceAll("owner=gateway ", "owner=plain ");
    try {
      await run(url, "create role plain login password 'secret-of-plain'");
      await run(url, `alter database ${name} owner to plain`);
      await backUpAndRestore("## PostgreSQL", { DATABASE_URL: service.href }, shell, fit);
      await run(service.href, "create table of_a_later_month ()");
    } finally {
      await server.stop();
    }
  },
});

async function run(url: string, statement: string): Promise<void> {
  const database = await openPostgres(url);
  await database.query(statement).finally(() => database.close());
}

Deno.test("upgrade, and go back: the service stands on the other program, with its data", async () => {
  await using database = await anyDatabase();
  await using on = await machine(database.env);
  const version = () => Deno.readTextFile(`${on.place}/opt/demeter/version`);
  const [upgrade, back] = blocksOf("upgrade.md", "# Upgrade");
  await on.call("ann");
  assert.match(await on.run(upgrade!), /ready/);
  assert.equal(await version(), "demeter.new");
  assert.match(await on.run(back!), /ready/);
  assert.equal(await version(), "demeter");
  assert.deepEqual(await on.users(), ["ann"]);
});
