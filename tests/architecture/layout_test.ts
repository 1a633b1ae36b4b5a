import assert from "@std/assert";
import { checkLayout, folders } from "./layout.ts";

function messages(files: Record<string, string>): string[] {
  return checkLayout(new Map(Object.entries(files))).map((each) => `${each.path}: ${each.message}`);
}

/** The finding for one import, or null; the imported file need not exist. */
function verdict(path: string, specifier: string): string | null {
  return messages({ [path]: `import { x } from "${specifier}";` })[0] ?? null;
}

Deno.test("imports that the table allows are fine", () => {
  const allowed: [string, string][] = [
    ["main.ts", "./src/main/run_server.ts"],
    ["src/main/app.ts", "../http/bind.ts"],
    ["src/main/application.ts", "./config.ts"],
    ["src/credit/wire.ts", "./store/ledger.ts"],
    ["src/http/routes/chat.ts", "../../relay/relay.ts"],
    ["src/relay/relay.ts", "../vendors/upstream.ts"],
    ["src/vendors/catalogue.ts", "../dialects/kernel/dialect.ts"],
    ["src/dialects/text/chat/splice.ts", "../../kernel/canonical.ts"],
    ["src/keys/store/api_keys.ts", "../api_key.ts"],
    ["src/relay/conversation/store/stored_responses.ts", "../../../database/database.ts"],
    ["src/shared/fault.ts", "../../contracts/kernel/errors.ts"],
    ["contracts/calls/chat.ts", "zod"],
    ["contracts/calls/chat.ts", "@hono/zod-openapi"],
    ["openapi/generate.ts", "../contracts/mod.ts"],
    ["demo/main.ts", "../src/main/app.ts"],
    ["demo/main.ts", "./simulator/server.ts"],
    ["src/keys/key_cache_test.ts", "../../tests/support/database.ts"],
    ["tests/http/chat_test.ts", "../../src/keys/store/api_keys.ts"],
  ];
  for (const [path, specifier] of allowed) assert.equal(verdict(path, specifier), null);
});

Deno.test("an import that the table doesn't allow is found", () => {
  const refused: [string, string][] = [
    ["src/base/a.ts", "../shared/b.ts"],
    ["src/shared/a.ts", "../database/b.ts"],
    ["src/relay/a.ts", "../main/config.ts"],
    ["src/relay/a.ts", "../http/b.ts"],
    ["src/relay/a_test.ts", "../http/b.ts"],
    ["src/http/a.ts", "../../main.ts"],
    ["src/http/a.ts", "../dashboard/b.tsx"],
    ["src/http/a.ts", "../keys/store/b.ts"],
    ["src/evals/a.ts", "./store/b.ts"],
    ["src/evals/a.ts", "./wire.ts"],
    ["src/evals/wire.ts", "../main/config.ts"],
    ["src/evals/store/a.ts", "../../credit/store/b.ts"],
    ["src/cohorts/a.ts", "../evals/b.ts"],
  ];
  for (const [path, specifier] of refused) {
    assert.match(verdict(path, specifier) ?? "", /may import only/, `${path} ${specifier}`);
  }
});

Deno.test("the table has no circles, and names only what is in it", () => {
  const names = new Set(folders.map(({ name }) => name));
  const open = new Map(
    folders.filter(({ may }) => !may.includes("*")).map(({ name, may }) => [name, may]),
  );
  for (const { name, may } of folders) {
    for (const one of may) assert.ok(one === "*" || names.has(one), `${name}: ${one}`);
  }
  const done = new Set(folders.map(({ name }) => name).filter((name) => !open.has(name)));
  while (open.size > 0) {
    const free = [...open].filter(([, may]) => may.every((one) => done.has(one)));
    assert.ok(free.length > 0, `a circle among ${[...open.keys()].join(", ")}`);
    for (const [name] of free) {
      done.add(name);
      open.delete(name);
    }
  }
});

Deno.test("a dialect that knows another is found", () => {
  const found = verdict("src/dialects/text/chat/splice.ts", "../messages/request.ts");
  assert.match(found ?? "", /chat must not know dialect messages/);
});

Deno.test("contracts that import anything but contracts and zod are found", () => {
  assert.match(verdict("contracts/a.ts", "../src/base/ids.ts") ?? "", /contracts may import only/);
  assert.match(verdict("contracts/a.ts", "hono") ?? "", /only contracts and zod/);
});

Deno.test("demo, openapi and the gate are kept from the product", () => {
  assert.match(verdict("demo/simulator/a.ts", "../../src/base/ids.ts") ?? "", /demo may import/);
  assert.match(verdict("demo/simulator/a.ts", "../../contracts/mod.ts") ?? "", /demo may import/);
  assert.match(
    verdict("openapi/generate.ts", "../src/main/app.ts") ?? "",
    /openapi may import only/,
  );
  assert.match(verdict("tests/run/a.ts", "../../src/base/ids.ts") ?? "", /gate may import only/);
  assert.match(verdict("tests/run/a.ts", "zod") ?? "", /before any dependency/);
});

Deno.test("product that imports what is for tests is found", () => {
  assert.match(verdict("src/main/app.ts", "../../tests/support/a.ts") ?? "", /for tests only/);
  assert.match(verdict("src/main/app.ts", "../http/a_test.ts") ?? "", /for tests only/);
});

Deno.test("a folder that is not in the table is found", () => {
  assert.match(messages({ "src/helpers/a.ts": "" })[0] ?? "", /not in the table/);
  assert.match(verdict("src/main/app.ts", "../helpers/a.ts") ?? "", /not in the table/);
});

Deno.test("every way to import is read", () => {
  const ways = [
    'import type { x } from "../database/b.ts";',
    'export { x } from "../database/b.ts";',
    'export * from "../database/b.ts";',
    'const x = await import("../database/b.ts");',
    'new Worker(new URL("../database/b.ts", import.meta.url), { type: "module" });',
    'const x = import.meta.resolve("../database/b.ts");',
  ];
  for (const way of ways) {
    assert.equal(messages({ "src/shared/a.ts": way }).length, 1, way);
  }
  assert.deepEqual(
    messages({ "src/shared/a.ts": `const text = 'import x from "../database/b.ts"';` }),
    [],
  );
  assert.deepEqual(messages({ "src/shared/a.ts": 'new URL("../..", import.meta.url);' }), []);
});
