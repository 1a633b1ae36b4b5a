import { z } from "@hono/zod-openapi";
import { operationName, type PathPrefix } from "./vendors.ts";

/** Also matches line breaks, which a URL can contain encoded and a dot alone doesn't match. */
const anything = "(?:.|\\s)+";

/**
 * Returns the common fields of contracts for a method of a model, such as `:generateContent`, below
 * one prefix (docs/vendor-paths.md).
 */
export function generateMethod({ label, aliases }: PathPrefix, name: string) {
  return {
    method: "post" as const,
    path: `/${label}/v1/models/{model}:${name}`,
    // `{model}` may hold slashes, and the `models/` segment may be missing (docs/vendor-paths.md).
    aliases: [label, ...aliases].flatMap((one) => [
      ...(one === label ? [] : [`/${one}/v1/models/{model}:${name}`]),
      `/${one}/v1beta/models/{model}:${name}`,
    ]),
    mounts: [label, ...aliases].flatMap((one) => [
      `/${one}/v1/:model{${anything}:${name}}`,
      `/${one}/v1beta/:model{${anything}:${name}}`,
    ]),
    operationId: operationName(name, label),
    tag: label,
    scope: label,
    dialect: "generate" as const,
    params: z.object({
      model: z.string().describe("Name of the model.").transform((path) => modelOf(path, name)),
    }),
  };
}

/** Returns the model's name, such as `gemini-x` from `models/gemini-x:generateContent`. */
function modelOf(path: string, verb: string): string {
  return path.slice(0, -(verb.length + 1)).replace(/^models\//, "");
}
