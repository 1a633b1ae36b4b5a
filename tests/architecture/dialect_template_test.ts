import assert from "@std/assert";
import { checkDialectTemplate, template } from "./dialect_template.ts";

/** A dialect named `toy`, as the template wants it. */
function toy(changes: Record<string, string | undefined> = {}): string[] {
  const files = Object.entries({ ...template, "mod.ts": ["toy"] }).map(([file, names]) =>
    [file, names.map((name) => `export const ${name} = 0;`).join("\n")] as const
  );
  const own = { ...Object.fromEntries(files), ...changes };
  const tree = Object.entries(own).flatMap(([file, text]) =>
    text === undefined ? [] : [[`src/dialects/text/toy/${file}`, text] as const]
  );
  return checkDialectTemplate(new Map(tree)).map(({ path, message }) => `${path}: ${message}`);
}

Deno.test("a dialect of the template is fine, with parts of its files in folders", () => {
  assert.deepEqual(
    toy({ "request/tools.ts": "", "answer/blocks.ts": "", "usage_test.ts": "" }),
    [],
  );
});

Deno.test("a file or an export that others have is missed", () => {
  const root = "src/dialects/text/toy";
  assert.deepEqual(toy({ "usage.ts": undefined }), [
    `${root}/usage.ts: every dialect has this file`,
  ]);
  assert.deepEqual(toy({ "usage.ts": "export const readUsage = 0;" }), [
    `${root}/usage.ts: every dialect exports writeUsage here`,
  ]);
  assert.deepEqual(toy({ "answer_decoder.ts": "export function decodeAnswers() {}" }), [
    `${root}/answer_decoder.ts: every dialect exports decodeAnswer here`,
  ]);
});

Deno.test("a file that no other dialect has is found", () => {
  const root = "src/dialects/text/toy";
  assert.deepEqual(toy({ "helpers.ts": "", "stream/blocks.ts": "" }), [
    `${root}/helpers.ts: not in the template: move it to request/ or answer/`,
    `${root}/stream/blocks.ts: not in the template: move it to request/ or answer/`,
  ]);
});
