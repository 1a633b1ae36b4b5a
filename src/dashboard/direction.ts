const control = /[\u202a-\u202e\u2066-\u2069]/;

const tagOrControl = /<[^<>]*>|[\u202a-\u202e\u2066-\u2069]/g;

/**
 * Makes Unicode's text direction controls in a page visible and harmless: in callers' texts they
 * could make one name look like another, or reverse the text after it. Each is put into its own
 * element, which ends its effect and shows its code point (`style.css`). Copied text is unchanged.
 */
export function showDirectionControls(html: string): string {
  if (!control.test(html)) return html;
  // A textarea and a title can't contain elements.
  let isPlain = false;
  return html.replace(tagOrControl, (found) => {
    const [, end, name] = /^<(\/?)([a-z]+)/.exec(found) ?? [];
    if (name === "textarea" || name === "title") isPlain = end === "";
    if (isPlain || found.startsWith("<")) return found;
    const code = found.charCodeAt(0).toString(16).toUpperCase();
    return `<bdi class="control" data-code="U+${code}">${found}</bdi>`;
  });
}
