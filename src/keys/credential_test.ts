import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import {
  type CredentialHeaders,
  hashKey,
  looksLikeKey,
  mintKey,
  parseCredential,
} from "./credential.ts";

const clock = new FakeClock();
const key = mintKey(clock).value.reveal();
const other = mintKey(clock).value.reveal();

/** The credential as plain values, the vendor key revealed. */
function parsed(headers: CredentialHeaders, googleAllowed = true) {
  const credential = parseCredential(headers, { googleAllowed });
  if (credential.kind !== "key") return credential.kind;
  const { value, vendorKey } = credential;
  return vendorKey === undefined ? value : { value, vendorKey: vendorKey.reveal() };
}

Deno.test("a minted key has the promised form, its hash and a prefix, and prints as a mask", () => {
  const minted = mintKey(clock);
  const value = minted.value.reveal();
  assert.match(value, /^dmt_[0-9A-Za-z]{49}$/);
  assert.equal(minted.prefix, value.slice(0, 12));
  assert.equal(minted.hash, hashKey(value));
  assert.match(minted.hash, /^[0-9a-f]{64}$/);
  assert.match(minted.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  assert.ok(!JSON.stringify(minted).includes(value.slice(12)));
  assert.notEqual(value, mintKey(clock).value.reveal());
});

Deno.test("a key with any one character changed is not valid", () => {
  for (let round = 0; round < 200; round++) assert.ok(looksLikeKey(mintKey(clock).value.reveal()));
  for (let index = 0; index < key.length; index++) {
    const changed = key.slice(0, index) + (key.charAt(index) === "a" ? "b" : "a") +
      key.slice(index + 1);
    assert.equal(looksLikeKey(changed), false, `position ${index}`);
  }
  const others = [
    "",
    "dmt_",
    key.slice(0, -1),
    `${key}0`,
    ` ${key}`,
    `${key}\n`,
    key.toUpperCase(),
    "sk-x",
  ];
  for (const value of others) assert.equal(looksLikeKey(value), false);
});

Deno.test("the checksum is the CRC-32 of the body in base62", () => {
  // CRC-32 of 43 zeros is 0x7849568f by Python's zlib, in base62 2CZclj.
  assert.ok(looksLikeKey(`dmt_${"0".repeat(43)}2CZclj`));
});

const keys: [string, CredentialHeaders, unknown][] = [
  ["bearer", { authorization: `Bearer ${key}` }, key],
  ["scheme in any case, extra spaces", { authorization: `  bEARER   ${key}  ` }, key],
  ["x-api-key", { xApiKey: key }, key],
  ["x-api-key with spaces", { xApiKey: ` ${key} ` }, key],
  ["x-goog-api-key", { xGoogApiKey: key }, key],
  ["dual key", { authorization: `Bearer ${key};sk-v_1.2` }, { value: key, vendorKey: "sk-v_1.2" }],
  ["dual key in x-api-key", { xApiKey: `${key};sk-ant-1` }, { value: key, vendorKey: "sk-ant-1" }],
  ["dual key in x-goog-api-key", { xGoogApiKey: `${key};AIza1` }, {
    value: key,
    vendorKey: "AIza1",
  }],
  ["dual key with spaces", { xApiKey: `${key} ; sk-1 ` }, { value: key, vendorKey: "sk-1" }],
  ["a semicolon in the vendor key", { xApiKey: `${key};a;b` }, { value: key, vendorKey: "a;b" }],
  ["Authorization first", { authorization: `Bearer ${key}`, xApiKey: `${other};sk-1` }, key],
  ["x-api-key before x-goog-api-key", { xApiKey: key, xGoogApiKey: other }, key],
  ["an unusable Authorization is passed over", { authorization: "Basic abc", xApiKey: key }, key],
  [
    "a vendor's bearer is passed over",
    { authorization: "Bearer sk-placeholder", xApiKey: key },
    key,
  ],
  ["an empty bearer is passed over", { authorization: "Bearer ", xApiKey: key }, key],
  [
    "a vendor's x-api-key is passed over",
    { authorization: `Bearer ${key}`, xApiKey: "sk-ant" },
    key,
  ],
  ["null headers", { authorization: null, xApiKey: key, xGoogApiKey: null }, key],
];
for (const [name, headers, expected] of keys) {
  Deno.test(`credential found: ${name}`, () => assert.deepEqual(parsed(headers), expected));
}

const refused: [string, CredentialHeaders, "missing" | "malformed" | "vendor_key"][] = [
  ["nothing", {}, "missing"],
  ["empty headers", { authorization: "", xApiKey: " ", xGoogApiKey: "" }, "missing"],
  ["another scheme", { authorization: "Basic abc" }, "missing"],
  ["no scheme", { authorization: key }, "missing"],
  ["no token", { authorization: "Bearer" }, "missing"],
  ["a vendor key", { authorization: "Bearer sk-abc" }, "malformed"],
  ["a key cut short", { authorization: `Bearer ${key.slice(0, -1)}` }, "malformed"],
  ["two keys in one header", { authorization: `Bearer ${key}, Bearer ${other}` }, "malformed"],
  ["a vendor key first", { xApiKey: `sk-1;${key}` }, "malformed"],
  ["an empty vendor key", { authorization: `Bearer ${key};` }, "vendor_key"],
  ["a line end in the vendor key", { xApiKey: `${key};sk\r\nX-Evil: 1` }, "vendor_key"],
  ["a control character in the vendor key", { xApiKey: `${key};sk\u0001` }, "vendor_key"],
  ["a space in the vendor key", { xApiKey: `${key};sk 1` }, "vendor_key"],
  ["a vendor key outside ASCII", { xApiKey: `${key};schlüssel` }, "vendor_key"],
  ["a service key as the vendor key", { authorization: `Bearer ${key};${other}` }, "vendor_key"],
  ["a huge vendor key", { xApiKey: `${key};${"x".repeat(4097)}` }, "vendor_key"],
  [
    "a broken vendor key isn't passed over",
    { authorization: `Bearer ${key};`, xApiKey: other },
    "vendor_key",
  ],
];
for (const [name, headers, expected] of refused) {
  Deno.test(`credential refused: ${name}`, () => assert.equal(parsed(headers), expected));
}

Deno.test("x-goog-api-key counts only where it is allowed", () => {
  assert.equal(parsed({ xGoogApiKey: key }, false), "missing");
  assert.equal(parsed({ xGoogApiKey: key, xApiKey: other }, false), other);
});
