/** PostgreSQL can't store U+0000 or lone surrogates in text; both become U+FFFD. */
export function sanitizeText(text: string): string;
export function sanitizeText(text: string | null): string | null;
export function sanitizeText(text: string | null): string | null {
  return text === null ? null : text.replaceAll("\u0000", "\ufffd").toWellFormed();
}
