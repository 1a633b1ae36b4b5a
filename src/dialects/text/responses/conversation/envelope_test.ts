import assert from "@std/assert";
import { isEnvelope, readEnvelope, recordedSeal, sealFor, writeEnvelope } from "./envelope.ts";

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

Deno.test("an envelope of another version, or whose members are none, is not read", () => {
  const whole = { version: 1, dialect: "messages", kind: "signature", value: "v" };
  const read = (json: unknown) => readEnvelope(`gwenv1.${base64Url(JSON.stringify(json))}`);
  assert.ok(read(whole));
  for (const other of [{ version: 2 }, { dialect: "x" }, { kind: 7 }, { value: null }]) {
    assert.equal(read({ ...whole, ...other }), undefined, JSON.stringify(other));
  }
  assert.equal(read([whole]), undefined);
  assert.equal(readEnvelope(`other1.${base64Url(JSON.stringify(whole))}`), undefined);
});

Deno.test("reasoning that OpenAI sealed goes to those who asked for it; a record has it as it was", () => {
  const own = { dialect: "responses", kind: "encrypted_content", value: "v" } as const;
  const other = { ...own, dialect: "messages" } as const;
  const asked = { include: ["reasoning.encrypted_content"] };
  assert.deepEqual([own, other].map(sealFor(asked)), [own, other].map(writeEnvelope));
  assert.deepEqual([own, other].map(sealFor({})), [undefined, writeEnvelope(other)]);
  assert.deepEqual([own, other].map(recordedSeal), ["v", writeEnvelope(other)]);
});

function base64Url(text: string): string {
  return new TextEncoder().encode(text).toBase64({ alphabet: "base64url", omitPadding: true });
}
