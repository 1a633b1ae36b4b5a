import assert from "@std/assert";
import { findingsOf } from "./checks.ts";
import { wireWords } from "./wire_words.ts";

function verdict(path: string, text: string): string | null {
  return findingsOf(new Map([[path, text]]), wireWords)[0]?.message ?? null;
}

/** Text → the dialects whose folders may hold it. */
const words: [text: string, homes: string[]][] = [
  ["const n = usage.prompt_tokens;", ["chat"]],
  ['const n = usage["completion_tokens"];', ["chat"]],
  ["const { finish_reason } = choice;", ["chat"]],
  ["const body = { max_completion_tokens: 5 };", ["chat"]],
  ['if (text.includes("stream_options")) f();', ["chat", "responses"]],
  ['if (json.object === "chat.completion.chunk") f();', ["chat"]],
  ["f(`the field tool_call_id of ${x}`);", ["chat"]],
  ["const id = body.previous_response_id;", ["responses"]],
  ['const part = { type: "output_text" };', ["responses"]],
  ["const sealed = item.encrypted_content;", ["responses"]],
  ["const why = message.stop_reason;", ["messages"]],
  ['if (block.type === "tool_use") f();', ["messages"]],
  ["const schema = { input_schema: s };", ["messages"]],
  ["const n = body.max_tokens;", ["chat", "messages"]],
  ["const choice = body.tool_choice;", ["chat", "responses", "messages"]],
  ["const n = usage.candidatesTokenCount;", ["generate"]],
  ["const call = part.functionCall;", ["generate"]],
  ['const config = body["generationConfig"];', ["generate"]],
];

Deno.test("a field name of a dialect is found outside its folder, and allowed inside", () => {
  for (const [text, homes] of words) {
    const outside = [
      "src/relay/a.ts",
      "src/dialects/kernel/a.ts",
      "src/http/routes/a.ts",
      "main.ts",
    ];
    for (const path of outside) assert.match(verdict(path, text) ?? "", /ask the dialect/, text);
    for (const name of ["chat", "responses", "messages", "generate"]) {
      const found = verdict(`src/dialects/text/${name}/a.ts`, text);
      assert.equal(found === null, homes.includes(name), `${text} in ${name}`);
    }
  }
});

Deno.test("contracts, demo, the conformance client and tests may know every dialect", () => {
  for (const path of ["contracts/a.ts", "demo/a.ts", "conformance/a.ts", "src/relay/a_test.ts"]) {
    for (const [text] of words) assert.equal(verdict(path, text), null, `${path}: ${text}`);
  }
});

Deno.test("what only looks like a field name is left alone", () => {
  const fine = [
    "// counts prompt_tokens as the vendor does",
    "const finishReason = 1;",
    "const stop = reasons.stop;",
    'const word = "max_tokens_per_minute";',
  ];
  for (const text of fine) assert.equal(verdict("src/relay/a.ts", text), null, text);
});

Deno.test("words of ours are allowed where they are ours, and nowhere else", () => {
  assert.equal(verdict("src/records/columns.ts", "const c = { finish_reason: 1 };"), null);
  assert.notEqual(verdict("src/records/columns.ts", "const c = { stop_reason: 1 };"), null);
  assert.equal(verdict("src/pricing/table/price_row.ts", "const n = row.max_output_tokens;"), null);
  assert.notEqual(verdict("src/vendors/registry.ts", "const n = row.max_output_tokens;"), null);
});
