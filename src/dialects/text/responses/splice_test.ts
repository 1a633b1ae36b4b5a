import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import { writeEnvelope } from "./conversation/envelope.ts";
import { summaryMessage, writeSummary } from "./conversation/summary.ts";
import { socket } from "./socket.ts";
import { readRequest } from "./splice.ts";
import { spliceRequest } from "./splice.ts";

function spliced(text: string, model = "up"): string {
  return finish(
    spliceRequest(text, readRequest(JSON.parse(text)), { model, askStreamUsage: true }),
  );
}

Deno.test("only the model changes; spelling, order and unknown fields stay byte for byte", () => {
  const text =
    '{ "input":"hi", "temperature":1.0,"x":{"n":12345678901234567890}, "model" : "vendor-b/m" }';
  assert.equal(spliced(text), text.replace('"vendor-b/m"', '"up"'));
  assert.equal(spliced(text, "vendor-b/m"), text);
});

Deno.test("facts of a request are read; usage is always wanted", () => {
  const facts = readRequest({
    model: "m",
    input: "x",
    stream: true,
    max_output_tokens: 20,
    user: "u",
    safety_identifier: "s",
  });
  assert.deepEqual(facts, {
    model: "m",
    stream: true,
    wantsStreamUsage: true,
    endUser: "s",
    endUserField: "safety_identifier",
    maxOutputTokens: 20,
    choices: 1,
    serviceTier: undefined,
    tags: {},
    tagBlocks: [],
  });
});

const tagged: readonly [string, Record<string, unknown>, Record<string, unknown>][] = [
  ["string input", { input: "/// APP a\nhi" }, { input: "hi" }],
  [
    "instructions and string input",
    { instructions: "/// FLOW f\nBe", input: "/// APP a\r\nhi" },
    { instructions: "Be", input: "hi" },
  ],
  [
    "developer message and easy user message",
    {
      input: [
        { role: "developer", content: "/// APP a\nBe" },
        { role: "user", content: "/// APP b\nhi" },
        { role: "user", content: "/// APP c\nlater" },
      ],
    },
    {
      input: [
        { role: "developer", content: "Be" },
        { role: "user", content: "hi" },
        { role: "user", content: "/// APP c\nlater" },
      ],
    },
  ],
  [
    "first text part",
    {
      input: [{
        type: "message",
        role: "user",
        content: [{ type: "input_image", image_url: "https://x" }, {
          type: "input_text",
          text: "/// COHORT 7\nhi",
        }],
      }],
    },
    {
      input: [{
        type: "message",
        role: "user",
        content: [{ type: "input_image", image_url: "https://x" }, {
          type: "input_text",
          text: "hi",
        }],
      }],
    },
  ],
];

for (const [name, body, expected] of tagged) {
  Deno.test(`tag lines are cut: ${name}`, () => {
    const text = JSON.stringify({ model: "up", ...body });
    assert.deepEqual(JSON.parse(spliced(text)), { model: "up", ...expected });
  });
}

Deno.test("the first value of a tag wins, the system's before the user's", () => {
  const { tags } = readRequest({
    model: "m",
    instructions: "/// APP sys\nBe",
    input: "/// APP usr\n/// FLOW f\nhi",
  });
  assert.deepEqual(tags, { app: "sys", flow: "f" });
});

Deno.test("a prompt of nothing but tags is refused, naming its path", () => {
  assert.throws(() => readRequest({ model: "m", input: "/// APP a\n" }), {
    code: "invalid_value",
    param: "input",
  });
  const input = [{ role: "user", content: [{ type: "input_text", text: "/// APP a" }] }];
  assert.throws(() => readRequest({ model: "m", input }), { param: "input[0].content[0].text" });
});

Deno.test("reasoning sealed for another dialect is taken out wherever it stands", () => {
  const encrypted_content = writeEnvelope({ dialect: "messages", kind: "signature", value: "x" });
  const ours = { type: "reasoning", summary: [], encrypted_content };
  const theirs = { ...ours, encrypted_content: "gAAA" };
  const user = { role: "user", content: "gwenv1." };
  const lists = [
    [ours, user],
    [user, ours],
    [ours],
    [user, ours, ours, theirs],
    [ours, user, ours, ours],
    [user, theirs],
  ];
  for (const input of lists) {
    for (const space of [undefined, 2]) {
      const text = JSON.stringify({ model: "up", input, last: 1.5 }, null, space);
      assert.deepEqual(JSON.parse(spliced(text)), {
        model: "up",
        input: input.filter((item) => item !== ours),
        last: 1.5,
      });
    }
  }
});

Deno.test("a summary of ours is a message to the vendor; its own and a damaged one stay as they are", () => {
  const ours = writeSummary("cmp_1", "So \u{1f642} far.");
  const user = { role: "user", content: "gwenv1." };
  const others = [
    user,
    { type: "compaction", encrypted_content: "gAAA" },
    { type: "compaction", encrypted_content: "gwenv1.x" },
    { type: "compaction_trigger" },
  ];
  const text = JSON.stringify({ model: "up", input: [ours, ...others, ours], last: 1.5 });
  const message = summaryMessage("So \u{1f642} far.");
  assert.equal(
    spliced(text),
    JSON.stringify({ model: "up", input: [message, ...others, message], last: 1.5 }),
  );
});

Deno.test("a socket's items lose the tag lines at their beginning, and nothing else changes", () => {
  const item = (text: string) => `{"role":"user", "content":${text}}`;
  const output = '{"type":"function_call_output","output":"/// APP a\\nx"}';
  const cases: [string, object, string][] = [
    [item('"/// FLOW f\\nTwo\\u003f"'), { flow: "f" }, item('"Two\\u003f"')],
    [item('"\\/\\u002f/ APP a\\nx"'), { app: "a" }, item('"x"')],
    [
      `${item('"/// APP a\\nx"')},${item('"/// APP b\\ny"')}`,
      { app: "a" },
      `${item('"x"')},${item('"/// APP b\\ny"')}`,
    ],
    [item('"Two /// FLOW f"'), {}, item('"Two /// FLOW f"')],
    [output, {}, output],
    // The endpoint refuses it.
    ['{"role":"/// APP a', {}, '{"role":"/// APP a'],
  ];
  for (const [text, tags, itemsText] of cases) {
    const taken = finish(socket.takeTags(text));
    assert.deepEqual(taken.tags, tags, text);
    assert.equal(taken.itemsText, itemsText);
  }
});
