import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { MasterKey } from "../keys/sealing.ts";
import { createMediaSigner } from "./signed_media.ts";

const hash = "a".repeat(64);
const other = "b".repeat(64);

function setup(key = MasterKey.generate()) {
  const clock = new FakeClock();
  const signer = createMediaSigner({
    mac: (text) => key.signAddress(text),
    now: () => clock.now(),
  });
  const sign = (accountId: number) => {
    const url = new URL(signer.sign(accountId, hash), "http://localhost");
    const [expires, signature] = [
      url.searchParams.get("expires") ?? "",
      url.searchParams.get("signature") ?? "",
    ];
    return { url, expires, signature };
  };
  return { clock, signer, sign };
}

Deno.test("a signed address names its account for an hour", () => {
  const { clock, signer, sign } = setup();
  const { url, expires, signature } = sign(42);
  assert.equal(url.pathname, `/api/v1/media/${hash}`);
  assert.equal(signer.check(hash, expires, signature), 42);
  clock.advance(60 * 60 * 1000);
  assert.equal(signer.check(hash, expires, signature), 42);
  clock.advance(1000);
  assert.equal(signer.check(hash, expires, signature), undefined);
});

Deno.test("nothing of a signed address can be exchanged", () => {
  const { signer, sign } = setup();
  const { expires, signature } = sign(42);
  const later = String(Number(expires) + 1);
  for (
    const given of [
      [other, expires, signature],
      [hash, later, signature],
      [hash, expires, signature.replace("42.", "43.")],
      [hash, expires, `${signature}x`],
      [hash, expires, signature.slice(0, -1)],
      [hash, expires, ""],
      [hash, "", signature],
      [hash, "1e99", signature],
      [hash, `${expires} `, signature],
    ] as const
  ) {
    const [sha256, until, signed] = given;
    assert.equal(signer.check(sha256, until, signed), undefined, JSON.stringify(given));
  }
});

Deno.test("an address signed under another master key is none", () => {
  const { expires, signature } = setup().sign(42);
  assert.equal(setup().signer.check(hash, expires, signature), undefined);
});
