import { z } from "@hono/zod-openapi";
import { callErrors } from "../kernel/call_errors.ts";
import { optional } from "../kernel/common.ts";
import { pathBelow, type PathPrefix } from "../calls/vendors.ts";

/** Returns the common fields of contracts for operations outside the dialects, below one prefix. */
export function operationPath(prefix: PathPrefix, path: string, verb: string) {
  return {
    ...pathBelow(prefix, path, verb),
    method: "post",
    dialect: "chat",
    interaction: true,
    errors: callErrors,
  } as const;
}

export const operationModel = z.string().min(1).describe(
  "The vendor's own name, with or without the provider in front.",
);

export const endUser = optional(z.string()).describe(
  "The end user, recorded as `user_id`; at most 500 characters.",
);

/** A file of a form. */
export const formFile = z.looseObject({
  filename: z.string(),
  bytes: z.number().int(),
}, { error: "expected a file" }).openapi({ type: "string", format: "binary" });
