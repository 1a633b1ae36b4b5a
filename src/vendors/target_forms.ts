import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { Target } from "../dialects/kernel/dialect.ts";
import type { PriceRow } from "../pricing/pricing.ts";
import type { Vendor } from "./registry.ts";

/**
 * Returns the form in which a model is offered its vendor's own web search in a dialect; empty if
 * it has none. Vendors missing from `searching` have one if the operator's price row prices
 * searches.
 *
 * `managed`: the account is charged, so a search without a price is not offered, unless the vendor
 * admits it.
 */
export function searchForm(
  vendor: Pick<Vendor, "sharesWith" | "admitsUnpriced">,
  dialect: DialectName,
  model: string,
  price: PriceRow | undefined,
  managed: boolean,
): Pick<Target, "webSearch"> {
  const isPriced = price?.rates.perWebSearch !== undefined;
  if (managed && !isPriced && !vendor.admitsUnpriced) return {};
  const own = Object.hasOwn(searching, vendor.sharesWith)
    ? searching[vendor.sharesWith]
    : undefined;
  const form = own ? own[dialect]?.(model) : isPriced ? usualSearch[dialect] : undefined;
  return form === undefined ? {} : { webSearch: form };
}

type SearchForm = Target["webSearch"];

/** The forms of vendors that have no row of their own. */
const usualSearch: Readonly<Record<DialectName, SearchForm>> = {
  chat: "options",
  responses: "tool",
  messages: "tool",
  generate: "tool",
};

const asTool = (): SearchForm => "tool";

/** Forms of search by vendor and dialect, where they are known; some depend on the model. */
const searching: Readonly<
  Record<string, { readonly [Name in DialectName]?: (model: string) => SearchForm }>
> = {
  // The router hands calls to many hosts, none of which searches.
  "vendor-a": {},
  "vendor-b": {
    responses: asTool,
    chat: (model) => /-search(-|$)/.test(model) ? "options" : undefined,
  },
  "vendor-c": { messages: asTool },
  "vendor-d": { generate: asTool },
  "vendor-f": { responses: asTool, messages: asTool, chat: asTool },
  "vendor-g": { responses: asTool },
};

type CacheForm = Pick<Target, "cacheMarks" | "cacheSettings">;

/** Returns how a vendor takes cache marks, apart from the messages dialect's own. */
export function cacheForm(
  vendor: Pick<Vendor, "sharesWith">,
  dialect: DialectName,
  price: PriceRow | undefined,
): CacheForm {
  const form = Object.hasOwn(forms, vendor.sharesWith) ? forms[vendor.sharesWith] : undefined;
  return form?.(dialect, price) ?? {};
}

const forms: Readonly<
  Record<string, (dialect: DialectName, price: PriceRow | undefined) => CacheForm>
> = {
  // Models that have a price for writing (gpt-5.6 and later) take breakpoints; older ones cache by
  // themselves.
  "vendor-b": (_dialect, price) => ({
    cacheSettings: "all",
    ...(price?.rates.cacheWrite === undefined ? {} : { cacheMarks: "breakpoints" }),
  }),
  // Keeps a conversation on one server and its cache; the chat endpoint has a header for it.
  "vendor-g": (dialect) => dialect === "responses" ? { cacheSettings: "key" } : {},
  // The aggregator passes the marks on.
  "vendor-f": (dialect) => dialect === "chat" ? { cacheMarks: "ephemeral" } : {},
};
