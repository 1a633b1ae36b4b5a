import { z } from "zod";
import { defined } from "../../base/defined.ts";
import { sha256Hex } from "../../base/hash.ts";
import { parseUsd, picoDigits } from "../../base/money.ts";
import {
  type ChatRefusal,
  chatRefusals,
  type ContextTier,
  type Fraction,
  type PriceRow,
  type Rates,
} from "../pricing.ts";
import { messageOf } from "../../shared/fault.ts";
import { dayMs } from "../../shared/time_span.ts";
import { millionNames, pieceNames } from "../usage_parts.ts";

/**
 * Prices of one model, with the fields of `PRICES_FILE` (docs/configuration.md): decimal strings,
 * USD per million tokens unless the name says otherwise. The bundled table uses them too.
 */
export interface PriceFields extends RateFields {
  context_tiers?: readonly ContextTierFields[];
  /** Factors by the tier that a vendor reports, such as `{"flex": "0.5"}`. */
  service_tiers?: Readonly<Record<string, string>>;
  /** Factors by the region that a vendor reports, such as `{"us": "1.1"}`. */
  regions?: Readonly<Record<string, string>>;
  max_output_tokens?: number;
  /**
   * What the vendor's chat endpoint refuses of this model, while its responses endpoint takes it.
   */
  chat_refuses?: readonly ChatRefusal[];
  /** First day, `YYYY-MM-DD`, UTC. */
  valid_from?: string;
  /** Last day, this one included. */
  valid_to?: string;
}

/** Prices that several models of one vendor share, and their source. */
export interface PriceEntry extends PriceFields {
  label: string;
  models: readonly string[];
  source: string;
  /** Day on which the source was read; only the month where the source gives no day. */
  checked_on: string;
  /** Used only where neither the operator nor the vendor's own list has a price. */
  fallback?: boolean;
}

type Values<T> = T[keyof T];

/** `{ input?: string, …, per_request?: string, … }`. */
export type RateFields =
  & { [N in Values<typeof millionNames> | Values<typeof pieceNames>]?: string }
  & { per_image?: string | Readonly<Record<string, string>> };

/** Exactly one of the two thresholds, and the prices that change there. */
export interface ContextTierFields extends RateFields {
  above_input_tokens?: number;
  from_input_tokens?: number;
}

/** Whose row it is and where its prices come from. */
export type RowOrigin = Pick<
  PriceRow,
  "label" | "model" | "source" | "checkedOn" | "fallback" | "contextTokens"
>;

/**
 * Builds a price row from decimal fields, which are not trusted: an unknown or malformed field
 * throws an Error whose one-line message begins with `path`, such as `vendor-b/gpt-x.input: …`.
 */
export function readPriceRow(origin: RowOrigin, value: unknown, path: string): PriceRow {
  const { data: row, error } = rowFields.safeParse(value);
  if (error) throw new Error(path + textOf(error.issues));
  const { valid_from: validFrom, valid_to: lastDay } = row;
  if (validFrom !== undefined && lastDay !== undefined && lastDay < validFrom) {
    throw new Error(`${path}.valid_to: expected a day not before valid_from`);
  }
  return priceRow(origin, {
    rates: ratesOf(row),
    contextTiers: row.context_tiers ?? [],
    serviceTiers: row.service_tiers ?? {},
    ...defined({
      regions: row.regions,
      maxOutputTokens: row.max_output_tokens,
      chatRefuses: row.chat_refuses,
      validFrom,
      validTo: lastDay && new Date(lastDay.getTime() + dayMs),
    }),
  });
}

/** Adds a row's version: the first 12 hex digits of the SHA-256 of everything that sets a price. */
export function priceRow(
  origin: RowOrigin,
  prices: Omit<PriceRow, "version" | keyof RowOrigin>,
): PriceRow {
  const { rates, contextTiers, serviceTiers, regions, validFrom, validTo } = prices;
  const { label, model } = origin;
  const content = [label, model, rates, contextTiers, serviceTiers, validFrom, validTo];
  // Rows without them keep the version that they had before regions were priced.
  if (regions) content.push(regions);
  return { ...origin, ...prices, version: sha256Hex(canonicalText(content)).slice(0, 12) };
}

