import assert from "@std/assert";
import { Processes } from "./processes.ts";
import { batchesOf, ofBatch, writeBatch } from "./batches.ts";
import { longest } from "./files.ts";
import { judgeTests } from "./judge.ts";
import { slowestFiles } from "./slowest.ts";

Deno.test("files come together, fewer where they take long, those of a browser in one batch, unit tests for themselves, and some alone", () => {
  const http = Array.from({ length: 34 }, (_, at) => `tests/http/a${at}_test.ts`);
  const long = longest.filter((file) => /^tests\/(faults|e2e)\//.test(file));
  const browser = longest.filter((file) => file.startsWith("tests/browser/"));
  const batches = batchesOf([
    ...long.slice(0, 9),
    ...browser,
    "tests/packaging/a_test.ts",
    "tests/packaging/b_test.ts",
    "tests/browser/a_test.ts",
    "tests/http/overload_test.ts",
    ...http,
    "tests/matrix/a_test.ts",
    "src/base/b_test.ts",
    "src/dialects/text/chat/d_test.ts",
    "openapi/generate_test.ts",
  ]);
  assert.deepEqual(batches, [
    long.slice(0, 8),
    long.slice(8, 9),
    [...browser, "tests/browser/a_test.ts"],
    ["tests/packaging/a_test.ts"],
    ["tests/packaging/b_test.ts"],
    ["tests/http/overload_test.ts"],
    http.slice(0, 32),
    [...http.slice(32), "tests/matrix/a_test.ts"],
    ["src/base/b_test.ts", "src/dialects/text/chat/d_test.ts"],
    ["openapi/generate_test.ts"],
  ]);
});

Deno.test("what a batch has run is known by its file", () => {
  assert.deepEqual(ofBatch("tests/a_test.ts › one › two"), {
    file: "tests/a_test.ts",
    name: "one › two",
  });
  assert.equal(ofBatch("a test › of no file"), undefined);
  assert.equal(ofBatch("a test"), undefined);
});

const first = `
Deno.test.beforeAll(() => console.log("mark: first begins"));
Deno.test.afterAll(() => console.log("mark: first ends"));
Deno.test("by name", async () => {
  await new Promise((resolve) => setTimeout(resolve, 5));
  console.log("mark: by name");
});
Deno.test({ name: "by options", fn: () => console.log("mark: by options") });
Deno.test({ name: "skipped", ignore: true, fn: () => console.log("mark: skipped") });
Deno.test(async function named(t) { await t.step("a step", () => console.log("mark: step")); });
`;
const second = `
let begun = 0;
Deno.test.beforeAll(() => { begun++; console.log("mark: second begins"); });
Deno.test.beforeEach(() => console.log("mark: before each"));
Deno.test.afterEach(() => console.log("mark: after each"));
Deno.test.afterAll(() => console.log("mark: second ends"));
Deno.test("fails", { permissions: "inherit" }, () => { throw new Error("the cause"); });
Deno.test("goes on", async () => {
  await new Promise((resolve) => setTimeout(resolve, 5));
  if (begun !== 1) throw new Error(String(begun));
});
`;

Deno.test("files of a batch run one after the other, each between its own hooks, and are judged by themselves", async () => {
  const root = decodeURIComponent(new URL("../..", import.meta.url).pathname).replace(/\/$/, "");
  const folder = await Deno.makeTempDir({ prefix: "batch-" });
  try {
    const files = [
      `${folder}/one_test.ts`,
      `${folder}/two_test.ts`,
      `${folder}/none_test.ts`,
      `${folder}/broken_test.ts`,
    ];
    await Deno.writeTextFile(files[0]!, first);
    await Deno.writeTextFile(files[1]!, second);
    await Deno.writeTextFile(files[2]!, "export const nothing = 1;\n");
    const run = async (batch: readonly string[], number: number) => {
      const path = await writeBatch(batch, { root, folder, name: String(number) });
      const report = `${folder}/report.xml`;
      const ended = await new Processes().run(
        Deno.execPath(),
        ["test", "-A", "--no-check", "--parallel", `--junit-path=${report}`, path],
        { cwd: folder, env: { ...Deno.env.toObject(), NO_COLOR: "1" }, silenceMs: 60_000 },
      );
      return { ended, junit: await Deno.readTextFile(report).catch(() => "") };
    };
    const { ended, junit } = await run(files.slice(0, 2), 1);
    const marks = [...ended.output.matchAll(/^mark: (.*)$/gm)].map(([, mark]) => mark);
    assert.deepEqual(marks, [
      ...["first begins", "by name", "by options", "step", "first ends"],
      ...["second begins", "before each", "after each", "before each", "after each"],
      "second ends",
    ], ended.output);
    const outcome = judgeTests("integration", files.slice(0, 2), ended, junit);
    assert.deepEqual([outcome.passed, outcome.failed, outcome.skipped], [4, 1, 1]);
    assert.deepEqual(outcome.notes, [
      `failed ${files[1]}: fails`,
      `skipped ${files[0]}: skipped`,
    ]);
    assert.match(outcome.details, /the cause/);
    assert.deepEqual(
      slowestFiles(ended.output, 5).map(({ file }) => file).toSorted(),
      files.slice(0, 2).toSorted(),
    );
    await Deno.writeTextFile(files[3]!, 'throw new Error("at import");\n');
    const broken = [files[2]!, files[3]!, files[0]!];
    const bad = await run(broken, 2);
    const judged = judgeTests("integration", broken, bad.ended, bad.junit);
    assert.deepEqual([judged.passed, judged.failed, judged.skipped], [3, 2, 1], "one_test.ts runs");
    assert.deepEqual(judged.notes.filter((note) => note.startsWith("failed")).toSorted(), [
      `failed ${files[3]}: is loaded`,
      `failed ${files[2]}: is loaded`,
    ]);
    assert.match(judged.details, /none_test\.ts: registers no test/);
    assert.match(judged.details, /at import/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
