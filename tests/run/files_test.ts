import assert from "@std/assert";
import { readArguments } from "./arguments.ts";
import { testFiles, testGroups } from "./files.ts";

const all = [
  "src/base/money_test.ts",
  "src/store/keys_test.ts",
  "tests/architecture_test.ts",
  "tests/browser/login_test.ts",
  "tests/faults/kill_test.ts",
  "tests/http/chat_test.ts",
  "tests/run/outcome_test.ts",
];

Deno.test("every test file is in exactly one group, and no group is empty", () => {
  const groups = testGroups(all);
  assert.deepEqual(groups.map(({ name, files }) => [name, files.length]), [
    ["architecture", 2],
    ["unit", 2],
    ["faults", 1],
    ["browser", 1],
    ["integration", 1],
  ]);
  assert.deepEqual(groups.flatMap(({ files }) => files).sort(), all);
  assert.deepEqual(testGroups([]), []);
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
  assert.deepEqual(readArguments([], all), { files: all, filter: null });
});

Deno.test("paths select files, words select names", () => {
  assert.deepEqual(readArguments(["./src/"], all).files, all.slice(0, 2));
  assert.deepEqual(readArguments(["src/base/money_test.ts", "revoked key"], all), {
    files: [all[0]],
    filter: "/revoked key/",
  });
  assert.equal(readArguments(["a.b (c)", "d"], all).filter, "/a\\.b \\(c\\)|d/");
});

Deno.test("an argument that can't be meant is refused", () => {
  assert.throws(() => readArguments(["src/nothing_test.ts"], all), /No test file at/);
  assert.throws(() => readArguments(["src/bas"], all), /No test file at/);
  assert.throws(() => readArguments(["--watch"], all), /Unknown option '--watch'/);
});
