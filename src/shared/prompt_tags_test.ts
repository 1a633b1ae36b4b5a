import assert from "@std/assert";
import { heldBytes } from "../../tests/support/held_bytes.ts";
import { Fault } from "./fault.ts";
import { cutPromptTags, maxTagLines, mergeTags, readTags } from "./prompt_tags.ts";

const cases: [string, string, ReturnType<typeof readTags>["tags"], string][] = [
  ["no tags", "Hello", {}, "Hello"],
  ["empty text", "", {}, ""],
  ["one tag", "/// APP shop\nHello", { app: "shop" }, "Hello"],
  [
    "all three, in any order",
    "/// COHORT c-1\n/// APP my shop\n/// FLOW pay\n\nHello",
    { cohort: "c-1", app: "my shop", flow: "pay" },
    "\nHello",
  ],
  ["CRLF", "/// APP shop\r\n/// FLOW pay\r\nHello\r\n", { app: "shop", flow: "pay" }, "Hello\r\n"],
  ["nothing but tags", "/// APP shop\n/// FLOW pay", { app: "shop", flow: "pay" }, ""],
  ["nothing but tags, with a last CR", "/// APP shop\r", { app: "shop" }, ""],
  ["the first value wins", "/// APP one\n/// APP two\nx", { app: "one" }, "x"],
  ["spaces around the value", "/// APP   shop  \nx", { app: "shop" }, "x"],
  ["emoji and other scripts", "/// APP 店😀\nx", { app: "店😀" }, "x"],
  ["slashes in a value", "/// APP /// FLOW x\ny", { app: "/// FLOW x" }, "y"],
  // Ordinary text, which ends the block.
  ["a doc comment", "/// Adds two numbers.\nfn add()", {}, "/// Adds two numbers.\nfn add()"],
  [
    "a doc comment behind a tag",
    "/// APP a\n/// Adds\n/// FLOW f\n",
    { app: "a" },
    "/// Adds\n/// FLOW f\n",
  ],
  ["a tag behind text", "Hi\n/// APP a", {}, "Hi\n/// APP a"],
  ["a tag behind an empty line", "\n/// APP a", {}, "\n/// APP a"],
  ["a tag behind a space", " /// APP a", {}, " /// APP a"],
  ["lower case", "/// app a", {}, "/// app a"],
  ["another word that begins alike", "/// APPLE pie", {}, "/// APPLE pie"],
  ["another tag", "/// USER u\n", {}, "/// USER u\n"],
  ["no value", "/// APP\nx", {}, "/// APP\nx"],
  ["only spaces as value", "/// APP   \nx", {}, "/// APP   \nx"],
  ["two spaces before the tag", "///  APP a", {}, "///  APP a"],
  ["two slashes", "// APP a", {}, "// APP a"],
  ["no space behind the slashes", "///APP a", {}, "///APP a"],
  ["a tab before the value", "/// APP\ta", {}, "/// APP\ta"],
];

for (const [name, text, tags, rest] of cases) {
  Deno.test(`tags: ${name}`, () => {
    const read = readTags(text);
    assert.deepEqual(read.tags, tags);
    assert.equal(text.slice(read.length), rest);
  });
}

Deno.test("a value that can't be kept as it is is refused without being quoted", () => {
  assert.deepEqual(readTags(`/// COHORT ${"c".repeat(256)}\n`).tags.cohort?.length, 256);
  for (const value of ["canary".repeat(50), "canary\u0000", "canary\u001b[31m", "canary\ud800"]) {
    assert.throws(
      () => readTags(`/// COHORT ${value}\nHello`, "messages[0].content"),
      (error: unknown) => {
        const fault = error instanceof Fault ? error : undefined;
        assert.equal(fault?.code, "invalid_value");
        assert.equal(fault?.param, "messages[0].content");
        assert.match(fault?.message ?? "", /^messages\[0\]\.content: The prompt tag COHORT /);
        assert.doesNotMatch(fault?.message ?? "", /canary/);
        return true;
      },
    );
  }
});

Deno.test("the first source's value of each tag wins", () => {
  assert.deepEqual(mergeTags({ app: "s" }, { app: "u", flow: "f" }, { cohort: "c", flow: "g" }), {
    app: "s",
    flow: "f",
    cohort: "c",
  });
  assert.deepEqual(mergeTags(), {});
});

Deno.test("more tag lines than anybody has are refused", () => {
  const { tags, length } = readTags("/// APP a\n".repeat(maxTagLines) + "Hello");
  assert.deepEqual([tags, length], [{ app: "a" }, 10 * maxTagLines]);
  assert.throws(
    () => readTags("/// APP a\n".repeat(100_000), "input"),
    (error: unknown) => {
      const fault = error instanceof Fault ? error : undefined;
      assert.equal(fault?.code, "invalid_value");
      assert.equal(fault?.message, "input: There are more than 1000 prompt tag lines.");
      return true;
    },
  );
});

Deno.test("a tag doesn't keep its prompt in memory", () => {
  const mebibyte = 1024 * 1024;
  const held = heldBytes(() =>
    Array.from({ length: 20 }, (_, n) => {
      const lines = "/// APP my-application-name\\n/// FLOW the-flow-with-a-long-name\\n";
      const { tags } = readTags(JSON.parse(`"${lines}${n}${"x".repeat(5 * mebibyte)}"`));
      assert.equal(tags.flow, "the-flow-with-a-long-name");
      return tags;
    })
  );
  assert.ok(held < 10 * mebibyte, `${held} bytes`);
});

Deno.test("white space without tags isn't refused as tag lines alone, behind them it is", () => {
  assert.deepEqual(cutPromptTags("  ", "input"), { tags: {}, text: "  " });
  assert.throws(() => cutPromptTags("/// APP a\n  ", "input"), { code: "invalid_value" });
});
