import assert from "@std/assert";
import { readArguments } from "./arguments.ts";
import { inOrder, longest, testFiles } from "./files.ts";

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

Deno.test("long files run first and unit tests last, and each long file that is named is there", () => {
  assert.deepEqual(inOrder([...all, "tests/browser/records_test.ts"]), [
    ...["tests/architecture_test.ts", "tests/browser/records_test.ts", "tests/faults/kill_test.ts"],
    ...["tests/browser/login_test.ts", "tests/dialects/echo_test.ts", "tests/http/chat_test.ts"],
    ...["src/base/money_test.ts", "src/store/keys_test.ts", "tests/run/outcome_test.ts"],
  ]);
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
