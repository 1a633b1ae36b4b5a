import assert from "@std/assert";
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
  const alias = aliasOf("a.b");
  assert.notEqual(alias, "a_b");
  assert.notEqual(aliasToolNames(["a.b", "a_b", alias], accepts).aliasOf("a.b"), alias);
});

Deno.test("long names are cut to what fits, and stay apart", () => {
  const long = "x".repeat(64);
  const { aliasOf } = aliasToolNames([`${long}1`, `${long}2`], accepts);
  assert.match(aliasOf(`${long}1`), accepts);
  assert.notEqual(aliasOf(`${long}1`), aliasOf(`${long}2`));
});
