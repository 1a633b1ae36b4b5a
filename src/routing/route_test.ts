import assert from "@std/assert";
import type { ApiKey } from "../keys/api_key.ts";
import type { KeyDefaults } from "../keys/key_defaults.ts";
import { Secret } from "../base/secret.ts";
import { bundledPrices, createPrices } from "../pricing/table/prices.ts";
import { Fault } from "../shared/fault.ts";
import { createRegistry } from "../vendors/registry.ts";
import { findCallRoute, findPermittedRoute, permitNamed } from "./permitted_route.ts";
import { createRealModels } from "./real_models.ts";
import { createRouteTable, modelsOf, type Route, type VirtualRoutes } from "./route.ts";
import { readVirtualModel, virtualRoute } from "./virtual_model.ts";

const registry = createRegistry({}, []);
const models = createRealModels({
  registry,
  prices: createPrices({ bundled: bundledPrices(), familyOf: (name) => registry.find(name) }),
});

/** Virtual models by account; `0`: of the service. */
function virtualRoutes(byAccount: Readonly<Record<number, Readonly<Record<string, unknown>>>>) {
  const routes = new Map<number, Map<string, Route>>();
  for (const [accountId, all] of Object.entries(byAccount)) {
    routes.set(
      Number(accountId),
      new Map(
        Object.entries(all).map((
          [name, json],
        ) => [name, virtualRoute(name, readVirtualModel(json, models), models, () => {})!]),
      ),
    );
  }
  const of = (isService: boolean): VirtualRoutes => ({
    find: (accountId, name) => routes.get(isService ? 0 : accountId)?.get(name),
    list: (accountId) =>
      [...routes.get(isService ? 0 : accountId)?.keys() ?? []].map((name) => ({
        ...{ name, createdAt: isService ? undefined : new Date(0) },
      })),
  });
  return [of(false), of(true)];
}

const table = createRouteTable({
  models,
  virtual: virtualRoutes({
    0: {
      fast: { targets: ["gpt-5-mini"] },
      cheap: { targets: ["grok-4.3"] },
      // A real model's name may be taken; its own name means the real one there.
      "claude-sonnet-4-6": { targets: ["claude-sonnet-4-6"], fallbacks: ["gpt-4.1"] },
    },
    1: { fast: { targets: ["claude-haiku-4-5"] }, mine: { targets: ["gpt-4.1"] } },
    2: { secret: { targets: ["gpt-4.1"] } },
  }),
});

function refusal(act: () => unknown): Fault {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof Fault) return thrown;
    throw thrown;
  }
  throw new Error("accepted");
}

const ids = (route: Route) => modelsOf(route).map(({ id }) => id);

const found: [string, number, string, string[]][] = [
  ["the account's own before the service's", 1, "fast", ["vendor-c/claude-haiku-4-5"]],
  ["the service's for all others", 3, "fast", ["vendor-b/gpt-5-mini"]],
  ["the service's beside its own", 1, "cheap", ["vendor-g/grok-4.3"]],
  ["a virtual model before a real one of its name", 1, "claude-sonnet-4-6", [
    ...["vendor-c/claude-sonnet-4-6", "vendor-b/gpt-4.1"],
  ]],
  ["with its vendor the real one", 1, "anthropic/claude-sonnet-4-6", [
    "vendor-c/claude-sonnet-4-6",
  ]],
  ["a vendor's own model last", 1, "gemini-2.5-flash", ["vendor-d/gemini-2.5-flash"]],
];
for (const [what, accountId, name, expected] of found) {
  Deno.test(`look-up of a name: ${what}`, () => {
    const route = table.find(accountId, name);
    assert.deepEqual(ids(route), expected);
    assert.equal(route.name, name);
  });
}

Deno.test("a name with its vendor is found before the virtual models are read", () => {
  const unread: VirtualRoutes = {
    find() {
      throw new Fault("store_unavailable");
    },
    list: () => [],
  };
  const routes = createRouteTable({ models, virtual: [unread] });
  assert.deepEqual(ids(routes.find(1, "openai/gpt-5-mini")), ["vendor-b/gpt-5-mini"]);
  assert.equal(refusal(() => routes.find(1, "gpt-5-mini")).code, "store_unavailable");
});

Deno.test("another account's virtual model is 404, and its name is suggested to nobody", () => {
  assert.deepEqual(ids(table.find(2, "secret")), ["vendor-b/gpt-4.1"]);
  for (const name of ["secret", "secre", "mine"]) {
    const { code, message } = refusal(() => table.find(3, name));
    assert.equal(code, "model_not_found");
    assert.doesNotMatch(message, /Did you mean/);
  }
  assert.match(refusal(() => table.find(2, "secre")).message, /Did you mean 'secret'\?/);
  assert.match(refusal(() => table.find(1, "fsat")).message, /Did you mean 'fast'\?/);
});

