import { Ajv2020, type Options } from "ajv/dist/2020.js";

/**
 * Returns a validator for a test's schemas. Most of them check one or two values, for which
 * optimised code and copies of what a `$ref` names take longer to make than they save.
 */
export function schemaValidator(options: Options): Ajv2020 {
  return new Ajv2020({ ...options, code: { optimize: false }, inlineRefs: false });
}
