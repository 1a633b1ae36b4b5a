import assert from "@std/assert";
import { Secret } from "../base/secret.ts";
import { MasterKey, type SealedFor, UnsealError } from "./sealing.ts";

const value = new Secret("sk-canary-of-a-stored-key-0123456789");
const slot: SealedFor = { accountId: 1, vendor: "vendor-b", keyVersion: 1n };
const key = new MasterKey(new Secret(btoa("k".repeat(32))));

/** Message of the refusal; fails when the text opens. */
function refusal(sealed: string, from: MasterKey = key, at: SealedFor = slot): string {
  try {
    from.unseal(sealed, at);
  } catch (thrown) {
    if (!(thrown instanceof UnsealError)) throw thrown;
    assert.ok(!thrown.message.includes("canary"));
    return thrown.message;
  }
  return assert.fail("it opened");
}

Deno.test("what is sealed opens again, in its place under its key", () => {
  assert.equal(key.unseal(key.seal(value, slot), slot).reveal(), value.reveal());
  const again = new MasterKey(key.text());
  assert.equal(again.unseal(key.seal(value, slot), { ...slot }).reveal(), value.reveal());
});

Deno.test("a sealed text shows nothing of the value and is another each time", () => {
  const texts = Array.from({ length: 50 }, () => key.seal(value, slot));
  assert.equal(new Set(texts).size, 50);
  for (const text of texts) {
    assert.match(text, /^v1\.[\w-]+$/);
    const raw = atob(text.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
    assert.ok(!text.includes("canary") && !raw.includes("canary"));
  }
  const nonces = texts.map((text) => text.slice(3, 19));
  assert.equal(new Set(nonces).size, 50, "no nonce is used twice");
});

const elsewhere: [string, Partial<SealedFor>][] = [
  ["another account", { accountId: 2 }],
  ["another vendor", { vendor: "vendor-c" }],
  ["another version of the master key", { keyVersion: 2n }],
  ["an account whose number runs into the vendor's name", { accountId: 11, vendor: "endor-b" }],
];
for (const [name, change] of elsewhere) {
  Deno.test(`a text that was moved to ${name} doesn't open`, () => {
    assert.match(refusal(key.seal(value, slot), key, { ...slot, ...change }), /changed, moved/);
  });
}

Deno.test("under another master key nothing opens", () => {
  assert.match(refusal(key.seal(value, slot), MasterKey.generate()), /another master key/);
});

Deno.test("a change of any one bit of nonce, text or tag is refused", () => {
  const sealed = key.seal(value, slot);
  const bytes = Uint8Array.from(
    atob(sealed.slice(3).replaceAll("-", "+").replaceAll("_", "/")),
    (letter) => letter.charCodeAt(0),
  );
  for (let at = 0; at < bytes.length; at++) {
    for (const bit of [1, 128]) {
      const changed = Uint8Array.from(bytes);
      changed[at]! ^= bit;
      refusal("v1." + encode(changed));
    }
  }
  for (let length = 0; length < bytes.length; length++) {
    refusal("v1." + encode(bytes.slice(0, length)));
  }
});

Deno.test("a text of another form is refused by name of what is wrong", () => {
  const sealed = key.seal(value, slot);
  assert.match(refusal(sealed.replace("v1.", "v2.")), /format is unknown/);
  assert.match(refusal(value.reveal()), /format is unknown/);
  assert.match(refusal(""), /format is unknown/);
  assert.match(refusal("v1."), /damaged/);
  assert.match(refusal(sealed + "!"), /damaged/);
  assert.match(refusal(sealed + "A"), /damaged|changed/);
  assert.match(refusal(sealed.slice(0, 20) + " " + sealed.slice(20)), /damaged/);
});

Deno.test("a fingerprint distinguishes keys, is the same each time, and is not part of the key", () => {
  assert.equal(new MasterKey(key.text()).fingerprint, key.fingerprint);
  assert.notEqual(MasterKey.generate().fingerprint, MasterKey.generate().fingerprint);
  assert.match(key.fingerprint, /^[0-9a-f]{64}$/);
  const hex = [..."k".repeat(32)].map((letter) => letter.charCodeAt(0).toString(16)).join("");
  assert.ok(!key.fingerprint.includes(hex.slice(0, 8)));
});

Deno.test("a master key is 32 bytes in base64, and the refusal doesn't repeat it", () => {
  const wrong = ["", "canary", btoa("canary".repeat(5)), btoa("c".repeat(33)), "c".repeat(44)];
  for (const text of wrong) {
    assert.throws(() => new MasterKey(new Secret(text)), (thrown: unknown) => {
      assert.match(String(thrown), /32 bytes in base64/);
      return text === "" || !String(thrown).includes(text);
    });
  }
  assert.equal(atob(MasterKey.generate().text().reveal()).length, 32);
});

Deno.test("a master key prints without its bytes", () => {
  const text = key.text().reveal();
  const printed = [String(key), JSON.stringify(key), Deno.inspect(key), `${key.text()}`].join();
  assert.ok(!printed.includes(text) && !printed.includes("kkkk") && !printed.includes("107"));
});

function encode(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_")
    .replaceAll("=", "");
}
