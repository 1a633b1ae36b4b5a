import { parseExactly } from "../base/exact_json.ts";
import { baseUrlForm, isBaseUrl } from "../base/base_url.ts";
import { withoutEnd } from "../base/trim.ts";
import { z } from "zod";
import { dialectNames } from "../../contracts/calls/vendors.ts";
import { defined } from "../base/defined.ts";
import { Secret } from "../base/secret.ts";
import type { Fault } from "../shared/fault.ts";
import { validate } from "../shared/validate.ts";
import type { CustomVendor } from "./registry.ts";

const name = z.string().regex(
  /^[a-z0-9][a-z0-9-]{0,62}$/,
  "expected lower-case letters, digits and dashes",
);

const dialect = z.enum(dialectNames);

const file = z.array(z.strictObject({
  label: name,
  aliases: z.array(name).default([]),
  base_url: z.string().trim().refine(isBaseUrl, `expected ${baseUrlForm}`),
  api_key_env: z.string().regex(/^[A-Za-z_]\w*$/, "expected a variable's name").optional(),
  dialects: z.array(dialect).min(1),
  translate_to: dialect.optional(),
  auth: z.enum(["bearer", "x-api-key", "x-goog-api-key"]),
  models_path: z.string().regex(/^\//, "expected a path that begins with /").default("/models"),
}));

/** Path prefixes that are the service's own. */
const reserved = [
  "chat",
  "api",
  "imagen",
  "tts",
  "dashboard",
  "reference",
  "livez",
  "readyz",
  "metrics",
  "v1",
  "v1beta",
];

/**
 * Reads `VENDORS_FILE` (docs/configuration.md): a JSON array of vendor rows. Throws an Error of one
 * line that names the field. `secretFrom` returns the value of the environment variable that a row
 * names.
 */
export function parseVendorsFile(
  text: string,
  secretFrom: (name: string) => Secret | undefined,
): CustomVendor[] {
  let json: unknown;
  try {
    json = parseExactly(text);
  } catch {
    throw new Error("the file is not JSON");
  }
  return readRows(json).map((row, index) => {
    const taken = [row.label, ...row.aliases].find((one) => reserved.includes(one));
    if (taken) throw new Error(`[${index}]: ${taken} is a path of the service itself`);
    if (row.translate_to !== undefined && !row.dialects.includes(row.translate_to)) {
      throw new Error(`[${index}].translate_to: expected one of the row's dialects`);
    }
    return {
      label: row.label,
      aliases: row.aliases,
      baseUrl: withoutEnd(row.base_url, "/"),
      apiKey: row.api_key_env === undefined ? undefined : secretFrom(row.api_key_env),
      ...defined({ keyVariable: row.api_key_env }),
      dialects: row.dialects,
      ...(row.translate_to === undefined ? {} : { translateTo: row.translate_to }),
      auth: row.auth,
      modelsPath: row.models_path,
    };
  });
}

function readRows(json: unknown) {
  try {
    return validate(file, json);
  } catch (thrown) {
    const { param = "", message } = thrown as Fault;
    throw new Error(param === "" ? message.replace("The request body", "the file") : message);
  }
}
