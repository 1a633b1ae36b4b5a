/** Tests the gate on small trees: it must be able to fail, and its last line must be true. */
import assert from "@std/assert";
import { tests } from "./gate.ts";
import { Processes } from "./processes.ts";

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname);

const good: Readonly<Record<string, string>> = {
  "deno.json": '{ "fmt": { "lineWidth": 100 } }\n',
  "src/a_test.ts": 'Deno.test("one", () => {});\nDeno.test("two", () => {});\n',
};

/** Copies the gate and `files` into an empty folder and runs it there. */
async function gate(files: Readonly<Record<string, string>>, args: readonly string[] = []) {
  const folder = await Deno.makeTempDir({ prefix: "gate-" });
  try {
    await Deno.mkdir(`${folder}/tests/run`, { recursive: true });
    for (const entry of Deno.readDirSync(`${root}/tests/run`)) {
      if (entry.name.endsWith("_test.ts")) continue;
      await Deno.copyFile(`${root}/tests/run/${entry.name}`, `${folder}/tests/run/${entry.name}`);
    }
    await Deno.copyFile(`${root}/tests/run.ts`, `${folder}/tests/run.ts`);
    for (const [path, text] of Object.entries(files)) {
      await Deno.mkdir(`${folder}/${path}`.replace(/[^/]+$/, ""), { recursive: true });
      await Deno.writeTextFile(`${folder}/${path}`, text);
    }
    // Without `CI`, since these tests must not depend on whether this machine has PostgreSQL.
    const { CI: _, ...env } = Deno.env.toObject();
    const ended = await new Processes().run(Deno.execPath(), [
      "run",
      "-A",
      "tests/run.ts",
      ...args,
    ], { cwd: folder, env, silenceMs: 120_000 });
    const lines = ended.output.trimEnd().split("\n");
    const last = (lines.at(-1) ?? "").replace(/, \d+ skipped$/, "");
    return { code: ended.code, output: ended.output, last };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a good tree passes: each step counts as one, each test as one", async () => {
  const { code, last, output } = await gate(good);
  assert.deepEqual([code, last], [0, "6 passed, 0 failed"], output);
});

Deno.test("a bad tree fails, each step by itself, and the cause is in the output", async () => {
  const { code, last, output } = await gate({
    ...good,
    "src/format.ts": "export const a = 'single'\n",
    "src/lint.ts": "export function f() {\n  debugger;\n}\n",
    "src/types.ts": 'export const a: number = "text";\n',
    "src/b_test.ts": 'Deno.test("b holds", () => {\n  throw new Error("the cause");\n});\n',
    "src/leak_test.ts": 'Deno.test("leaks", () => {\n  Deno.openSync("/etc/hostname");\n});\n',
    "src/c_test.ts": 'throw new Error("at import");\n',
    "src/d_test.ts": "export const nothing = 1;\n",
    "openapi/generate.ts": "Deno.exit(Deno.args[0] === '--check' ? 1 : 0);\n",
  });
  assert.deepEqual([code, last], [1, "3 passed, 8 failed"], output);
  for (const step of ["format", "lint", "types", "document"]) {
    assert.match(output, new RegExp(`^failed ${step}$`, "m"));
  }
  assert.match(output, /failed src\/b_test.ts: b holds/);
  assert.match(output, /failed src\/leak_test.ts: leaks/);
  assert.match(output, /failed src\/c_test.ts: is loaded/);
  assert.match(output, /Error: at import/);
  assert.match(output, /failed src\/d_test.ts: is loaded/);
  assert.match(output, /src\/d_test.ts: registers no test/);
  assert.match(output, /the cause/);
});

Deno.test("arguments run just the tests they name", async () => {
  const tree = { ...good, "src/b_test.ts": 'Deno.test("three", () => {});\n' };
  const { code, last, output } = await gate(tree, ["two"]);
  assert.deepEqual([code, last], [0, "2 passed, 0 failed"], output);
  const none = await gate(good, ["src/b_test.ts"]);
  assert.deepEqual([none.code, none.last], [1, "0 passed, 1 failed"]);
  assert.match(none.output, /No test file at 'src\/b_test.ts'/);
});

Deno.test("tests of a batch that leave something open fail if they are unit tests, others don't", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gate-" });
  try {
    const leak = 'Deno.test("leaks", () => {\n  Deno.openSync("/etc/hostname");\n});\n';
    const whole = 'Deno.test("holds", () => {});\n';
    const files: Record<string, string> = {
      "src/a_test.ts": leak,
      "src/b_test.ts": whole,
      "tests/http/a_test.ts": leak,
      "tests/http/b_test.ts": whole,
    };
    for (const path of ["src", "tests/http", "tests/run"]) {
      await Deno.mkdir(`${folder}/${path}`, { recursive: true });
    }
    await Deno.copyFile(`${root}/tests/run/batch.ts`, `${folder}/tests/run/batch.ts`);
    for (const [file, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${file}`, text);
    }
    const env = { ...Deno.env.toObject(), NO_COLOR: "1" };
    const gate = { root: folder, tempDir: folder, processes: new Processes(), env, inCi: false };
    for (const asked of [Object.keys(files), ["src/a_test.ts"]]) {
      const outcome = await tests(gate, asked, { ...options, batched: true });
      assert.deepEqual(
        [outcome.passed, outcome.notes],
        [asked.length - 1, ["failed src/a_test.ts: leaks"]],
        outcome.details,
      );
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a run tells its tests how many files run at a time: who is alone may measure time", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gate-" });
  try {
    const saying = (jobs: number) =>
      `Deno.test("jobs", () => {\n  if (Deno.env.get("DENO_JOBS") !== "${jobs}") throw 0;\n});\n`;
    await Deno.mkdir(`${folder}/src`);
    const files: Record<string, string> = {
      "src/a_test.ts": saying(1),
      "src/b_test.ts": saying(2),
      "src/c_test.ts": saying(2),
    };
    for (const [file, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${file}`, text);
    }
    const { DENO_JOBS: _, ...env } = Deno.env.toObject();
    const gate = { root: folder, tempDir: folder, processes: new Processes(), env, inCi: false };
    for (const asked of [["src/a_test.ts"], ["src/b_test.ts", "src/c_test.ts"]]) {
      const { passed, details } = await tests(gate, asked, { ...options, jobs: 4 });
      assert.equal(passed, asked.length, details);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

const options = { check: false, filter: null, jobs: 1 };