Deno.test("a virtual model without a target that exists is 404, not the service's of its name", () => {
  const gone: VirtualRoutes = {
    find: (_accountId, name) => name === "fast" ? "no-targets" : undefined,
    list: () => [{ name: "fast", createdAt: new Date(0) }],
  };
  const [, ofService] = virtualRoutes({ 0: { fast: { targets: ["gpt-5-mini"] } } });
  const routes = createRouteTable({ models, virtual: [gone, ofService!] });
  assert.match(refusal(() => routes.find(1, "fast")).message, /none of the targets of .* 'fast'/);
  assert.equal(routes.lookUp(1, "fast"), undefined);
});

Deno.test("a list has the account's and the service's, each name once", () => {
  const names = (accountId: number) =>
    table.listVirtual(accountId).map(({ name, createdAt }) => `${name} ${createdAt ? "own" : ""}`);
  assert.deepEqual(names(1), ["cheap ", "claude-sonnet-4-6 ", "fast own", "mine own"]);
  assert.deepEqual(names(3), ["cheap ", "claude-sonnet-4-6 ", "fast "]);
});

// ── Whose key may call what ──────────────────────────────────────────────────────────────────────

const wide = createRouteTable({
  models,
  virtual: virtualRoutes({
    0: {
      wide: {
        targets: [{ model: "gpt-5-mini", weight: 5 }, "claude-haiku-4-5", "gemini-2.5-flash"],
        fallbacks: ["openai/gpt-4.1", "gemini/gemini-2.5-pro"],
      },
      one: { targets: ["gpt-5-mini"], fallbacks: ["gpt-4.1"] },
      alike: { targets: ["huggingface/a/b"], fallbacks: ["grok-4.3"] },
    },
  }),
});

function caller(keyModels: string[], vendorKey?: string, defaults?: KeyDefaults) {
  const key = { models: keyModels, accountId: 1, defaults } as unknown as ApiKey;
  return {
    principal: { key, account: { id: 1 } } as never,
    vendorKey: vendorKey === undefined ? undefined : new Secret(vendorKey),
  };
}

function find(name: string, from: ReturnType<typeof caller>, stored: string[] = []) {
  const storedKeys = {
    find: (_accountId: number, label: string) =>
      Promise.resolve(stored.includes(label) ? new Secret("stored") : undefined),
  };
  return findPermittedRoute({ routes: wide, storedKeys }, from, name);
}

const all = [
  ...["vendor-b/gpt-5-mini", "vendor-c/claude-haiku-4-5", "vendor-d/gemini-2.5-flash"],
  ...["vendor-b/gpt-4.1", "vendor-e/gemini-2.5-pro"],
];

const permitted: [string, string[], string, string[] | "permission_denied"][] = [
  ["no list: everything", [], "wide", all],
  ["its name allows its targets through it", ["wide"], "wide", all],
  ["but not the targets themselves", ["wide"], "gpt-5-mini", "permission_denied"],
  ["nor through another", ["wide"], "one", "permission_denied"],
  ["targets outside of the list are skipped", ["claude-haiku-4-5"], "wide", [all[1]!]],
  ["a fallback stands in where no target is left", ["vendor-b/gpt-4.1"], "wide", [all[3]!]],
  ["names of the list may be plain or full", ["gpt-5-mini", "google/gemini-2.5-flash"], "wide", [
    ...[all[0]!, all[2]!],
  ]],
  ["a plain name allows the full one", ["gpt-5-mini"], "openai/gpt-5-mini", [all[0]!]],
  ["the full one the plain name", ["openai/gpt-5-mini"], "gpt-5-mini", [all[0]!]],
  ["names that lead nowhere allow nothing", ["nothing", "a/b"], "wide", "permission_denied"],
];
for (const [what, keyModels, name, expected] of permitted) {
  Deno.test(`a key's models: ${what}`, async () => {
    const asked = find(name, caller(keyModels));
    const check = () => permitNamed(wide, caller(keyModels), undefined, name);
    if (expected !== "permission_denied") {
      assert.deepEqual(ids(await asked), expected);
      return check();
    }
    const shown = name === "wide" || name === "one" ? name : all[0];
    const message = `model: this API key may not call '${shown}'.`;
    await assert.rejects(asked, { code: expected, param: "model", message });
    assert.throws(check, { code: expected, param: "model" });
  });
}

Deno.test("a key without a list of models is not asked where a name leads", () => {
  permitNamed(wide, caller([]), undefined, "nowhere");
});

Deno.test("a key's default model is used where a name leads nowhere", async () => {
  const ask = (name: string) => find(name, caller([], undefined, { defaultModel: "gpt-4.1" }));
  assert.deepEqual(ids(await ask("nowhere")), [all[3]!]);
  assert.deepEqual(ids(await ask("gpt-5-mini")), [all[0]!]);
});

