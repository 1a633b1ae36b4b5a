import { parseObject } from "../../base/exact_json.ts";
import { topLevelMembers } from "../../base/json_text.ts";
import type { PriceRow } from "../pricing.ts";
import { readPriceRow } from "./price_row.ts";

/** The `source` of an operator's rows. */
export const operatorSource = "PRICES_FILE";

/**
 * The rows of `PRICES_FILE` (docs/configuration.md): a JSON object of `<label or alias>/<model>` →
 * fields. A row's `label` is the name as written; `createPrices` resolves aliases. Throws an Error
 * with a one-line message that begins with the path of what is wrong.
 */
export function parsePricesFile(text: string): PriceRow[] {
  const file = parseObject(text, '{"vendor-b/gpt-x": {"input": "0.25"}}');
  // `JSON.parse` keeps only the last of them: prices from a day on would replace those until then.
  const [twice] = topLevelMembers(text)?.duplicates ?? [];
  if (twice !== undefined) throw new Error(`${JSON.stringify(twice)}: the file has this key twice`);
  return Object.entries(file).map(([key, fields]) => {
    const slash = key.indexOf("/");
    const label = key.slice(0, slash);
    const model = key.slice(slash + 1);
    if (slash < 1 || model === "") {
      throw new Error(`${JSON.stringify(key)}: expected a key such as "vendor-b/gpt-x"`);
    }
    return readPriceRow({ label, model, source: operatorSource }, fields, key);
  });
}
