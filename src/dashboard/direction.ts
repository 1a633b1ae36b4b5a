const control = /[\u202a-\u202e\u2066-\u2069]/;

const tagOrControl = /<[^<>]*>|[\u202a-\u202e\u2066-\u2069]/g;

/**
 * The page with callers' controls of text direction made visible and harmless: one could make a name
 * read as another, or turn round what follows it. Each stands in an element of its own, where its
 * effect ends, with its code point beside it (`style.css`). Copied text stays the same.
 */
export function showDirectionControls(html: string): string {
  if (!control.test(html)) return html;
  // A textarea and a title hold text alone.
  let isPlain = false;
  return html.replace(tagOrControl, (found) => {
    const [, end, name] = /^<(\/?)([a-z]+)/.exec(found) ?? [];
    if (name === "textarea" || name === "title") isPlain = end === "";
    if (isPlain || found.startsWith("<")) return found;
    const code = found.charCodeAt(0).toString(16).toUpperCase();
    return `<bdi class="control" data-code="U+${code}">${found}</bdi>`;
  });
}
