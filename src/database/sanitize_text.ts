/** PostgreSQL's text holds no U+0000 and no half of a surrogate pair; both become U+FFFD. */
export function sanitizeText(text: string): string;
export function sanitizeText(text: string | null): string | null;
export function sanitizeText(text: string | null): string | null {
  return text === null ? null : text.replaceAll("\u0000", "\ufffd").toWellFormed();
}
