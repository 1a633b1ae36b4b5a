import assert from "@std/assert";
import { checkFloors } from "./floors.ts";

function messages(files: Record<string, string>): string[] {
  return checkFloors(new Map(Object.entries(files))).map((each) => `${each.path}: ${each.message}`);
}

/** The finding for one import, or null; the imported file need not exist. */
function verdict(path: string, specifier: string): string | null {
  return messages({ [path]: `import { x } from "${specifier}";` })[0] ?? null;
}

Deno.test("imports that point down are fine", () => {
  const allowed: [string, string][] = [
    ["main.ts", "./src/main/app.ts"],
    ["src/main/app.ts", "./http/bind.ts"],
    ["src/main/application.ts", "./config.ts"],
    ["src/http/routes/chat.ts", "../../gateway/relay.ts"],
    ["src/relay/relay.ts", "../vendors/upstream.ts"],
    ["src/vendors/catalogue.ts", "../dialects/dialect.ts"],
    ["src/dialects/text/chat/request.ts", "../canonical.ts"],
    ["src/dialects/registry.ts", "./chat/mod.ts"],
    ["src/store/keys.ts", "../domain/api_key.ts"],
    ["src/shared/fault.ts", "../../contracts/kernel/errors.ts"],
    ["contracts/calls/chat.ts", "zod"],
    ["contracts/calls/chat.ts", "@hono/zod-openapi"],
    ["openapi/generate.ts", "../contracts/mod.ts"],
    ["demo/main.ts", "../src/main/app.ts"],
    ["demo/main.ts", "./simulator/server.ts"],
    ["src/store/keys_test.ts", "../../tests/support/database.ts"],
    ["tests/http/chat_test.ts", "../../src/store/keys.ts"],
  ];
  for (const [path, specifier] of allowed) assert.equal(verdict(path, specifier), null);
});

Deno.test("an import that points up is found", () => {
  assert.match(verdict("src/domain/a.ts", "../store/b.ts") ?? "", /imports up, from domain/);
  assert.match(verdict("src/base/a.ts", "../domain/b.ts") ?? "", /base may import only/);
  assert.match(verdict("src/gateway/a.ts", "../config.ts") ?? "", /imports up/);
  assert.match(verdict("src/http/a.ts", "../../main.ts") ?? "", /imports up/);
  assert.match(verdict("src/store/a_test.ts", "../gateway/b.ts") ?? "", /imports up/);
});

Deno.test("an import of a sibling floor is found", () => {
  assert.match(verdict("src/store/a.ts", "../dialects/b.ts") ?? "", /sibling floor dialects/);
  assert.match(verdict("src/http/a.ts", "../dashboard/b.tsx") ?? "", /sibling floor dashboard/);
  assert.match(verdict("src/jobs/a.ts", "../http/b.ts") ?? "", /sibling floor http/);
});

Deno.test("a dialect that knows another is found", () => {
  const found = verdict("src/dialects/text/chat/request.ts", "../messages/request.ts");
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
  assert.match(verdict("src/main/app.ts", "../tests/support/a.ts") ?? "", /for tests only/);
  assert.match(verdict("src/main/app.ts", "./http/a_test.ts") ?? "", /for tests only/);
});

Deno.test("a folder without a floor is found", () => {
  assert.match(messages({ "src/helpers/a.ts": "" })[0] ?? "", /stands on no floor/);
  assert.match(verdict("src/main/app.ts", "./helpers/a.ts") ?? "", /which stands on no floor/);
});

Deno.test("every way to import is read", () => {
  const ways = [
    'import type { x } from "../store/b.ts";',
    'export { x } from "../store/b.ts";',
    'export * from "../store/b.ts";',
    'const x = await import("../store/b.ts");',
    'new Worker(new URL("../store/b.ts", import.meta.url), { type: "module" });',
    'const x = import.meta.resolve("../store/b.ts");',
  ];
  for (const way of ways) {
    assert.equal(messages({ "src/domain/a.ts": way }).length, 1, way);
  }
  assert.deepEqual(
    messages({ "src/domain/a.ts": `const text = 'import x from "../store/b.ts"';` }),
    [],
  );
  assert.deepEqual(messages({ "src/domain/a.ts": 'new URL("../..", import.meta.url);' }), []);
});
