import assert from "@std/assert";
import { bytes, type FuzzedRequest } from "./requests.ts";
import { smallest } from "./smaller.ts";

const request: FuzzedRequest = {
  method: "POST",
  target: "/a?x=1&y=2&z=3",
  headers: { authorization: "Bearer k", "content-type": "application/json", prefer: "x" },
  body: bytes('{"a":[1,{"b":2,"c":[3,4]}],"d":{"e":5}}'),
  wrongMethod: false,
};

Deno.test("a failing request loses everything that it fails without as well", async () => {
  const found = await smallest(request, ({ target, headers, body }) => {
    const { a } = JSON.parse(new TextDecoder().decode(body));
    const isEnough = target.includes("y=2") && "content-type" in headers &&
      JSON.stringify(a ?? []).includes("4");
    return Promise.resolve(isEnough);
  });
  assert.deepEqual(found.headers, { "content-type": "application/json" });
  assert.equal(found.target, "/a?y=2");
  assert.equal(new TextDecoder().decode(found.body), '{"a":[{"c":[4]}]}');
});

Deno.test("a failing request that needs everything, or isn't JSON, stays as it is", async () => {
  assert.equal(await smallest(request, () => Promise.resolve(false)), request);
  const cut = { ...request, body: bytes("{") };
  const found = await smallest(cut, () => Promise.resolve(true));
  assert.deepEqual(found, { ...cut, target: "/a", headers: {} });
});

Deno.test("a large failing request is made smaller with a limited number of requests", async () => {
  let sent = 0;
  const body = bytes(JSON.stringify(Array.from({ length: 1000 }, () => 1)));
  await smallest({ ...request, body }, () => Promise.resolve(++sent < 0));
  assert.equal(sent, 200);
});
