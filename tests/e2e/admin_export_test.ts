import assert from "@std/assert";
import { runAdminHere } from "../support/admin.ts";
import { firstKey, inDatabase, post } from "../support/export_processes.ts";
import { writeManyRows } from "../support/many_rows.ts";
import { commandOf, runProgram } from "../support/process.ts";
import { startTestService } from "../support/service.ts";

// With --json a table of CSV needs a file, which is opened after the options are read.
const noOut = "--out=/no/such/folder/x.csv";

const wrongOrders: readonly (readonly [code: number, message: RegExp, ...args: string[]])[] = [
  [2, /^--from yesterday: expected a day/, "--from", "yesterday"],
  [2, /^--to: the end is not after the start/, "--from", "2026-11-02", "--to", "2026-10-31"],
  [2, /^--table: expected 'interactions' or /, "--table", "users"],
  [2, /^--format: expected 'json' or 'csv' or 'jsonl'/, "--format", "x"],
  [2, /^--column nonsense: expected 'transaction_id' or /, "--column", "nonsense"],
  [2, /^--filter nonsense=1: unknown column/, "--filter", "nonsense=1"],
  [2, /^--filter nonsense: expected COLUMN=VALUE/, "--filter", "nonsense"],
  [2, /^--filter stream: /, "--filter", "stream=perhaps"],
  [2, /^--table: /, "--format=csv", "--table", "interactions", "--table", "eval_runs", noOut],
  [2, /^Unknown option '--nonsense'/, "--nonsense"],
  [2, /^--json: csv is not a single JSON value/, "--format", "csv"],
  [1, /^No account has the id or name 'nobody'/, "--account", "nobody"],
];

/** The command doesn't use it: nobody listens there. */
const proxy = { HTTP_PROXY: "http://127.0.0.1:9" };

type Admin = (...args: string[]) => Promise<{ code: number; stdout: string; stderr: string }>;

const program = commandOf({ script: "admin.ts" }, Deno.env.get("TEST_BUNDLE"));
const exportLine = [Deno.execPath(), ...program.args, "export"].map((word) => `'${word}'`)
  .join(" ");

Deno.test("admin export: to a file, to standard output, with and without a server", async (t) => {
  const dataDir = await Deno.makeTempDir({ prefix: "exports-admin-" });
  const env = { DATA_DIR: dataDir };
  const asProgram: Admin = (...args) =>
    runProgram({ script: "admin.ts", args: ["export", ...args], env: { ...env, ...proxy } });
  const here: Admin = (...args) => runAdminHere({ args: ["export", ...args], env });
  const key = await firstKey(env);
  await inDatabase(undefined, dataDir, (database) => writeManyRows(database, 1, 300));
  const out = `${dataDir}/out.csv`;
  const fails = async (code: number, message: RegExp, ...args: string[]) => {
    const wrong = await here("--json", ...args);
    assert.equal(wrong.code, code, args.join(" ") + wrong.stdout);
    const { error, ...more } = JSON.parse(wrong.stdout);
    assert.match(error, message);
    assert.deepEqual(more, {});
  };
  // Each command opens the database itself.
  await t.step("without a server", async () => {
    const csv = await here("--json", "--format=csv", `--out=${out}`, "--filter", "stream=true");
    assert.equal(csv.code, 0, csv.stdout);
    const { size } = await Deno.stat(out);
    assert.deepEqual(JSON.parse(csv.stdout), { file: out, rows: 150, bytes_size: size });
    await fails(1, /^No account has/, "--account", "nobody");
  });
  await using service = await startTestService({ env });
  assert.equal((await post(service, key, { start_date: "2020-01-01T00:00:00Z" })).status, 200);
  await t.step("with a server that owns the database", async () => {
    const json = await asProgram("--json", "--filter", "user_id=u-7");
    assert.equal(json.code, 0, json.stderr);
    assert.deepEqual(JSON.parse(json.stdout).map((row: { user_id: string }) => row.user_id), [
      "u-7",
    ]);
    const span = ["--from", "2026-01-01t00:00:00z", "--to", "2026-01-01"];
    const csv = await here("--format", "csv", ...span);
    assert.equal(csv.stdout.split("\r\n").length, 302);
    const toFile = ["--json", "--format=csv", `--out=${out}`, "--filter", "stream=true"];
    const file = await here(...toFile);
    assert.equal(file.code, 0, file.stdout);
    const size = (await Deno.stat(out)).size;
    assert.deepEqual(JSON.parse(file.stdout), { file: out, rows: 150, bytes_size: size });
    assert.equal((await here("--table", "eval_runs")).stdout, "[\n]\n");
    for (const wrong of wrongOrders) await fails(...wrong);
    await fails(1, /^--out \S+\/x can't be written: /, "--out", `${dataDir}/no/such/folder/x`);
  });
  await t.step("whoever watches sees a progress bar, on standard error", async () => {
    const line = `${exportLine} --out ${out} >${dataDir}/stdout`;
    const { code, stdout } = await new Deno.Command("script", {
      args: ["-qec", line, "/dev/null"],
      env: { ...env, ...program.env, TERM: "xterm" },
      cwd: decodeURIComponent(new URL("../..", import.meta.url).pathname),
    }).output();
    const seen = new TextDecoder().decode(stdout);
    assert.equal(code, 0, seen);
    assert.match(seen, /100% \| 300\/300 rows/);
    assert.equal(
      await Deno.readTextFile(`${dataDir}/stdout`),
      `${out}: 300 rows, ${(await Deno.stat(out)).size} bytes.\n`,
    );
  });
  await service.stop();
  await inDatabase(undefined, dataDir, async (database) => {
    const [noted] = await database.query(
      `select count(*) as exports from audit_log
       where actor = 'command line' and action = 'export.downloaded'`,
    );
    // One without a server, four with one, what is watched, and one that found no folder.
    assert.equal(Number(noted?.exports), 7);
  });
  await Deno.remove(dataDir, { recursive: true });
});
