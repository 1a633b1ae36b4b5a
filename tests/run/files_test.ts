import assert from "@std/assert";
import { readArguments } from "./arguments.ts";
import { longest, testFiles, testGroups } from "./files.ts";

const all = [
  "src/base/money_test.ts",
  "src/store/keys_test.ts",
  "tests/architecture_test.ts",
  "tests/browser/login_test.ts",
  "tests/dialects/echo_test.ts",
  "tests/faults/kill_test.ts",
  "tests/http/chat_test.ts",
  "tests/run/outcome_test.ts",
];

Deno.test("every test file is in exactly one group, and no group is empty", () => {
  const groups = testGroups(all);
  assert.deepEqual(groups.map(({ name, files }) => [name, files.length]), [
    ["unit", 4],
    ["interfaces", 1],
    ["integration", 3],
  ]);
  assert.deepEqual(groups.flatMap(({ files }) => files).sort(), all);
  assert.deepEqual(testGroups([]), []);
  assert.deepEqual(testGroups(["src/a_test.ts"]).map(({ name }) => name), ["unit"]);
});

Deno.test("long files run first, the others in their order, and each that is named is there", () => {
  const [unit] = testGroups(["a_test.ts", "b_test.ts", "tests/architecture_test.ts"]);
  assert.deepEqual(unit?.files, ["tests/architecture_test.ts", "a_test.ts", "b_test.ts"]);
  const root = new URL("../../", import.meta.url);
  // Reads the disk, since `testFiles` leaves some out if recorded answers are missing.
  for (const file of longest) assert.ok(Deno.statSync(new URL(file, root)).isFile);
});

Deno.test("tests of recorded answers are left out only where there are none", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const files = ["recorded_test.ts", "recorded_chat_test.ts", "recorder_test.ts"];
    await Deno.mkdir(`${folder}/main`);
    for (const file of files) await Deno.writeTextFile(`${folder}/main/${file}`, "");
    assert.deepEqual(testFiles(`${folder}/main`), ["recorder_test.ts"]);
    await Deno.mkdir(`${folder}/shared/recorded`, { recursive: true });
    assert.deepEqual(testFiles(`${folder}/main`), files.toSorted());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("without arguments everything is selected", () => {
  assert.deepEqual(readArguments([], all), { files: all, filter: null, times: false });
  assert.deepEqual(readArguments(["--times"], all), { files: all, filter: null, times: true });
});

Deno.test("paths select files, words select names", () => {
  assert.deepEqual(readArguments(["./src/"], all).files, all.slice(0, 2));
  assert.deepEqual(readArguments(["src/base/money_test.ts", "revoked key"], all), {
    files: [all[0]],
    filter: "/revoked key/",
    times: false,
  });
  assert.equal(readArguments(["a.b (c)", "d"], all).filter, "/a\\.b \\(c\\)|d/");
});

Deno.test("an argument that can't be meant is refused", () => {
  assert.throws(() => readArguments(["src/nothing_test.ts"], all), /No test file at/);
  assert.throws(() => readArguments(["src/bas"], all), /No test file at/);
  assert.throws(() => readArguments(["--watch"], all), /Unknown option '--watch'/);
});
