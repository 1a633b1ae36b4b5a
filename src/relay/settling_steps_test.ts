import assert from "@std/assert";
import { Fault } from "../shared/fault.ts";
import { type SettlingStep, SettlingSteps } from "./settling_steps.ts";

Deno.test("a step that fails is done otherwise, counted, and logged without what it was about", () => {
  const lines: string[] = [];
  const steps = new SettlingSteps({
    log: { error: (message, fields) => lines.push(`${message} ${JSON.stringify(fields)}`) },
  });
  const secret = "a word of the answer\n    at secret/words.ts:1:1";
  const given = steps.run("payload", "t1", () => {
    throw new TypeError(secret);
  }, () => "plain");
  assert.equal(given, "plain");
  steps.note("bill", "t2", new Fault("upstream_invalid_response", { message: secret }));
  steps.note("bill", "t3", secret);
  // Nothing but a position is logged of a stack, whatever is in it.
  const stacks = [`Error: odd\n    at the word:1:1 of a secret`, "Error: odd"];
  for (const stack of stacks) steps.note("bill", "t4", Object.assign(new Error("odd"), { stack }));
  assert.equal(steps.failed, 5);
  for (const line of lines.slice(3)) {
    assert.match(line, /\{"transaction":"t4","step":"bill","reason":"Error"\}$/);
  }
  assert.match(
    lines[0]!,
    /"step":"payload","reason":"TypeError","at":"settling_steps_test.ts:\d+:\d+"/,
  );
  assert.match(lines[1]!, /"reason":"upstream_invalid_response"/);
  assert.match(lines[2]!, /"reason":"string"/);
  assert.doesNotMatch(lines.join("\n"), /secret|word/);
});

Deno.test("a full disk is named", () => {
  const lines: string[] = [];
  const steps = new SettlingSteps({
    log: { error: (message, fields) => lines.push(`${message} ${JSON.stringify(fields)}`) },
  });
  using full = Deno.openSync("/dev/full", { write: true });
  steps.run("journal", "t1", () => void full.writeSync(new Uint8Array(1)), () => {});
  assert.match(lines[0]!, /"step":"journal","reason":"ENOSPC"/);
  const quoting = Object.assign(new Error("odd"), { code: "words of the prompt" });
  steps.note("bill", "t2", quoting);
  assert.match(lines[1]!, /"reason":"Error"/);
});

Deno.test("what is to be called before each step may fail it, and a log that fails stops nothing", () => {
  const seen: SettlingStep[] = [];
  const steps = new SettlingSteps({
    log: {
      error() {
        throw new Error("nobody reads the log");
      },
    },
    before(step) {
      seen.push(step);
      if (step === "tell") throw new Error("a fault of the test's");
    },
  });
  assert.equal(steps.run("usage", "t1", () => 1, () => 2), 1);
  assert.equal(steps.run("tell", "t1", () => 1, () => 2), 2);
  assert.deepEqual(seen, ["usage", "tell"]);
});
