import assert from "@std/assert";
import { sha256Hex } from "../../base/hash.ts";
import { aliasToolNames } from "./tool_names.ts";

const accepts = /^[A-Za-z0-9_-]{1,64}$/;

Deno.test("names that fit stay, others get an alias that leads back", () => {
  const { aliasOf, toolNames } = aliasToolNames(["get_it", "a.b", "a:b", "é"], accepts);
  assert.equal(aliasOf("get_it"), "get_it");
  const aliases = ["a.b", "a:b", "é"].map(aliasOf);
  assert.equal(new Set(aliases).size, 3, "no two names share an alias");
  for (const [index, name] of ["a.b", "a:b", "é"].entries()) {
    assert.match(aliases[index]!, accepts);
    assert.equal(toolNames[aliases[index]!], name);
  }
  assert.equal(toolNames.get_it, undefined);
});

Deno.test("an alias never takes the place of a name that is there", () => {
  const { aliasOf } = aliasToolNames(["a.b", "a_b"], accepts);
  assert.equal(aliasOf("a_b"), "a_b");
  assert.notEqual(aliasOf("a.b"), "a_b");
});

Deno.test("a name is hashed once, and then its hash, where its aliases are taken", () => {
  const taken = ["a_b"];
  for (let count = 0; count < 3; count++) {
    taken.push(aliasToolNames([...taken, "a.b"], accepts).aliasOf("a.b"));
  }
  const hashed = (text: string) => `a_b_${sha256Hex(text).slice(0, 8)}`;
  const hash = sha256Hex("a.b");
  assert.deepEqual(taken, ["a_b", hashed("a.b"), hashed(hash), hashed(sha256Hex(hash))]);
});

Deno.test("long names are cut to what fits, and stay apart", () => {
  const long = "x".repeat(64);
  const { aliasOf } = aliasToolNames([`${long}1`, `${long}2`], accepts);
  assert.match(aliasOf(`${long}1`), accepts);
  assert.notEqual(aliasOf(`${long}1`), aliasOf(`${long}2`));
});