/** Digits by which USD per million units become pico-dollars per unit. */
const perMillionDigits = picoDigits - 6;

/** Each list of dimensions, and the digits by which its prices become pico-dollars per unit. */
const rateTables = [[millionNames, perMillionDigits], [pieceNames, picoDigits]] as const;

const expected = (form: string) => ({ input }: { input?: unknown }) =>
  `expected ${form}, got ${shown(input)}`;

const usd = (digits: number) =>
  z.string({ error: expected('a decimal string such as "0.25"') }).transform((text, context) => {
    try {
      return parseUsd(text, digits);
    } catch (thrown) {
      context.addIssue(messageOf(thrown));
      return z.NEVER;
    }
  });

const day = z.iso.date({ error: expected('a day such as "2026-12-01"') })
  .transform((text) => new Date(text));

function whole(least: number) {
  const error = expected(`a whole number from ${least}`);
  return z.int({ error }).min(least, { error });
}

const list = <T extends z.ZodType>(item: T) => z.array(item, { error: expected("an array") });

/** An object with these fields alone. */
function closed<Shape extends z.ZodRawShape>(shape: Shape) {
  const unknown = `unknown field, expected one of ${Object.keys(shape).join(", ")}`;
  return z.strictObject(shape, {
    error: (issue) => issue.code === "unrecognized_keys" ? unknown : expected("an object")(issue),
  });
}

const rateFields = {
  ...Object.fromEntries(
    rateTables.flatMap(([names, digits]) =>
      Object.values<string>(names).map((name) => [name, usd(digits).optional()])
    ),
  ),
  per_image: z.union([
    usd(picoDigits),
    z.record(z.string(), usd(picoDigits))
      .refine((prices) => Object.keys(prices).length > 0, "expected at least one price"),
  ], { error: expected("a decimal string or an object") }).optional(),
};

function ratesOf(fields: Readonly<Record<string, unknown>>): Rates {
  const dimensions = Object.entries({ ...millionNames, ...pieceNames, perImage: "per_image" });
  return Object.fromEntries(
    dimensions.flatMap(([dimension, name]) =>
      fields[name] === undefined ? [] : [[dimension, fields[name]]]
    ),
  );
}

const tier = closed({
  ...rateFields,
  above_input_tokens: whole(0).optional(),
  from_input_tokens: whole(0).optional(),
}).refine(
  ({ above_input_tokens: above, from_input_tokens: from }) =>
    (above === undefined) !== (from === undefined),
  "expected one of above_input_tokens and from_input_tokens",
).transform(({ above_input_tokens: above, from_input_tokens: from, ...rates }): ContextTier => ({
  threshold: (above ?? from)!,
  inclusive: from !== undefined,
  rates: ratesOf(rates),
}));

const factorDigits = 6;

const factors = z.record(
  z.string(),
  usd(factorDigits).transform((numerator): Fraction => (
    { numerator, denominator: 10n ** BigInt(factorDigits) }
  )),
  { error: expected("an object") },
);

const rowFields = closed({
  ...rateFields,
  context_tiers: list(tier).optional(),
  service_tiers: factors.optional(),
  regions: factors.optional(),
  max_output_tokens: whole(1).optional(),
  chat_refuses: list(
    z.enum(chatRefusals, { error: expected(`one of ${chatRefusals.join(", ")}`) }),
  ).optional(),
  valid_from: day.optional(),
  valid_to: day.optional(),
});

/** Describes the first problem, preceded by its path in the row. */
function textOf(issues: readonly z.core.$ZodIssue[]): string {
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0]!;
  const unknown = issue.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  const steps = [...issue.path, ...unknown].map((step) =>
    typeof step === "number" ? `[${step}]` : `.${String(step)}`
  );
  // For a union: the problem of the alternative that the value comes closest to.
  const forms = issue.code === "invalid_union" ? issue.errors : [];
  const within = forms.find(([one]) => one && (one.code !== "invalid_type" || one.path.length > 0));
  return steps.join("") + (within ? textOf(within) : `: ${issue.message}`);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** JSON with sorted keys, and bigints as digits. */
function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item === "bigint") return item.toString();
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).sort(([one], [other]) => one < other ? -1 : 1));
  });
}
