import { z } from "@hono/zod-openapi";
import { operationName } from "./vendors.ts";

/** A dot alone stops at the ends of lines, which an address can hold encoded. */
const anything = "(?:.|\\s)+";

/** Where the methods of one prefix are mounted. */
export interface GeneratePrefix {
  prefix: string;
  aliases: readonly string[];
  scope: string;
}

/** A method of a model, such as `:generateContent`, below one prefix (docs/vendor-paths.md). */
export function generateMethod({ prefix, aliases, scope }: GeneratePrefix, name: string) {
  return {
    method: "post" as const,
    path: `/${prefix}/v1/models/{model}:${name}`,
    // `{model}` may hold slashes, and the `models/` segment may be missing (docs/vendor-paths.md).
    aliases: [prefix, ...aliases].flatMap((one) => [
      ...(one === prefix ? [] : [`/${one}/v1/models/{model}:${name}`]),
      `/${one}/v1beta/models/{model}:${name}`,
    ]),
    mounts: [prefix, ...aliases].flatMap((one) => [
      `/${one}/v1/:model{${anything}:${name}}`,
      `/${one}/v1beta/:model{${anything}:${name}}`,
    ]),
    operationId: operationName(name, prefix),
    tag: prefix,
    scope,
    dialect: "generate" as const,
    params: z.object({
      model: z.string().describe("Name of the model.").transform((path) => modelOf(path, name)),
    }),
  };
}

/** `models/gemini-x:generateContent` as `gemini-x`. */
function modelOf(path: string, verb: string): string {
  return path.slice(0, -(verb.length + 1)).replace(/^models\//, "");
}
