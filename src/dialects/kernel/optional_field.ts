/** `{key: value}`, or nothing where there is no value: fields that nobody gave are left out. */
export function optionalField<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): { [K in Key]?: Value } {
  return value === undefined ? {} : { [key]: value } as { [K in Key]?: Value };
}
