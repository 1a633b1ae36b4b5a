import { z } from "@hono/zod-openapi";
import { callErrors } from "../kernel/call_errors.ts";
import { optional } from "../kernel/common.ts";
import { operationName, type VendorFamily } from "../calls/vendors.ts";

/** What the operations beside the chat dialects have in common, under one prefix. */
export function operationPath(
  { label, aliases, scope = label }: { label: string; aliases: readonly string[]; scope?: string },
  path: string,
  verb: string,
) {
  return {
    method: "post",
    path: `/${label}/v1/${path}`,
    aliases: aliases.map((alias) => `/${alias}/v1/${path}`),
    operationId: operationName(verb, label),
    tag: label,
    scope,
    dialect: "chat",
    interaction: true,
    errors: callErrors,
  } as const;
}

/** The family's name, behind a summary. */
export function familyNote({ name }: VendorFamily): string {
  return `(${name})`;
}

export const operationModel = z.string().min(1).describe(
  "The vendor's own name, with or without the provider in front.",
);

export const endUser = optional(z.string()).describe("The end user, recorded as `user_id`.");

/** A file of a form. */
export const formFile = z.looseObject({
  filename: z.string(),
  bytes: z.number().int(),
}, { error: "expected a file" }).openapi({ type: "string", format: "binary" });
