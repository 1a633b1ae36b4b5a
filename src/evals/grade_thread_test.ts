import assert from "@std/assert";
import type { GreedySight } from "../../tests/support/greedy_grades.ts";
import { runProgram } from "../../tests/support/process.ts";
import type { CallersRule } from "./grade_protocol.ts";
import { GradeThread } from "./grade_thread.ts";

async function withThread(limitMs: number, test: (thread: GradeThread) => Promise<void>) {
  const thread = new GradeThread(limitMs);
  try {
    await test(thread);
  } finally {
    thread.close();
  }
}

const person = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer", minimum: 0 } },
  required: ["name"],
  additionalProperties: false,
};

// To start a thread takes half a second of processor time.
Deno.test("one thread judges answers, and finds out what can't be judged", async (context) => {
  await withThread(5000, async (thread) => {
    await context.step(
      "schemas and patterns judge answers, and say what is wrong",
      () => judgesAnswers(thread),
    );
    await context.step(
      "a name that all objects inherit is a property only where the answer has it",
      () => judgesInheritedNames(thread),
    );
    await context.step(
      "multiples are those of the decimals, whatever binary fractions make of them",
      () => judgesMultiples(thread),
    );
    await context.step(
      "what can't be compiled is found out without a text",
      () => findsUnusableRules(thread),
    );
  });
});

async function judgesAnswers(thread: GradeThread): Promise<void> {
  const cases: readonly [CallersRule, string, string | null][] = [
    [{ type: "json_schema", schema: person }, '{"name": "Ada", "age": 36}', null],
    [
      { type: "json_schema", schema: person },
      '{"age": 36}',
      "the answer must have required property 'name'",
    ],
    [{ type: "json_schema", schema: person }, '{"name": "Ada", "age": -1}', "/age must be >= 0"],
    [{ type: "json_schema", schema: person }, "Ada", "the answer isn't JSON"],
    [
      {
        type: "json_schema",
        schema: { ...person, $schema: "http://json-schema.org/draft-07/schema#" },
      },
      '{"name": "x"}',
      null,
    ],
    [
      {
        type: "json_schema",
        schema: { ...person, $schema: "https://json-schema.org/draft/2020-12/schema" },
      },
      '{"name": "x"}',
      null,
    ],
    [{ type: "json_schema", schema: { prefixItems: [{ const: 1 }], items: false } }, "[1]", null],
    [
      { type: "json_schema", schema: { $defs: { a: { type: "null" } }, $ref: "#/$defs/a" } },
      "null",
      null,
    ],
    [{ type: "json_schema", schema: false }, "1", "the answer boolean schema is false"],
    [{ type: "regex", pattern: "^\\p{Lu}+$" }, "ÄÖ", null],
    [{ type: "regex", pattern: "^b$", flags: "im" }, "a\nB\nc", null],
    [{ type: "regex", pattern: "a\\-b" }, "a-b", null],
    [{ type: "regex", pattern: "x" }, "y", "the pattern is not found"],
  ];
  for (const [rule, text, detail] of cases) {
    const passed = detail === null;
    assert.deepEqual(await thread.grade(rule, text), { kind: "judged", passed, detail });
  }
}

async function judgesInheritedNames(thread: GradeThread): Promise<void> {
  const driver = {
    properties: { constructor: { type: "string" }, wins: { type: "integer" } },
    required: ["constructor"],
  };
  const cases: readonly [object, string, string | null][] = [
    [driver, '{"constructor": "Ferrari"}', null],
    [driver, '{"wins": 3}', "the answer must have required property 'constructor'"],
    [{ properties: driver.properties }, '{"wins": 3}', null],
    [{ dependentRequired: { valueOf: ["wins"] } }, "{}", null],
  ];
  for (const [schema, text, detail] of cases) {
    const graded = await thread.grade({ type: "json_schema", schema: { ...schema } }, text);
    assert.deepEqual(graded, { kind: "judged", passed: detail === null, detail });
  }
}

