import assert from "@std/assert";
import { bundledPrices, createPrices } from "../pricing/table/prices.ts";
import { createRegistry } from "../vendors/registry.ts";
import { createRealModels } from "./real_models.ts";
import { OptionError } from "../shared/fault.ts";
import { readModelsFile } from "./models_file.ts";
import {
  checkVirtualName,
  readVirtualModel,
  virtualModelJson,
  virtualRoute,
} from "./virtual_model.ts";

const registry = createRegistry({}, []);
const models = createRealModels({
  registry,
  prices: createPrices({ bundled: bundledPrices(), familyOf: (name) => registry.find(name) }),
});

Deno.test("targets may be plain names, equal in weight; the rest is optional", () => {
  assert.deepEqual(readVirtualModel({ targets: ["gpt-5-mini", "anthropic/claude-x"] }, models), {
    targets: [{ model: "gpt-5-mini", weight: 1 }, { model: "anthropic/claude-x", weight: 1 }],
    fallbacks: [],
  });
  const whole = {
    targets: [{ model: "gpt-5-mini", weight: 9 }, { model: "grok-4.3", weight: 1 }],
    fallbacks: ["google/gemini-2.5-flash"],
    stick_by: "session",
  };
  const definition = readVirtualModel(whole, models);
  assert.equal(definition.stickBy, "session");
  assert.deepEqual(virtualModelJson(definition), whole);
});

const wrong: [string, unknown, RegExp][] = [
  ["no object", [], /^expected an object such as/],
  ["no targets", {}, /^targets: expected a list of 1 to 20 targets$/],
  ["an empty list", { targets: [] }, /^targets: expected a list of 1 to 20 targets$/],
  [
    "an unknown field",
    { targets: ["gpt-5-mini"], stickBy: "session" },
    /^stickBy: unknown field, expected targets, fallbacks or stick_by/,
  ],
  [
    "an unknown field of a target",
    { targets: [{ model: "gpt-5-mini", wait: 1 }] },
    /^targets\[0\]\.wait: unknown field, expected model or weight/,
  ],
  [
    "a number as a target",
    { targets: [5] },
    /^targets\[0\]: expected a model's name, or an object/,
  ],
  ["a weight of 0", { targets: [{ model: "gpt-5-mini", weight: 0 }] }, /^targets\[0\]\.weight: /],
  ["half a weight", { targets: [{ model: "gpt-5-mini", weight: 0.5 }] }, /^targets\[0\]\.weight: /],
  [
    "a weight as text",
    { targets: [{ model: "gpt-5-mini", weight: "1" }] },
    /^targets\[0\]\.weight: /,
  ],
  [
    "a weight beyond the bound",
    { targets: [{ model: "gpt-5-mini", weight: 1_000_001 }] },
    /^targets\[0\]\.weight: .*1000000/,
  ],
  [
    "21 targets",
    { targets: Array.from({ length: 21 }, (_, n) => `openai/m${n}`) },
    /^targets: .*20/,
  ],
  [
    "21 fallbacks",
    { targets: ["gpt-5-mini"], fallbacks: Array.from({ length: 21 }, (_, n) => `openai/m${n}`) },
    /^fallbacks: .*20/,
  ],
  [
    "a target that is no model",
    { targets: ["gpt5-mini"] },
    /^targets\[0\]\.model: .*Did you mean 'gpt-5-mini'/,
  ],
  [
    "another virtual model",
    { targets: ["gpt-5-mini", "fast"] },
    /^targets\[1\]\.model: .*Virtual models can/,
  ],
  [
    "a fallback that is no model",
    { targets: ["gpt-5-mini"], fallbacks: ["nobody/x"] },
    /^fallbacks\[0\]: /,
  ],
  [
    "a target twice",
    { targets: ["gpt-5-mini", "openai/gpt-5-mini"] },
    /^targets\[1\]\.model: 'openai\/gpt-5-mini' is targets\[0\]\.model already/,
  ],
  [
    "a target as its own fallback",
    { targets: ["gpt-5-mini"], fallbacks: ["gpt-5-mini"] },
    /^fallbacks\[0\]: .*targets\[0\]/,
  ],
  ["another stick_by", { targets: ["gpt-5-mini"], stick_by: "ip" }, /^stick_by: /],
];
for (const [what, json, message] of wrong) {
  Deno.test(`a virtual model with ${what} is refused, with the field in front`, () => {
    assert.throws(() => readVirtualModel(json, models), (thrown: unknown) => {
      const text = thrown instanceof OptionError
        ? thrown.message.replace(/\.$/, "")
        : "another error";
      assert.match(text, message);
      return !text.includes("\n");
    });
    const file = JSON.stringify({ fast: json });
    const inFile = new RegExp(message.source.replace("^", "^Error: fast(\\.|: )"));
    assert.throws(() => readModelsFile(file, models), inFile);
  });
}

