import assert from "@std/assert";
import { newToken } from "../people/link_token.ts";
import { sameText } from "../base/hash.ts";
import { accountCsrfOf, csrfOf, flowSecrets, openFor, sealFor } from "./secrets.ts";

Deno.test("what is sealed for a session opens there alone, and only unchanged", () => {
  const [ours, theirs] = [newToken(), newToken()];
  const sealed = sealFor(ours, "dmt_value");
  assert.ok(!sealed.includes("dmt_value"));
  assert.equal(openFor(ours, sealed), "dmt_value");
  assert.equal(openFor(theirs, sealed), undefined);
  const changed = (sealed.startsWith("A") ? "B" : "A") + sealed.slice(1);
  for (const one of [changed, "", "AAAA"]) assert.equal(openFor(ours, one), undefined);
});

Deno.test("no secret of a sign-in or form reveals another", () => {
  const token = newToken();
  const { state, nonce, codeVerifier } = flowSecrets(token);
  const forms = [csrfOf(token), accountCsrfOf(token, 1), accountCsrfOf(token, 11)];
  const all = [token, state, nonce, codeVerifier, ...forms];
  assert.equal(new Set(all).size, all.length);
  // RFC 7636 §4.1.
  assert.match(codeVerifier, /^[A-Za-z0-9_-]{43}$/);
  assert.ok(sameText(state, flowSecrets(token).state) && !sameText(state, nonce));
});
