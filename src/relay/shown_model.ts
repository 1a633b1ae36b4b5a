import type { Dialect, RequestFacts } from "../dialects/kernel/dialect.ts";
import type { Vendor } from "../vendors/registry.ts";

/**
 * The model's name as the answer has to say it: as it was asked, for callers of the unified family
 * in a dialect whose clients compare the two; undefined: as the vendor says it.
 */
export function shownModel(
  { dialect, vendor, facts }: {
    dialect: Pick<Dialect, "naming">;
    /** The vendor whose family was called; undefined on the unified family. */
    vendor?: Vendor | undefined;
    facts: Pick<RequestFacts, "model">;
  },
): string | undefined {
  return dialect.naming && vendor === undefined ? facts.model : undefined;
}
