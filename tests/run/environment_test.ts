import assert from "@std/assert";
import { isCi, isLongRound, testEnvironment } from "./environment.ts";

const { tasks }: { tasks: Record<string, string> } = JSON.parse(
  Deno.readTextFileSync(`${import.meta.dirname}/../../deno.json`),
);

Deno.test("a developer's database and vendor keys don't reach the tests", () => {
  const outer = {
    PATH: "/bin",
    HOME: "/root",
    CI: "true",
    DENO_DIR: "/cache",
    https_proxy: "http://proxy",
    DATABASE_URL: "postgres://live",
    VENDOR_B_API_KEY: "secret",
    PORT: "8787",
    KILLS: "20",
    AWS_ACCESS_KEY_ID: "secret",
  };
  const env = testEnvironment(outer, "/tmp/x");
  assert.deepEqual(Object.keys(env).sort(), [
    "CI",
    "DENO_DIR",
    "DENO_NO_UPDATE_CHECK",
    "HOME",
    "KILLS",
    "NO_COLOR",
    "NO_PROXY",
    "PATH",
    "TMPDIR",
    "https_proxy",
  ]);
  assert.equal(env.TMPDIR, "/tmp/x");
  assert.equal(testEnvironment({ no_proxy: "a.example" }, "").NO_PROXY?.split(",")[0], "a.example");
});

Deno.test("WebAssembly is optimised where a developer or a long round asks for it", () => {
  assert.equal(testEnvironment({ PATH: "/bin" }, "").DENO_V8_FLAGS, "--liftoff-only");
  assert.equal(testEnvironment({ STORE: "both" }, "").DENO_V8_FLAGS, undefined);
  assert.equal(testEnvironment({ DENO_V8_FLAGS: "--no-opt" }, "").DENO_V8_FLAGS, "--no-opt");
});

Deno.test("a long round is one that asks for the long form of a test", () => {
  assert.equal(isLongRound({ PATH: "/bin", CI: "true" }), false);
  const task = tasks["test:long"]!.split(" ").flatMap((word) =>
    /^([A-Z_]+)=/.exec(word)?.[1] ?? []
  );
  assert.ok(task.length > 10);
  for (const name of ["FUZZ_SEED", "HISTORIES_SEED", ...task]) {
    assert.equal(isLongRound({ PATH: "/bin", [name]: "20" }), true, name);
    assert.equal(testEnvironment({ [name]: "20" }, "")[name], "20", name);
  }
});

Deno.test("CI is on unless the variable says no", () => {
  for (const CI of ["true", "1", "yes"]) assert.equal(isCi({ CI }), true);
  for (const CI of ["", "0", "false", "False"]) assert.equal(isCi({ CI }), false);
  assert.equal(isCi({}), false);
});
