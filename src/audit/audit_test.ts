import assert from "@std/assert";
import type { Audited, AuditNote } from "./audit.ts";

interface Store {
  list(accountId: number, filter?: string): void;
  revoke(id: string, audit?: AuditNote): void;
  change(id: string, audit?: (before: string) => AuditNote, force?: boolean): void;
  create(item: { name: string; audit?: AuditNote }): void;
}

type Input<Name extends keyof Store> = Parameters<Audited<Store>[Name]>;

Deno.test("of an audited store, calls without their entry don't compile", () => {
  // The compiler checks these: `revoke` has exactly two arguments, `change` at least two.
  const revoke = 2 as Input<"revoke">["length"] satisfies 2;
  const change = 2 as Input<"change">["length"] satisfies 2 | 3;
  const list: Input<"list">["length"] = 1;
  const isOptional: undefined extends Input<"create">[0]["audit"] ? true : false = false;
  assert.deepEqual({ list, revoke, change, isOptional }, {
    list: 1,
    revoke: 2,
    change: 2,
    isOptional: false,
  });
});
