import assert from "@std/assert";
import { isEnvelope, readEnvelope, writeEnvelope } from "./envelope.ts";

Deno.test("an envelope gives back what was put into it", () => {
  const opaque = { dialect: "generate", kind: "thoughtSignature", value: "a+/=é🙂\u0000" } as const;
  for (const one of [opaque, { ...opaque, itemId: "rs_1" }]) {
    const text = writeEnvelope(one);
    assert.match(text, /^gwenv1\.[A-Za-z0-9_-]+$/);
    assert.ok(isEnvelope(text));
    assert.deepEqual(readEnvelope(text), one);
  }
});

Deno.test("an incomplete envelope is not an envelope", () => {
  const whole = writeEnvelope({ dialect: "messages", kind: "signature", value: "v" });
  const others = ["gAAAAABpPMlc", "", "gwenv1.", "gwenv1.%%%", whole.slice(0, -3), "gwenv1.e30"];
  for (const text of others) assert.equal(readEnvelope(text), undefined, text);
});
