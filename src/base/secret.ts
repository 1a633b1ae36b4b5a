/**
 * A text that must not be seen: prints as a mask in strings, JSON, `console.log` and inspection.
 * `reveal()` is the only way to the text, so uses can be found by searching for it.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return mask;
  }

  toJSON(): string {
    return mask;
  }

  [Symbol.toPrimitive](): string {
    return mask;
  }

  [Symbol.for("Deno.customInspect")](): string {
    return mask;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return mask;
  }
}

/**
 * The text with everything that looks like a credential replaced by a mask: key formats of known
 * services, JSON web tokens, bearer values, `x-api-key`-like assignments, user names and passwords
 * and key parameters in URLs. `addresses` (whole base addresses or hosts) are replaced too.
 * Meant for vendors' error messages; errs towards masking too much.
 */
export function maskSecrets(text: string, addresses: readonly string[] = []): string {
  let masked = text;
  for (const address of addresses) {
    if (address !== "") masked = masked.replaceAll(address, "[address]");
  }
  for (const [pattern, replacement] of patterns) masked = masked.replace(pattern, replacement);
  return masked;
}

const mask = "***";

/** Each pattern is linear in the text: no nested or adjacent overlapping repetition. */
const patterns: readonly (readonly [RegExp, string])[] = [
  // user:password@ in any URL. The cap on lengths keeps a long run without "@" linear.
  [/([a-z][a-z0-9+.-]{0,15}:\/\/)[^\s/?#@]{1,512}@/gi, `$1${mask}@`],
  [
    /([?&](?:[a-z]{1,16}[_-])?(?:key|apikey|token|sig|signature|password)=)[^\s&#"'<>]+/gi,
    `$1${mask}`,
  ],
  [/(\b(?:x-)?(?:goog-)?api[-_]?key["']?\s?[:=]\s?["']?)[^\s"',;}]{6,}/gi, `$1${mask}`],
  [/\b(Bearer\s)\s*[^\s"',}]+/gi, `$1${mask}`],
  // Service keys, with the vendor key of the dual form behind them.
  [/\bdmt_[0-9A-Za-z]+(?:;[^\s"',}]+)?/g, mask],
  // "sk-" covers "sk-ant-" and "sk-proj-"; vendors show keys with stars in the middle.
  [/\bsk-[0-9A-Za-z_*.-]{6,}/g, mask],
  [/\bAIza[0-9A-Za-z_*-]{6,}/g, mask],
  [/\bAQ\.[0-9A-Za-z_*-]{16,}/g, mask],
  [/\bhf_[0-9A-Za-z*]{6,}/g, mask],
  [/\bxai-[0-9A-Za-z_*-]{8,}/g, mask],
  [/\bgsk_[0-9A-Za-z_*-]{6,}/g, mask],
  [/\beyJ[0-9A-Za-z_-]{8,}(?:\.[0-9A-Za-z_-]+){1,4}/g, mask],
];
