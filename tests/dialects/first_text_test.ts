import assert from "@std/assert";
import type { DialectName } from "../../contracts/calls/vendors.ts";
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
