import { z } from "@hono/zod-openapi";

/** A short text of one line that names something, such as a label; spaces around it don't count. */
export function labelText(maxLength: number) {
  return z.string().trim().min(1).max(maxLength).refine(
    (text) => !/\p{Cc}/u.test(text) && text.isWellFormed(),
    "expected text without control characters",
  );
}

/** A cohort as the prompt tag `/// COHORT` names it, under the same rules. */
export const cohortIdSchema = labelText(256).describe(
  "Identifier used in the COHORT tag; at most 256 characters.",
).openapi({ example: "checkout-2026-11" });