const vendorKeys: [string, string, string, string[] | "invalid_value"][] = [
  ["an Anthropic key reaches Anthropic alone", "sk-ant-api03-x", "wide", [all[1]!]],
  ["an OpenAI key reaches OpenAI alone", "sk-proj-x", "wide", [all[0]!, all[3]!]],
  ["a Google key reaches both of its families", "AIzaSyX", "wide", [all[2]!, all[4]!]],
  ["a key of none of its vendors is refused", "xai-x", "wide", "invalid_value"],
  ["a key that tells nothing is refused where vendors differ", "secret", "wide", "invalid_value"],
  ["and used where all targets are of one", "secret", "one", [all[0]!, all[3]!]],
  ["a plain model takes any key", "secret", "gpt-5-mini", [all[0]!]],
  ["a fallback's vendor counts", "xai-x", "alike", ["vendor-g/grok-4.3"]],
];
for (const [what, value, name, expected] of vendorKeys) {
  Deno.test(`a dual key: ${what}`, async () => {
    const asked = find(name, caller([], value));
    if (expected !== "invalid_value") return assert.deepEqual(ids(await asked), expected);
    await assert.rejects(asked, (thrown: Fault) => {
      assert.deepEqual([thrown.code, thrown.param], [expected, "model"]);
      assert.match(thrown.message, /^model: .*'wide' \(vendor-b, vendor-c, vendor-d\)/);
      return !thrown.message.includes(value);
    });
  });
}

Deno.test("a dual key: a name that only the key itself has names no vendor", async () => {
  const models = { ours: "gpt-5-mini" };
  const ask = (value: string) => find("ours", caller([], value, { models }));
  assert.deepEqual(ids(await ask("sk-proj-x")), [all[0]!]);
  await assert.rejects(ask("secret"), { code: "invalid_value", param: "model" });
});

Deno.test("a dual key: a name that the key leads to another vendor names neither", async () => {
  const ask = (value: string, model: string) =>
    find("gpt-5-mini", caller([], value, { models: { "gpt-5-mini": model } }));
  await assert.rejects(ask("secret", "claude-haiku-4-5"), { code: "invalid_value" });
  assert.deepEqual(ids(await ask("sk-ant-x", "claude-haiku-4-5")), [all[1]!]);
  assert.deepEqual(ids(await ask("secret", "gpt-4.1")), [all[3]!]);
});

Deno.test("a dual key: a key's models leave one vendor of several, which the caller did not name", async () => {
  const ask = (value: string) => find("wide", caller(["claude-haiku-4-5"], value));
  for (const value of ["sk-proj-x", "secret"]) {
    await assert.rejects(ask(value), { code: "invalid_value", param: "model" }, value);
  }
  assert.deepEqual(ids(await ask("sk-ant-x")), [all[1]!]);
});

const storedKeysOf: [string[], string, string[]][] = [
  [["vendor-c"], "wide", [all[1]!]],
  [["vendor-d"], "wide", [all[2]!, all[4]!]],
  [["vendor-b", "vendor-d"], "wide", [all[0]!, all[2]!, all[3]!, all[4]!]],
  [["vendor-a"], "wide", all],
  [[], "wide", all],
];
for (const [stored, name, expected] of storedKeysOf) {
  Deno.test(`stored keys of ${stored.join(", ") || "nobody"} leave of '${name}' ${expected.length} models`, async () => {
    assert.deepEqual(ids(await find(name, caller([]), stored)), expected);
  });
}

Deno.test("a dual key goes before stored ones", async () => {
  assert.deepEqual(ids(await find("wide", caller([], "sk-ant-x"), ["vendor-b"])), [all[1]!]);
});

Deno.test("a vendor's family takes its vendor's names only", async () => {
  const deps = { routes: wide, storedKeys: { find: () => Promise.resolve(undefined) } };
  const openai = registry.find("openai");
  const ask = (name: string) => findCallRoute(deps, caller([]), openai, name);
  assert.deepEqual(ids(await ask("wide")), ["vendor-b/wide"]);
  assert.deepEqual(ids(await ask("claude-haiku-4-5")), ["vendor-b/claude-haiku-4-5"]);
  assert.deepEqual(ids(await ask("openai/gpt-5-mini")), ["vendor-b/gpt-5-mini"]);
  await assert.rejects(
    findCallRoute(deps, caller(["wide"]), openai, "gpt-5-mini"),
    { code: "permission_denied" },
  );
  permitNamed(wide, caller(["gpt-5-mini"]), openai, "gpt-5-mini");
  assert.throws(
    () => permitNamed(wide, caller(["gpt-5-mini"]), openai, "wide"),
    { code: "permission_denied" },
  );
});
