import assert from "@std/assert";
import type { Audited, AuditNote } from "./audit.ts";

interface Store {
  list(accountId: number, filter?: string): void;
  revoke(id: string, audit?: AuditNote): void;
  change(id: string, audit?: (before: string) => AuditNote, force?: boolean): void;
  create(item: { name: string; audit?: AuditNote }): void;
  grant(nanos: bigint, more?: { audit?: AuditNote }): void;
}

type Input<Name extends keyof Store> = Parameters<Audited<Store>[Name]>;

Deno.test("of an audited store, calls without their entry don't compile", () => {
  // The compiler checks that `revoke` and `grant` take two arguments, and `change` at least two.
  const revoke = 2 as Input<"revoke">["length"] satisfies 2;
  const change = 2 as Input<"change">["length"] satisfies 2 | 3;
  const grant = 2 as Input<"grant">["length"] satisfies 2;
  const list: Input<"list">["length"] = 1;
  const isOptional: undefined extends Input<"create">[0]["audit"] ? true : false = false;
  assert.deepEqual({ list, revoke, change, grant, isOptional }, {
    list: 1,
    revoke: 2,
    change: 2,
    grant: 2,
    isOptional: false,
  });
});
