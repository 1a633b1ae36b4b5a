/**
 * A text that prints as a mask in strings, JSON, `console.log` and inspection. Only `reveal()`
 * returns it, so that its uses can be searched for.
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

/** Longer texts are cut: nobody reads more of an error message. */
const maxMaskedChars = 4_000;
/**
 * Removed from the end of a cut text. No pattern needs more characters to recognize a secret: one
 * that begins earlier is masked, and one that begins later isn't shown.
 */
const unsureChars = 600;

/**
 * The text with everything that looks like a credential replaced by a mask: key formats of known
 * services, JSON web tokens, bearer values, `x-api-key`-like assignments, user names and passwords
 * and key parameters in URLs. `addresses` (whole base URLs or hosts) are replaced too.
 * For vendors' error messages; errs towards masking too much. Long texts are cut.
 */
export function maskSecrets(text: string, addresses: readonly string[] = []): string {
  let masked = text;
  for (const address of addresses) {
    if (address !== "") masked = masked.replaceAll(address, "[address]");
  }
  const isCut = masked.length > maxMaskedChars;
  if (isCut) masked = masked.slice(0, maxMaskedChars);
  for (const [pattern, replacement] of patterns) masked = masked.replace(pattern, replacement);
  return isCut ? `${masked.slice(0, -unsureChars)}…` : masked;
}

const mask = "***";

/** Each pattern is linear, and matches a secret from its first characters on. */
const patterns: readonly (readonly [RegExp, string])[] = [
  // user:password@ in any URL. The cap on lengths keeps a long run without "@" linear.
  [/([a-z][a-z0-9+.-]{0,15}:\/\/)[^\s/?#@]{1,512}@/gi, `$1${mask}@`],
  [
    /([?&](?:[a-z]{1,16}[_-])?(?:key|apikey|token|sig|signature|password)=)[^\s&#"'<>]+/gi,
    `$1${mask}`,
  ],
  [/(\b(?:x-)?(?:goog-)?api[-_]?key["']?\s?[:=]\s?["']?)[^\s"',;}]{6,}/gi, `$1${mask}`],
  [/\b(Bearer\s)\s*[^\s"',}]+/gi, `$1${mask}`],
  // Service keys, with the vendor key that follows in the dual form.
  [/\bdmt_[0-9A-Za-z]+(?:;[^\s"',}]+)?/g, mask],
  // "sk-" covers "sk-ant-" and "sk-proj-"; vendors show keys with stars in the middle.
  [/\bsk-[0-9A-Za-z_*.-]{6,}/g, mask],
  [/\bAIza[0-9A-Za-z_*-]{6,}/g, mask],
  [/\bAQ\.[0-9A-Za-z_*-]{16,}/g, mask],
  [/\bhf_[0-9A-Za-z*]{6,}/g, mask],
  // Names of models and agents, such as `xai-grok-4-fast`, are short words: a key is one long one.
  [/\bxai-[0-9A-Za-z_*-]{40,}/g, mask],
  [/\bxai-[0-9A-Za-z_*]{16,}/g, mask],
  [/\bgsk_[0-9A-Za-z_*-]{6,}/g, mask],
  // JSON web tokens; dots are optional, so that nothing backtracks.
  [/\beyJ[0-9A-Za-z_.-]{8,}/g, mask],
];
