import assert from "@std/assert";
import { findingsOf } from "./checks.ts";
import { tableOwners } from "./tables.ts";

function findings(path: string, code: string): string[] {
  return findingsOf(new Map([[path, code]]), tableOwners).map((each) => each.message);
}

Deno.test("SQL that names another subject's table is found", () => {
  const found = [
    'tx.query("select 1 from interactions where true");',
    "tx.query(`delete from interaction_payloads where ${x}`);",
    "const text = `${x} join media_refs using (id)`;",
    'const text = "insert into interactions (a)";',
    'const text = "update interactions set a = 1";',
  ];
  for (const code of found) {
    assert.match(findings("src/cohorts/store/a.ts", code)[0] ?? "", /src\/records\/store/, code);
    assert.equal(findings("src/records/a.ts", code).length, 1, "not in a store");
  }
});

Deno.test("a subject's own store, tests and other words are fine", () => {
  const code = 'tx.query("select 1 from interactions");';
  assert.deepEqual(findings("src/records/store/a.ts", code), []);
  assert.deepEqual(findings("src/relay/a_test.ts", code), []);
  assert.deepEqual(findings("src/relay/a.ts", 'const kind = "interactions";'), []);
  assert.deepEqual(findings("src/relay/a.ts", "const text = `${interactions} of the day`;"), []);
});
