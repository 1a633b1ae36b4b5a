/**
 * The names under which a model's price may be listed, best first: the name as sent upstream, then
 * the name without the parts that only pick a variant or a snapshot of the same model. There are no
 * other rules, so `gpt-5-mini` never finds the price of `gpt-5`:
 *
 * - a routing suffix of the set below (`meta/llama:nitro` → `meta/llama`);
 * - everything from an `@` on (`claude-haiku-4-5@20251001` → `claude-haiku-4-5`);
 * - a day at the end, `-2026-04-21` or `-20260421`, or `-latest`, the newest of these.
 */
export function priceNames(model: string): string[] {
  const names = [model];
  let name = model;
  for (const rule of [withoutRouting, withoutVersion, withoutSnapshot]) {
    const shorter = rule(name);
    if (shorter === name || shorter === "") continue;
    name = shorter;
    names.push(name);
  }
  return names;
}

/** Suffixes that the aggregator and the hosted provider document as ways to choose a server. */
const routingSuffixes: readonly string[] = [
  "free",
  "nitro",
  "floor",
  "online",
  "exacto",
  "thinking",
  "fastest",
  "cheapest",
  "preferred",
];

function withoutRouting(name: string): string {
  const colon = name.lastIndexOf(":");
  return colon > 0 && routingSuffixes.includes(name.slice(colon + 1)) ? name.slice(0, colon) : name;
}

function withoutVersion(name: string): string {
  const at = name.indexOf("@");
  return at > 0 && at < name.length - 1 ? name.slice(0, at) : name;
}

/**
 * Returns the model that a name with a date or `-latest` is a snapshot of; other names as they are.
 */
export function withoutSnapshot(name: string): string {
  return name.replace(/-(?:latest|20\d\d(-?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01]))$/, "");
}
