/**
 * Mends what the generator writes for OpenAPI 3.0, where `nullable` means nothing without a `type`:
 * an unknown value is `{}`, and "or null" is a property of the alternatives beside it.
 */
export function mendNullable<T>(value: T): T {
  if (Array.isArray(value)) return value.map(mendNullable) as T;
  if (typeof value !== "object" || value === null) return value;
  const mended: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    mended[key] = isAlternatives(key, inner) ? alternatives(inner) : mendNullable(inner);
  }
  if (mended.nullable === true && mended.type === undefined) delete mended.nullable;
  return mended as T;
}

type Schema = Record<string, unknown>;

function isAlternatives(key: string, value: unknown): value is Schema[] {
  return /^(anyOf|oneOf)$/.test(key) && Array.isArray(value);
}

function alternatives(schemas: readonly Schema[]): Schema[] {
  const others = schemas.filter((schema) => !isNull(schema)).map(mendNullable);
  if (others.length === schemas.length) return others;
  const typed = others.some((schema) => schema.type !== undefined);
  if (!typed) return [...others, emptyOrNull];
  return others.map((schema) => schema.type === undefined ? schema : { ...schema, nullable: true });
}

/** Null alone would be `enum: [null]`, from which some generators make what doesn't compile. */
const emptyOrNull = { type: "object", nullable: true, maxProperties: 0 };

/** How the generator writes the alternative "null". */
function isNull(schema: Schema): boolean {
  return schema.nullable === true && Object.keys(schema).length === 1;
}
