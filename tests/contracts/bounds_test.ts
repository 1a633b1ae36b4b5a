/** Every array that a caller can send has a most of elements, which the document says. */
import assert from "@std/assert";
import { z } from "zod";
import { allContracts } from "../../contracts/mod.ts";
import { validate } from "../../src/shared/validate.ts";

Deno.test("arrays of all requests are bounded", () => {
  const unbounded = new Set<string>();
  let arrays = 0;
  for (const { body, form, query, operationId } of allContracts()) {
    for (const schema of [body, form, query]) {
      if (schema) walk(schema, operationId);
    }
  }
  function walk(schema: z.core.$ZodType, path: string): void {
    const { def } = schema._zod as z.core.$ZodTypes["_zod"];
    switch (def.type) {
      case "array":
        arrays++;
        if (!def.checks?.some(isBound)) unbounded.add(path);
        return walk(def.element, `${path}[]`);
      case "object":
        for (const [name, one] of Object.entries(def.shape)) walk(one, `${path}.${name}`);
        return def.catchall && walk(def.catchall, `${path}.*`);
      case "record":
        return walk(def.valueType, `${path}.*`);
      case "union":
        return def.options.forEach((one) => walk(one, path));
      case "optional":
      case "nullable":
      case "default":
      case "prefault":
      case "readonly":
        return walk(def.innerType, path);
      case "pipe":
        walk(def.in, path);
        return walk(def.out, path);
      case "tuple":
      case "map":
      case "set":
      case "lazy":
        assert.fail(`${path}: ${def.type} is not looked into`);
    }
  }
  assert.deepEqual([...unbounded], []);
  assert.ok(arrays > 100, `${arrays} arrays were seen`);
});

function isBound({ _zod: { def } }: z.core.$ZodCheck): boolean {
  return def.check === "max_length" && "maximum" in def && Number(def.maximum) <= 20_000;
}

Deno.test("a list that is too long is refused without a look at its elements", () => {
  let looks = 0;
  const element = z.unknown().refine(() => ++looks > 0);
  const schema = z.object({ list: z.array(element).min(1).max(5).optional().describe("A list.") });
  assert.throws(
    () => validate(schema, { list: [1, 2, 3, 4, 5, 6] }),
    /list: expected at most 5 it/,
  );
  assert.equal(looks, 0);
});

Deno.test("of many wrong elements the first is looked at", () => {
  let looks = 0;
  const element = z.unknown().check(({ value, issues }) => {
    looks++;
    issues.push({ code: "custom", input: value, continue: false });
  });
  const lists = z.array(z.union([z.object({ a: element }), z.array(element).max(10_000)])).max(9);
  const wrong = Array.from({ length: 9 }, () => Array(10_000).fill(1));
  assert.throws(() => validate(z.object({ lists }), { lists: wrong }));
  assert.equal(looks, 1);
});
