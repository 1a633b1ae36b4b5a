import { strict as assert } from "node:assert";
import { Buffer } from "node:buffer";
import { headerText } from "./header_text.ts";

const asLatin1 = (text: string) => Buffer.from(text).toString("latin1");

Deno.test("a header in UTF-8 or Latin-1 is read as what it is", () => {
  for (const text of ["ann", "zoë", "voilà", "東京", "🎙️", "\ufeffx", "a\u0085b"]) {
    assert.equal(headerText(asLatin1(text)), text, text);
  }
  for (const latin1 of ["zoë", "Ünal", "ÃÃ", "é", "\u00e3\u0081"]) {
    assert.equal(headerText(latin1), latin1, latin1);
  }
  assert.equal(headerText("é 東"), "é 東");
});
