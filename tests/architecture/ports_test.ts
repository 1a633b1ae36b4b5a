import assert from "@std/assert";
import { findingsOf } from "./checks.ts";
import { ports } from "./ports.ts";

function findings(path: string, code: string): string[] {
  return findingsOf(new Map([[path, code]]), ports).map((each) => each.message);
}

/** Text → files that may hold it, and one that may not. */
const rules: [code: string, may: string[], other: string][] = [
  [
    'import { openAnalytics } from "../database/open.ts";',
    ["src/main/open_stores.ts"],
    "src/admin/vacuum_here.ts",
  ],
  [
    'import { createMedia } from "../records/store/media.ts";',
    ["src/main/open_stores.ts"],
    "src/main/application.ts",
  ],
  [
    'import { createUsageSums } from "../../usage/store/usage_sums.ts";',
    ["src/records/store/analytics_store.ts", "src/usage/store/label_sums.ts"],
    "src/main/pages/dashboard.ts",
  ],
  [
    "if (analytics.sharesMain) f();",
    ["src/records/store/a.ts", "src/erasure/store/erasure.ts", "src/repricing/store/repricing.ts"],
    "src/credit/store/refund_charge.ts",
  ],
  [
    "const { sharesMain } = analytics;",
    ["src/records/store/a.ts"],
    "src/exports/wire.ts",
  ],
];

Deno.test("code that bypasses the interactions port is found", () => {
  for (const [code, may, other] of rules) {
    for (const path of may) assert.deepEqual(findings(path, code), [], `${path}: ${code}`);
    assert.ok(findings(other, code).length > 0, `${other}: ${code}`);
  }
});

Deno.test("records are written by way of two files that others may use, and tests use any", () => {
  const writes = 'import { createThreadInsert } from "../records/store/write_thread.ts";';
  assert.deepEqual(findings("src/main/application.ts", writes), []);
  const reads = 'import { createMedia } from "./media.ts";';
  assert.deepEqual(findings("src/records/store/media_test.ts", reads), []);
});
