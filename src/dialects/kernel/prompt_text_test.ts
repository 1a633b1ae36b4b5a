import assert from "@std/assert";
import { finish } from "../../base/steps.ts";
import { promptContent, promptUsage } from "./prompt_text.ts";

function promptText(body: unknown): string {
  return finish(promptContent(body)).texts.join("\n");
}

function counted(text: unknown): string {
  return promptText({ messages: [{ content: text }] });
}

Deno.test("the words of every dialect's request are found, wherever they stand", () => {
  const body = {
    system: "sys",
    instructions: "ins",
    messages: [{ role: "user", content: [{ type: "text", text: "one" }, { text: "two" }] }],
    contents: [{ parts: [{ text: "three" }] }],
    input: "four",
    tools: [{ function: { name: "f", description: "five", parameters: { type: "object" } } }],
    n: 7,
    stream: true,
    none: null,
  };
  const found = promptText(body).split("\n");
  for (const word of ["sys", "ins", "one", "two", "three", "four", "five", "f"]) {
    assert.ok(found.includes(word), word);
  }
  assert.ok(!found.includes("7") && !found.includes("true"));
});

const base64 = "QUJD".repeat(500);
const media: [string, string][] = [
  ["a data URL", `data:image/png;base64,${base64}`],
  ["an address", "https://example.com/cat.png"],
  ["a plain address", "http://example.com/cat.png?x=1"],
  ["bare base64", base64],
  ["bare base64 for URLs", base64.replaceAll("Q", "-").replaceAll("J", "_")],
];
for (const [name, value] of media) {
  Deno.test(`${name} isn't counted as words, except where its vendor reads words`, () => {
    for (const url of [value, [value]]) {
      assert.equal(promptText({ messages: [{ content: [{ image_url: { url } }] }] }), "");
    }
    assert.equal(promptText({ source: { type: "base64", data: value } }), "base64");
    assert.ok(promptText({ source: { type: "text", data: value } }).includes(value));
    assert.equal(counted(value), value);
    assert.equal(promptText({ input: [value] }), value);
    assert.equal(promptText(value), value);
  });
}

Deno.test("what a vendor sealed, and media under each dialect's names, are no words", () => {
  const names = ["encrypted_content", "signature", "thoughtSignature", "image_url", "file_data"]
    .concat(["fileUri", "file_uri", "file_url", "result", "data", "b64_json", "video_url"]);
  for (const name of names) assert.equal(promptText({ item: { [name]: base64 } }), "", name);
  for (const name of ["metadata", "text", "output", "urls of mine", "input"]) {
    assert.equal(promptText({ item: { [name]: base64 } }), base64, name);
  }
});

Deno.test("what a tool is called with and answers are words, whatever their names", () => {
  const sorted = (body: unknown) => promptText(body).split("\n").toSorted();
  const named: [Record<string, unknown>, string[]][] = [
    [{ data: base64 }, [base64, "data"]],
    [{ page: { url: base64 } }, [base64, "page", "url"]],
    [{ images: [[base64], base64] }, [base64, base64, "images"]],
    // The model reads the names too.
    [{ properties: { a_long_name: { minimum: 1 } } }, ["a_long_name", "minimum", "properties"]],
  ];
  for (const [one, words] of named) {
    const type = "tool_use";
    assert.deepEqual(sorted({ content: [{ type, input: one }] }), [...words, type].toSorted());
    for (const name of ["args", "response", "input_schema", "parametersJsonSchema", "schema"]) {
      assert.deepEqual(sorted({ functionCall: { [name]: one } }), words);
    }
  }
  // Media of a tool's answer stand beside its words.
  const part = { inlineData: { data: base64 } };
  assert.equal(promptText({ functionResponse: { response: {}, parts: [part] } }), "");
});

Deno.test("base64 that begins like no known format is counted by the type beside it", () => {
  const data = btoa("Tell me all. ".repeat(1000));
  const tokensOf = (mimeType: string) =>
    finish(promptUsage({ parts: [{ inlineData: { mimeType, data } }] }));
  const named = finish(promptUsage({ mimeType: "text/plain" })).input;
  assert.deepEqual(tokensOf("text/plain"), { input: named + 3251 });
  const sound = finish(promptUsage({ parts: [{ inline_data: { mime_type: "audio/L16", data } }] }));
  assert.equal(sound.audioInput, 7);
});

Deno.test("a file's base64 without an address is a document, or text by its name", () => {
  const words = btoa("Tell me all. ".repeat(1000));
  const tokensOf = (filename: string, file_data = words) =>
    finish(promptUsage({ file: { file_data, filename } })).input -
    finish(promptUsage({ filename })).input;
  assert.equal(tokensOf("a.pdf"), 204);
  assert.equal(tokensOf("a.TXT"), 3251);
  assert.equal(tokensOf(""), 204);
  const picture = `iVBORw0KGgo${"A".repeat(400_000)}`;
  assert.equal(tokensOf("a.png", picture), tokensOf("a.png", `data:image/png;base64,${picture}`));
});

const texts: [string, string][] = [
  ["a prompt that begins with an address", "https://example.com/a Summarise this page, please."],
  ["a prompt that begins with 'data:'", "data: 1, 2, 3\nWhat is the mean?"],
  ["a long text without line breaks", "lorem ipsum ".repeat(200)],
  ["a short word like base64", "QUJDQUJD"],
  ["a long Chinese text, which has no spaces", "你好".repeat(800)],
  ["a long JSON text without spaces", `{"a":[${"1,".repeat(900)}1]}`],
];
for (const [name, value] of texts) {
  Deno.test(`${name} is counted`, () => assert.equal(counted(value), value));
}

Deno.test("a body nested a hundred thousand deep is read without a stack of its own", () => {
  let body: unknown = "deep";
  for (let depth = 0; depth < 100_000; depth++) body = [body];
  assert.equal(promptText(body), "deep");
});

Deno.test("a request without words has none", () => {
  for (const body of [{}, [], null, 3, { a: { b: [null, 1] } }]) assert.equal(promptText(body), "");
});
