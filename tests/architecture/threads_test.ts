import assert from "@std/assert";
import { programModules } from "../../packaging/contents.ts";
import { importsOf } from "./imports.ts";

const root = new URL("../../", import.meta.url);

Deno.test("threads load no schemas: each has a copy of its own of all that it imports", async () => {
  const loaded = new Set(programModules);
  for (const path of loaded) {
    for (const each of importsOf(path, await Deno.readTextFile(new URL(path, root)))) {
      assert.doesNotMatch(each.specifier, /\bzod\b/, path);
      if (each.path !== null && !each.typeOnly) loaded.add(each.path);
    }
  }
  assert.ok(loaded.size > 50, `${loaded.size} files`);
});
