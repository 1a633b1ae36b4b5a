import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import { finish } from "../../src/base/steps.ts";
import { textWithoutTags, withoutTags } from "../../src/dialects/kernel/tag_blocks.ts";
import { dialects } from "../../src/dialects/text/mod.ts";

const picture = "data:image/png;base64,iVBORw0KGgo=";
const tagged = "/// APP shop\nhi";

/** A picture alone, and then the user's first text. */
const requests: Record<DialectName, Record<string, unknown>> = {
  chat: {
    messages: [
      { role: "user", content: [{ type: "image_url", image_url: { url: picture } }] },
      { role: "user", content: [{ type: "text", text: tagged }] },
    ],
  },
  responses: {
    input: [
      { role: "user", content: [{ type: "input_image", image_url: picture }] },
      { role: "user", content: [{ type: "input_text", text: tagged }] },
    ],
  },
  messages: {
    messages: [
      { role: "user", content: [{ type: "image", source: { type: "url", url: "https://a.b" } }] },
      { role: "user", content: [{ type: "text", text: tagged }] },
    ],
  },
  generate: {
    contents: [
      { role: "user", parts: [{ inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }] },
      { role: "user", parts: [{ text: tagged }] },
    ],
  },
};

for (const [name, request] of Object.entries(requests)) {
  Deno.test(`${name}: tags stand in the user's first text, behind messages without one too`, () => {
    const dialect = dialects[name as DialectName];
    assert.deepEqual(dialect.readRequest({ model: "m", ...request }).tags, { app: "shop" });
  });
}

/** What tells a system text and a user's parts in each dialect. */
const withParts: Record<DialectName, (system: unknown, parts: unknown[]) => object> = {
  chat: (system, content) => ({
    messages: [{ role: "system", content: system }, { role: "user", content }],
  }),
  responses: (system, content) => ({
    input: [{ role: "system", content: system }, { role: "user", content }],
  }),
  messages: (system, content) => ({ system, messages: [{ role: "user", content }] }),
  generate: (parts, user) => ({
    systemInstruction: { parts },
    contents: [{ role: "user", parts: user }],
  }),
};

for (const [name, request] of Object.entries(withParts)) {
  Deno.test(`${name}: a part of tag lines alone is removed from others, and refused where it is all`, () => {
    const dialect = dialects[name as DialectName];
    const typed = name === "generate" ? {} : { type: name === "responses" ? "input_text" : "text" };
    const part = (text: string) => ({ ...typed, text });
    const tags = part("/// APP shop\n");
    const sent = { model: "m", ...request([tags, part("Be.")], [tags, part("a"), part("b")]) };
    const expected = { model: "m", ...request([part("Be.")], [part("a"), part("b")]) };
    const text = JSON.stringify(sent, null, 1);
    const facts = dialect.readRequest(sent);
    assert.deepEqual(facts.tags, { app: "shop" });
    assert.deepEqual(withoutTags(sent, facts.tagBlocks), expected);
    assert.deepEqual(JSON.parse(finish(textWithoutTags(text, facts.tagBlocks))), expected);
    const changes = { model: "m", askStreamUsage: false };
    const spliced = JSON.parse(finish(dialect.spliceRequest(text, facts, changes)));
    assert.deepEqual({ ...spliced, model: "m" }, expected);
    // The lines of the second part would reach the vendor.
    const flow = part("/// FLOW x\nb");
    for (
      const alone of [
        ...[request([tags], [part("a")]), request([part("Be.")], [tags])],
        ...[request([tags, tags], [part("a")]), request([part("Be.")], [tags, flow])],
      ]
    ) {
      assert.throws(() => dialect.readRequest({ model: "m", ...alone }), { code: "invalid_value" });
    }
  });
}
