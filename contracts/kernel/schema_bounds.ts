/** Bounds of a JSON schema that a caller sends to be compiled. */
const schemaBounds = {
  characters: 64 * 1024,
  nodes: 2000,
  patternCharacters: 2000,
} as const;

/**
 * Returns which bound a schema exceeds; undefined if none. It stops at the first excess, so that
 * its own work is bounded too. Nodes are objects and arrays.
 */
export function schemaExcess(schema: unknown): string | undefined {
  const { characters, nodes, patternCharacters } = schemaBounds;
  const left: unknown[] = [schema];
  let seen = 0;
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value !== "object" || value === null) continue;
    if (++seen > nodes) return `a schema may have at most ${nodes} objects and arrays`;
    const inside = Object.values(value);
    if (inside.length > characters) return tooLong;
    for (const one of inside) left.push(one);
    if (patternsOf(value).some((pattern) => pattern.length > patternCharacters)) {
      return `a pattern in a schema may have at most ${patternCharacters} characters`;
    }
  }
  return JSON.stringify(schema).length > characters ? tooLong : undefined;
}

const tooLong = `a schema may have at most ${schemaBounds.characters} characters as JSON`;

function patternsOf(node: object): string[] {
  const { pattern, patternProperties } = node as Record<string, unknown>;
  return [
    ...(typeof pattern === "string" ? [pattern] : []),
    ...(typeof patternProperties === "object" && patternProperties !== null
      ? Object.keys(patternProperties)
      : []),
  ];
}
