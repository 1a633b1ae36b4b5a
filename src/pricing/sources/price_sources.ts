/** Where bundled prices come from. */
export const vendorPages = { source: "vendor's model pages", checked_on: "2026-11" };
export const genaiPackage = { source: "npm genai-prices 0.1.8", checked_on: "2026-09-23" };
const genaiRepository = "genai-prices repository";
export const tracker = { source: "TokenMeter 0.13.1", checked_on: "2026-10-13" };
export const audited = {
  source: "PromptFuel releases, audited against vendor pages",
  checked_on: "2026-10",
};
export const litellm = { source: "litellm documentation", checked_on: "2026-11" };
export const articles = {
  source: "apidog articles quoting the vendor's page",
  checked_on: "2026-11",
};

/** One provider file of the repository, by the day its prices were checked. */
export function repository(checkedOn: string): { source: string; checked_on: string } {
  return { source: genaiRepository, checked_on: checkedOn };
}

/**
 * litellm's `model_prices_and_context_window.json` as of autumn 2026, in a stored copy. Its prices by
 * pixel are these by picture (7.629e-8 × 1024 × 1024 = 0.08), its prices by character these by the
 * million. The vendor's own page was not read.
 */
export const litellmTable = {
  source: "litellm's model price table, converted",
  checked_on: "2026-11-21",
};