Deno.test("names have 1 to 100 letters, digits and . _ : -", () => {
  const good = ["fast", "A.b_c:d-1", "x".repeat(100), "__proto__", "gpt-5-mini"];
  for (const name of good) assert.equal(checkVirtualName(name), name);
  for (const name of ["", "a/b", "a b", "é", "x".repeat(101), "a\n"]) {
    assert.throws(() => checkVirtualName(name), OptionError, "is not a name");
    const file = JSON.stringify({ [name]: { targets: ["gpt-5-mini"] } });
    assert.throws(() => readModelsFile(file, models), /^Error: name: /);
  }
});

Deno.test("a file that is not a JSON object is refused", () => {
  assert.throws(() => readModelsFile("{", models), /expected JSON: /);
  for (const text of ["[]", "5", "null", '"x"']) {
    assert.throws(() => readModelsFile(text, models), /expected a JSON object such as/);
  }
  assert.deepEqual(readModelsFile("{}", models), []);
});

Deno.test("a route has its targets in falling weight, equal ones as written, then the fallbacks", () => {
  const json = {
    targets: [
      { model: "grok-4.3", weight: 1 },
      { model: "gpt-5-mini", weight: 9 },
      { model: "claude-sonnet-4-6", weight: 1 },
    ],
    fallbacks: ["gemini-2.5-flash", "gpt-4.1"],
    stick_by: "user",
  };
  const missing: string[] = [];
  const route = virtualRoute("fast", readVirtualModel(json, models), models, (model) => {
    missing.push(model);
  })!;
  assert.deepEqual(route.targets.map(({ target: { id }, weight }) => [id, weight]), [
    ["vendor-b/gpt-5-mini", 9],
    ["vendor-g/grok-4.3", 1],
    ["vendor-c/claude-sonnet-4-6", 1],
  ]);
  assert.deepEqual(route.fallbacks.map(({ id }) => id), [
    "vendor-d/gemini-2.5-flash",
    "vendor-b/gpt-4.1",
  ]);
  assert.deepEqual([route.isVirtual, route.stickBy, missing], [true, "user", []]);
  const through = [...route.targets.map(({ target }) => target), ...route.fallbacks];
  assert.ok(through.every((one) => one.through === "fast"));
});

Deno.test("models that don't exist any more are left out; without a target there is no route", () => {
  const definition = {
    targets: [{ model: "gone/x", weight: 5 }, { model: "gpt-5-mini", weight: 1 }],
    fallbacks: ["gone-too"],
  };
  const missing: string[] = [];
  const note = (model: string) => void missing.push(model);
  const route = virtualRoute("fast", definition, models, note);
  assert.deepEqual(route?.targets.map(({ target }) => target.id), ["vendor-b/gpt-5-mini"]);
  assert.deepEqual([route?.fallbacks, missing], [[], ["gone/x", "gone-too"]]);
  const none = { targets: [{ model: "gone/x", weight: 1 }], fallbacks: ["gpt-5-mini"] };
  assert.equal(virtualRoute("fast", none, models, note), undefined);
});