async function judgesMultiples(thread: GradeThread): Promise<void> {
  const cases: readonly [step: number, multiples: string[], others: string[]][] = [
    [0.01, ["19.99", "0.07", "1.1", "-4.35", "1000000.01", "0", "1e300"], ["19.995", "1e-9"]],
    [0.01, [], ["1000000.011", "0.01000000001"]],
    [1, ["7", "-7.0", "1e20"], ["1.0000001"]],
    [10_000_000, ["20000000"], ["10000001", "1e-300"]],
    // Too large for a number in JavaScript, so it isn't one for Ajv either.
    [2, ["1e308"], ["1e309", "-1e400"]],
  ];
  for (const [step, multiples, others] of cases) {
    for (const text of [...multiples, ...others]) {
      const detail = others.includes(text) ? `the answer must be multiple of ${step}` : null;
      const graded = await thread.grade(
        { type: "json_schema", schema: { multipleOf: step } },
        text,
      );
      assert.deepEqual(graded, { kind: "judged", passed: detail === null, detail }, text);
    }
  }
}

async function findsUnusableRules(thread: GradeThread): Promise<void> {
  const rules: CallersRule[] = [
    { type: "regex", pattern: "(" },
    { type: "json_schema", schema: { type: "no such type" } },
    { type: "json_schema", schema: { $ref: "#/nowhere" } },
    { type: "json_schema", schema: { $ref: "https://example.com/schema.json" } },
    { type: "json_schema", schema: { $schema: "https://example.com/own" } },
    { type: "json_schema", schema: { $async: true } },
    { type: "json_schema", schema: { pattern: "(", type: "string" } },
  ];
  for (const rule of rules) {
    assert.equal((await thread.grade(rule, null)).kind, "unusable", JSON.stringify(rule));
  }
  const fine = await thread.grade({ type: "regex", pattern: "a" }, null);
  assert.equal(fine.kind, "judged");
}

Deno.test("a pattern or schema that would take for ever is ended, and the next one is judged", async () => {
  await withThread(1000, async (thread) => {
    const text = "a".repeat(40) + "!";
    const endless: CallersRule = { type: "regex", pattern: "^(a+)+$" };
    // Of those who wait nobody is lost.
    const answers = await Promise.all([
      thread.grade(endless, text),
      thread.grade({ type: "regex", pattern: "!" }, text),
      thread.grade({ type: "json_schema", schema: { pattern: "^(a+)+$" } }, JSON.stringify(text)),
      thread.grade({ type: "json_schema", schema: { type: "string" } }, JSON.stringify(text)),
    ]);
    assert.deepEqual(answers.map(({ kind }) => kind), ["timeout", "judged", "timeout", "judged"]);
  });
});

Deno.test("a thread that is closed answers who still waits", async () => {
  const thread = new GradeThread();
  const waiting = thread.grade({ type: "regex", pattern: "^(a+)+$" }, "a".repeat(40) + "!");
  thread.close();
  assert.equal((await waiting).kind, "timeout");
  assert.equal((await thread.grade({ type: "regex", pattern: "a" }, "a")).kind, "timeout");
});

Deno.test("neither schema nor pattern nor answer takes much memory, and the next one is judged", async () => {
  // In a process of its own: this one runs other tests at the same time.
  const { stdout, code } = await runProgram({ script: "tests/support/greedy_grades.ts" });
  assert.equal(code, 0);
  const { maxBytes, kinds }: GreedySight = JSON.parse(stdout);
  assert.ok(maxBytes < 400e6, `${maxBytes} bytes`);
  assert.deepEqual(kinds, ["unusable", "judged"]);
});

Deno.test("one caller's hanging patterns hold another's up for one of them at most", async () => {
  await withThread(1000, async (thread) => {
    const endless: CallersRule = { type: "regex", pattern: "^(a+)+$" };
    let ended = 0;
    const crowd = Array.from(
      { length: 8 },
      () => thread.grade(endless, `${"a".repeat(40)}!`, "many").then(() => ended++),
    );
    for (let n = 0; n < 3; n++) {
      const fine = await thread.grade({ type: "regex", pattern: "a" }, "a", "other");
      assert.equal(fine.kind, "judged");
    }
    assert.ok(ended <= 4, `${ended} of the crowd came first`);
    thread.close();
    await Promise.all(crowd);
  });
});
